"""What is written down comes back as it was: every kind of event, every bit of the features."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays
from tests.examples import examples

from rankloop.learners import ROLTR
from rankloop.live.errors import RequestError
from rankloop.live.events import (
    FOLDED,
    PRECISIONS,
    Clicks,
    Closing,
    Event,
    ExperimentStarted,
    Impression,
    Kind,
    Late,
    Promoted,
    Restored,
    decode,
    encode,
)
from rankloop.live.requests import Candidate, Limits, RankBody, checked_request
from rankloop.live.settings import ModelSettings

from .diary import FOR_ALL, Diary, page_of

TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
NUMBERS = st.integers(0, 2**32)
FLOATS = st.floats(allow_nan=False)
SHARES = st.floats(0, 1)

BODIES = {
    Kind.SHOWN: st.builds(
        Impression,
        query=TEXT,
        candidates=st.lists(TEXT, max_size=5),
        features=st.binary(max_size=40),
        scores=st.binary(max_size=20),
        page=st.lists(NUMBERS, max_size=5),
        pinned=st.lists(NUMBERS, max_size=3),
        notes=st.binary(max_size=20),
        group=st.integers(0, 2),
        version=NUMBERS,
        log_probability=st.none() | FLOATS,
        displacement=FLOATS,
    ),
    Kind.CLICKED: st.builds(Clicks, st.lists(NUMBERS, max_size=5), st.lists(SHARES, max_size=5), st.booleans()),
    Kind.CLOSED: st.builds(
        Closing, NUMBERS, st.lists(SHARES, max_size=10), st.sampled_from(["asked", "window", "void"])
    ),
    Kind.ROLLED_BACK: st.builds(Restored, NUMBERS, st.binary(max_size=50)),
    Kind.REFOLDED: st.builds(Restored, NUMBERS, st.binary(max_size=50)),
    Kind.LATE: st.builds(
        Late,
        NUMBERS,
        NUMBERS,
        *(st.lists(SHARES, max_size=3) for _ in range(2)),
        *(st.lists(NUMBERS, max_size=3) for _ in range(2)),
    ),
    Kind.EXPERIMENT_STARTED: st.builds(
        ExperimentStarted, st.lists(TEXT, max_size=3), st.lists(NUMBERS, max_size=3), SHARES
    ),
    Kind.PROMOTED: st.builds(Promoted, NUMBERS, st.binary(max_size=50), st.binary(max_size=50), NUMBERS, NUMBERS),
}


@examples(200)
@given(st.sampled_from(sorted(BODIES)).flatmap(lambda kind: st.tuples(st.just(kind), BODIES[kind])))
def test_bodies_come_back_as_they_went_in(event):
    kind, body = event
    assert decode(kind, encode(body)) == body


@pytest.mark.parametrize("kind", sorted(set(Kind) - set(BODIES)))
def test_events_that_say_it_all_by_their_kind_have_no_body(kind):
    assert decode(kind, b"") is None


def test_a_kind_from_the_future_is_not_taken_for_another():
    with pytest.raises(ValueError, match="99"):
        decode(99, b"")


def test_the_numbers_of_kinds_are_those_that_older_logs_hold():
    assert [kind.name for kind in sorted(Kind)] == [
        "CREATED", "SHOWN", "CLICKED", "CLOSED", "PAUSED", "RESUMED", "FROZEN", "ROLLED_BACK", "SCALING_FROZEN",
        "DELETED", "ERASED", "REFOLDED", "EXPERIMENT_STARTED", "EXPERIMENT_STOPPED", "PROMOTED",
        "LATE",
    ]  # fmt: skip
    assert sorted(Kind) == [*range(1, 16), 20]


# Precision


@examples(60)
@given(
    st.sampled_from(sorted(PRECISIONS)),
    arrays.arrays(np.float64, st.tuples(st.integers(1, 6), st.just(3)), elements=st.floats(-1000, 1000)),
)
def test_what_was_ranked_is_what_is_stored_to_the_last_bit(precision, X):
    settings = {"precision": precision, "scaling": "none", "guards": FOR_ALL}
    diary = Diary(ModelSettings(name="m", features=3, seed=1, learner=ROLTR(), **settings))
    diary.fold.ranker.model.ranker.rounded[:] = [1.0, 2.0, 4.0]
    page = page_of(diary.show(X))
    rounded = X.astype(np.float16 if precision == "float16" else np.float32)
    assert page.matrix(precision).tobytes() == rounded.tobytes()
    # Scores of the rounded features: products and sums of three are exact in float64, and then rounded to float32.
    literally = rounded.astype(np.float64) @ [1.0, 2.0, 4.0]
    np.testing.assert_allclose(np.frombuffer(page.scores, np.float32), literally, rtol=1e-6, atol=1e-3)


@pytest.mark.parametrize(("precision", "bytes_each"), [("float32", 4), ("float16", 2)])
def test_half_the_precision_is_half_the_room(precision, bytes_each):
    diary = Diary(ModelSettings(name="m", features=7, seed=1, precision=precision, guards=FOR_ALL))
    assert len(page_of(diary.show(np.ones((5, 7)))).features) == 5 * 7 * bytes_each


@pytest.mark.parametrize(("precision", "value"), [("float16", 1e5), ("float32", 1e39)])
def test_a_value_that_the_precision_cannot_hold_is_refused_before_it_is_ranked(precision, value):
    model = ModelSettings(name="m", features=["a", "b"], seed=1, precision=precision)
    body = RankBody(candidates=[Candidate("x", [1.0, 2.0]), Candidate("y", [1.0, value])])
    with pytest.raises(RequestError, match=r"candidate 'y'.*'b'.*finite number"):
        checked_request(body, model, Limits(), b"")


# What somebody asked to be forgotten


def test_an_erased_page_teaches_nothing_and_its_absence_is_counted():
    diary = Diary(ModelSettings(name="m", features=1, seed=1, guards=FOR_ALL))
    shown = diary.show([[0.0], [1.0]])
    before = diary.fold.ranker.weights
    erased = shown._replace(kind=int(Kind.ERASED), client=b"", body=b"")
    closing = Event(9, 1, Kind.CLOSED, 0, 0, b"", encode(Closing(shown.offset, [1.0, 0.0], "window")))
    assert diary.fold.apply(closing, erased) == "missing"
    assert diary.fold.apply(closing._replace(offset=10), None) == "missing"
    assert diary.fold.fates == {"missing": 2}
    assert diary.fold.ranker.weights.tolist() == before.tolist()
    assert diary.fold.version == 0


def test_erased_places_are_nothing_that_a_fold_looks_at():
    assert Kind.ERASED not in FOLDED
