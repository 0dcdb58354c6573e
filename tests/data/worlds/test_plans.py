"""The feature tables have the shape of what they stand for, and are the same every time."""

import numpy as np
import pytest

from rankloop.data.worlds import plans
from rankloop.data.worlds.features import draw_causes

PLANS = {"mslr": (136, 136), "yahoo": (700, 519), "istella": (220, 220), "tiny": (20, 20)}


def plan_of(name):
    return getattr(plans, f"{name}_plan")


def raw_of(plan):
    rng = np.random.default_rng(1)
    return plan.draw(rng, draw_causes(rng, 50), 3)


@pytest.mark.parametrize(("name", "shape"), PLANS.items())
def test_a_plan_names_all_features_and_measures_those_that_are_there(name, shape):
    plan = plan_of(name)()
    raw = raw_of(plan)
    assert (len(plan.names), len(raw)) == shape
    assert len(set(plan.names)) == len(plan.names)
    assert np.isfinite(raw).all()


@pytest.mark.parametrize("name", PLANS)
def test_a_plan_made_again_is_the_same(name):
    make = plan_of(name)
    again = make.__wrapped__()
    assert again is not make()
    assert again.names == make().names
    assert raw_of(again).tobytes() == raw_of(make()).tobytes()


def test_mslr_features_stand_where_the_published_list_has_them():
    names = plans.mslr_plan().names
    assert names[0] == "covered query term number body"
    assert names[105:110] == tuple(f"BM25 {field}" for field in ("body", "anchor", "title", "url", "whole"))
    assert names[125:] == (
        "number of slash in URL", "length of URL", "inlink number", "outlink number", "PageRank", "SiteRank",
        "QualityScore", "QualityScore2", "query-url click count", "url click count", "url dwell time",
    )  # fmt: skip


def test_yahoos_features_are_all_in_the_unit_interval_before_any_scaling():
    raw = raw_of(plans.yahoo_plan())
    assert raw.min() == 0
    assert raw.max() <= 1
