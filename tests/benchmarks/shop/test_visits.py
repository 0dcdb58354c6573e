"""Somebody who follows the README gets a model that learns fast, whatever their features look like."""

import json
import re
from pathlib import Path

import pytest
from benchmarks.shop.visits import SCALINGS, engine, scaled, settings_of, supervised, visit
from benchmarks.shop.world import PAGE, Shop

README = (Path(__file__).parents[3] / "README.md").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def shop():
    return Shop()


@pytest.fixture(scope="module")
def body():
    """The model that the README creates, for the shop's features."""
    made = re.search(r"/v1/models -H 'Content-Type: application/json' -d '(\{.*?\})'\n", README, re.DOTALL)
    return json.loads(made[1])


@pytest.mark.parametrize("scaling", SCALINGS)
def test_the_readme_s_model_is_nine_tenths_of_the_way_after_600_visits(shop, body, scaling):
    # `make bench-shop` measures 2,000 visits and five seeds; here a part of it, with a fixed seed.
    visits = visit(shop, settings_of(body, seed=1), 600, seed=1, scaling=scaling, points=1)
    low, high = engine(shop), supervised(shop)
    assert (visits.curve[-1][1] - low) / (high - low) > 0.9
    assert visits.curve[0][1] == pytest.approx(low, abs=1e-9), "it starts in the engine's order"


def test_the_first_hundred_pages_look_like_the_engine_s(shop, body):
    visits = visit(shop, settings_of(body, seed=2), 100, seed=2, points=1)
    assert PAGE < visits.boldest + PAGE < 40 + PAGE


def test_scalings_are_the_same_products_in_other_units(shop):
    for name in SCALINGS:
        features = scaled(shop, name)
        assert [X.shape for X in features] == [search.X.shape for search in shop.searches]
    assert (scaled(shop, "raw")[0] == shop.searches[0].X).all()
