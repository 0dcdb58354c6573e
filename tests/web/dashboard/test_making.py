"""What is typed into a form becomes settings, or a sentence about what is wrong."""

import pytest

from rankloop.learners import PDGD
from rankloop.live.challengers import ChallengerSettings
from rankloop.live.errors import RequestError
from rankloop.live.settings import IncomingOrder, Zeros
from rankloop.web.dashboard.making import FIELDS, challenger_of, experiment_of, model_of


def fields(**more):
    return FIELDS | {"name": "shop", "features": "bm25, price\nrating"} | more


def test_the_form_as_it_is_first_shown_makes_a_model_with_the_usual_settings():
    made = model_of(fields())
    assert made.sent == ("bm25", "price", "rating")
    assert made.start == IncomingOrder()
    assert (made.page_size, made.window, made.guards.control, made.missing) == (10, 1800.0, 0.05, None)


def test_every_field_counts():
    made = model_of(fields(engine="bm25", page_size="20", control="12.5", window="0.5", missing="-1"))
    assert made.start == IncomingOrder("bm25")
    assert (made.page_size, made.window, made.guards.control, made.missing) == (20, 30.0, 0.125, -1.0)
    assert model_of(fields(start="zeros")).start == Zeros()


@pytest.mark.parametrize(
    ("wrong", "sentence"),
    [
        ({"features": " ,\n"}, "name at least one number"),
        ({"features": "a, a"}, "'a' appears twice"),
        ({"name": "a b"}, "name must be"),
        ({"page_size": "ten"}, "page size: must be a whole number; got 'ten'"),
        ({"page_size": "0"}, "page_size"),
        ({"control": "101"}, "control"),
        ({"control": "nan"}, "control"),
        ({"window": ""}, "window: must be a number"),
        ({"engine": "nobody"}, "no feature 'nobody'"),
    ],
)
def test_what_is_wrong_is_said(wrong, sentence):
    with pytest.raises(RequestError, match=sentence) as refused:
        model_of(fields(**wrong))
    assert refused.value.code == "invalid_request"


def test_an_experiment_has_its_arms_and_its_share():
    made = experiment_of(["incoming", "learned"], {"share": "25"})
    assert (made.arms, made.share) == (("incoming", "learned"), 0.25)
    for arms, share in ((["incoming"], "10"), (["incoming", "learned"], "0"), (["incoming", "learned"], "x")):
        with pytest.raises(RequestError):
            experiment_of(arms, {"share": share})


def test_a_challenger_has_another_method_and_a_name_if_one_was_typed():
    assert challenger_of({"learner": "PDGD", "name": " "}) == ChallengerSettings(learner=PDGD())
    assert challenger_of({"learner": "PDGD", "name": "bold"}).name == "bold"
    with pytest.raises(RequestError):
        challenger_of({"learner": "Nobody"})
