"""Whether the parts of a service work, in sentences for the person who watches it."""

from typing import NamedTuple

from rankloop.live.registry import LiveModel
from rankloop.live.service import Service, now

SLOW = 10_000
"""Milliseconds behind the log from which a learner is called late."""


class State(NamedTuple):
    """One part of the service: `tone` is good, open or bad, or plain where another part's trouble explains it."""

    part: str
    tone: str
    word: str
    note: str = ""
    """What that means, and what to do."""
    why: str = ""
    """The cause as the machine has it, which is told once."""


def store_state(trouble: str | None) -> State:
    """The store, as it answered when it was last asked."""
    if trouble is None:
        return State("Store", "good", "healthy")
    note = "Bring it back: until then, pages keep your engine’s order and nothing is learned."
    return State("Store", "bad", "down", note, trouble)


def model_state(damage: str) -> State:
    """A model whose kept state cannot be read; the reason says what to do about it."""
    return State("Model", "bad", "damaged", f"Its pages keep your engine’s order: {damage}.")


def learner_state(
    service: Service, model: LiveModel | None = None, waiting_since: int | None = None, *, store_down: bool = False
) -> State:
    """The learner of this process, and how far a model is behind the log. That another process learns is as it should
    be, while it keeps up; and that it waits for a store which is down is no trouble of its own."""
    learner = service.learner
    if learner is not None and not learner.alive:
        return State("Learner", "bad", "stopped", "Ranking continues with the last state. Restart the service.")
    if learner is not None and learner.error and store_down:
        return State("Learner", "plain", "waiting for the store")
    if learner is not None and learner.error:
        return State("Learner", "bad", "waiting", "Ranking continues with the last state.", learner.error)
    is_elsewhere = learner is None or (model is not None and model.id not in learner.folds())
    behind = now() - waiting_since if waiting_since is not None else 0
    if behind > SLOW:
        then = ": is the process that learns running?" if is_elsewhere else " and catching up."
        return State("Learner", "open", "behind", f"It is {behind / 1000:,.0f} s behind the log{then}")
    return State("Learner", "good", "in another process" if is_elsewhere else "healthy")


def states(
    service: Service, trouble: str | None, model: LiveModel | None = None, waiting_since: int | None = None
) -> list[State]:
    """Store and learner, for all models or for one; and of the one, whether its state can be read."""
    learner = learner_state(service, model, waiting_since, store_down=trouble is not None)
    damaged = [model_state(model.damage)] if model is not None and model.damage else []
    return [*damaged, store_state(trouble), learner]


def lag_seconds(waiting_since: int | None) -> float:
    """How long the oldest thing has waited that the model has not taken in."""
    return max(0.0, (now() - waiting_since) / 1000) if waiting_since is not None else 0.0


def can_act(service: Service) -> str | None:
    """Why a decision would have no effect now; None if it would have one."""
    learner = service.learner
    if learner is not None and not learner.alive:
        return "the learner has stopped, so this would have no effect; restart the service first"
    if learner is None and not service.store.shared:
        return "this service only ranks (--no-learn), so this would have no effect"
    return None


def needs_attention(service: Service, model: LiveModel) -> bool:
    """Whether something lasts that cannot wait, beside a guard that came on, which has a mark of its own."""
    mine = [one for one in service.alarms.open() if one.model == model.settings.name]
    return any(one.severity == "bad" and one.kind != "worse" for one in mine)
