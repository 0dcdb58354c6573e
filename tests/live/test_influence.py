"""One client never counts for much more than a share of what everybody else taught."""

import json

import msgspec
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.examples import examples

from rankloop.learners import PDGD, ROLTR, PairRank, Posterior
from rankloop.live.errors import StateError
from rankloop.live.events import Kind, Restored, encode
from rankloop.live.fold import Fold
from rankloop.live.influence import LEAST, PARTS, Influence, KeptInfluence, parts_of
from rankloop.live.settings import Guards, ModelSettings, stored_settings

from .diary import FOR_ALL, Diary, page_of
from .in_process import rank, running, told

X = np.random.default_rng(1).normal(size=(6, 3)).astype(np.float32)
DEFAULT = Guards()


def model(**more) -> ModelSettings:
    return ModelSettings(
        name="m", **({"features": 3, "page_size": 4, "seed": 7, "scaling": "none", "guards": FOR_ALL} | more)
    )


def name(client: int) -> bytes:
    """As the service hashes one."""
    return np.random.default_rng(client).bytes(16)


def taught(influence: Influence, client: bytes, pages: int, guards: Guards = DEFAULT) -> float:
    """What so many pages of somebody's count for in all."""
    total = 0.0
    for _ in range(pages):
        weight = influence.weight(client, guards)
        total += weight
        if weight:
            influence.note(client, guards)
    return total


# The rule


def test_the_first_pages_count_in_full_and_later_ones_less_and_less():
    influence = Influence()
    weights = []
    for _ in range(60):
        weights.append(influence.weight(name(1), DEFAULT))
        influence.note(name(1), DEFAULT)
    assert weights[:10] == [1.0] * 10
    assert weights[10:] == [min(1.0, 20 / (2 * n)) ** 2 for n in range(11, 61)]


@examples(40)
@given(st.integers(0, 3_000), st.integers(1, 2_000), st.sampled_from([1, 5, 20]), st.sampled_from([0.0, 0.01, 0.1]))
def test_a_client_never_counts_for_more_than_their_pages_and_a_share_of_the_others(others, pages, free, share):
    guards, influence = Guards(client_pages=free, client_share=share), Influence()
    influence.pages = others
    assert taught(influence, name(1), pages, guards) <= free + share * others + 1e-9


def test_what_counts_for_less_than_a_hundredth_is_capped():
    diary = Diary(model(guards=Guards(control=0.0, client_pages=1, client_share=0.0)))
    fates = [diary.close(diary.show(X, client=name(1)), [1.0, 0.0, 0.0, 0.0]) for _ in range(8)]
    assert fates == ["learned"] * 5 + ["capped"] * 3
    assert diary.close(diary.show(X, client=name(2)), [1.0, 0.0, 0.0, 0.0]) == "learned"
    assert (1 / (2 * 5)) ** 2 >= LEAST > (1 / (2 * 6)) ** 2


def test_pages_that_are_not_learned_from_cost_nobody_their_budget():
    diary = Diary(model())
    for _ in range(50):
        diary.close(diary.show(X, client=name(1)), [0.0] * 4, why="void")
    assert diary.fold.influence.weight(name(1), DEFAULT) == 1.0


def test_without_a_bound_every_page_counts():
    influence, guards = Influence(), Guards(client_pages=0)
    assert taught(influence, name(1), 500, guards) == 500
    assert taught(influence, b"", 500, guards) == 500


def test_who_shares_one_part_with_somebody_who_comes_often_still_counts_in_full():
    often = name(0)
    neighbour = next(one for one in map(name, range(1, 100_000)) if parts_of(one)[0] == parts_of(often)[0])
    assert parts_of(neighbour)[1] != parts_of(often)[1]
    influence = Influence()
    taught(influence, often, 1_000)
    assert influence.weight(neighbour, DEFAULT) == 1.0
    assert influence.weight(often, DEFAULT) < 0.1


def test_people_are_told_apart_whatever_their_bytes_are():
    influence = Influence()
    for client in range(1_000):
        influence.note(client.to_bytes(8, "big"), DEFAULT)
    assert all(influence.weight(client.to_bytes(8, "big"), DEFAULT) == 1.0 for client in range(1_000))


def test_hardly_anybody_is_taken_for_somebody_else():
    """A hundred thousand clients share the parts, and one of them came ten thousand times: the others count in full."""
    influence, random = Influence(), np.random.default_rng(3)
    for row in range(2):
        np.add.at(influence.counts[row], random.integers(PARTS, size=300_000), 1)
    influence.pages = 310_000
    taught(influence, name(1), 10_000)
    assert influence.weight(name(1), DEFAULT) < 0.1
    weights = [influence.weight(name(client), DEFAULT) for client in range(2, 302)]
    assert weights == [1.0] * 300


# People without a name


def test_where_names_are_never_given_every_page_counts():
    assert taught(Influence(), b"", 5_000) == 5_000


def test_a_few_names_that_somebody_tried_change_nothing():
    influence = Influence()
    taught(influence, name(1), 19)
    assert taught(influence, b"", 5_000) == 5_000


def test_all_without_a_name_have_one_budget_beside_what_the_named_ones_taught():
    influence = Influence()
    for client in range(300):
        influence.note(name(client), DEFAULT)
    assert taught(influence, b"", 10_000) <= 20 + 300
    few = Guards(anonymous_share=0.1)
    influence = Influence()
    for client in range(300):
        influence.note(name(client), few)
    assert 40 < taught(influence, b"", 10_000, few) <= 20 + 30


def test_what_came_before_anybody_had_a_name_is_not_held_against_the_unnamed():
    influence = Influence()
    taught(influence, b"", 100_000)
    for client in range(30):
        influence.note(name(client), DEFAULT)
    assert influence.weight(b"", DEFAULT) == 1.0


# Networks


def test_a_network_is_bounded_whatever_its_clients_call_themselves():
    influence, total = Influence(), 0.0
    for visit in range(500):
        weight = influence.weight(name(visit), DEFAULT, network=name(-1 % 2**32))
        total += weight
        if weight:
            influence.note(name(visit), DEFAULT, network=name(-1 % 2**32))
    assert total <= 20
    assert influence.weight(name(1), DEFAULT) == 1.0


def test_networks_bound_where_clients_have_no_names():
    influence = Influence()
    for _ in range(100):
        influence.note(b"", DEFAULT, network=name(1))
    assert influence.weight(b"", DEFAULT) == 1.0
    assert influence.weight(b"", DEFAULT, network=name(1)) < 0.1
    assert influence.weight(b"", DEFAULT, network=name(2)) == 1.0


def test_a_network_is_kept_as_a_keyed_hash_and_is_no_client(tmp_path):
    async def story():
        async with running(tmp_path / "log.db", model()) as service:
            for network in ("10.1.0.0/16", "10.1.0.0/16", None):
                await rank(service, client="10.1.0.0/16", network=network)
            return [event for event in service.store.events(0, 100) if event.kind == Kind.SHOWN]

    one, two, none = told(story())
    assert page_of(one).network == page_of(two).network != one.client
    assert len(page_of(one).network) == 16
    assert page_of(none).network == b""


# What it does to a model


def steered(learner, guards: Guards, client, pages: int = 300) -> float:
    """How far somebody, or everybody, who always clicks on what they want to promote moves the weights."""
    diary = Diary(model(guards=guards, learner=learner))
    for visit in range(pages):
        shown = diary.show(X, client=client(visit))
        diary.close(shown, [float(document in (3, 4)) for document in page_of(shown).page])
    return float(np.linalg.norm(diary.fold.ranker.weights))


@pytest.mark.thorough
@pytest.mark.parametrize("learner", [Posterior(), ROLTR(learning_rate=0.05), PDGD()], ids=lambda one: one.name)
def test_one_client_moves_the_weights_far_less_than_as_many_pages_of_many(learner):
    one = steered(learner, FOR_ALL, lambda visit: name(1))
    many = steered(learner, FOR_ALL, name)
    assert one < 0.6 * many


def test_a_method_that_pools_pages_leaves_out_what_does_not_count():
    diary = Diary(model(learner=PairRank()))
    for _ in range(100):
        shown = diary.show(X, client=name(1))
        diary.close(shown, [1.0, 0.0, 0.0, 0.0])
    # One pair a page.
    assert 10 <= diary.fold.ranker.model.pairs[0] <= 25


def test_the_first_hundred_pages_may_be_one_clients_and_still_the_next_people_decide():
    diary = Diary(model())
    for _ in range(100):
        shown = diary.show(X, client=name(1))
        diary.close(shown, [float(document == 3) for document in page_of(shown).page])
    for visit in range(100):
        shown = diary.show(X, client=name(2 + visit))
        diary.close(shown, [float(document == 0) for document in page_of(shown).page])
    scores = X @ diary.fold.ranker.weights
    assert scores[0] > scores[3]


# States


def test_counts_are_part_of_the_state_and_go_on_with_the_same_bits():
    diary = Diary(model())
    for visit in range(60):
        diary.close(diary.show(X, client=name(visit % 2) if visit % 3 else b""), [1.0, 0.0, 0.0, 0.0])
    again = Fold(diary.settings)
    for event in diary.events:
        diary.apply_to(again, event)
        again = Fold.restored(diary.settings, again.state(), again.offset)
    assert again.state() == diary.fold.state()


def test_after_a_refold_whoever_was_erased_is_no_longer_counted_and_a_roll_back_keeps_the_counts():
    diary, without = Diary(model()), Fold(model()).state()
    diary.close(diary.show(X, client=b"ann"), [1.0, 0.0, 0.0, 0.0])
    diary.control(Kind.ROLLED_BACK, encode(Restored(0, without)))
    assert diary.fold.influence.counts.sum() == 2
    diary.control(Kind.REFOLDED, encode(Restored(0, without)))  # as earlier versions wrote it: same log, same bits
    assert diary.fold.influence.counts.sum() == 2
    diary.control(Kind.REFOLDED, encode(Restored(0, without, with_influence=True)))
    assert (diary.fold.influence.pages, diary.fold.influence.counts.sum()) == (0, 0)


def test_if_the_counts_of_a_refold_cannot_be_read_all_stays_as_it_is():
    diary = Diary(model())
    state = msgspec.msgpack.decode(diary.fold.state())
    state["influence"]["counts"] = bytes(3)
    diary.close(diary.show(X, client=b"ann"), [1.0, 0.0, 0.0, 0.0])
    before = diary.fold.state()
    with pytest.raises(StateError, match="damaged"):
        diary.control(Kind.REFOLDED, encode(Restored(0, msgspec.msgpack.encode(state), with_influence=True)))
    assert diary.fold.state() == before


def test_counts_that_cannot_be_read_are_damage():
    kept = msgspec.msgpack.decode(Fold(model()).state())
    kept["influence"]["counts"] = b"123"
    with pytest.raises(StateError, match="its kept state is damaged"):
        Fold.restored(model(), msgspec.msgpack.encode(kept), 3)
    assert KeptInfluence(b"", 0, 0, 0).named == 0


def test_a_state_without_counts_was_written_by_an_earlier_version_and_a_refold_helps():
    kept = msgspec.msgpack.decode(Fold(model()).state())
    del kept["influence"]
    with pytest.raises(StateError, match=r"influence.*rankloop log refold"):
        Fold.restored(model(), msgspec.msgpack.encode(kept), 3)


@pytest.mark.parametrize(("window", "pages"), [(0, 0), (1000, 20)])
def test_a_model_that_had_a_window_of_influence_has_a_budget_now(window, pages):
    kept = json.loads(msgspec.json.encode(model()))
    del kept["guards"]["client_pages"]
    kept["guards"] |= {"influence_window": window, "client_share": 0.1}
    assert stored_settings(json.dumps(kept).encode()).guards == Guards(
        control=0.0, client_pages=pages, client_share=0.1
    )
