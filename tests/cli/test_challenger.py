"""`rankloop challenger` as people type it: start, show, promote, drop, and mistakes as sentences."""

import json

import pytest

pytestmark = [pytest.mark.xdist_group("experiment-command"), pytest.mark.process]


@pytest.fixture
def command(rankloop, service):
    """`rankloop challenger`: (exit code, standard output, standard error)."""
    return lambda *words: rankloop("challenger", *words, "--url", service.url)


def test_challengers_from_start_to_promotion(command):
    assert "has no challenger; start one" in command("show", "shop")[1]
    code, told, trouble = command("start", "shop", "--learner", "PDGD", "--set", "learning_rate=0.03", "--json")
    assert code == 0, trouble
    assert json.loads(told)["changes"]["learner"]["learning_rate"] == 0.03
    changes = ("--set", "scaling=query", "--set", "guards.update_cap=1", "--name", "scaled")
    assert "scaled (learning)" in command("start", "shop", *changes)[1]
    assert [one["name"] for one in json.loads(command("show", "shop", "--json")[1])] == ["shop-2", "scaled"]
    assert "Not decided; interleave the two to know" in command("show", "shop")[1]
    assert "shop-2 is gone" in command("drop", "shop", "shop-2")[1]
    assert "scaled has taken the place of shop" in command("promote", "shop", "scaled")[1]


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("start", "shop"), "nothing differs from 'shop'"),
        (("start", "shop", "--set", "scaling"), "must look like SETTING=VALUE"),
        (
            ("start", "shop", "--set", "page_size=5"),
            "page_size is the model's own; a challenger may change",
        ),
        (("start", "shop", "--set", "actions.buy=1"), "actions is the model's own; a challenger may change"),
        (("start", "nothing"), "nothing"),
        (("promote", "shop", "nobody"), "has no challenger 'nobody'"),
    ],
)
def test_mistakes_are_sentences(command, words, sentence):
    code, told, trouble = command(*words)
    assert (code, told) == (2, "")
    assert sentence in trouble
