"""Evidence by query and segment is found in bounded room, keeps no words of a few, and is the same after a restart."""

from collections import Counter

import msgspec
import numpy as np
import pytest

from rankloop.live.evidence import CLIENTS, KNOWN, NEW, SEGMENTS, TRACKED, Evidence, Queries, Remembered, Seen
from rankloop.live.settings import ModelSettings, stored_settings


def page(query="", segment="", who=1, side=0, shown=10, closed=11):
    return Seen(query, segment, who.to_bytes(8, "little") if who else b"", side, shown, closed, who)


def zipf(count, queries, seed=1):
    return (np.random.default_rng(seed).zipf(1.3, count) % queries).tolist()


def test_counts_are_never_too_small_and_too_large_by_no_more_than_they_say():
    sketch, truth = Queries(), Counter()
    for place, query in enumerate(zipf(20_000, 3_000)):
        truth[query] += 1
        sketch.note(query.to_bytes(8, "little"), str(query), b"", place)
    found = {int.from_bytes(key, "little"): place for place, key in enumerate(sketch.keys)}
    assert len(found) == TRACKED
    for query, place in found.items():
        asked, over = sketch.numbers[:2, place].tolist()
        assert asked - over <= truth[query] <= asked
        assert over <= 20_000 / TRACKED
    assert sketch.numbers[0].sum() == 20_000
    assert all(query in found for query, count in truth.items() if count > 20_000 / TRACKED)


def test_words_are_kept_when_enough_different_people_have_asked():
    evidence = Evidence(7)
    for _ in range(3):
        for who in range(1, CLIENTS):
            evidence.note(page("Anna Smith,  4 Oak Lane", who=who), 0.0)
    evidence.note(page("Anna Smith, 4 Oak Lane", who=0), 0.0)  # somebody unknown is nobody
    assert b"oak" not in msgspec.msgpack.encode(evidence.kept())
    evidence.note(page("anna smith, 4 oak lane", who=CLIENTS), 0.0)
    assert evidence.queries.texts == ["anna smith, 4 oak lane"]
    assert evidence.queries.clients == [[]]
    assert evidence.queries.numbers[0, 0] == 3 * (CLIENTS - 1) + 2


def test_a_query_that_lost_its_counter_loses_its_words_and_sums():
    evidence = Evidence(7)
    for who in range(1, CLIENTS + 1):
        evidence.note(page("rare", who=who), 1.0)
    for query in range(TRACKED):
        for _ in range(CLIENTS + 2):
            evidence.note(page(f"q{query}"), 1.0)
    assert "rare" not in evidence.queries.texts
    assert evidence.queries.sums[0, 0, 0].sum() == CLIENTS + 2


def test_sums_are_by_order_and_part_of_the_people():
    evidence = Evidence(7)
    evidence.note(page("desk", "phone", who=3), 0.5)
    evidence.note(page("desk", "phone", who=19, side=1), 1.0)  # the same part
    evidence.note(page("desk", "phone", who=3, side=None), 1.0)  # interleaved: held against neither
    for cell in (evidence.queries.sums[0], evidence.segments.sums[1]):
        assert cell[:, :, 3].tolist() == [[1, 0.5, 0.25], [1, 1, 1]]
        assert cell.sum() == cell[:, :, 3].sum()
    assert evidence.novelty[NEW, 0, :, 3].tolist() == [1, 0.5, 0.25]
    assert evidence.novelty[KNOWN, 1, :, 3].tolist() == [1, 1, 1]
    assert evidence.pages == 3


def test_what_comes_late_is_put_right_where_its_page_was_counted():
    evidence = Evidence(7)
    evidence.note(page("desk", "phone", who=3), 0.25)
    evidence.correct(page("desk", "phone", who=3), 0.25, 1.0)
    assert evidence.queries.sums[0, 0, :, 3].tolist() == [1, 1, 1]
    assert evidence.segments.sums[1, 0, :, 3].tolist() == [1, 1, 1]
    before = evidence.queries.sums.copy()
    evidence.correct(page("desk", who=3, closed=5), 0.0, 1.0)  # closed before the query had its counter
    evidence.correct(page("lamp", who=3), 0.0, 1.0)  # which has none
    assert evidence.queries.sums.tobytes() == before.tobytes()


def test_segments_beyond_the_first_are_one():
    evidence = Evidence(7)
    for place in range(SEGMENTS + 5):
        evidence.note(page(segment=f"s{place}"), 1.0)
    assert len(evidence.segments.names) == 1 + SEGMENTS
    assert evidence.segments.pages == [5] + [1] * SEGMENTS
    assert evidence.segments.sums[0, 0, 0].sum() == 5


def test_a_new_comparison_leaves_counts_alone():
    evidence = Evidence(7)
    evidence.note(page("desk", "phone"), 1.0)
    evidence.begin_anew(20)
    evidence.note(page("desk", "phone", shown=15, closed=21), 1.0)
    assert not evidence.queries.sums.any()
    assert not evidence.segments.sums.any()
    assert (evidence.queries.numbers[0, 0], evidence.segments.pages[1]) == (2, 2)


def test_a_query_is_new_once():
    remembered = Remembered()
    taken_for_known = sum(remembered.note(place.to_bytes(8, "little")) for place in range(20_000))
    assert taken_for_known < 0.06 * 20_000
    assert all(remembered.note(place.to_bytes(8, "little")) for place in range(20_000 - 4_096, 20_000))
    assert not remembered.note((1).to_bytes(8, "little"))  # long ago


def test_it_goes_on_from_a_kept_state_as_if_nothing_had_happened():
    rng = np.random.default_rng(3)
    whole, kept = Evidence(7), Evidence(7)
    for place in range(3_000):
        one = page(
            f"q{rng.zipf(1.2) % 400}", f"s{rng.integers(40)}", int(rng.integers(60)), int(rng.integers(2)),
            place, place + 1,
        )  # fmt: skip
        value = float(rng.choice([0.0, 0.2, 1.0]))
        for evidence in (whole, kept):
            evidence.note(one, value)
        if place % 500 == 0:
            state = msgspec.msgpack.decode(msgspec.msgpack.encode(kept.kept()), type=type(kept.kept()))
            kept = Evidence(7, state)
    assert msgspec.msgpack.encode(whole.kept()) == msgspec.msgpack.encode(kept.kept())


def test_models_from_before_have_none():
    settings = ModelSettings(name="shop", features=2)
    assert settings.evidence
    old = msgspec.to_builtins(settings)
    del old["evidence"], old["actions"]
    then = stored_settings(msgspec.json.encode(old))
    assert (then.evidence, then.has_actions, then.actions) == (False, False, {"click": 1.0})
    assert Evidence.of(then) is None


@pytest.mark.parametrize("query", ["", "  "])
def test_a_page_without_a_query_is_of_none(query):
    evidence = Evidence(7)
    evidence.note(page(query), 1.0)
    assert (evidence.pages, evidence.queries.keys) == (0, [])
