"""What a request may look like: in the order of the model's features, in its precision, or a sentence."""

import numpy as np
import pytest

from rankloop.live.errors import RequestError
from rankloop.live.requests import (
    LARGEST,
    Candidate,
    ClickBody,
    ClicksBody,
    Limits,
    RankBody,
    acted,
    check_reports,
    checked_request,
)
from rankloop.live.settings import ModelSettings

SHOP = ModelSettings(name="shop", features=("price", "age"), page_size=3)


def checked(settings=SHOP, limits=None, **body):
    return checked_request(RankBody(**body), settings, limits or Limits(), b"")


def listed(**rows):
    return [Candidate(name, features) for name, features in rows.items()]


def test_features_by_name_are_put_into_the_models_order():
    asked = checked(candidates=listed(a={"age": 2.0, "price": 1.0}, b=[3.0, 4.0]))
    assert asked.features.tolist() == [[1.0, 2.0], [3.0, 4.0]]
    assert asked.candidates == ["a", "b"]


def test_a_matrix_is_the_same_request_as_its_rows():
    rows = np.array([[1.0, 2.0], [3.0, 4.0]], "<f4")
    one = checked(ids=["a", "b"], matrix=rows.tobytes())
    other = checked(candidates=listed(a=[1.0, 2.0], b=[3.0, 4.0]))
    assert one.features.tobytes() == other.features.tobytes()
    assert one.features.dtype == other.features.dtype


def test_a_missing_feature_has_the_models_value_for_it_or_is_refused():
    with pytest.raises(RequestError, match="feature 'age' is missing"):
        checked(candidates=listed(a={"price": 1.0}))
    lenient = ModelSettings(name="shop", features=("price", "age"), missing=-1.0)
    assert checked(lenient, candidates=listed(a={"price": 1.0})).features.tolist() == [[1.0, -1.0]]


@pytest.mark.parametrize("value", [float("nan"), float("inf"), -1.01 * LARGEST])
def test_no_feature_is_beyond_what_can_be_multiplied(value):
    with pytest.raises(RequestError, match="'a': feature 'age' must be a finite number"):
        checked(candidates=listed(a=[1.0, value]))
    assert checked(candidates=listed(a=[1.0, -0.99 * LARGEST])).features.shape == (1, 2)


def test_titles_are_of_candidates_however_those_are_sent():
    rows = np.array([[1.0, 2.0], [3.0, 4.0]], "<f4")
    asked = checked(ids=["a", "b"], matrix=rows.tobytes(), titles={"b": "Best"})
    assert asked.titles_of(["a", "b"]) == {"b": "Best"}
    assert asked.titles_of(["a"]) == {}
    with pytest.raises(RequestError, match="titles: 'c' is not among the candidates"):
        checked(candidates=listed(a=[1.0, 2.0]), titles={"c": "Nobody"})


def test_pins_are_ranks_of_the_page_that_will_be_shown():
    two = listed(a=[1.0, 2.0], b=[3.0, 4.0])
    assert checked(candidates=two, pinned={"b": 1}).pinned == {1: 0}
    for pinned, sentence in (
        ({"b": 3}, "the page has 2"),
        ({"a": 1, "b": 1}, "two documents"),
        ({"z": 1}, "not among"),
    ):
        with pytest.raises(RequestError, match=sentence):
            checked(candidates=two, pinned=pinned)


def test_limits_are_refused_beyond_and_not_at_them():
    two = listed(a=[1.0, 2.0], b=[3.0, 4.0])
    assert len(checked(limits=Limits(candidates=2), candidates=two).candidates) == 2
    with pytest.raises(RequestError, match="at most 1 are ranked at once; got 2"):
        checked(limits=Limits(candidates=1), candidates=two)
    reports = [ClickBody("i", ["a", "b"])]
    check_reports(reports, Limits(items=2))
    with pytest.raises(RequestError, match="report 0: at most 1 clicks"):
        check_reports(reports, Limits(items=1))


def test_one_report_or_many_and_not_both():
    assert ClicksBody(impression="i", clicks=["a"]).all() == [ClickBody("i", ["a"])]
    assert ClicksBody(reports=[]).all() == []
    for both in (ClicksBody(), ClicksBody(impression="i"), ClicksBody(close=True, reports=[])):
        with pytest.raises(RequestError):
            both.all()


def test_a_document_that_is_named_twice_is_clicked_once():
    assert acted(ClickBody("i", ["b", "b", "z"]), ["a", "b"], {"click": 1.0}) == ([1], [1.0], [], ["z"])
