"""Each kind of feature is the measurement that it says it is, and causes hang together as they should."""

import numpy as np
import pytest

from rankloop.data.worlds.features import CAUSE, CAUSES, SENTINEL, Feature, FeaturePlan, Gate, Kind, draw_causes

TERMS = 4
CAUSES_OF_5000 = draw_causes(np.random.default_rng(1), 5000)


def drawn(*features, gates=(), context=0.0):
    """(features, documents), in the order of the names."""
    plan = FeaturePlan(list(features), list(gates), context=context)
    return plan.in_order(plan.draw(np.random.default_rng(2), CAUSES_OF_5000, TERMS))


def test_causes_are_of_unit_size_and_correlated_as_described():
    found = np.corrcoef(CAUSES_OF_5000)
    assert CAUSES_OF_5000.shape == (len(CAUSES), 5000)
    # The whole document follows both its body and the topic that they share, which widens it.
    spreads = dict(zip(CAUSES, CAUSES_OF_5000.std(axis=1), strict=True))
    assert spreads.pop("whole") == pytest.approx(1.16, abs=0.06)
    assert list(spreads.values()) == pytest.approx([1.0] * len(spreads), abs=0.06)
    for one, other, expected in [
        ("title", "topic", 0.6), ("popularity", "quality", 0.6), ("spam", "quality", -0.3),
        ("freshness", "length", 0.3), ("habit 1", "quality", 0.0),
    ]:  # fmt: skip
        assert found[CAUSE[one], CAUSE[other]] == pytest.approx(expected, abs=0.06)


@pytest.mark.parametrize(
    ("kind", "fits"),
    [
        (Kind.SCORE, lambda x: x >= 0),
        (Kind.LOG_PROBABILITY, lambda x: x < 0),
        (Kind.LOG_NORMAL, lambda x: x > 0),
        (Kind.COUNT, lambda x: (x >= 0) & (x == np.floor(x))),
        (Kind.COVERAGE, lambda x: np.isin(x, range(TERMS + 1))),
        (Kind.BOOLEAN, lambda x: np.isin(x, (0, 1))),
        (Kind.PER_QUERY, lambda x: x == x[0]),
        (Kind.UNIT, lambda x: (x > 0) & (x < 1)),
        (Kind.UNIT_STEPS, lambda x: np.isin(8 * x, range(8))),
    ],
)
def test_a_kind_gives_the_values_of_its_kind(kind, fits):
    [values] = drawn(Feature("one", kind, {"title": 1.0}))
    assert fits(values).all()
    assert (len(np.unique(values)) > 1) == (kind != Kind.PER_QUERY)


def test_a_gapped_feature_has_the_sentinel_in_a_few_places():
    plan = FeaturePlan([Feature("one", Kind.GAPPED)], [], context=0.0)
    raw = plan.draw(np.random.default_rng(2), CAUSES_OF_5000, TERMS)
    assert 0 < (raw == SENTINEL).mean() < 0.01


def test_features_leave_in_the_order_of_their_names():
    flag, absent, score = drawn(
        Feature("flag", Kind.BOOLEAN, {"title": 1.0}), Feature("absent", Kind.ABSENT),
        Feature("score", Kind.SCORE, {"title": 1.0}, noise=0.0, a=10.0),
    )  # fmt: skip
    assert set(flag) == {0, 1}
    assert not absent.any()
    assert score == pytest.approx(10 + CAUSES_OF_5000[CAUSE["title"]], abs=1e-5)


def test_a_closed_gate_empties_a_feature_and_gate_0_is_always_open():
    gates = [Gate({"popularity": 1.0}, threshold=0.5, noise=0.0)]
    behind, free = (Feature(name, Kind.LOG_NORMAL, gate=gate) for name, gate in (("behind", 1), ("free", 0)))
    empty, full = drawn(behind, free, gates=gates)
    assert ((empty > 0) == (CAUSES_OF_5000[CAUSE["popularity"]] > 0.5)).all()
    assert (full > 0).all()
