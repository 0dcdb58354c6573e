"""The pictures of the dashboard and of the study viewer: taken by a script, small, and of a shop that has a past."""

import io

import numpy as np
import pytest

pictures = pytest.importorskip("website.pictures", reason="the pictures of the docs are made in a clone")
Image = pytest.importorskip("PIL.Image")


@pytest.mark.parametrize("shot", pictures.DASHBOARD + pictures.STUDIES, ids=lambda shot: shot.name)
def test_every_picture_is_there_and_small(shot):
    path = pictures.PICTURES / f"{shot.name}.png"
    assert path.stat().st_size < 100_000
    with Image.open(path) as picture:
        assert picture.size == shot.size or shot.element


def test_fewer_colours_change_nothing_that_has_few():
    png = io.BytesIO()
    Image.fromarray(np.arange(200, dtype=np.uint8).reshape(10, 20)).save(png, "PNG")
    with Image.open(io.BytesIO(pictures.small(png.getvalue()))) as packed:
        assert np.array(packed.convert("L")).ravel().tolist() == list(range(200))


@pytest.mark.slow
@pytest.mark.xdist_group("dashboard-browser")
def test_a_picture_is_taken_once_the_page_is_drawn(service, chromium):
    shot = pictures.Shot("shop", "/models/shop", (1280, 780), "dark")
    with Image.open(io.BytesIO(pictures.take(chromium, service.url, shot))) as picture:
        assert picture.size == shot.size
        assert picture.convert("RGB").getpixel((5, 600)) == (15, 18, 21)  # the dark ground
    part = pictures.Shot("answer", "/models/shop", (1280, 780), element="#answer")
    with Image.open(io.BytesIO(pictures.take(chromium, service.url, part))) as picture:
        assert picture.width < 600


def test_in_the_shop_people_like_some_products_more_and_ask_some_queries_more():
    shop, draw = pictures.Shop(), np.random.default_rng(1)
    asked = [shop(draw) for _ in range(300)]
    queries = [request.query for request, _ in asked]
    assert queries.count("desk lamp") > queries.count("nightstand")
    request, likes = asked[0]
    assert set(request.titles) == set(request.candidates)
    assert (np.diff(request.features[:, 0]) <= 0).all()  # in the engine's order
    assert likes.max() > 2 * likes.min()
