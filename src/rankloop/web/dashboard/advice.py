"""What changed, and what to do about it: one sentence each, with the page where it can be done."""

from collections.abc import Sequence
from typing import NamedTuple
from urllib.parse import quote

import numpy as np
from markupsafe import Markup, escape

from rankloop.display import counted, listed
from rankloop.live.alerts import Alert
from rankloop.live.challengers import ChallengerReport
from rankloop.live.contrasts import QueriesReport, SegmentsReport
from rankloop.live.experiments import ExperimentReport
from rankloop.live.guard import LEAST, Guard
from rankloop.live.incoming import INCOMING
from rankloop.live.registry import LiveModel
from rankloop.live.settings import IncomingOrder
from rankloop.web.bars import largest
from rankloop.web.dashboard import formats
from rankloop.web.dashboard.health import State
from rankloop.web.dashboard.history import sentence_of
from rankloop.web.dashboard.plain_words import feature_name
from rankloop.web.dashboard.reading import Reading
from rankloop.web.dashboard.tallied import pages
from rankloop.web.dashboard.trail import ANEW, before_worse
from rankloop.web.dashboard.verdict import Verdict, few_people, pages_to_compare, pages_to_go, rounded_up, signed_share

DAY = 86_400_000
NAMED = 2
LONGEST = 40
"""Characters of a query that is named."""
NOTABLE = 0.02
"""Share of the largest weight by which one must have moved to be named."""
LEANS = FAVOUR, MORE, AGAINST, LESS = "favour {}", "favour {} even more", "go against {}", "rely less on {}"
"""What a model has learned to do with a feature."""


STOPPED = {
    "paused": "Resume it when you are ready. While paused, people still see what it had learned.",
    "frozen": "Resume it when you are ready. While frozen, people see the best order it had learned.",
}


class Advice(NamedTuple):
    """A sentence, and where it leads; `tone` is good, open or bad. `since` when it is about something that lasts."""

    tone: str
    text: str
    label: str = ""
    address: str = ""
    since: int | None = None
    more: tuple[str, str] | None = None
    """Another place that it leads to."""


class Apart(NamedTuple):
    """What is known of queries and segments, each compared by itself."""

    told: bool = False
    """Whether there is an answer for any of them."""
    segments: tuple[str, ...] = ()
    """Where it hurts, beyond chance."""
    queries: tuple[str, ...] = ()
    unseen: bool = False
    """Whether it hurts on queries that nobody had asked before."""


def apart(queries: QueriesReport, segments: SegmentsReport) -> Apart:
    """Where a model helps and hurts, of what the page with queries shows."""
    asked = [(one.query, one.contrast.verdict) for one in queries.queries]
    parts = [(one.segment, one.contrast.verdict) for one in segments.segments]
    verdicts = [queries.new.verdict, queries.known.verdict, *(verdict for _, verdict in asked + parts)]
    return Apart(
        any(verdict is not None for verdict in verdicts),
        tuple(name for name, verdict in parts if verdict == "hurts"),
        tuple(query for query, verdict in asked if verdict == "hurts"),
        queries.new.verdict == "hurts",
    )


def to_do(
    model: LiveModel,
    reading: Reading,
    verdict: Verdict,
    states: Sequence[State],
    alerts: Sequence[Alert],
    experiment: ExperimentReport | None = None,
    *,
    found: Apart | None = None,
    challengers: Sequence[ChallengerReport] = (),
) -> Advice:
    """The next step: the most urgent thing first. `experiment`: the one that is running; `found`: what is known of
    queries and segments; `challengers`: those of the model."""
    found = found or Apart()
    place, guards = f"/models/{quote(model.settings.name)}", model.settings.guards
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
        return _undoing(model, reading, place)
    if alerts and alerts[0].severity == "bad":
        return Advice("bad", alerts[0].sentence, since=alerts[0].started)
    if model.view().mode != "learning":
        return Advice("open", STOPPED[model.view().mode], "Resume learning", f"{place}/act/resume")
    if promising := _challenged(challengers, place):
        return promising
    if not guards.compares:
        if experiment is not None:
            text = "Wait for the experiment: it counts whose results get the clicks."
            return Advice("open", text, "See the experiment", f"{place}/experiments")
        text = (
            "Start an experiment: it mixes both orders on some pages and counts whose results get the clicks. Or "
            "create a new model with a control group."
        )
        return Advice("open", text, "Start an experiment", f"{place}/experiments", more=("New model", "/new"))
    if alerts:
        return Advice("open", alerts[0].sentence, since=alerts[0].started)
    if experiment is not None and experiment.better is not None:
        text = "Stop the experiment: it has a winner, and still mixes in the other order."
        return Advice("open", text, "See who won", f"{place}/experiments")
    if hurting := _hurting(found, place):
        return hurting
    if verdict.tone == "good":
        where = ("See where it helps", f"{place}/queries#helps")
        shown = where if found.told else ("See what it does to a query", f"{place}/queries")
        return Advice("good", "Nothing. It keeps learning by itself.", *shown)
    label = "Or start an experiment" if experiment is None else "See the experiment"
    return Advice("open", _wait(reading, model, verdict), label, f"{place}/experiments")


def _undoing(model: LiveModel, reading: Reading, place: str) -> Advice:
    """What to do about an order that is worse than the engine's."""
    if not model.view().guarded:
        text = "Look at what it learned, and roll back to an earlier version."
        return Advice("bad", text, "History", f"{place}/history")
    before, label = before_worse(reading.states), "roll back to before it got worse"
    if before is None and _begins(model, reading):
        before, label = reading.states[0], "roll back to the engine’s order"
    if before:
        act = f"{place}/act/roll-back?version={before.version}"
        return Advice("bad", "Few people see it now. Let it learn, or", f"{label} (version {before.version:,})", act)
    gains = [one.verdict.gain for one in reading.trail if one.verdict.gain is not None]
    if gains and max(gains) < 0:  # then no version of it is worth going back to
        return Advice("bad", "It never did better. Let it learn, or", "start anew in the engine’s order", "/new")
    text = "Few people see it now: roll back, or let it learn until a trial goes well."
    return Advice("bad", text, "History", f"{place}/history")


def _begins(model: LiveModel, reading: Reading) -> bool:
    """Whether the oldest kept state is the engine's own order."""
    return bool(reading.states) and not reading.states[0].version and isinstance(model.settings.start, IncomingOrder)


def _challenged(challengers: Sequence[ChallengerReport], place: str) -> Advice | None:
    """What to do with a challenger that people prefer, or that looks better on logged pages."""
    for one in challengers:
        if one.advice == "promote":
            text = f"Promote the challenger {one.name}: people prefer its order."
            return Advice("open", text, "See the challenger", f"{place}/experiments#challengers")
    for one in challengers:
        low = one.off_policy.low if one.off_policy else None
        if one.advice == "interleave" and low is not None and low > 0:
            text = f"Try the challenger {one.name} on some pages: it looks better on those in the log."
            return Advice("open", text, "See the challenger", f"{place}/experiments#challengers")
    return None


def _hurting(found: Apart, place: str) -> Advice | None:
    """What to do where it hurts, which an answer about all pages does not show."""
    if found.segments:
        one = len(found.segments) == 1
        whose = "a model of its own for the segment" if one else "models of their own for the segments"
        text = f"Consider {whose} {_first(found.segments)}: there it hurts, beyond chance."
        return Advice("open", text, "See where it hurts", f"{place}/queries#segments")
    if found.queries:
        text = f"Look at {_first([f'“{_cut(query)}”' for query in found.queries])}: there it hurts, beyond chance."
        return Advice("open", text, "See why", f"{place}/queries?q={quote(found.queries[0])}")
    if found.unseen:
        text = "Look at new queries: there it hurts, beyond chance. Features that every query has may help."
        return Advice("open", text, "See where it hurts", f"{place}/queries#helps")
    return None


def _first(names: Sequence[str]) -> str:
    """The first few of some names.

    >>> _first(["phone", "de", "tablet"])
    'phone, de and 1 more'
    """
    return listed([*names[:NAMED], *([f"{len(names) - NAMED} more"] if len(names) > NAMED else [])])


def _cut(text: str) -> str:
    return text if len(text) <= LONGEST else f"{text[:LONGEST]}…"


def _wait(reading: Reading, model: LiveModel, verdict: Verdict) -> str:
    """How long until there will be an answer."""
    guards, guard = model.settings.guards, reading.guard or Guard()
    if more := pages_to_compare(guard, guards):
        share, group = guards.control, "the control group"
        so_far = guard.incoming.pages
        if guard.incoming.pages >= LEAST:
            share, group, so_far = 1 - guards.control, "the learned order", guard.learned.pages
        return (
            f"Keep sending pages: it takes about {more:,} more to compare. In {group} ({100 * share:.3g} % of people) "
            f"there are {so_far} of {LEAST}."
        )
    if few := few_people(guard):
        return f"Keep sending pages. It needs more people with {few} to compare."
    if verdict.low is None or verdict.high is None:
        return "Keep sending pages. There are too few clicks to compare yet."
    if to_go := pages_to_go(guard, guards):
        more = rounded_up(to_go)
        return f"Wait for about {more:,} more pages: then this difference would be clear, if it stays as it is."
    end = f"to {signed_share(verdict.high)}" if verdict.bounded else "up"
    return f"Keep sending pages. It could still be anything from {signed_share(verdict.low)} {end}."


def changed(model: LiveModel, reading: Reading, now: int) -> Markup:
    """What is different from a day ago, or from the beginning: the weights that moved most, and the last decision."""
    if reading.is_unread:
        return Markup("Unknown right now.")
    sentences = []
    if reading.decisions and now - reading.decisions[0].at < 7 * DAY:
        event = reading.decisions[0]
        who = event.client.decode("utf-8", "replace")
        by = f" by {who}" if who else ""
        what = sentence_of(event).partition(":")[0]  # which orders an experiment compares stands in the history
        sentences.append(Markup("{}{}, {}.").format(what, by, formats.moment(event.at)))
    if moved := _moved(model, reading, now):
        sentences.append(moved)
    if not sentences:
        count = sum(pages(ranks).shown for ranks in reading.ever.values())
        sentences.append(escape(f"Nothing yet: {counted(count, 'page')} closed." if count else "Nothing yet."))
    return Markup(" ").join(sentences)


def _moved(model: LiveModel, reading: Reading, now: int) -> Markup:
    history = reading.history
    if len(history) < 2 or not model.settings.is_linear:
        return Markup("")
    newest = history[-1][1]
    earlier = [weights for snapshot, weights in history[:-1] if snapshot.at <= now - DAY]
    since, before = ("Since yesterday", earlier[-1]) if earlier else ("Since the start", history[0][1])
    # What a rollback undid was not learned, so only what came after it counts.
    if (event := next((one for one in reading.decisions if one.kind in ANEW), None)) and event.at > now - DAY:
        after = [weights for snapshot, weights in history if snapshot.offset >= event.offset]
        if len(after) < 2:
            return Markup("")
        since, before = f"Since {ANEW[event.kind]}", after[0]
    step = newest - before
    size = float(np.abs(newest).max())
    notable = [i for i in largest(step, len(step)) if abs(step[i]) > NOTABLE * size > 0]
    if not notable:
        return Markup("{}, no weight has moved much.").format(since)
    known = notable if reading.sure is None else [i for i in notable if reading.sure[i]]
    if not known:
        leaning = [_towards(model.settings.names[i], float(step[i])) for i in notable[:NAMED]]
        return Markup("Nothing for sure yet; leaning towards {}.").format(_and(leaning))
    named = known[:NAMED]
    leans: dict[str, list[Markup]] = {words: [] for words in LEANS}
    for i in named:
        was = 0.0 if abs(before[i]) <= NOTABLE * size else float(before[i])
        words, what = _lean(model.settings.names[i], was, float(newest[i]))
        leans[words].append(what)
    parts = [Markup(words).format(_and(names)) for words, names in leans.items() if names]
    return Markup("{} it learned to {}.").format(since, _and(parts))


def _lean(name: str, was: float, now: float) -> tuple[str, Markup]:
    """What became of a weight, and of what: a weight below zero that grows counts more, for less of its feature.

    >>> _lean("price", 0.0, -0.57)
    ('favour {}', Markup('low <strong>price</strong>'))
    """
    feature = Markup("<strong>{}</strong>").format(feature_name(name))
    turned = was * now < 0
    if abs(now) < abs(was) and not turned:
        return LESS, feature
    if name == INCOMING:  # an order has no high and low
        return (AGAINST if now < 0 else MORE if was > 0 else FAVOUR), feature
    high, low = ("high", "low") if now > 0 else ("low", "high")
    if turned:
        return FAVOUR, Markup("{} {} instead of {}").format(high, feature, low)
    return (MORE if was else FAVOUR), Markup("{} {}").format(high, feature)


def _towards(name: str, step: float) -> Markup:
    """Where a weight moves, of which nobody knows yet whether it is to."""
    feature = Markup("<strong>{}</strong>").format(feature_name(name))
    if name == INCOMING:
        return feature if step > 0 else Markup("less of {}").format(feature)
    return Markup("{} {}").format("high" if step > 0 else "low", feature)


def _and(parts: Sequence[Markup]) -> Markup:
    return Markup(" and ").join(parts)
