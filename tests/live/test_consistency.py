"""Whoever clicks for one thing on page after page soon counts for little; people with tastes of their own go on."""

from itertools import chain, zip_longest

import msgspec
import numpy as np
import pytest
from msgspec.structs import replace

from rankloop.learners import ROLTR, Posterior
from rankloop.live import consistency as room
from rankloop.live.consistency import FADED, PAGES_A_PART, ROOM, STEEPNESS, Consistency
from rankloop.live.errors import StateError
from rankloop.live.events import Event, Group, Impression, Kind, Late, Promoted, Restored, decode, encode
from rankloop.live.fold import Fold
from rankloop.live.influence import parts_of
from rankloop.live.settings import Guards, ModelSettings, stored_settings

from .diary import Diary, page_of
from .lively import candidates
from .test_pulls import literal_pull
from .test_suspicion import SETTINGS, as_people_do, for_the_vendor, name, visits

HELD = Guards(control=0.0, client_pages=0)
"""Nothing but what somebody clicks on bounds them."""


def model(**more) -> ModelSettings:
    return ModelSettings(name="m", **({"features": 3, "page_size": 4, "seed": 7, "guards": HELD} | more))


def counted(consistency: Consistency, pages) -> list[float]:
    """What each of these pages counts for, if anything was clicked on it."""
    weights = []
    for shown, closing in pages:
        weight = consistency.weight(shown.client)
        if any(closing.clicks):
            weights.append(weight)
        consistency.note(shown.client, decode(shown.kind, shown.body), closing.clicks, weight)
    return weights


def mixed(*crowds):
    """Pages of several crowds, in turn."""
    return [page for pages in zip_longest(*crowds) for page in pages if page is not None]


def by_rank(random, client, X, documents):
    return random.random(5) < 0.5 / np.sqrt(np.arange(1, 6))


def for_the_price(random, client, X, documents):
    """People who look at the price alone."""
    return random.random(5) < 0.4 / np.sqrt(np.arange(1, 6)) * np.exp(-X[:, 0])


# The rule


class Literal:
    """Every page is remembered, and everything is added up anew for each question."""

    def __init__(self, settings: ModelSettings, parts: int) -> None:
        self.features, self.ranks, self.parts = len(settings.names), settings.page_size, parts
        self.bound = Consistency(settings).bound
        self.pages: list[tuple[bytes, np.ndarray, float, float]] = []

    def halvings(self, part: int, since: int) -> int:
        """How often a part was halved after so many pages."""
        times = range(since + 1, len(self.pages) + 1)
        return sum(t % PAGES_A_PART == 0 and t // PAGES_A_PART % self.parts == part for t in times)

    def usual(self):
        """The usual pull of a click: the pages count here as they count for the model."""
        faded = [0.5 ** self.halvings(0, at + 1) for at in range(len(self.pages))]
        total = sum(fade * counts * clicks for fade, (_, _, clicks, counts) in zip(faded, self.pages, strict=True))
        pulls = sum(fade * counts * pull for fade, (_, pull, _, counts) in zip(faded, self.pages, strict=True))
        return pulls / total if total else None

    def weight(self, client: bytes) -> float:
        if not client or self.usual() is None:
            return 1.0
        z = []
        for row in range(2):
            part, sums, clicks = parts_of(client, self.parts)[row], np.zeros(self.features), 0.0
            for at, (who, pull, some, _) in enumerate(self.pages):
                if who and parts_of(who, self.parts)[row] == part:
                    fade = 0.5 ** self.halvings(part, at + 1)
                    sums, clicks = sums + fade * pull, clicks + fade * some
            if clicks == 0:
                return 1.0
            z.append((sums - clicks * self.usual()) / np.sqrt(clicks))
        largest = max(max(min(a, b), min(-a, -b)) for a, b in zip(*z, strict=True))
        return 1.0 if largest <= self.bound else (self.bound / largest) ** STEEPNESS

    def note(self, client: bytes, X, page, clicks, shares) -> None:
        pull = np.zeros(self.features)
        if any(clicks):
            pull = np.array(literal_pull(X, page, clicks, shares, self.bound / np.sqrt(2)))
        self.pages.append((client, pull, sum(clicks), self.weight(client)))


@pytest.mark.thorough
def test_a_page_counts_as_the_literal_rule_says(monkeypatch):
    monkeypatch.setattr(room, "MOST_PARTS", 7)
    monkeypatch.setattr(room, "FADED", 0.0)
    ours = Consistency(SETTINGS)
    literal = Literal(SETTINGS, 7)
    people = visits(range(6), 90, as_people_do)
    bots = visits([100], 60, for_the_vendor, seed=2)
    unequal = []
    for shown, closing in mixed(people, bots):
        client = shown.client if shown.number % 7 else b""
        impression = decode(shown.kind, shown.body)
        weight = ours.weight(client)
        assert weight == pytest.approx(literal.weight(client), rel=1e-3)
        unequal.append(weight)
        ours.note(client, impression, closing.clicks, weight)
        literal.note(client, impression.matrix("float32"), impression.page, closing.clicks, ours.shares)
    assert min(unequal) < 0.5 < max(unequal)


def test_people_without_a_name_count_whatever_they_click_on():
    consistency = Consistency(SETTINGS)
    for shown, closing in visits([1], 200, for_the_vendor):
        assert consistency.weight(b"") == 1.0
        consistency.note(b"", decode(shown.kind, shown.body), closing.clicks, 1.0)


def test_without_it_there_are_no_sums():
    assert Consistency.of(model(guards=Guards(one_sided=0.0))) is None
    assert "consistency" not in msgspec.msgpack.decode(Fold(model(guards=Guards(one_sided=0.0))).state())


@pytest.mark.parametrize("features", [1, 15, 136, 700, pytest.param(5_000, marks=pytest.mark.slow)])
def test_the_more_features_the_higher_the_bound_and_the_fewer_the_parts_in_the_same_room(features):
    few, many = (Consistency(model(features=count)) for count in (features, 2 * features))
    assert many.bound > few.bound
    assert many.parts <= few.parts
    for each in (few, many):
        assert each.clicks.nbytes + each.pulls.nbytes <= ROOM


# People


@pytest.mark.thorough
@pytest.mark.parametrize("share", [0.02, 0.1, 0.3])
def test_of_people_who_care_for_nothing_no_more_are_beyond_the_bound_than_was_asked_for(share):
    consistency = Consistency(replace(SETTINGS, guards=Guards(one_sided=share)))
    weights = counted(consistency, visits(range(300), 3_000, by_rank))
    assert np.mean(np.array(weights) < 1.0) <= share


@pytest.mark.thorough
def test_people_whose_tastes_differ_still_count():
    """Ten pages each. One in six looks at the price alone, as nobody else does: they count for .95 on average."""
    consistency = Consistency(SETTINGS)
    people = visits(range(250), 2_500, as_people_do)
    minority = list(visits(range(1_000, 1_050), 500, for_the_price, seed=2))
    weights: dict[bool, list[float]] = {True: [], False: []}
    for shown, closing in mixed(people, chain.from_iterable([page, *[None] * 4] for page in minority)):
        own = shown.client in {page[0].client for page in minority[:50]}
        weights[own] += counted(consistency, [(shown, closing)])
    assert np.mean(weights[False]) > 0.98
    assert np.mean(weights[True]) > 0.9


def test_a_few_clicks_on_what_is_rare_on_a_page_wrong_nobody():
    """Each product is one of forty brands', so that most are the only one of theirs on a page of twenty."""
    settings = model(features=40, page_size=20)
    consistency, random, weights = Consistency(settings), np.random.default_rng(4), []
    for visit in range(1_200):
        X = np.eye(40, dtype=np.float32)[random.integers(40, size=20)]
        ids, scores = [str(place) for place in range(20)], np.zeros(20, np.float32).tobytes()
        page = Impression("q", ids, X.tobytes(), scores, list(range(20)), [], b"", int(Group.LEARNED), 0, 0.0, 0.0)
        clicks = random.random(20) < 0.5 / np.arange(1, 21)
        weights.append(consistency.weight(name(visit % 300)))
        consistency.note(name(visit % 300), page, clicks.astype(float).tolist(), weights[-1])
    assert np.mean(weights) > 0.99


def test_whoever_clicks_on_other_things_later_counts_again():
    consistency = Consistency(SETTINGS)
    everybody = visits(range(100), 2_000, as_people_do)
    counted(consistency, mixed((next(everybody) for _ in range(300)), visits([1_000], 12, for_the_vendor, seed=2)))
    assert consistency.weight(name(1_000)) < 0.2
    counted(consistency, visits([1_000], 150, as_people_do, seed=3))
    assert consistency.weight(name(1_000)) == 1.0


# Bots


@pytest.mark.thorough
def test_pages_of_bots_soon_count_for_little():
    consistency = Consistency(SETTINGS)
    counted(consistency, visits(range(300), 600, as_people_do))
    by_visit = np.zeros(10)
    for bot in range(30):
        pages = [page for page in visits([1_000 + bot], 40, for_the_vendor, seed=bot) if any(page[1].clicks)][:10]
        by_visit += np.array(counted(consistency, pages)) / 30
        counted(consistency, visits(range(300), 100, as_people_do, seed=100 + bot))
    assert by_visit[0] == pytest.approx(1.0)
    assert (by_visit[5:] < 0.1).all()
    assert by_visit.mean() < 0.4


@pytest.mark.thorough
def test_what_bots_like_hardly_becomes_usual():
    people = visits(range(300), 2_000, as_people_do)
    bots = visits(range(1_000, 1_020), 200, for_the_vendor, seed=2)
    pages = mixed(people, chain.from_iterable([page, *[None] * 9] for page in bots))
    held, unheld = Consistency(SETTINGS), Consistency(SETTINGS)
    unheld.bound = 1e9
    counted(held, pages)
    counted(unheld, pages)
    vendor = SETTINGS.names.index("vendor")
    assert held.usual[vendor] / held.usual_clicks < 0.6 * unheld.usual[vendor] / unheld.usual_clicks


def steered(learner, guards: Guards) -> tuple[float, dict[str, int]]:
    """The weight of a feature that bots click for among people who do not care for it."""
    diary, random = Diary(model(learner=learner, guards=guards)), np.random.default_rng(3)
    for visit in range(400):
        bot = visit % 4 == 3
        client = name(10_000 + visit // 100) if bot else name(visit % 100)
        X = random.normal(size=(8, 3)).astype(np.float32)
        shown = diary.show(X, client=client)
        values = X[page_of(shown).page, 2]
        clicks = values == values.max() if bot else random.random(4) < 0.3
        diary.close(shown, clicks.astype(float).tolist())
    return float(diary.fold.ranker.weights[2]), dict(diary.fold.fates)


@pytest.mark.thorough
@pytest.mark.parametrize("learner", [Posterior(), ROLTR(learning_rate=0.05)], ids=lambda one: one.name)
def test_bots_move_a_model_less(learner):
    free, _ = steered(learner, replace(HELD, one_sided=0.0))
    held, fates = steered(learner, HELD)
    assert 0 < held < 0.8 * free
    assert fates["capped"] > 0


def test_clicks_that_bots_report_late_are_held_against_them_too():
    actions = {"click": 0.5, "purchase": 1.0}
    diary, random = Diary(model(actions=actions)), np.random.default_rng(5)
    for visit in range(230):
        X = random.normal(size=(4, 3)).astype(np.float32)
        if visit < 200:
            shown = diary.show(X, client=name(visit))
            diary.close(shown, [0.5, 0.0, 0.0, 0.0] if visit % 2 else [0.0, 0.0, 0.5, 0.0])
            continue
        shown = diary.show(X, client=name(1_000))
        diary.close(shown, [0.0] * 4)
        values = X[page_of(shown).page, 2]
        clicks = (values == values.max()).astype(float).tolist()
        late = Late(shown.offset, shown.offset + 1, [0.0] * 4, clicks, [0] * 4, [2] * 4)
        diary.fold.apply(diary._write(Kind.LATE, shown.number, b"", encode(late)), shown)
    assert diary.fold.consistency.weight(name(1_000)) < 0.1


# States


def bothered() -> Diary:
    """A diary in which pages count for different amounts."""
    diary, random = Diary(model()), np.random.default_rng(1)
    for visit in range(120):
        bot = visit % 3 == 0
        shown = diary.show(candidates(5 + 5 * (visit % 9)), client=name(99 if bot else visit % 20))
        values = candidates(5 + 5 * (visit % 9))[page_of(shown).page, 2]
        clicks = values == values.max() if bot else random.random(len(values)) < 0.4
        diary.close(shown, clicks.astype(float).tolist())
    assert diary.fold.consistency.weight(name(99)) < 0.5
    return diary


def test_what_somebody_clicks_on_now_changes_what_their_next_page_counts_and_not_this_one():
    diary = bothered()
    shown = diary.show(candidates(9), client=name(99))
    kept, one, other = (Fold.restored(diary.settings, diary.fold.state(), diary.fold.offset) for _ in range(3))
    now = [fold._counts(page_of(shown), shown, clicks) for fold, clicks in ((one, [1, 0, 0, 0]), (other, [0, 0, 0, 1]))]
    assert now == [kept.consistency.weight(name(99))] * 2
    assert one.consistency.weight(name(99)) != other.consistency.weight(name(99))


@pytest.mark.thorough
def test_sums_are_part_of_the_state_and_go_on_with_the_same_bits():
    diary = bothered()
    again = Fold(diary.settings)
    for event in diary.events:
        diary.apply_to(again, event)
        again = Fold.restored(diary.settings, again.state(), again.offset)
    assert again.state() == diary.fold.state()


def test_after_a_refold_whoever_was_erased_is_no_longer_in_the_sums_and_a_roll_back_keeps_them():
    diary, without = bothered(), Fold(model())
    known = diary.fold.consistency.z(name(99))
    diary.control(Kind.ROLLED_BACK, encode(Restored(0, without.state())))
    assert diary.fold.consistency.z(name(99)) == known
    diary.control(Kind.REFOLDED, encode(Restored(0, without.state())))
    assert diary.fold.consistency.z(name(99)) == 0.0


@pytest.mark.thorough
def test_a_challenger_has_sums_of_its_own_and_brings_them_when_it_is_promoted():
    diary = bothered()
    settings = replace(diary.settings, name="rival", challenges="m")
    rival = Fold(settings, drawn_by=diary.settings)
    for event in diary.events:
        shown = diary.events[decode(event.kind, event.body).shown - 1] if event.kind == Kind.CLOSED else None
        rival.overhear(event, shown)
    assert rival.consistency.kept() == diary.fold.consistency.kept()
    before = Fold(replace(diary.settings, guards=replace(HELD, one_sided=0.0)))
    promoted = Promoted(2, msgspec.json.encode(settings), rival.state(), rival.version, rival.offset)
    before.apply(Event(len(diary.events) + 1, 1, int(Kind.PROMOTED), 0, 0, b"", encode(promoted)))
    assert before.consistency.kept() == rival.consistency.kept()


def test_parts_that_have_faded_are_empty_and_empty_parts_take_no_room(monkeypatch):
    monkeypatch.setattr(room, "MOST_PARTS", 3)
    consistency = Consistency(SETTINGS)
    counted(consistency, visits([1], 6, for_the_vendor))
    assert len(consistency.kept()["places"]) > 0
    for shown, _ in visits([2], 12 * PAGES_A_PART * 3, as_people_do):
        consistency.note(b"", decode(shown.kind, shown.body), [0.0] * 5, 1.0)
    assert consistency.kept()["places"] == b""
    assert not consistency.pulls.any()
    assert 0 < FADED < 1


@pytest.mark.parametrize("damage", [
    {"places": np.array([10**9], np.uint32).tobytes()}, {"clicks": b"123"}, {"pulls": b"1234"}, {"usual": b""},
    {"shares": b"12345678"},
])  # fmt: skip
def test_sums_that_cannot_be_read_are_damage(damage):
    diary = bothered()
    kept = msgspec.msgpack.decode(diary.fold.state())
    kept["consistency"] |= damage
    with pytest.raises(StateError, match="its kept state is damaged"):
        Fold.restored(diary.settings, msgspec.msgpack.encode(kept), 3)


def test_a_model_from_before_there_was_such_a_guard_has_none_and_its_states_are_as_they_were():
    kept = msgspec.json.decode(msgspec.json.encode(model()))
    del kept["guards"]["one_sided"]
    settings = stored_settings(msgspec.json.encode(kept))
    assert settings.guards.one_sided == 0.0
    state = Fold(settings).state()
    assert "consistency" not in msgspec.msgpack.decode(state)
    assert Fold.restored(settings, state, 3).consistency is None
