"""Interleaved pages in a model's log: what is shown, who is credited, what is learned, and what a state keeps."""

from hashlib import blake2b

import msgspec
import numpy as np
import pytest

from rankloop.errors import SettingsError
from rankloop.learners import COLTR, DBGD, PDGD, ROLTR, PairRank, Posterior
from rankloop.live.events import Closing, ExperimentStarted, Group, Kind, Restored, decode, encode
from rankloop.live.experiments import Experiment, ExperimentSettings, report
from rankloop.live.fold import Fold
from rankloop.live.ranking import Ranking, Rival
from rankloop.live.settings import Guards, IncomingOrder, ModelSettings, Weights

from .diary import FOR_ALL, Diary, page_of

X = np.random.default_rng(3).normal(size=(30, 4))
RANKS = 6
EVERYBODY = ExperimentStarted(["incoming", "learned"], [0, 1], 1.0)


def somebody(who: int) -> bytes:
    """A client as the log has them: a hash."""
    return blake2b(b"%d" % who, digest_size=16).digest()


def shop(**more) -> ModelSettings:
    given = {"name": "shop", "features": 4, "page_size": RANKS, "seed": 7, "guards": FOR_ALL}
    return ModelSettings(**given | more)


def started(settings: ModelSettings, body: ExperimentStarted = EVERYBODY) -> Diary:
    diary = Diary(settings)
    diary.control(Kind.EXPERIMENT_STARTED, encode(body))
    return diary


def visited(diary: Diary, pages: int, wanted=lambda document: document % 3 == 0, rivals=None) -> Diary:
    """People of ten kinds look at all of a page and click on what they want."""
    for place in range(pages):
        shown = diary.show(X, client=somebody(place % 40), rivals={} if rivals is None else rivals)
        diary.close(shown, [float(wanted(document)) for document in page_of(shown).page])
    return diary


def test_pages_are_drafted_from_what_each_arm_would_have_shown():
    diary = started(shop(start=Weights((1.0, -2.0, 0.5, 0.0))))
    frozen = diary.fold.view()._replace(mode="frozen")
    best = np.argsort(-frozen.scores(frozen.scaler.apply(X.astype(np.float32))), kind="stable")[:RANKS].tolist()
    for _ in range(20):
        impression = page_of(diary.show(X, view=frozen, rivals={}))
        assert (impression.group, impression.experiment) == (Group.INTERLEAVED, 1)
        assert {0, 1} <= set(impression.teams) <= {-1, 0, 1}
        for order, arm in ((range(RANKS), 0), (best, 1)):
            for rank, (document, team) in enumerate(zip(impression.page, impression.teams, strict=True)):
                if team == arm:
                    assert document == next(d for d in order if d not in impression.page[:rank])


def test_a_page_is_a_function_of_seed_state_number_and_request():
    one, other = started(shop()), started(shop())
    assert [one.show(X, rivals={}).body for _ in range(9)] == [other.show(X, rivals={}).body for _ in range(9)]


@pytest.mark.thorough
def test_only_a_share_of_those_who_are_not_in_control_see_interleaved_pages():
    settings = shop(guards=Guards(control=0.3))
    diary = started(settings, ExperimentStarted(["incoming", "learned"], [0, 1], 0.4))
    groups = [page_of(diary.show(X, client=somebody(who), rivals={})).group for who in range(600)]
    again = [page_of(diary.show(X, client=somebody(who), rivals={})).group for who in range(600)]
    assert groups == again
    share = {group: groups.count(group) / 600 for group in Group}
    assert share[Group.CONTROL] == pytest.approx(0.3, abs=0.06)
    assert share[Group.INTERLEAVED] == pytest.approx(0.28, abs=0.06)
    unnamed = [page_of(diary.show(X, rivals={})).group for _ in range(600)]
    assert unnamed.count(Group.INTERLEAVED) / 600 == pytest.approx(0.28, abs=0.06)
    assert page_of(diary.show(X, client=somebody(groups.index(Group.INTERLEAVED)))).group == Group.LEARNED


@pytest.mark.thorough
def test_credit_is_the_arms_whose_documents_were_clicked_and_a_better_order_wins():
    """People want every third document, which the model knows and the engine does not."""
    informed = X.copy()
    informed[:, 0] = np.arange(len(X)) % 3 == 0
    diary = started(shop(start=Weights((5.0, 0.0, 0.0, 0.0)), scaling="none"))
    for place in range(300):
        shown = diary.show(informed, client=somebody(place % 60), rivals={})
        diary.close(shown, [float(document % 3 == 0) for document in page_of(shown).page])
    [experiment] = diary.fold.experiments.all
    told = report(experiment)
    assert (told.pages, told.better) == (300, "learned")
    assert told.verdict.startswith("the learned order is preferred to the incoming order: +")
    pages = [(page_of(e), c) for e, c in closed(diary)]
    assert told.arms[1].credit == sum(
        click for page, clicks in pages for team, click in zip(page.teams, clicks, strict=True) if team == 1
    )
    assert sum(arm.share for arm in told.arms) == pytest.approx(1.0)
    found = told.arms[1].against_first
    assert 0 < found.low < found.margin < found.high
    assert found.sure > 0.95


def closed(diary):
    for event in diary.events:
        if event.kind == Kind.CLOSED:
            closing: Closing = decode(event.kind, event.body)
            yield diary.events[closing.shown - 1], closing.clicks


def test_two_equal_arms_agree_on_every_page_and_nothing_is_said():
    settings = shop(start=Weights((1.0, 0.0, 0.0, 0.0)))
    diary = started(settings)
    assert report(diary.fold.experiments.all[0]).verdict == "Nothing to say yet: no page has been interleaved."
    frozen = diary.fold.view()._replace(mode="frozen")
    ordered = X[np.argsort(-X[:, 0], kind="stable")]
    for _ in range(10):
        shown = diary.show(ordered, view=frozen, rivals={})
        assert page_of(shown).teams == [-1] * RANKS
        diary.close(shown, [1.0] * RANKS)
    told = report(diary.fold.experiments.all[0])
    assert (told.pages, told.credited, told.better) == (10, 0, None)
    assert told.verdict.startswith("Nothing to say yet: 10 interleaved pages")
    diary.fold.experiments.stop(1)
    assert report(diary.fold.experiments.all[0]).verdict.startswith("Nothing to say: 10 interleaved pages")


def test_three_models_are_multileaved_and_each_is_held_against_the_first():
    rival_settings = shop(name="rival", seed=9, start=Weights((0.0, 3.0, 0.0, 0.0)))
    rivals = {2: Rival(Ranking(rival_settings), Fold(rival_settings).view())}
    diary = started(shop(), ExperimentStarted(["learned", "incoming", "rival"], [1, 0, 2], 1.0))
    visited(diary, 60, rivals=rivals)
    impression = page_of(diary.events[1])
    assert {0, 1, 2} <= set(impression.teams) | {-1}
    experiment = diary.fold.experiments.all[0]
    told = report(experiment)
    assert [arm.name for arm in told.arms] == ["learned", "incoming", "rival"]
    assert told.arms[0].against_first is None
    assert all(arm.against_first for arm in told.arms[1:])
    # Both comparisons hold together, so each is wider than it would be alone.
    assert experiment.found() == [margins.found(tests=2) for margins in experiment.margins]
    alone = [margins.found() for margins in experiment.margins]
    assert all(one.low < other.low for one, other in zip(experiment.found(), alone, strict=True))


@pytest.mark.parametrize("learner", [Posterior(), PairRank()], ids=str)
def test_who_does_not_care_who_drew_a_page_learns_from_it(learner):
    diary = visited(started(shop(learner=learner)), 5)
    assert diary.fold.fates == {"learned": 5}
    assert diary.fold.version == 5


@pytest.mark.parametrize("learner", [ROLTR(), PDGD(), DBGD(), COLTR()], ids=str)
def test_who_does_learns_nothing_from_a_page_that_it_did_not_draw(learner):
    diary = started(shop(learner=learner))
    before = diary.fold.ranker.weights
    visited(diary, 5)
    assert diary.fold.fates == {"interleaved": 5}
    assert (diary.fold.ranker.weights == before).all()
    assert diary.fold.experiments.all[0].pages == 5


def test_interleaved_pages_say_nothing_about_swaps_and_are_no_part_of_the_comparison_with_control():
    settings = shop(guards=Guards(control=0.2))
    diary = visited(started(settings), 40)
    groups = [page_of(shown).group for shown, _ in closed(diary)]
    assert diary.fold.guard.learned.pages == 0
    assert diary.fold.guard.incoming.pages == groups.count(Group.CONTROL)
    assert diary.fold.looks.effect.sums[2] == 0


def test_a_state_keeps_it_and_the_log_gives_the_same_bits():
    diary = visited(started(shop()), 12)
    half = Fold(shop())
    for event in diary.events[:14]:
        diary.apply_to(half, event)
    again = Fold.restored(shop(), half.state(), half.offset)
    for event in diary.events[14:]:
        diary.apply_to(again, event)
    assert again.state() == diary.fold.state()
    assert again.view().experiment == diary.fold.view().experiment


def test_a_state_without_experiments_has_the_bits_it_always_had():
    assert b"experiments" not in Fold(shop()).state()


def test_what_was_open_when_it_stopped_counts_and_the_next_one_is_another():
    diary = started(shop())
    late = diary.show(X, rivals={})
    diary.control(Kind.EXPERIMENT_STOPPED)
    assert diary.fold.view().experiment is None
    assert page_of(diary.show(X, rivals={})).group == Group.LEARNED
    diary.close(late, [1.0] * RANKS)
    diary.control(Kind.EXPERIMENT_STARTED, encode(EVERYBODY))
    first, second = diary.fold.experiments.all
    assert (first.pages, second.pages, second.id) == (1, 0, 6)
    assert first.stopped is not None
    assert diary.fold.view().experiment.id == 6


def test_a_void_page_is_nobodys_credit_and_a_roll_back_ends_a_comparison():
    diary = started(shop())
    state = diary.fold.state()
    diary.close(diary.show(X, rivals={}), [1.0] * RANKS, "void")
    assert diary.fold.experiments.all[0].pages == 0
    diary.control(Kind.ROLLED_BACK, encode(Restored(0, state)))
    assert diary.fold.view().experiment is None


def test_a_cautious_model_and_the_engine_meet_within_reach():
    """What neither could have placed is not on the log; the rest is still told in full."""
    many = np.random.default_rng(1).normal(size=(80, 4))
    diary = started(shop(start=IncomingOrder("f1")))
    asked = diary.show(many, rivals={})
    assert len(page_of(asked).candidates) == RANKS + 10
    assert max(page_of(asked).page) < RANKS + 10


def test_old_pages_are_read_and_have_no_teams():
    diary = Diary(shop())
    body = msgspec.msgpack.decode(diary.show(X).body)
    old = decode(Kind.SHOWN, msgspec.msgpack.encode(body[:13]))
    assert (old.experiment, old.teams) == (0, [])


@pytest.mark.parametrize("arms", [("incoming",), ("learned", "learned"), tuple("abcdefghi")])
def test_arms_that_cannot_be_compared_are_refused(arms):
    with pytest.raises(SettingsError, match="arms must be 2 to 8 different ones"):
        ExperimentSettings(arms=arms)


def test_few_people_decide_nothing():
    experiment = Experiment.begun(started(shop()).events[0])
    for _ in range(1_000):
        experiment.note([0, 1], [0.0, 1.0], who=5)
    told = report(experiment)
    assert told.better is None
    assert told.verdict.startswith("Not enough people yet")


def test_the_first_arm_can_win():
    experiment = Experiment.begun(started(shop()).events[0])
    for who in range(1_000):
        experiment.note([0, 1], [1.0, float(who % 5 == 0)], who)
    told = report(experiment)
    assert told.better == "incoming"
    assert told.verdict.startswith(
        "the incoming order is preferred to the learned order: +80 points in the share of clicks"
    )
