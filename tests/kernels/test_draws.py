"""Draws are uniform or normal, different for every name, and independent between streams.

Statistical tests run at a false-alarm rate of 1e-4 with fixed seeds.
"""

import itertools

import numpy as np
import pytest
from scipy import stats

from rankloop.kernels import draws
from rankloop.kernels.draws import below, bits, fill_normals, mix, stream_key, uniform

FALSE_ALARM = 1e-4
STREAMS = range(draws.QUERIES, draws.INITIAL + 1)
WORD = 2**64


def key_of(seed: int, stream: int = draws.POLICY, impression: int = 0) -> np.uint64:
    return np.uint64(stream_key(np.uint64(seed), stream, impression))


def uniforms(key, count: int) -> np.ndarray:
    return np.array([uniform(key, i) for i in range(count)])


def unmix(z: int) -> int:
    """The inverse of SplitMix64's finaliser, to find keys with given bits."""
    for shift, factor in ((31, draws._MIX_2), (27, draws._MIX_1)):
        z = unshift(z, shift) * pow(int(factor), -1, WORD) % WORD
    return unshift(z, 30)


def unshift(z: int, shift: int) -> int:
    result = z
    for _ in range(64 // shift + 1):
        result = z ^ (result >> shift)
    return result


def test_the_generator_is_splitmix64():
    """The published first outputs for seed 1234567."""
    wanted = [6457827717110365317, 3203168211198807973, 9817491932198370423, 4593380528125082431]
    assert [int(bits(np.uint64(1234567), i)) for i in range(4)] == wanted


@pytest.mark.parametrize("word", [0, 1, 2**12, WORD - 1, WORD - 2**12, 0x123456789ABCDEF0])
def test_uniforms_lie_strictly_between_zero_and_one_for_any_bits(word):
    key = np.uint64((unmix(word) - int(draws._WEYL)) % WORD)
    assert int(bits(key, 0)) == word
    assert 0.0 < uniform(key, 0) < 1.0
    assert uniform(key, 0) == ((word >> 12) + 0.5) / 2**52
    assert 0 <= below(key, 0, 3) <= 2


def test_mix_is_a_bijection():
    for word in (0, 1, 5, WORD - 1, 0xDEADBEEF):
        assert int(mix(np.uint64(unmix(word)))) == word


def test_uniforms_are_uniform():
    assert stats.kstest(uniforms(key_of(1), 50_000), "uniform").pvalue > FALSE_ALARM


def test_the_first_uniform_of_each_impression_is_uniform_too():
    first = [uniform(key_of(2, impression=i), 0) for i in range(50_000)]
    assert stats.kstest(first, "uniform").pvalue > FALSE_ALARM


@pytest.mark.parametrize("n", [1, 2, 7, 1000])
def test_whole_numbers_are_uniform_below_their_bound(n):
    drawn = [below(key_of(3), i, n) for i in range(30_000)]
    counts = np.bincount(drawn, minlength=n)
    assert len(counts) == n
    assert n == 1 or stats.chisquare(counts).pvalue > FALSE_ALARM


@pytest.mark.thorough
def test_different_names_give_different_draws():
    """160,000 words of 64 bits: two equal by chance once in a billion."""
    seeds = (0, 1, 2, 3, 1000, 2**32, 2**63, 2**64 - 1)
    names = itertools.product(seeds, STREAMS, range(50), range(50))
    words = {int(bits(key_of(s, stream, i), j)) for s, stream, i, j in names}
    assert len(words) == len(seeds) * len(STREAMS) * 50 * 50


@pytest.mark.parametrize(
    ("one", "other"),
    [
        *[((1, a, 0), (1, b, 0)) for a, b in itertools.combinations(STREAMS, 2)],
        ((1, 3, 0), (2, 3, 0)),
        ((1, 3, 0), (1, 3, 1)),
        ((0, 1, 0), (2**63, 1, 0)),
    ],
)
def test_streams_seeds_and_impressions_are_uncorrelated(one, other):
    a, b = (uniforms(key_of(*name), 4000) for name in (one, other))
    # 31 comparisons, each at the false-alarm rate, also with one sequence a step behind.
    assert stats.pearsonr(a, b).pvalue > FALSE_ALARM
    assert stats.pearsonr(a[1:], b[:-1]).pvalue > FALSE_ALARM


def normals(key, count: int) -> np.ndarray:
    out = np.zeros(count, np.float32)
    fill_normals(key, out)
    return out.astype(float)


@pytest.mark.parametrize("count", [100_000, 100_001])
def test_normals_are_standard_normal(count):
    x = normals(key_of(4), count)
    assert stats.kstest(x, "norm").pvalue > FALSE_ALARM
    for power, mean, variance in ((1, 0, 1), (2, 1, 2), (3, 0, 15), (4, 3, 96)):
        # The mean of N values lies within 4 deviations with probability 1 − 6e-5.
        assert abs(np.mean(x**power) - mean) < 4 * np.sqrt(variance / count)
    assert np.abs(x).max() < 6.0  # the smallest uniform is 2^-25: √(2·25·ln 2) = 5.9


@pytest.mark.parametrize("length", [1, 2, 3, 4, 5])
def test_every_place_of_a_short_vector_is_normal_and_independent_of_the_others(length):
    rows = np.array([normals(key_of(5, draws.DIRECTIONS, i), length) for i in range(5000)])
    for place in range(length):
        assert stats.kstest(rows[:, place], "norm").pvalue > FALSE_ALARM
    for a, b in itertools.combinations(range(length), 2):
        assert stats.pearsonr(rows[:, a], rows[:, b]).pvalue > FALSE_ALARM
        assert stats.pearsonr(rows[:, a] ** 2, rows[:, b] ** 2).pvalue > FALSE_ALARM
