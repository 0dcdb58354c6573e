"""Who did what to a model, when, and how to take it back."""

from collections.abc import Sequence
from contextlib import suppress
from typing import NamedTuple
from urllib.parse import quote

import msgspec

from rankloop.display import listed
from rankloop.live.events import Event, ExperimentStarted, Kind, Restored, decode
from rankloop.live.experiments import INCOMING, LEARNED
from rankloop.live.registry import LiveModel
from rankloop.live.stores.rows import Snapshot

NOBODY = "someone not signed in"


class Undo(NamedTuple):
    """How to take a decision back: what that is called, and the page that asks whether one is sure."""

    label: str
    address: str


class Entry(NamedTuple):
    """One decision."""

    at: int
    who: str
    what: str
    undo: Undo | None = None


def entries(model: LiveModel, decisions: Sequence[Event], snapshots: Sequence[Snapshot]) -> list[Entry]:
    """What people decided, the newest first, ending with the making of the model. What a later decision of the same
    kind has overtaken cannot be taken back any more: that would change something else."""
    made: list[Entry] = []
    over: set[str] = set()
    for event in decisions:
        subject = _subject(event.kind)
        undo = None if subject in over else _undo(model, event, snapshots)
        over.add(subject)
        made.append(Entry(event.at, event.client.decode("utf-8", "replace") or NOBODY, sentence_of(event), undo))
    return [*made, Entry(model.created, "", "Created the model")]


def sentence_of(event: Event) -> str:
    """A decision in words."""
    with suppress(msgspec.MsgspecError, UnicodeDecodeError):
        match event.kind:
            case Kind.PAUSED:
                return "Paused learning"
            case Kind.RESUMED:
                return "Resumed learning"
            case Kind.FROZEN:
                return "Froze the model"
            case Kind.SCALING_FROZEN:
                return "Froze the scaling of features"
            case Kind.ROLLED_BACK:
                restored: Restored = decode(event.kind, event.body)
                return f"Rolled back to version {restored.version:,}"
            case Kind.PROMOTED:
                return "Promoted a challenger to be the model"
            case Kind.REFOLDED:
                return "Relearned the model from what is left in the log"
            case Kind.EXPERIMENT_STARTED:
                started: ExperimentStarted = decode(event.kind, event.body)
                return f"Started an experiment: {listed([arm_name(arm) for arm in started.arms])}"
            case Kind.EXPERIMENT_STOPPED:
                return "Stopped the experiment"
    with suppress(ValueError):
        return Kind(event.kind).name.replace("_", " ").capitalize()
    return "Made a change that this release does not know"


def arm_name(arm: str) -> str:
    """An order that is compared, as people call it."""
    return {INCOMING: "the engine’s order", LEARNED: "the learned order"}.get(arm, arm)


def _subject(kind: int) -> str:
    """What a decision is about: of two about the same, the newer one counts."""
    if kind in (Kind.PAUSED, Kind.RESUMED, Kind.FROZEN):
        return "mode"
    if kind in (Kind.EXPERIMENT_STARTED, Kind.EXPERIMENT_STOPPED):
        return "experiment"
    return "state"


def _undo(model: LiveModel, event: Event, snapshots: Sequence[Snapshot]) -> Undo | None:
    place = f"/models/{quote(model.settings.name)}"
    match event.kind:
        case Kind.PAUSED | Kind.FROZEN:
            return Undo("Resume learning", f"{place}/act/resume")
        case Kind.RESUMED:
            return Undo("Pause again", f"{place}/act/pause")
        case Kind.ROLLED_BACK | Kind.PROMOTED:
            before = next((one for one in snapshots if one.offset < event.offset), None)
            if before is None:
                return None
            return Undo(f"Roll back to version {before.version:,}", f"{place}/act/roll-back?version={before.version}")
        case Kind.EXPERIMENT_STARTED:
            return Undo("Stop the experiment", f"{place}/experiments") if model.view().experiment else None
        case Kind.EXPERIMENT_STOPPED:
            return Undo("Start another", f"{place}/experiments")
    return None
