"""One sentence about how far people look, and when it is which."""

import msgspec
import numpy as np
import pytest

from rankloop.learners import DBGD, ROLTR, Posterior
from rankloop.live.looks import Looks
from rankloop.live.settings import ModelSettings
from rankloop.propensities import PowerLaw, learned
from rankloop.web.dashboard.examination import believed, sentence, trust_hint

RANKS = 5


def looked(curve, pages: int = 4_000, clicks: float = 0.5) -> Looks:
    """The sums of so many pages, all documents equally attractive and all orders equally likely, without noise."""
    looks = Looks(RANKS)
    upper, lower = np.array(curve[:-1]), np.array(curve[1:])
    mean = 0.5 * clicks * np.r_[upper, lower]
    moments = np.outer(mean, mean)
    np.fill_diagonal(moments, 0.25 * clicks * np.r_[upper, lower])
    looks.swaps.moments[:] = pages * np.block([[np.ones((1, 1)), mean[None]], [mean[:, None], moments]])
    looks.effect.sums[2] = pages
    return looks


SLOW, STEEP = PowerLaw(0.3).at(RANKS), PowerLaw(1.0).at(RANKS)


def test_people_who_look_further_down():
    told = sentence(looked(SLOW), STEEP)
    assert told.tone == "bad"
    assert told.text == "People look further down than this model assumes (rank 2–5)."


def test_people_who_look_less_far_down():
    assert sentence(looked(STEEP), SLOW).text == "People look less far down than this model assumes (rank 2–5)."


def test_people_who_look_as_assumed():
    told = sentence(looked(STEEP), STEEP)
    assert told.tone == "good"
    assert "fits what this model assumes, as far as can be told: to rank 5" in told.text


def test_people_who_look_otherwise_here_and_there():
    told = sentence(looked([1.0, 0.9, 0.5, 0.3, 0.1]), np.array([1.0, 0.5, 0.5, 0.3, 0.3]))
    assert "more: 2; less: 5" in told.text


def test_people_who_look_by_more_than_rank():
    looks = looked(STEEP)
    looks.effect.sums[:2] = -6.0, 1.0
    assert sentence(looks, STEEP).text.startswith("Looks depend on more than rank")


def test_few_clicks_say_nothing():
    assert sentence(looked(SLOW, pages=30), STEEP).text == "Not enough clicks yet to tell how far people look."
    assert sentence(Looks(RANKS), STEEP).tone == "open"
    assert sentence(None, STEEP) is None


def test_trust_is_not_counted_here_and_the_command_that_tests_it_is_named():
    assert trust_hint(looked(STEEP)) == "rankloop propensities LOG --trust"


def test_where_a_test_of_trust_would_say_nothing_nobody_is_sent_to_it():
    cascade = looked(STEEP)
    cascade.effect.sums[:2] = -6.0, 1.0
    for looks in (None, Looks(RANKS), looked(STEEP, pages=30), cascade):
        assert trust_hint(looks) is None


def test_a_method_that_assumes_nothing_is_not_contradicted():
    assert sentence(looked(SLOW), None).text == "This method assumes nothing about how far people look."


def test_what_a_model_believes_is_relative_to_the_first_rank():
    def settings(learner):
        return ModelSettings(name="m", features=2, page_size=RANKS, seed=1, learner=learner)

    def of(learner, change=lambda model: None):
        model = learner.model(2, RANKS, 1)
        change(model)
        return believed(settings(learner), model)

    assert of(ROLTR()) == pytest.approx(STEEP)
    assert of(DBGD()) is None
    assert of(ROLTR(propensities=learned()), lambda m: m.examination.curve.__setitem__(1, 0.7))[1] == 0.7
    assert of(Posterior(), lambda m: m.log_examination.__setitem__(1, np.log(0.7)))[1] == pytest.approx(0.7)


class Halving(DBGD, frozen=True):
    """A method of somebody's own, which keeps what it takes examination to be nowhere that we know of."""

    def examination_of(self, model, page_size):
        return 4.0 * 0.5 ** np.arange(page_size)


def test_what_a_model_takes_examination_to_be_is_asked_of_its_method():
    settings = ModelSettings(name="m", features=2, page_size=3, seed=1, learner=DBGD())
    msgspec.structs.force_setattr(settings, "learner", Halving())
    assert believed(settings, None).tolist() == [1.0, 0.5, 0.25]
