"""Whether the parts of a service work, in sentences for the person who watches it."""

from typing import NamedTuple

from rankloop.live.registry import LiveModel
from rankloop.live.service import Service, now

SLOW = 10_000
"""Milliseconds behind the log from which a learner is called late."""


class State(NamedTuple):
    """One part of the service: `tone` is good, open or bad."""

    part: str
    tone: str
    word: str
    told: str = ""


def store_state(trouble: str | None) -> State:
    """The store, as it answered when it was last asked."""
    if trouble is None:
        return State("Store", "good", "works")
    told = f"{trouble}. Pages go out in the incoming order, and nothing is learned, until it is back."
    return State("Store", "bad", "stopped", told)


def learner_state(service: Service, model: LiveModel | None = None, waiting_since: int | None = None) -> State:
    """The learner of this process, and how far it is behind for a model."""
    learner = service.learner
    if learner is None:
        return State("Learner", "open", "elsewhere", "This process ranks and logs; another one learns.")
    if not learner.alive:
        return State("Learner", "bad", "stopped", "Ranking goes on with the last state; start the service again.")
    if learner.error:
        return State("Learner", "bad", "waits", f"{learner.error}. Ranking goes on with the last state.")
    if model is not None and model.id not in learner.folds():
        return State("Learner", "open", "elsewhere", "Another process learns for this model.")
    behind = now() - waiting_since if waiting_since is not None else 0
    if behind > SLOW:
        return State("Learner", "open", "late", f"It is {behind / 1000:,.0f} s behind the log, and catching up.")
    return State("Learner", "good", "works")


def lag_seconds(waiting_since: int | None) -> float:
    """How long the oldest thing has waited that the model has not taken in."""
    return max(0.0, (now() - waiting_since) / 1000) if waiting_since is not None else 0.0


def can_act(service: Service) -> str | None:
    """Why nobody would follow a decision now; None if somebody would."""
    learner = service.learner
    if learner is not None and not learner.alive:
        return "the learner has stopped, so nobody would follow; start the service again first"
    if learner is None and not service.store.shared:
        return "this service only ranks (--no-learn), so nobody would follow"
    return None
