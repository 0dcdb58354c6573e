"""What changed, and what to do about it: one sentence each, with the page where it can be done."""

from collections.abc import Sequence
from typing import NamedTuple
from urllib.parse import quote

import numpy as np

from rankloop.display import counted, listed
from rankloop.live.alerts import Alert
from rankloop.live.experiments import ExperimentReport
from rankloop.live.registry import LiveModel
from rankloop.web.bars import largest
from rankloop.web.dashboard.health import State
from rankloop.web.dashboard.history import sentence_of
from rankloop.web.dashboard.plain_words import feature_name
from rankloop.web.dashboard.reading import Reading
from rankloop.web.dashboard.tallied import pages
from rankloop.web.dashboard.verdict import Verdict, pages_to_go

DAY = 86_400_000
NAMED = 2
NOTABLE = 0.02
"""Share of the largest weight by which one must have moved to be named."""


class Advice(NamedTuple):
    """A sentence, and where it leads; `tone` is good, open or bad. `since` when it is about something that lasts."""

    tone: str
    text: str
    label: str = ""
    address: str = ""
    since: int | None = None


def to_do(
    model: LiveModel,
    reading: Reading,
    verdict: Verdict,
    states: Sequence[State],
    alerts: Sequence[Alert],
    experiment: ExperimentReport | None = None,
) -> Advice:
    """The next step: the most urgent thing first. `experiment`: the one that is running."""
    place = f"/models/{quote(model.settings.name)}"
    broken = next((state for state in states if state.tone == "bad"), None)
    if broken:
        text = f"{broken.part} {broken.word}. {broken.note}"
        return Advice("bad", text, *(("See why", "/service") if broken.why else ()))
    if other := model.settings.challenges:
        text = f"Wait until it has learned, then compare it with {other}: promote it or drop it."
        return Advice("open", text, "Experiments", f"/models/{quote(other)}/experiments")
    if not reading.ever and not reading.open:
        return Advice("open", "Send it pages to rank.", "Connect your search", f"{place}/connect")
    if verdict.tone == "bad":
        text = "Look at what it learned, and roll back to a version from before."
        if model.view().guarded:
            text = "Few people see it now, so there is no hurry: roll back, or let it learn until a trial goes well."
        return Advice("bad", text, "History", f"{place}/history")
    if model.view().mode != "learning":
        return Advice("open", f"It is {model.view().mode} and not learning.", "Resume learning", f"{place}/act/resume")
    if not model.settings.guards.compares:
        label = "Start an experiment" if experiment is None else "See the experiment"
        return Advice(
            "open", "Ask people whether it helps: an experiment needs no control group.", label, f"{place}/experiments"
        )
    if alerts:
        tone = "bad" if alerts[0].severity == "bad" else "open"
        return Advice(tone, alerts[0].sentence, since=alerts[0].started)
    if experiment is not None and experiment.better is not None:
        text = "Stop the experiment: it is decided, and half of what its people see is still the other order’s."
        return Advice("open", text, "See who won", f"{place}/experiments")
    if verdict.tone == "good":
        return Advice("good", "Nothing. It keeps learning by itself.", "See where it helps", f"{place}/queries")
    label = "Or start an experiment" if experiment is None else "See the experiment"
    return Advice("open", _wait(reading, model), label, f"{place}/experiments")


def _wait(reading: Reading, model: LiveModel) -> str:
    """How long until there will be an answer."""
    more = pages_to_go(reading.guard, model.settings.guards) if reading.guard else None
    if more is None:
        return "Wait for more pages: there is too little to compare yet."
    return f"Wait for about {_round(more):,} more pages: then this difference would be clear, if it stays as it is."


def _round(number: int) -> int:
    """To two digits, upwards.

    >>> _round(12_345), _round(7)
    (13000, 7)
    """
    unit = 10 ** max(0, len(str(number)) - 2)
    return -(-number // unit) * unit if number % unit else number


def changed(model: LiveModel, reading: Reading, now: int) -> str:
    """What is different from a day ago, or from the beginning: the weights that moved most, and the last decision."""
    if reading.is_unread:
        return "Not known now."
    sentences = []
    if reading.decisions and now - reading.decisions[0].at < 7 * DAY:
        event = reading.decisions[0]
        who = event.client.decode("utf-8", "replace")
        sentences.append(f"{sentence_of(event)}{f' ({who})' if who else ''}.")
    if moved := _moved(model, reading, now):
        sentences.append(moved)
    if not sentences:
        count = sum(pages(ranks).shown for ranks in reading.ever.values())
        sentences.append(f"Nothing yet: {counted(count, 'page')} closed." if count else "Nothing yet.")
    return " ".join(sentences)


def _moved(model: LiveModel, reading: Reading, now: int) -> str:
    history = reading.history
    if len(history) < 2 or not model.settings.is_linear:
        return ""
    newest = history[-1][1]
    earlier = [weights for snapshot, weights in history[:-1] if snapshot.at <= now - DAY]
    since, before = ("Since yesterday", earlier[-1]) if earlier else ("Since the start", history[0][1])
    step = newest - before
    size = float(np.abs(newest).max())
    named = [i for i in largest(step, NAMED) if abs(step[i]) > NOTABLE * size > 0]
    if not named:
        return f"{since}, no weight has moved much."
    words = [f"{feature_name(model.settings.names[i])} {'more' if step[i] > 0 else 'less'}" for i in named]
    return f"{since} it counts {listed(words)}."
