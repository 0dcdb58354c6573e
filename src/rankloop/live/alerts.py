"""Alerts: what somebody should look at, each with a start, an end and a sentence.

Most follow from the log and are part of a model's state (`rankloop.live.watching`): their times are those of the events
that began and ended them, whichever process looks. What only a running service can know (it lags, its learner failed, a
state cannot be read, clients who may be steering) begins when it is first noticed.
"""

from typing import Literal, NamedTuple

import msgspec

from rankloop.display import counted, listed
from rankloop.live.fold import Fold
from rankloop.live.steering import thing
from rankloop.live.suspicion import Suspects
from rankloop.live.watching import Period

Severity = Literal["bad", "notice"]

LAGS = 1_000
"""Closed pages that a learner has yet to learn from before that is an alert."""
TAUGHT = 100
"""Learned pages after which it is said that nobody has a name."""
COMMAND = "rankloop log suspects LOG --model"
NAMED = 5
"""Things that are named of those that somebody may be steering towards."""


class Alert(msgspec.Struct, frozen=True, kw_only=True):
    """Something to look at.

    Attributes:
        id: of this alert alone; the same whenever it is told again.
        model: its name.
        kind: what is wrong: `worse`, `diverged`, `examination`, `missing`, `constant`, `shifted`, `outlying`,
            `steered`, `nameless`, `behind`, `damaged` or `learner`.
        subject: the feature, if it is about one.
        severity: `bad`: people see something worse than they should, or nothing is learned; `notice`: look into it.
        started: milliseconds since 1970.
        ended: the same; null while it lasts.
        sentence: what is wrong, and what to do.
    """

    id: str
    model: str
    kind: str
    subject: str
    severity: Severity
    started: int
    ended: int | None
    sentence: str


class _Kind(NamedTuple):
    severity: Severity
    sentence: str


KINDS = {
    "worse": _Kind(
        "bad",
        "The learned order gets fewer clicks than the control's, beyond chance: most people see the incoming order. "
        "Roll back, or let it learn: it is tried on a few people and comes back when it is no longer worse.",
    ),
    "diverged": _Kind(
        "bad",
        "It has stopped learning, because its weights were growing without bound. Roll back, then resume; lower the "
        "learning rate or scale the features with a challenger.",
    ),
    "examination": _Kind(
        "notice",
        "People look at ranks differently than before, beyond chance: did the page's layout change? Estimates of how "
        "far people look mix both times.",
    ),
    "missing": _Kind(
        "bad", "Feature {subject!r} is 0 for every candidate, and it used to vary: is it still computed and sent?"
    ),
    "constant": _Kind(
        "notice", "Feature {subject!r} has the same value for all candidates of a page, and it used to vary."
    ),
    "shifted": _Kind(
        "notice", "Feature {subject!r} lies far beyond all values seen before: another unit, or another scale?"
    ),
    "outlying": _Kind(
        "notice",
        "Feature {subject!r} had values more than a thousand deviations from all others, which were brought in: a "
        "mistake?",
    ),
    "steered": _Kind("notice", "{subject}"),
    "nameless": _Kind(
        "notice",
        "Nothing bounds what one visitor can teach this model: pages come without a client's name. Send a stable one "
        "with each rank request.",
    ),
    "behind": _Kind("bad", "The learner has {subject} closed pages to learn from and is catching up."),
    "damaged": _Kind("bad", "Its pages go out in the incoming order: {subject}"),
    "learner": _Kind("bad", "Nothing is learned: {subject}"),
}
"""Every kind of alert. A sentence may name its subject."""


class Condition(NamedTuple):
    """Something that is wrong at this moment, as a running service sees it; `detail` goes into its sentence."""

    kind: str
    detail: str = ""


def alert_of(model: str, period: Period, detail: str | None = None) -> Alert:
    """What is told of a period in which something was wrong.

    >>> alert_of("shop", Period("missing", "price", 5)).sentence
    "Feature 'price' is 0 for every candidate, and it used to vary: is it still computed and sent?"
    """
    kind = KINDS[period.kind]
    subject = period.subject if detail is None else detail
    return Alert(
        id=f"{model}-{period.kind}-{period.subject}-{period.started}",
        model=model,
        kind=period.kind,
        subject=period.subject,
        severity=kind.severity,
        started=period.started,
        ended=period.ended,
        sentence=kind.sentence.format(subject=subject),
    )


def conditions(
    *, guarded: bool, damage: str | None, trouble: str | None, lag: int, fold: Fold | None, suspects: Suspects | None
) -> list[Condition]:
    """What is wrong with a model that its state does not say. `trouble`: of the learner; `lag`: closed pages to go."""
    found = []
    if damage:
        found.append(Condition("damaged", damage))
    if trouble:
        found.append(Condition("learner", trouble))
    elif lag > LAGS and not (fold and fold.settings.challenges):  # a challenger is to catch up with the whole log
        found.append(Condition("behind", f"{lag:,}"))
    if fold is None:
        return found
    guards = fold.settings.guards
    if fold.watch is None and fold.shadow is None:
        # Of a model from before there were alerts, whose state does not say these.
        found += [Condition("worse")] if guarded else []
        found += [Condition("outlying", name) for name, _ in fold.outliers.most_common(1)]
    if guards.client_pages and fold.fates["learned"] >= TAUGHT and not fold.influence.is_given_names(guards):
        found.append(Condition("nameless"))
    if suspects and suspects.found:
        things = listed(list(dict.fromkeys(thing(one) for one in suspects.found))[:NAMED])
        who = f"{counted(len(suspects.everybody), 'client')} may be steering this model, for {things}"
        found.append(Condition("steered", f"{who}: look with {COMMAND} {fold.settings.name}"))
    return found
