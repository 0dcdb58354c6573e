"""A challenger: another learner on the pages of a model that is served. What it is, and what is said about it.

It is a model of its own, folded from the closed pages of the model that it challenges: from the oldest that are left,
and then from each as it closes. Nobody is shown its pages, unless an experiment interleaves them.
"""

from collections.abc import Callable
from typing import Any, Literal

import msgspec

from rankloop.display import percent
from rankloop.errors import SettingsError
from rankloop.learners import LEARNERS, Learner, to_settings
from rankloop.live.experiments import LEARNED, ExperimentReport
from rankloop.live.scaling import Scaling
from rankloop.live.settings import LiveLearner, ModelSettings, Start, Zeros
from rankloop.live.shadow import SURE, OffPolicy
from rankloop.live.staleness import is_foldable
from rankloop.live.start import settled
from rankloop.mistakes import explained

MOST = 4
"""Challengers of one model: each learns from every page, in the process that learns the model."""
ABOUT_PEOPLE = ("control", "falls_back")
"""Guards that say who sees what: those of the model that is served."""
CHANGEABLE = ("learner", "scaling", "start", "late_updates", "guards")
"""What a challenger may do otherwise. The rest says what is in the log."""

Check = Callable[[ModelSettings], None]
Advice = Literal["promote", "drop", "interleave", "wait"]


class ChallengerSettings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a challenger does otherwise than the model that it challenges; the rest is the same.

    Attributes:
        name: its own; by default the model's, with a number.
        learner: settings of a method.
        scaling, start, late_updates: as for a model.
        guards: those that change; `control` and `falls_back` say who sees what, and cannot.
    """

    name: str | None = None
    learner: LiveLearner | None = None
    scaling: Scaling | None = None
    start: Start | None = None
    late_updates: Literal["current", "drawn"] | None = None
    guards: dict[str, Any] | None = None


def challenger_settings(
    own: ModelSettings, given: ChallengerSettings, taken: set[str], check: Check = lambda made: None
) -> ModelSettings:
    """The settings of a new challenger; `taken` are the names that other models have. `check` may refuse them before
    anything is worked out that takes as long, or as much room, as they say.

    >>> shop = ModelSettings(name="shop", features=2, seed=1)
    >>> challenger_settings(shop, ChallengerSettings(scaling="query"), {"shop"}).name
    'shop-2'
    """
    plain: dict[str, Any] = msgspec.to_builtins(own)
    for name in ("learner", "scaling", "start", "late_updates"):
        if (value := getattr(given, name)) is not None:
            plain[name] = msgspec.to_builtins(value)
    if forbidden := [name for name in ABOUT_PEOPLE if name in (given.guards or {})]:
        raise SettingsError(
            f"challenger: guards.{forbidden[0]} says who sees what, and is that of {own.name!r}; leave it out"
        )
    plain["guards"] |= given.guards or {}
    plain |= {"name": given.name or free_name(own.name, taken), "challenges": own.name}
    try:
        made = msgspec.convert(plain, ModelSettings)
    except msgspec.ValidationError as error:
        raise SettingsError(f"challenger: {explained(error, ModelSettings, plain)}") from None
    if made.names != own.names:
        raise SettingsError(
            f"challenger: a start in the incoming order needs the feature {made.names[-1]!r}, which {own.name!r} was "
            f"not made with; name the feature that carries the engine's score"
        )
    check(made)
    if given.learner is not None or given.start is not None:
        made = settled(made)
    if not changes(own, made):
        raise SettingsError(f"challenger: nothing differs from {own.name!r}; change one of {', '.join(CHANGEABLE)}")
    if idle := _idle(own, made):
        raise SettingsError(
            f"challenger: {idle} has no effect on a model that starts from an order or from weights, as {own.name!r} "
            f"does, so nothing differs; change something else, or give a start from 'zeros'"
        )
    if not is_foldable(own, made):
        able = [name for name, kind in LEARNERS.items() if not kind.needs_grades() and not kind.needs_own_pages]
        raise SettingsError(
            f"challenger: {made.learner.name} learns by comparing rankers on pages that they filled together, and "
            f"those of {own.name!r} are drawn otherwise; choose one of {', '.join(able)}"
        )
    return made


def changes(own: ModelSettings, other: ModelSettings) -> dict[str, Any]:
    """What another model does otherwise, of what a challenger can."""
    plain = msgspec.to_builtins(other)
    differ = {name: plain[name] for name in CHANGEABLE if getattr(own, name) != getattr(other, name)}
    if "learner" in differ:
        differ["learner"] = _method(own.learner, other.learner)
    if "guards" in differ:
        guards = msgspec.to_builtins(own.guards)
        differ["guards"] = {name: value for name, value in plain["guards"].items() if value != guards[name]}
    return differ


def _idle(own: ModelSettings, other: ModelSettings) -> str:
    """Settings that differ and change nothing, if no others differ."""
    differ = changes(own, other)
    if set(differ) != {"learner"} or isinstance(other.start, Zeros) or type(own.learner) is not type(other.learner):
        return ""
    names = [name for name in differ["learner"] if name != "learner"]
    return ", ".join(names) if set(names) <= set(other.learner.idle_with_weights) else ""


def _method(own: Learner, other: Learner) -> dict[str, Any]:
    """A method by its name, and what it does otherwise than the model's, or than another method does by default.

    >>> from rankloop.learners import PDGD, Posterior
    >>> _method(Posterior(), Posterior(prior_variance=0.1))
    {'learner': 'Posterior', 'prior_variance': 0.1}
    >>> _method(Posterior(), PDGD(learning_rate=0.2))
    {'learner': 'PDGD', 'learning_rate': 0.2}
    """
    usual, plain = to_settings(own if type(own) is type(other) else type(other)()), to_settings(other)
    return {name: value for name, value in plain.items() if name == "learner" or value != usual.get(name)}


def free_name(name: str, taken: set[str]) -> str:
    """What a challenger is called if nobody says: the model’s name with the first number that is free."""
    number = 2
    while f"{name[:60]}-{number}" in taken:
        number += 1
    return f"{name[:60]}-{number}"


class ChallengerReport(msgspec.Struct, kw_only=True):
    """A challenger as it is now, beside the model that it challenges.

    Attributes:
        name: its own.
        challenges: the model's.
        created: milliseconds since 1970.
        mode: `learning`, `paused`, `frozen` or `damaged`.
        version: updates that it has learned.
        changes: the settings that differ from the model's.
        behind: closed pages in the log that it has yet to learn from.
        fates: what became of the closed pages.
        off_policy: what it would have earned on logged pages; null if its state cannot be read.
        interleaving: the newest experiment that compares the two; null if there was none.
        advice: what to do: `promote`, `drop`, `interleave` or `wait`.
        verdict: the same in a sentence, with the reason.
    """

    name: str
    challenges: str
    created: int
    mode: str
    version: int
    changes: dict[str, Any]
    behind: int
    fates: dict[str, int]
    off_policy: OffPolicy | None
    interleaving: ExperimentReport | None
    advice: Advice
    verdict: str


def compares(experiment: ExperimentReport, challenger: str) -> bool:
    """Whether an experiment holds a challenger against the model's own order."""
    return {challenger, LEARNED} <= {arm.name for arm in experiment.arms}


def judged(
    name: str, behind: int, damage: str | None, earned: OffPolicy | None, experiment: ExperimentReport | None
) -> tuple[Advice, str]:
    """What to do with a challenger, and why, in a sentence. People's preference counts before any estimate."""
    if damage or earned is None:
        return "drop", f"It cannot be read: {damage or 'its state is gone'}"
    preferred = _preferred(name, experiment)
    sign = _sign(earned)
    if preferred is not None and experiment is not None:
        advice: Advice = "promote" if preferred else "drop"
        against = sign != 0 and (sign > 0) != preferred
        but = f" Logged pages say otherwise: {_lowered(earned.sentence)}" if against else ""
        return advice, f"{'Promote it' if preferred else 'Drop it'}: {_said(name, experiment)}{but}"
    if behind:
        return "wait", f"Wait: it still has {behind:,} closed pages of the log to learn from."
    running = experiment is not None and experiment.stopped is None
    if running and experiment is not None:
        return "wait", f"Wait: {_lowered(_said(name, experiment))} {earned.sentence}"
    if sign < 0:
        return "drop", f"Drop it, unless you want to see it interleaved: {_lowered(earned.sentence)}"
    why = "Promising" if sign > 0 else "Not decided"
    return "interleave", f"{why}; interleave the two to know: {_lowered(earned.sentence)}"


def _said(name: str, experiment: ExperimentReport) -> str:
    """What an experiment says of a challenger and the learned order. With more arms its verdict is on others."""
    if len(experiment.arms) == 2:
        return experiment.verdict
    part = {arm.name: percent(arm.share or 0.0) for arm in experiment.arms}
    decided = "beyond chance" if _preferred(name, experiment) is not None else "which may be chance"
    pages = f"{experiment.credited:,} pages that tell the orders apart"
    return f"{name} has {part[name]} of the clicks and the learned order {part[LEARNED]}, {decided}, on {pages}."


def _preferred(name: str, experiment: ExperimentReport | None) -> bool | None:
    """Whether people prefer the challenger to the learned order; None while nobody knows."""
    if experiment is None:
        return None
    against_first = {arm.name: arm.against_first for arm in experiment.arms}
    first = experiment.arms[0].name
    if first in (name, LEARNED):
        other = against_first[LEARNED if first == name else name]
        if other is None or (other.low <= 0 <= other.high):
            return None
        return (other.low > 0) == (first == LEARNED)
    # Both are held against a third: one is preferred to the other if their intervals, sure together, lie apart.
    its, own = against_first[name], against_first[LEARNED]
    if its is None or own is None or (its.low <= own.high and own.low <= its.high):
        return None
    return its.low > own.high


def _sign(earned: OffPolicy) -> int:
    if earned.low is None or earned.high is None or (earned.sure or 0.0) < SURE:
        return 0
    return (earned.low > 0) - (earned.high < 0)


def _lowered(sentence: str) -> str:
    return sentence[:1].lower() + sentence[1:]
