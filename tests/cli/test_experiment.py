"""`rankloop experiment` as people type it: start, show, stop, and mistakes as sentences."""

import json

import pytest

from rankloop.client import Client

from ..patience import PATIENCE

pytestmark = [pytest.mark.xdist_group("experiment-command"), pytest.mark.process]


@pytest.fixture
def command(rankloop, service):
    """`rankloop experiment`: (exit code, standard output, standard error)."""
    return lambda *words: rankloop("experiment", *words, "--url", service.url)


def test_an_experiment_from_start_to_stop(service, command):
    assert "has had no experiment" in command("show", "shop")[1]
    code, told, trouble = command("start", "shop", "--share", "1", "--json")
    assert code == 0, trouble
    begun = json.loads(told)
    with Client(service.url, timeout=PATIENCE) as client:
        page = client.rank("shop", {"a": [1.0, 0.0], "b": [0.0, 1.0], "c": [0.5, 0.5]}, client="somebody")
        assert page.group == "interleaved"
        client.click(page.impression, page.ranking, close=True)
        client.close(page.impression, wait=True)
    code, told, _ = command("show", "shop")
    assert code == 0
    assert "running: 1 pages" in told
    [shown] = json.loads(command("show", "shop", "--json")[1])
    assert shown["id"] == begun["id"]
    assert "ended" in command("stop", "shop")[1]


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("stop", "shop"), "has no experiment running"),
        (("start", "nothing"), "nothing"),
        (("start", "shop", "--arm", "learned"), "2 to 8 different ones"),
        (("start", "shop", "--share", "3"), "share must be"),
    ],
)
def test_a_mistake_is_a_sentence(command, words, sentence):
    code, _, trouble = command(*words)
    assert code == 2
    assert sentence in trouble
