"""The page sampler follows Plackett–Luce, and page probabilities are those of the definition."""

import math
from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.examples import examples

from rankloop.errors import SettingsError
from rankloop.policies import log_probability, probability, sample, score_gradient

from ..proofs import literal
from ..proofs.chisquare import agrees

DRAWS = 20_000


def drawn_pages(scores, size, seed, temperature=1.0) -> Counter:
    return Counter(
        tuple(sample(scores, size, seed=seed, impression=i, temperature=temperature).tolist()) for i in range(DRAWS)
    )


def probabilities(scores, size, temperature=1.0) -> dict:
    return {
        page: float(literal.page_probability(scores, page, temperature))
        for page in literal.all_pages(len(scores), size)
    }


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("scores", "size", "temperature", "seed"),
    [
        ([0.0, 0.0, 0.0, 0.0], 4, 1.0, 1),
        ([0.3, -0.5, 1.0, 0.0], 3, 1.0, 2),
        ([0.3, -0.5, 1.0, 0.0], 3, 0.5, 3),
        ([3.0, -5.0, 10.0, 0.0], 2, 10.0, 4),
        ([1.0, 0.0, -1.0, 2.0, 0.5], 2, 1.0, 5),
        ([0.7, 0.0], 1, 1.0, 6),
    ],
)
def test_sampled_pages_have_the_plackett_luce_probabilities(scores, size, temperature, seed):
    observed = drawn_pages(scores, size, seed, temperature)
    assert agrees(observed, probabilities(scores, size, temperature))


@pytest.mark.thorough
def test_sampled_pages_are_right_with_scores_ten_thousand_apart():
    scores = [1e4, 1e4 - 1.0, -1e4, -1e4 + 0.5]
    assert agrees(drawn_pages(scores, 4, seed=7), probabilities(scores, 4))


@pytest.mark.thorough
@pytest.mark.parametrize("candidates", [31, 32, 33, 70])
def test_every_candidate_of_many_comes_first_as_often_as_its_softmax(candidates):
    scores = np.linspace(-1, 1, candidates)
    observed = drawn_pages(scores, 1, seed=candidates)
    assert agrees(observed, probabilities(scores, 1))


@pytest.mark.thorough
def test_what_one_impression_shows_says_nothing_about_the_next():
    scores = [0.5, 0.0, -0.5]
    first = [int(sample(scores, 1, seed=8, impression=i)[0]) for i in range(DRAWS)]
    one = {page[0]: p for page, p in probabilities(scores, 1).items()}
    pairs = Counter(zip(first[::2], first[1::2], strict=True))
    assert agrees(pairs, {(a, b): one[a] * one[b] for a in one for b in one})


def test_a_page_larger_than_the_candidates_shows_each_of_them_once():
    assert sorted(sample([1.0, 2.0, 3.0], size=10, seed=1)) == [0, 1, 2]


@given(
    st.lists(st.floats(-1e4, 1e4), min_size=1, max_size=6),
    st.floats(0.1, 10.0),
    st.randoms(use_true_random=False),
)
@examples(150)
def test_page_probabilities_are_the_product_of_softmaxes(scores, temperature, random):
    page = random.sample(range(len(scores)), random.randint(1, len(scores)))
    exact = literal.page_probability(scores, page, temperature)
    # Log-sums up to 1e5 are rounded to 1e5·2^-53 ≈ 1e-11, up to six times.
    got = log_probability(scores, page, temperature)
    assert got == pytest.approx(float(exact.ln()), rel=1e-14, abs=1e-10)
    assert probability(scores, page, temperature) == math.exp(got)


def test_page_probabilities_sum_to_one():
    total = math.fsum(probability([0.3, -2.0, 1.0, 0.0], page) for page in literal.all_pages(4, 3))
    assert total == pytest.approx(1.0, rel=1e-14)


@pytest.mark.parametrize(
    ("page", "reason"),
    [([0, 0], "different"), ([3], "0 to 2"), ([-1], "0 to 2"), ([], "page")],
)
def test_an_impossible_page_is_refused(page, reason):
    with pytest.raises(SettingsError, match=reason):
        probability([0.0, 1.0, 2.0], page)


@pytest.mark.parametrize("scores", [[], [0.0, math.nan], [math.inf], [[0.0, 1.0]]])
def test_impossible_scores_are_refused(scores):
    with pytest.raises(SettingsError, match="scores"):
        sample(scores, seed=1)


@pytest.mark.parametrize("temperature", [0.0, -1.0, math.nan, "hot"])
def test_an_impossible_temperature_is_refused(temperature):
    with pytest.raises(SettingsError, match="temperature"):
        sample([0.0], seed=1, temperature=temperature)


@pytest.mark.parametrize("size", [0, -1, 1.5])
def test_an_impossible_page_size_is_refused(size):
    with pytest.raises(SettingsError, match="size"):
        sample([0.0, 1.0], size, seed=1)


@pytest.mark.parametrize("seed", [-1, 2**64, 0.5])
def test_an_impossible_seed_is_refused(seed):
    with pytest.raises(SettingsError, match="seed"):
        sample([0.0, 1.0], 1, seed=seed)


def test_returns_of_another_length_than_the_page_are_refused():
    with pytest.raises(SettingsError, match="one value per shown document: 2; got 1"):
        score_gradient([0.0, 1.0], page=[0, 1], returns=[1.0])


def test_the_same_seed_and_impression_draw_the_same_page():
    scores = np.linspace(-1, 1, 30)
    pages = {tuple(sample(scores, seed=9, impression=3).tolist()) for _ in range(3)}
    assert len(pages) == 1
