"""Somebody who follows the README gets a model that learns fast, whatever their features look like."""

import pytest
from benchmarks.shop.__main__ import models, readme_model
from benchmarks.shop.visits import SCALINGS, engine, scaled, settings_of, supervised, visit
from benchmarks.shop.world import PAGE, Shop


@pytest.fixture(scope="module")
def shop():
    return Shop()


@pytest.fixture(scope="module")
def body():
    """The model that the README creates, for the shop's features."""
    return readme_model()


@pytest.mark.parametrize("scaling", SCALINGS)
def test_the_readme_s_model_is_nine_tenths_of_the_way_after_600_visits(shop, body, scaling):
    # `make bench-shop` measures 2,000 visits and five seeds; here a part of it, with a fixed seed.
    visits = visit(shop, settings_of(body, seed=1), 600, seed=1, scaling=scaling, points=1)
    low, high = engine(shop), supervised(shop)
    assert (visits.curve[-1][1] - low) / (high - low) > 0.9
    assert visits.curve[0][1] == pytest.approx(low, abs=1e-9), "it starts in the engine's order"


def test_an_engine_s_order_without_a_score_is_enough(shop, body):
    settings = settings_of(models(body)["order alone"], seed=1)
    assert "engine" not in settings.names
    assert settings.sent == settings.names[:-1]
    visits = visit(shop, settings, 600, seed=1, points=1)
    low, high = engine(shop), supervised(shop)
    assert (visits.curve[-1][1] - low) / (high - low) > 0.9
    assert visits.curve[0][1] == pytest.approx(low, abs=1e-9), "it starts in the engine's order"
    assert visits.boldest < 40


def test_the_first_hundred_pages_look_like_the_engine_s(shop, body):
    visits = visit(shop, settings_of(body, seed=2), 100, seed=2, points=1)
    assert PAGE < visits.boldest + PAGE < 40 + PAGE


def test_scalings_are_the_same_products_in_other_units(shop):
    for name in SCALINGS:
        features = scaled(shop, name)
        assert [X.shape for X in features] == [search.X.shape for search in shop.searches]
    assert (scaled(shop, "raw")[0] == shop.searches[0].X).all()
