"""No worse than the reference: holds, fails, or unresolved; and as uncertain as seeds and queries make it."""

import math

import numpy as np
import pytest

from rankloop.statistics import Difference, difference
from rankloop.studies.regret.ends import end_of, finite, verdict, with_queries

MARGIN = 0.005


@pytest.mark.parametrize(
    ("estimate", "error", "word"),
    [(0.0, 0.001, "holds"), (-0.004, 0.0001, "holds"), (-0.02, 0.001, "fails"), (0.01, 0.05, "unresolved"),
     (-0.006, 0.01, "unresolved"), (0.0, math.nan, "unresolved"), (-0.004, 0.0, "holds"), (-0.006, 0.0, "fails")],
)  # fmt: skip
def test_verdicts(estimate, error, word):
    assert verdict(Difference(estimate, error, 9.0), MARGIN) == word


def test_an_end_has_its_interval_and_verdict(made_up):
    from .test_measuring import study

    runs = made_up(study())
    ours, theirs = (runs.select(label=label, collection="a") for label in ("Posterior", "ROLTR"))
    end = end_of(ours, theirs, MARGIN, None)
    a, b = ([run.offline_ndcg for run in some] for some in (ours, theirs))
    found = difference(a, b, paired=True)
    assert end.ndcg - end.reference == pytest.approx(found.estimate)
    assert end.low == pytest.approx(found.estimate - found.half_width(0.9))
    assert (end.impressions, end.verdict) == (200, verdict(found, MARGIN))
    assert end.seeds == len({run.seed for run in ours}) > 1


def test_few_queries_resolve_nothing_however_many_seeds_there_are(made_up):
    from .test_measuring import study

    runs = made_up(study())
    ours, theirs = (runs.select(label=label, collection="a") for label in ("Posterior", "ROLTR"))
    assert end_of(ours, ours, MARGIN, None).verdict == "holds"  # no difference at all

    def queries(record):
        return np.array([0.1, 0.9, math.nan, 0.5]) if record in ours else np.array([0.8, 0.2, math.nan, 0.5])

    assert end_of(ours, theirs, MARGIN, queries).verdict == "unresolved"


@pytest.mark.thorough
@pytest.mark.parametrize(("of_seeds", "of_queries"), [(0.003, 0.02), (0.0, 0.03), (0.006, 0.0)])
def test_a_learner_at_the_margin_passes_one_time_in_twenty(of_seeds, of_queries):
    """1,000 simulated studies at the margin: 5 % pass, or fewer, as the sum of variances errs on the safe side.

    A binomial of 1,000 × .05 exceeds 75 once in 4,000 times.
    """
    draws, passed = np.random.default_rng(5), 0
    seeds, queries = 8, 60
    for _ in range(1000):
        shared = draws.normal(0, of_queries, queries)
        rows = -MARGIN + draws.normal(0, of_seeds, (seeds, 1)) + shared + draws.normal(0, 0.01, (seeds, queries))
        means = rows.mean(axis=1)
        found = with_queries(difference(means, np.zeros(seeds), paired=True), [(None, row) for row in rows])
        passed += verdict(found, MARGIN) == "holds"
    assert passed <= 75


def test_folds_have_queries_of_their_own():
    rows = [(1, np.array([0.0, 0.2])), (2, np.array([0.0, 0.2, 0.4]))]
    found = with_queries(Difference(0.15, 0.0, 1.0), rows)
    expected = 0.25 * 0.02 / 2 + 0.25 * 0.04 / 3
    assert found.standard_error == pytest.approx(math.sqrt(expected))
    assert found.degrees == pytest.approx(3.0)
    assert math.isnan(with_queries(Difference(0.1, 0.0, 1.0), [(1, np.array([0.3]))]).standard_error)


def test_json_has_no_number_for_what_is_unbounded():
    assert (finite(1.5), finite(math.inf), finite(math.nan)) == (1.5, None, None)
