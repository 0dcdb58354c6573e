"""Who sees what: pins, the control group, the rest of the candidates, and how far exploration moved documents."""

import json
import os
import subprocess
import sys
from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from tests.examples import examples
from tests.patience import PATIENCE

from rankloop.learners import DBGD, PDGD, PMGD, ROLTR
from rankloop.live.events import Group, Kind
from rankloop.live.ranking import Ranking, incoming_order
from rankloop.live.settings import Guards, ModelSettings, Weights
from rankloop.propensities import PowerLaw

from ..proofs import literal
from ..proofs.chisquare import agrees
from .diary import FOR_ALL, Diary, page_of, request

START = (1.0, -2.0)
X = np.random.default_rng(5).normal(size=(6, 2)).astype(np.float32)
# Once in 10,000 choices of the seeds a fair draw would fail a test at this level.
FALSE_ALARM = 1e-4


def model(**more) -> ModelSettings:
    given = {"features": 2, "page_size": 4, "seed": 7, "scaling": "none", "start": Weights(START), "guards": FOR_ALL}
    return ModelSettings(name="m", **(given | more))


@st.composite
def pinned_pages(draw):
    """(candidates, page size asked for, {candidate: rank}) in every combination that a request may have."""
    candidates, size = draw(st.integers(1, 8)), draw(st.integers(1, 4))
    ranks = draw(st.lists(st.integers(0, min(size, candidates) - 1), unique=True))
    documents = draw(st.permutations(range(candidates)))
    return candidates, size, dict(zip(documents, ranks, strict=False))


# Pins


@examples(80)
@given(pinned_pages(), st.sampled_from([ROLTR(), DBGD(), PMGD(candidates=2)]), st.integers(0, 1000))
def test_every_page_has_its_pins_in_their_place_and_every_other_document_at_most_once(asked, learner, number):
    candidates, size, pinned = asked
    ranking = Ranking(model(learner=learner))
    view = Diary(ranking.settings).fold.view()
    features = np.random.default_rng(candidates).normal(size=(candidates, 2))
    ranked = ranking.rank(view, request(features, ranking.settings, size=size, pinned=pinned), number, rest=True)
    page = ranked.impression.page
    assert len(page) == min(size, candidates)
    assert all(page[rank] == document for document, rank in pinned.items())
    assert sorted(page + ranked.rest) == list(range(candidates))
    assert ranked.impression.pinned == sorted(pinned.values())


@pytest.mark.slow
@pytest.mark.parametrize("pinned", [{}, {3: 1}, {0: 2}, {2: 0, 4: 2}], ids=str)
def test_documents_that_are_not_pinned_are_drawn_by_the_policy_into_the_free_ranks(pinned):
    diary = Diary(model(page_size=3))
    view, asked = diary.fold.view(), request(X[:5], diary.settings, pinned=pinned)
    drawn: Counter = Counter()
    for number in range(2000):
        page = diary.ranking.rank(view, asked, number).impression
        drawn[tuple(page.page)] += 1
    scores = np.frombuffer(page.scores, np.float32)
    free = [d for d in range(5) if d not in pinned]
    exact = {}
    for order in literal.all_pages(len(free), 3 - len(pinned)):
        places = {rank: document for document, rank in pinned.items()}
        others = iter([free[d] for d in order])
        whole = tuple(places[rank] if rank in places else next(others) for rank in range(3))
        exact[whole] = float(literal.page_probability(scores[free], order))
    assert agrees(drawn, exact)


CLICKS = [1.0, 0.0, 0.25, 1.0]


@pytest.mark.parametrize("pinned", [{}, {3: 1}, {0: 0}, {2: 3, 4: 1}, {1: 2, 0: 0, 5: 3}], ids=str)
@pytest.mark.parametrize("discount", [0.0, 0.5])
def test_a_pinned_rank_gets_no_gradient_and_the_others_the_rewards_of_their_own_rank(pinned, discount):
    diary = Diary(model(learner=ROLTR(discount=discount, propensities=PowerLaw(0.7), learning_rate=0.1)))
    shown = diary.show(X, pinned=pinned)
    assert diary.close(shown, CLICKS) == "learned"
    page = page_of(shown)
    free = [d for d in range(len(X)) if d not in pinned]
    ranks = [rank for rank in range(4) if rank not in pinned.values()]
    earned = []
    for rank in ranks:
        examined = (rank + 1.0) ** -0.7
        click, skip = (literal.reward("ips+-", c, examined, rank + 1) for c in (1, 0))
        earned.append(CLICKS[rank] * click + (1 - CLICKS[rank]) * skip)
    scores = X[free].astype(np.float64) @ START
    gradient = literal.policy_gradient(
        scores, [free.index(page.page[rank]) for rank in ranks], literal.returns(earned, discount)
    )
    # Scores are float32, so the gradient has some seven digits.
    np.testing.assert_allclose(
        diary.fold.ranker.weights - START, 0.1 * X[free].T.astype(np.float64) @ gradient, rtol=2e-5, atol=1e-7
    )


def test_a_pairwise_method_prefers_among_what_it_has_placed_itself():
    diary = Diary(model(learner=PDGD(learning_rate=1.0)))
    shown = diary.show(X, pinned={3: 1})
    diary.close(shown, [0.0, 1.0, 1.0, 0.0])
    free = [0, 1, 2, 4, 5]
    page = page_of(shown).page
    scores = X[free].astype(np.float64) @ START
    gradient = literal.pdgd_gradient(scores, [free.index(page[rank]) for rank in (0, 2, 3)], [0, 1, 0])
    moved = diary.fold.ranker.weights - START
    np.testing.assert_allclose(moved, X[free].T.astype(np.float64) @ gradient, rtol=2e-5, atol=1e-7)


@pytest.mark.parametrize("learner", [ROLTR(), ROLTR(baseline=True), PDGD(), DBGD(), PMGD(candidates=3)], ids=str)
def test_clicks_on_pinned_documents_teach_nothing(learner):
    states = []
    for pinned_click in (0.0, 1.0):
        diary = Diary(model(learner=learner))
        for number in range(6):
            clicks = [float(number % 2), pinned_click, 1.0, 0.0]
            assert diary.close(diary.show(X, pinned={2: 1}), clicks) == "learned"
        states.append(diary.fold.ranker.weights.tobytes())
    assert states[0] == states[1]


def test_a_page_of_pins_alone_is_certain_and_teaches_nothing():
    diary = Diary(model(page_size=2))
    shown = diary.show(X, pinned={4: 0, 1: 1})
    assert page_of(shown).page == [4, 1]
    assert page_of(shown).log_probability == 0.0
    assert page_of(shown).displacement == 0.0
    assert diary.close(shown, [1.0, 1.0]) == "pinned"
    assert diary.fold.ranker.weights.tolist() == list(START)


# The control group


def groups(settings, clients, number=0):
    ranking, view = Ranking(settings), Diary(settings).fold.view()
    return [
        Group(ranking.rank(view, request(X, settings, client=client), number + place).impression.group)
        for place, client in enumerate(clients)
    ]


CLIENTS = [f"person {n}".encode() for n in range(1500)]


@pytest.mark.parametrize("share", [0.05, 0.5])
@pytest.mark.parametrize("clients", [CLIENTS, [b""] * 1500], ids=["known", "unknown"])
def test_the_control_group_has_the_share_it_should_have(share, clients):
    told = groups(model(guards=Guards(control=share)), clients)
    assert stats.binomtest(told.count(Group.CONTROL), len(told), share).pvalue > FALSE_ALARM


def test_nobody_or_everybody_can_be_in_the_control_group():
    for clients in (CLIENTS[:300], [b""] * 300):
        assert set(groups(model(guards=Guards(control=0.0)), clients)) == {Group.LEARNED}
        assert set(groups(model(guards=Guards(control=1.0)), clients)) == {Group.CONTROL}


def test_the_same_person_is_in_the_same_group_at_every_visit():
    settings = model(guards=Guards(control=0.3))
    first = groups(settings, CLIENTS[:200])
    assert groups(settings, CLIENTS[:200], number=10**6) == first
    assert len(set(first)) == 2


@pytest.mark.thorough
def test_a_larger_control_group_keeps_those_who_were_in_the_smaller_one():
    small = groups(model(guards=Guards(control=0.1)), CLIENTS)
    large = groups(model(guards=Guards(control=0.3)), CLIENTS)
    assert all(b == Group.CONTROL for a, b in zip(small, large, strict=True) if a == Group.CONTROL)
    assert small != large


@pytest.mark.thorough
def test_two_models_have_control_groups_that_know_nothing_of_each_other():
    one, two = (np.array(groups(model(seed=seed, guards=Guards(control=0.5)), CLIENTS)) for seed in (7, 8))
    both = int(((one == Group.CONTROL) & (two == Group.CONTROL)).sum())
    assert stats.binomtest(both, len(CLIENTS), 0.25).pvalue > FALSE_ALARM


def test_somebody_unknown_is_now_in_one_group_and_now_in_the_other():
    settings = model(guards=Guards(control=0.5))
    told = groups(settings, [b""] * 100)
    assert len(set(told)) == 2
    assert groups(settings, [b""] * 100) == told  # by the impression's number, so a page can be drawn again


IN_ANOTHER_PROCESS = """
import json, sys
import numpy as np
from rankloop.live.ranking import Ranking
from rankloop.live.settings import Guards, ModelSettings
ranking = Ranking(ModelSettings(name="m", features=2, seed=7, guards=Guards(control=0.3)))
print(json.dumps([ranking._is_among(0.3, f"person {n}".encode(), 0) for n in range(100)]))
"""


@pytest.mark.process
def test_groups_are_the_same_in_every_process():
    here = [g == Group.CONTROL for g in groups(model(guards=Guards(control=0.3)), CLIENTS[:100])]
    there = subprocess.run(
        [sys.executable, "-c", IN_ANOTHER_PROCESS],
        env=os.environ | {"PYTHONHASHSEED": "2"}, capture_output=True, text=True, check=True, timeout=PATIENCE,
    )  # fmt: skip
    assert json.loads(there.stdout) == here


@examples(60)
@given(pinned_pages())
def test_the_control_group_sees_the_incoming_order_with_pins_in_their_place(asked):
    candidates, size, pinned = asked
    ranking = Ranking(model(guards=Guards(control=1.0)))
    features = np.random.default_rng(1).normal(size=(candidates, 2))
    wanted = request(features, ranking.settings, size=size, pinned=pinned, client=b"somebody")
    ranked = ranking.rank(Diary(ranking.settings).fold.view(), wanted, 0, rest=True)
    page, others = ranked.impression.page, [d for d in range(candidates) if d not in pinned]
    assert page == incoming_order(wanted)
    shown = [d for d in page if d not in pinned]
    assert shown == others[: len(shown)]
    assert all(page[rank] == document for document, rank in pinned.items())
    assert ranked.rest == [d for d in range(candidates) if d not in page]
    assert ranked.impression.log_probability == 0.0
    assert ranked.impression.displacement == 0.0


# The rest, small queries, and a frozen model


def test_what_is_not_shown_follows_in_the_models_order():
    diary = Diary(model(page_size=2))
    scores = X.astype(np.float64) @ START
    for number in range(20):
        ranked = diary.ranking.rank(diary.fold.view(), request(X, diary.settings), number, rest=True)
        assert ranked.rest == sorted(set(range(6)) - set(ranked.impression.page), key=lambda d: -scores[d])
    assert diary.ranking.rank(diary.fold.view(), request(X, diary.settings), 0).rest == []


def test_fewer_candidates_than_the_page_has_ranks_are_all_shown():
    page = page_of(Diary(model(page_size=10)).show(X[:3]))
    assert sorted(page.page) == [0, 1, 2]


def test_a_single_candidate_is_certain_and_teaches_nothing():
    diary = Diary(model())
    shown = diary.show(X[:1])
    assert page_of(shown).page == [0]
    assert page_of(shown).log_probability == 0.0
    assert diary.close(shown, [1.0]) == "learned"
    assert diary.fold.ranker.weights.tolist() == list(START)


@pytest.mark.parametrize("learner", [ROLTR(), PDGD(), DBGD(), PMGD(candidates=3)], ids=str)
@pytest.mark.parametrize("pinned", [{}, {0: 1}], ids=str)
def test_a_frozen_model_shows_its_best_order_and_nothing_else(learner, pinned):
    diary = Diary(model(learner=learner))
    diary.control(Kind.FROZEN)
    scores = X.astype(np.float64) @ START
    best = iter(sorted(set(range(6)) - set(pinned), key=lambda d: -scores[d]))
    places = {rank: document for document, rank in pinned.items()}
    wanted = [places[rank] if rank in places else next(best) for rank in range(4)]
    for _ in range(10):
        page = page_of(diary.show(X, pinned=pinned))
        assert page.page == wanted
        assert page.log_probability == 0.0
        assert page.displacement == 0.0


def test_a_page_is_a_function_of_settings_state_number_and_request():
    diary = Diary(model())
    view, asked = diary.fold.view(), request(X, diary.settings)
    pages = [diary.ranking.rank(view, asked, number).impression for number in (3, 4, 3)]
    assert pages[0] == pages[2]
    large = request(np.random.default_rng(0).normal(size=(300, 2)), diary.settings)
    diary.ranking.rank(view, large, 0)  # scratch of a larger query makes no difference
    assert diary.ranking.rank(view, asked, 3).impression == pages[0]
    assert Ranking(model()).rank(view, asked, 3).impression == pages[0]


@examples(60)
@given(pinned_pages(), st.integers(0, 10**6))
def test_displacement_is_how_far_free_documents_stand_from_where_they_would_without_exploration(asked, number):
    candidates, size, pinned = asked
    ranking = Ranking(model())
    features = np.random.default_rng(candidates).normal(size=(candidates, 2)).astype(np.float32)
    wanted = request(features, ranking.settings, size=size, pinned=pinned)
    impression = ranking.rank(Diary(ranking.settings).fold.view(), wanted, number).impression
    scores = features.astype(np.float64) @ START
    best = iter(sorted(set(range(candidates)) - set(pinned), key=lambda d: -scores[d]))
    places = {rank: document for document, rank in pinned.items()}
    greedy = [places[rank] if rank in places else next(best) for rank in range(candidates)]
    moved = [abs(greedy.index(d) - rank) for rank, d in enumerate(impression.page) if d not in pinned]
    assert impression.displacement == pytest.approx(np.mean(moved) if moved else 0.0)
