"""What a challenger may change, and what is said about it."""

import pytest

from rankloop.errors import SettingsError
from rankloop.learners import DBGD, PDGD, ROLTR, Posterior
from rankloop.live.challengers import ChallengerSettings, challenger_settings, changes, judged
from rankloop.live.experiments import Arm, ExperimentReport, Preference
from rankloop.live.settings import Guards, IncomingOrder, ModelSettings, Zeros
from rankloop.live.shadow import OffPolicy

SHOP = ModelSettings(name="shop", features=["bm25", "price"], seed=1, guards=Guards(control=0.2))


def test_what_is_not_changed_is_the_models_own():
    given = ChallengerSettings(learner=PDGD(learning_rate=0.03), guards={"update_cap": 0.5})
    made = challenger_settings(SHOP, given, {"shop", "shop-2"})
    assert (made.name, made.challenges, made.seed, made.names) == ("shop-3", "shop", SHOP.seed, SHOP.names)
    assert made.guards == Guards(control=0.2, update_cap=0.5)
    assert changes(SHOP, made) == {
        "learner": {"learner": "PDGD", "learning_rate": 0.03} | changes(SHOP, made)["learner"],
        "guards": {"update_cap": 0.5},
    }


def test_a_policy_gradient_gets_the_sharpness_of_the_start():
    shop = ModelSettings(name="shop", features=["bm25"], seed=1, start=IncomingOrder("bm25"))
    assert challenger_settings(shop, ChallengerSettings(learner=ROLTR()), set()).learner.temperature < 0.1


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        (ChallengerSettings(), "nothing differs from 'shop'; change one of learner"),
        (ChallengerSettings(guards={"control": 0.5}), r"guards.control says who sees what, and is that of 'shop'"),
        (ChallengerSettings(guards={"kontrol": 0.5}), "kontrol"),
        (ChallengerSettings(learner=DBGD()), "DBGD learns by comparing rankers on pages that they filled together"),
        (ChallengerSettings(name="two words", scaling="query"), "name must be"),
    ],
)
def test_what_cannot_challenge_is_refused(given, sentence):
    with pytest.raises(SettingsError, match=sentence):
        challenger_settings(SHOP, given, set())


def test_what_is_idle_beside_given_weights_makes_no_challenger_of_its_own():
    begun = ModelSettings(name="shop", features=["bm25"], seed=1, learner=Posterior(), start=IncomingOrder("bm25"))
    another, bolder = Posterior(common_weight=-0.1), Posterior(common_weight=-0.1, exploration=0.2)
    with pytest.raises(SettingsError, match=r"common_weight has no effect on a model that starts .* as 'shop' does"):
        challenger_settings(begun, ChallengerSettings(learner=another), set())
    assert challenger_settings(begun, ChallengerSettings(learner=bolder), set()).learner == bolder
    assert challenger_settings(begun, ChallengerSettings(learner=another, start=Zeros()), set()).learner == another


def earned(difference=None, low=None, high=None, sure=None):
    return OffPolicy(1_000, 800.0, 1.0, difference, low, high, sure, {}, "Its pages would have earned so much.")


def experiment(low, high, first="learned", stopped=None):
    found = Preference((low + high) / 2, low, high, 0.97)
    other = "shop-2" if first == "learned" else "learned"
    arms = [Arm(first, 10.0, 0.4), Arm(other, 20.0, 0.6, found)]
    better = other if low > 0 else first if high < 0 else None
    return ExperimentReport(1, 0, stopped, 0.1, 300, 200, arms, "People said so.", better)


def beside_the_engine(its, own):
    """Both held against the incoming order."""
    found = [Preference(sum(each) / 2, *each, 0.97) for each in (own, its)]
    arms = [Arm("incoming", 3.0, 0.1), Arm("learned", 20.0, 0.3, found[0]), Arm("shop-2", 30.0, 0.6, found[1])]
    return ExperimentReport(1, 0, None, 0.1, 300, 200, arms, "shop-2 is preferred to the incoming order.", "shop-2")


MORE, LESS = earned(0.1, 0.05, 0.15, 0.99), earned(-0.1, -0.15, -0.05, 0.99)


@pytest.mark.parametrize(
    ("known", "advice", "begins"),
    [
        ({"experiment": experiment(0.1, 0.3)}, "promote", "Promote it: People said so."),
        ({"experiment": experiment(-0.3, -0.1)}, "drop", "Drop it: People said so."),
        ({"experiment": experiment(0.1, 0.3, first="shop-2")}, "drop", "Drop it: "),
        ({"experiment": experiment(-0.3, -0.1, first="shop-2")}, "promote", "Promote it: "),
        (
            {"experiment": experiment(0.1, 0.3), "earned": LESS},
            "promote",
            "Promote it: People said so. Logged pages say otherwise: its",
        ),
        ({"experiment": experiment(-0.1, 0.3)}, "wait", "Wait: people said so. Its pages"),
        ({"experiment": experiment(-0.1, 0.3, stopped=9)}, "interleave", "Not decided; interleave"),
        (
            {"experiment": beside_the_engine((0.2, 0.8), (0.1, 0.5))},
            "wait",
            "Wait: shop-2 has 60 % of the clicks and the learned order 30 %, which may be chance, on 200 pages",
        ),
        ({"experiment": beside_the_engine((0.5, 0.8), (0.1, 0.4))}, "promote", "Promote it: shop-2 has 60 %"),
        ({"experiment": beside_the_engine((0.1, 0.4), (0.5, 0.8))}, "drop", "Drop it: shop-2 has 60 %"),
        ({"earned": MORE}, "interleave", "Promising; interleave the two to know: its pages"),
        ({"earned": LESS}, "drop", "Drop it, unless you want to see it interleaved: its pages"),
        ({}, "interleave", "Not decided; interleave the two to know: its pages"),
        ({"behind": 1_200}, "wait", "Wait: it still has 1,200 closed pages"),
        ({"damage": "its state is damaged."}, "drop", "It cannot be read: its state is damaged."),
    ],
)
def test_the_verdict_goes_by_people_first(known, advice, begins):
    usual = {"behind": 0, "damage": None, "earned": earned(), "experiment": None}
    found, sentence = judged("shop-2", **(usual | known))
    assert found == advice
    assert sentence.startswith(begins)
