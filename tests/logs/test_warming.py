"""An old log, ranked by an engine and clicked by people, gives a live model its start."""

import msgspec
import numpy as np
import pytest

from rankloop.errors import DataError, SettingsError
from rankloop.live.settings import ModelSettings
from rankloop.live.start import starting_point
from rankloop.logs.clicked import ClickLog
from rankloop.logs.warming import warm_up

TASTE = np.array([0.5, -1.0, 0.8])
LOOK = 1 / np.arange(1, 11) ** 0.7
SIZES, CENTRES = np.array([3.0, 200.0, 0.5]), np.array([10.0, 500.0, 4.0])


def old_log(pages=600, seed=0, engine_noise=0.5):
    """Pages in the order of an engine that looks at the first feature only, and noisily; ten of forty are shown."""
    draws = np.random.default_rng(seed)
    rows = []
    for page in range(pages):
        Z = draws.normal(size=(40, 3))
        shown = Z[np.argsort(-(Z[:, 0] + engine_noise * draws.normal(size=40)))[:10]]
        clicked = draws.random(10) < LOOK / (1 + np.exp(1.0 - 1.5 * shown @ TASTE))
        rows += [
            ("q", f"d{page}-{rank}", rank + 1, float(clicked[rank]), page, shown[rank] * SIZES + CENTRES)
            for rank in range(10)
        ]
    queries, documents, ranks, clicks, page, features = map(list, zip(*rows, strict=True))
    return ClickLog(queries, documents, ranks, clicks, pages, page, ("a", "b", "c"), np.array(features, np.float32))


def in_order(weights, scaling, draws):
    """The share of pairs of fresh candidates that weights put in the order of what people like."""
    Z = draws.normal(size=(400, 3))
    X = (Z * SIZES + CENTRES - scaling["shift"]) / scaling["spread"]
    scores, liked = X @ weights, Z @ TASTE
    pairs = draws.integers(400, size=(2000, 2))
    return np.mean(
        np.sign(scores[pairs[:, 0]] - scores[pairs[:, 1]]) == np.sign(liked[pairs[:, 0]] - liked[pairs[:, 1]])
    )


def test_what_people_like_is_found_though_nobody_knows_how_pages_were_drawn():
    warm = warm_up(old_log())
    settings = warm.settings("shop")
    assert in_order(np.array(settings["start"]["weights"]), settings["scaling"], np.random.default_rng(1)) > 0.85
    engine = in_order(np.array([1.0, 0.0, 0.0]), settings["scaling"], np.random.default_rng(1))
    assert engine < 0.7


def test_a_live_model_can_be_made_of_it():
    settings = msgspec.convert(warm_up(old_log(100)).settings("shop", start_pages=20), ModelSettings)
    assert (settings.names, settings.page_size, settings.learner.start_pages) == (("a", "b", "c"), 10, 20.0)
    assert starting_point(settings).weights == list(settings.start.weights)
    assert warm_up(old_log(100), page_size=4).settings("shop")["page_size"] == 4


def test_examination_is_learned_or_given():
    learned = warm_up(old_log(2000, engine_noise=2.0)).belief.examination
    assert learned[0] == 1.0
    assert np.abs(np.log(learned[:5] / LOOK[:5])).max() < 0.4
    given = warm_up(old_log(200), LOOK.tolist()).belief.examination
    assert given == pytest.approx(LOOK, rel=0.01)


def only(log, ranks):
    """A log that says nothing about documents at other ranks."""
    kept = [place for place, rank in enumerate(log.ranks) if rank in ranks]
    rows = {name: [getattr(log, name)[place] for place in kept] for name in ("queries", "documents", "ranks", "clicks")}
    return log._replace(**rows, page=[log.page[place] for place in kept], features=log.features[kept])


def test_a_rank_is_what_the_log_says_and_not_the_place_in_it():
    surer = warm_up(only(old_log(300), {1, 4})).belief.log_examination_deviation
    assert surer[3] < 0.9 * min(surer[1], surer[2])


def test_features_are_counted_from_their_middle_in_deviations_of_a_page():
    """Pages lie far apart, and the documents of a page close together: there it is decided."""
    log = old_log(50)
    far = np.repeat(np.random.default_rng(3).normal(0, 1_000, (50, 3)), 10, axis=0)
    scaling = warm_up(log._replace(features=(log.features + far).astype(np.float32))).scaling
    assert scaling.shift == pytest.approx(np.median(log.features + far, axis=0), rel=1e-5)
    within = np.array([log.features[page].std(axis=0) for page in log.each_page()])
    assert (within.min(axis=0) <= scaling.spread).all()
    assert (scaling.spread <= within.max(axis=0)).all()


def test_what_is_missing_is_said():
    with pytest.raises(DataError, match=r"give it columns feature\.NAME"):
        warm_up(old_log(3)._replace(features=None))
    with pytest.raises(SettingsError, match="a number for each of the 10 ranks"):
        warm_up(old_log(3), [1.0, 0.5])


def test_pages_of_one_document_teach_nothing_and_that_is_said():
    log = ClickLog(["q"] * 4, list("abcd"), [3, 1, 3, 2], [0.0, 1.0, 0.0, 1.0], 4, [0, 1, 2, 3], ("x",),
                   np.array([[0.0], [1.0], [0.0], [1.0]], np.float32))  # fmt: skip
    with pytest.raises(DataError, match="no page with a click shows two documents"):
        warm_up(log)
