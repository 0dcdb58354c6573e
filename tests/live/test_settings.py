"""A live model as one value: what may be said, what is refused by name, and that the log keeps all of it."""

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.examples import examples

from rankloop.errors import SettingsError
from rankloop.learners import COLTR, DBGD, PDGD, PMGD, ROLTR, FixedWeights
from rankloop.live.fold import Fold
from rankloop.live.scaling import Fixed
from rankloop.live.settings import (
    MAX_FEATURES,
    MAX_PAGE,
    Guards,
    IncomingOrder,
    ModelSettings,
    NewModelSettings,
    Weights,
    Zeros,
    stored_settings,
)
from rankloop.propensities import Known, PowerLaw
from rankloop.rankers import MLP


def model(**more) -> ModelSettings:
    return ModelSettings(**({"name": "m", "features": ["a", "b"]} | more))


LEARNERS = [
    ROLTR(reward="ips-", discount=0.3, propensities=PowerLaw(0.5), temperature=2.0),
    ROLTR(propensities=Known(tuple(0.9**rank for rank in range(10)))),
    PDGD(decay=0.9),
    DBGD(interleaving="team-draft"),
    PMGD(candidates=3),
    COLTR(candidates=3),
    FixedWeights(weights=(1.0, 2.0)),
]


@examples(60)
@given(
    st.sampled_from(LEARNERS),
    st.integers(0, 2**64 - 1),
    st.sampled_from([Zeros(), Weights((0.5, -1e-3)), IncomingOrder("b", 0.8, ((3.0, 1.0), (2.0,))), IncomingOrder(0)]),
    st.sampled_from(["none", "query", "running", Fixed((0.0, 1.0), (1.0, 2.0))]),
    st.sampled_from(["float32", "float16"]),
    st.sampled_from([Guards(), Guards(control=0.1, update_cap=0.5, client_share=0.3, client_pages=7)]),
)
def test_settings_come_back_from_the_log_as_they_were(learner, seed, start, scaling, precision, guards):
    given = model(learner=learner, seed=seed, start=start, scaling=scaling, precision=precision, guards=guards)
    again = msgspec.json.decode(msgspec.json.encode(given), type=ModelSettings)
    assert again == given


def test_a_seed_is_drawn_once_and_kept():
    drawn, other = model(), model()
    assert drawn.seed != other.seed
    assert msgspec.json.decode(msgspec.json.encode(drawn), type=ModelSettings).seed == drawn.seed
    # Numbers in JSON are exact up to here for everybody who reads them.
    assert 0 <= drawn.seed < 2**53


@pytest.mark.parametrize("learner", LEARNERS, ids=lambda learner: learner.name)
def test_every_seed_of_64_bits_can_be_begun_with(learner):
    for seed in (0, 2**63 - 1, 2**63, 2**64 - 1):
        assert model(learner=learner, seed=seed).seed == seed


def test_a_count_of_features_gives_them_names():
    assert model(features=3).names == ("f1", "f2", "f3")
    assert model(features=3).feature_index("f2") == model(features=3).feature_index(1) == 1


@pytest.mark.parametrize(
    ("wrong", "reason"),
    [
        ({"name": ""}, "name must be 1 to 64"),
        ({"name": "../etc"}, "name must be 1 to 64"),
        ({"name": "a b"}, "name must be 1 to 64"),
        ({"name": "x" * 65}, "name must be 1 to 64"),
        ({"name": ".hidden"}, "name must be 1 to 64"),
        ({"features": 0}, "features"),
        ({"features": []}, "features must be 1 to"),
        ({"features": MAX_FEATURES + 1}, "features must be 1 to"),
        ({"features": ["a", "b", "a"]}, "'a' appears twice"),
        ({"features": ["a", ""]}, "1 to 200 characters"),
        ({"page_size": 0}, "page_size"),
        ({"page_size": MAX_PAGE + 1}, "page_size must be at most"),
        ({"seed": -1}, "seed"),
        ({"seed": 2**64}, "seed"),
        ({"precision": "float64"}, "precision.*'float64'"),
        ({"missing": float("nan")}, "missing"),
        ({"window": 0.0}, "window"),
        ({"window": 31 * 86400.0}, "window"),
        ({"scaling": Fixed((0.0,), (1.0,))}, "1 shifts were given for 2 features"),
        ({"start": Weights((1.0,))}, "1 weights were given for 2 features"),
        ({"start": IncomingOrder("c")}, "no feature 'c'; features are a, b"),
        ({"learner": FixedWeights(weights=(1.0,))}, "weights"),
        ({"learner": ROLTR(propensities=Known((1.0, 0.5)))}, "propensities|ranks"),
    ],
    ids=str,
)
def test_what_cannot_be_is_refused_with_its_name(wrong, reason):
    with pytest.raises(SettingsError, match=reason):
        model(**wrong)


@pytest.mark.parametrize(
    "body",
    [
        {"name": "m", "features": 2, "learnr": {"learner": "ROLTR"}},
        {"name": "m", "features": 2, "learner": {"learner": "ROLTR", "rate": 1}},
        {"name": "m", "features": 2, "guards": {"controll": 0.1}},
        {"name": "m", "features": 2, "start": {"from": "nowhere"}},
        {"name": "m", "features": 2, "scaling": "sideways"},
        {"name": "m", "features": 2, "late_updates": "tomorrow"},
    ],
    ids=str,
)
def test_a_word_that_means_nothing_is_not_passed_over(body):
    with pytest.raises(msgspec.ValidationError):
        msgspec.convert(body, ModelSettings)


def test_settings_cannot_be_changed():
    with pytest.raises(AttributeError):
        model().page_size = 3


def test_whoever_says_nothing_of_the_start_begins_in_their_own_order():
    asked = NewModelSettings(name="shop", features=["bm25", "price"], seed=1)
    assert (asked.start, asked.sent) == (IncomingOrder(), ("bm25", "price"))
    assert NewModelSettings(name="shop", features=2, seed=1, start="zeros").names == ("f1", "f2")


@pytest.mark.parametrize(
    "learner", [ROLTR(), PDGD(learning_rate=0.5), PDGD(ranker=MLP(hidden=(4,))), FixedWeights(weights=(1.0, 2.0))]
)
def test_other_methods_begin_as_they_do_in_their_papers_unless_told(learner):
    asked = NewModelSettings(name="shop", features=2, seed=1, learner=learner)
    assert (asked.start, asked.learner) == (Zeros(), learner)


def test_a_model_of_an_older_log_keeps_the_start_that_it_had():
    kept = msgspec.json.encode({"name": "old", "features": ["bm25"], "seed": 1})
    assert (stored_settings(kept).start, stored_settings(kept).names) == (Zeros(), ("bm25",))


def test_a_model_that_was_made_before_documents_had_merits_reads_its_state_and_has_none():
    older = msgspec.json.decode(msgspec.json.encode(model(seed=1)))
    for setting in ("memory", "merit_variance", "merit_weight"):
        del older["learner"][setting]
    settings = stored_settings(msgspec.json.encode(older))
    assert settings.learner.memory == 0
    state = msgspec.msgpack.decode(Fold(settings).state())
    assert not [name for name in state["arrays"] if name.startswith("merits.")]  # as states were then
    assert Fold.restored(settings, Fold(settings).state(), 0).ranks_as(Fold(settings))


def test_a_fixed_scaling_is_of_what_is_sent():
    asked = NewModelSettings(name="shop", features=2, seed=1, scaling=Fixed((5.0, 7.0), (2.0, 3.0)))
    assert asked.scaling == Fixed((5.0, 7.0, 0.0), (2.0, 3.0, 1.0))
    assert stored_settings(msgspec.json.encode(asked)).scaling == asked.scaling
    with pytest.raises(SettingsError, match="1 shifts were given for 2 features"):
        NewModelSettings(name="shop", features=2, seed=1, scaling=Fixed((5.0,), (2.0,)))


def test_a_model_whose_action_had_no_name_can_still_be_read():
    """Once such a model could be made; the log that it is in has others."""
    kept = msgspec.to_builtins(model(actions={"click": 0.5, "buy": 1.0})) | {"actions": {"": 0.5, "buy": 1.0}}
    assert list(stored_settings(msgspec.json.encode(kept)).actions.items()) == [("unnamed", 0.5), ("buy", 1.0)]
