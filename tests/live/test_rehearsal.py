"""After a rehearsal, a model's pages need nothing of the compiler: neither a compilation nor code from disk."""

import pytest

import rankloop as rl
from rankloop.kernels import compiler
from rankloop.live.fold import Fold
from rankloop.live.rehearsal import rehearse, rehearse_all
from rankloop.live.scaling import Fixed
from rankloop.live.settings import Guards, IncomingOrder, ModelSettings, Weights

from .in_process import click, rank, running, told

MODELS = {
    "posterior": {},
    "engine": {"start": IncomingOrder("f1")},
    "roltr": {"learner": rl.ROLTR(), "late_updates": "current"},
    "drawn": {"learner": rl.ROLTR(), "start": Weights((1.0, 2.0, 3.0))},
    "learned curve": {"learner": rl.ROLTR(propensities=rl.propensities.learned())},
    "pdgd": {"learner": rl.PDGD(), "precision": "float16"},
    "network": {"learner": rl.ROLTR(ranker=rl.MLP(hidden=(4,)))},
    "dbgd": {"learner": rl.DBGD(), "scaling": "running"},
    "pmgd": {"learner": rl.PMGD(candidates=3), "scaling": "query"},
    "coltr": {"learner": rl.COLTR(candidates=3), "scaling": Fixed((0.0,) * 3, (1.0,) * 3)},
    "pairrank": {"learner": rl.PairRank(), "scaling": "none"},
    "long pages": {"learner": rl.ROLTR(propensities=rl.propensities.known([1.0, 0.5, 0.3, 0.2])), "page_size": 4},
}


@pytest.fixture
def asked(monkeypatch):
    """The signatures that anybody asked the compiler for."""
    signatures = []
    load = compiler._CacheBySignature.load_overload
    monkeypatch.setattr(
        compiler._CacheBySignature,
        "load_overload",
        lambda cache, sig, context: signatures.append(sig) or load(cache, sig, context),
    )
    return signatures


@pytest.mark.slow
@pytest.mark.parametrize("name", MODELS)
def test_what_a_page_needs_is_there_after_a_rehearsal(tmp_path, asked, name):
    settings = ModelSettings(**({"name": "m", "features": 3, "page_size": 3, "seed": 1} | MODELS[name]))
    rehearse(settings)

    async def story():
        async with running(tmp_path / "log.db", settings) as service:
            del asked[:]  # making a model works out where it begins
            for more in ({}, {"pinned": {"d5": 2}}, {"rest": True}):
                page = await rank(service, **more)
                assert (await click(service, page.impression, page.ranking[:1])).accepted == 1
                assert (await service.close(page.impression, wait=True)).closed
            await rank(service, client="somebody")

    told(story())
    assert not asked


def test_a_rehearsal_is_as_small_for_a_large_model(monkeypatch):
    made = []
    init = Fold.__init__
    monkeypatch.setattr(
        Fold, "__init__", lambda fold, settings, *more: made.append(settings) or init(fold, settings, *more)
    )
    rehearse(ModelSettings(name="m", features=2_000, page_size=500, guards=Guards(control=0)))
    assert [(len(settings.names), settings.page_size) for settings in made] == [(2, 3)]


def test_every_method_that_can_be_served_is_rehearsed_for_an_image(monkeypatch):
    rehearsed = []
    monkeypatch.setattr("rankloop.live.rehearsal.rehearse", rehearsed.append)
    rehearse_all()
    assert {"Posterior", "ROLTR", "PDGD", "PairRank"} <= {settings.learner.name for settings in rehearsed}
