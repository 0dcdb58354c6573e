"""A number exactly between two floats is rounded to the even one, for every power of ten where that can happen."""

import math

import numpy as np
import pytest

from rankloop.data.svmlight.decimals import to_float

# An odd number of 54 bits is one bit more than a float holds: it lies halfway between two of them.
FIRST, END = 2**53, 2**54


def halfway(exponent, remainder):
    """(w, n, power) with w · 10^exponent = n · 2^power, n odd and of 54 bits, n mod 4 = remainder; None if none is."""
    fives = 5 ** abs(exponent)
    if exponent < 0:
        n = FIRST + remainder
        return n * fives, n, exponent
    n = next((n for n in range(fives * (FIRST // fives + 1), END, fives) if n % 4 == remainder), None)
    if n is None:
        return None
    w, power = n // fives, exponent
    while w < FIRST:  # smaller ones take the short way, where the hardware rounds
        w, power = 2 * w, power + 1
    return w, n, power


@pytest.mark.parametrize("exponent", range(-4, 24))
@pytest.mark.parametrize("remainder", [1, 3])
def test_halfway_between_two_floats_the_even_one_is_taken(exponent, remainder):
    found = halfway(exponent, remainder)
    if found is None:
        assert exponent > 21  # 5^22 and 5^23 have too few multiples of 54 bits
        return
    w, n, power = found
    assert FIRST <= w < 2**64
    assert w * 10 ** max(exponent, 0) * 2 ** max(-power, 0) == n * 2 ** max(power, 0) * 10 ** max(-exponent, 0)
    even = (n - 1) // 2 if n % 4 == 1 else (n + 1) // 2
    assert even % 2 == 0
    assert to_float(np.uint64(w), exponent) == (math.ldexp(even, power + 1), True)


@pytest.mark.parametrize("exponent", [-4, -3, 0])
def test_a_little_off_the_middle_the_nearer_one_is_taken(exponent):
    w, n, power = halfway(exponent, 1)
    below, above = math.ldexp((n - 1) // 2, power + 1), math.ldexp((n + 1) // 2, power + 1)
    assert to_float(np.uint64(w + 1), exponent) == (above, True)
    assert to_float(np.uint64(w - 1), exponent) == (below, True)


def test_the_first_whole_numbers_that_no_float_holds():
    assert to_float(np.uint64(9007199254740993), 0) == (9007199254740992.0, True)
    assert to_float(np.uint64(9007199254740995), 0) == (9007199254740996.0, True)
    assert to_float(np.uint64(90071992547409930), -1) == (9007199254740992.0, True)
