"""Every live model can leave: what is typical of its log stands for what its scaling looks up in each query."""

import numpy as np
import pytest

from rankloop.errors import SettingsError
from rankloop.interchange import EXPORT_FORMATS, NeuralModel, export_model
from rankloop.learners import PDGD, Posterior
from rankloop.live.events import Closing, Event, Impression, Kind, encode
from rankloop.live.exporting import MOST_PAGES, leaving, newest_pages
from rankloop.live.fold import Fold
from rankloop.live.incoming import with_incoming
from rankloop.live.scaling import Fixed
from rankloop.live.settings import IncomingOrder, ModelSettings, NewModelSettings, Weights
from rankloop.live.start import starting_point
from rankloop.rankers import MLP

from ..logs.writing import Log, model_settings
from .diary import FOR_ALL, Diary, page_of

SIZES, CENTRES = np.array([100.0, 1.0, 0.01]), np.array([1e4, -2.0, 0.5])


def settings_of(**other):
    """Without a memory of single documents: what a file does otherwise is then a matter of scaling alone."""
    known = {"name": "shop", "features": ["a", "b", "c"], "seed": 1, "guards": FOR_ALL, "learner": Posterior(memory=0)}
    return ModelSettings(**known | other)


def query(draws, size=20):
    return draws.normal(size=(size, 3)) * SIZES * draws.uniform(0.7, 1.4, 3) + CENTRES


def lived(settings, pages=40):
    """A model that has learned from some pages, on which people like what has little of `a` and much of `b`."""
    diary, draws, shown = Diary(settings), np.random.default_rng(3), []
    for _ in range(pages):
        X = query(draws)
        page = diary.show(with_incoming(X, settings.names))
        liked = (X - CENTRES) / SIZES @ [-1.0, 1.0, 0.0]
        diary.close(page, (liked[page_of(page).page] > 1.0).astype(float).tolist())
        shown.append(page_of(page))
    return diary.fold.view(), shown


@pytest.mark.parametrize("form", EXPORT_FORMATS)
def test_a_new_model_made_with_defaults_can_leave(form):
    settings = NewModelSettings(name="shop", features=["a", "b"], seed=1)
    fold = Fold(settings, starting_point(settings).weights)
    assert export_model(leaving(settings, fold.view(), [], form).model, form)


@pytest.mark.parametrize("form", ["elasticsearch", "opensearch", "solr"])
def test_an_engine_does_not_know_where_a_document_stood_and_is_not_asked(form):
    settings = settings_of(start=IncomingOrder(), scaling="none")
    view, pages = lived(settings)
    leaves = leaving(settings, view, pages, form)
    assert leaves.model.feature_names == ("a", "b", "c")
    assert leaves.model.weights == tuple(view.model.ranker.weights[:3])
    assert f"{form} scores each document alone, so what leaves does without it" in leaves.differs[0]
    assert leaves.orders.pages == len(pages)
    assert leaving(settings, view, pages, "onnx").model.feature_names == ("a", "b", "c", "_incoming")


@pytest.mark.parametrize("scaling", ["robust", "query", "running"])
def test_a_new_model_in_the_engines_order_leaves_in_that_order(scaling):
    settings = settings_of(start=IncomingOrder("b"), scaling=scaling)
    model = leaving(settings, Fold(settings).view(), [], "solr").model
    X = query(np.random.default_rng(1))
    assert np.argsort(-model.scores(X)).tolist() == np.argsort(-X[:, 1]).tolist()


@pytest.mark.parametrize("scaling", ["robust", "query", "running"])
def test_several_weights_need_a_page_to_know_how_features_spread(scaling):
    settings = settings_of(start=Weights((1.0, 2.0, 0.0)), scaling=scaling)
    with pytest.raises(SettingsError, match="rank some pages first"):
        leaving(settings, Fold(settings).view(), [], "solr")
    shown = page_of(Diary(settings).show(query(np.random.default_rng(1))))
    leaves = leaving(settings, Fold(settings).view(), [shown], "solr")
    assert leaves.orders.kendall == pytest.approx(1.0)  # the one page is what is typical


@pytest.mark.parametrize("scaling", ["robust", "query", "running"])
def test_what_a_query_would_say_is_replaced_by_what_is_typical_and_the_difference_is_measured(scaling):
    settings = settings_of(scaling=scaling)
    view, pages = lived(settings)
    leaves = leaving(settings, view, pages, "solr")
    assert leaves.model.scaled
    assert len(leaves.differs) == 1
    assert leaves.orders.pages == len(pages)
    assert 0.8 < leaves.orders.kendall <= 1.0
    assert "Kendall's τ of all candidates 0." in str(leaves) or leaves.orders.kendall == 1.0
    centres = np.mean([page.matrix("float32").mean(axis=0) for page in pages], axis=0)
    if scaling != "query":  # whose shift is where features begin
        assert np.abs((np.array(leaves.model.shift) - centres) / SIZES).max() < 0.5


@pytest.mark.parametrize("scaling", ["none", Fixed((1e4, -2.0, 0.5), (100.0, 1.0, 0.01))])
def test_a_scaling_that_other_systems_have_leaves_as_it_is(scaling):
    settings = settings_of(scaling=scaling)
    view, pages = lived(settings)
    leaves = leaving(settings, view, pages, "solr")
    assert (leaves.differs, leaves.orders.same_page) == ((), 1.0)


def test_what_is_known_of_single_documents_stays_behind_and_the_difference_is_measured():
    settings = settings_of(scaling="none", learner=Posterior())
    view, pages = lived(settings)
    leaves = leaving(settings, view, pages, "solr")
    assert leaves.differs == ("what 'shop' knows of single documents, beyond their features, is not exported",)
    assert 0.8 < leaves.orders.kendall < 1.0
    new = leaving(settings, Fold(settings).view(), [], "solr")
    assert new.differs == ()  # it knows of none


def test_our_own_json_keeps_a_scaling_per_query():
    settings = settings_of(scaling="query")
    view, pages = lived(settings)
    leaves = leaving(settings, view, pages, "json")
    assert leaves.model.per_query
    assert leaves.differs == ()
    assert leaves.orders.kendall == pytest.approx(1.0, abs=0.01)  # ours in single precision


def test_a_network_counts_from_the_typical_median():
    """A linear model does not mind from where it counts; to a network it is another place altogether."""
    settings = settings_of(learner=PDGD(ranker=MLP(hidden=(4,))))
    view, pages = lived(settings)
    leaves = leaving(settings, view, pages, "solr")
    assert isinstance(leaves.model, NeuralModel)
    assert leaves.model.shift[0] == pytest.approx(1e4, rel=0.01)
    assert leaves.orders.kendall > 0.8


def test_the_newest_pages_are_found_closed_or_open(store):
    log = Log.filled(store, model_settings(), impressions=30)
    log.visit(5, close=False)
    assert len(newest_pages(store, log.model)) == 35
    assert len(newest_pages(store, log.model, 10)) == 10
    assert all(isinstance(page, Impression) for page in newest_pages(store, log.model))


class Damaged:
    """A log whose newest closing, and whose only open page, cannot be read."""

    def newest_closings(self, model, limit):
        return [Event(3, 1, int(Kind.CLOSED), 1, 0, b"", b"no"), Event(2, 1, int(Kind.CLOSED), 1, 0, b"", self.closing)]

    def newest_open(self, model, limit):
        assert limit == MOST_PAGES - 1
        return []

    closing = encode(Closing(1, [0.0], "asked"))

    def event(self, offset):
        return Event(1, 1, int(Kind.SHOWN), 1, 0, b"", b"no")


def test_what_cannot_be_read_is_left_out():
    assert newest_pages(Damaged(), 1) == []
