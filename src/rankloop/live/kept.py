"""A kept state, read: to go on from it, or only to look at it."""

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import msgspec
import numpy as np
from msgspec.structs import replace
from numpy.typing import NDArray

from rankloop.errors import SettingsError
from rankloop.live.acting import KeptActs
from rankloop.live.consistency import Consistency, KeptConsistency
from rankloop.live.course import Course, KeptCourse
from rankloop.live.errors import StateError, StoreError
from rankloop.live.events import Event, Promoted, Restored, decode
from rankloop.live.evidence import KeptEvidence
from rankloop.live.experiments import Experiments, KeptExperiment
from rankloop.live.guard import Guard, KeptGuard
from rankloop.live.influence import Influence, KeptInfluence
from rankloop.live.looks import KeptLooks, Looks
from rankloop.live.noted import Noted
from rankloop.live.settings import ModelSettings, stored_settings
from rankloop.live.shadow import KeptShadow, Shadow
from rankloop.live.watching import KeptWatch, Watch, is_watched

if TYPE_CHECKING:
    from rankloop.live.fold import Fold

FORMAT = 1
"""Of kept states. A change after which an older rankloop would misread them, or a newer one the older, moves it on."""


class Kept(msgspec.Struct):
    """A kept state, as `Fold.state` writes it; one without a number is of format 1."""

    arrays: dict[str, bytes]
    scaling: dict[str, Any]
    mode: Literal["learning", "paused", "frozen"]
    version: int
    fates: dict[str, int]
    clicks: float
    moved: float
    explored: float
    influence: KeptInfluence
    outliers: dict[str, int]
    guard: KeptGuard | None = None
    looks: KeptLooks | None = None
    """Neither is there for models that do without."""
    experiments: list[KeptExperiment] = []
    acts: KeptActs | None = None
    evidence: KeptEvidence | None = None
    reign: int = 0
    """Where in the log the settings came into force: with a challenger that was promoted; 0: as it was made."""
    drawers: dict[int, bytes] = {}
    """The settings (JSON) that drew pages, by reign, but for those that a model with pages of its own was made with."""
    shadow: KeptShadow | None = None
    """Of a challenger: what it would have earned."""
    consistency: KeptConsistency | None = None
    """What clients clicked for, for models that hold them to it."""
    watch: KeptWatch | None = None
    """What alerts are made of, for models that are watched."""
    course: KeptCourse | None = None
    """What was known of the gain as pages came; older versions kept none, and it begins with the next page."""


class Summary(NamedTuple):
    """What there is to see of a kept state."""

    version: int
    mode: str
    weights: NDArray[np.float64]
    fates: Counter[str]
    clicks: float
    explored: float
    """Sum over learned pages of their displacement."""


def looks_of(settings: ModelSettings, state: bytes) -> Looks | None:
    """What a kept state says about how people look; None if that is not counted."""
    return looks_in(settings, decoded(state))


def guard_of(state: bytes) -> Guard:
    """The comparison with the control group as a kept state has it."""
    return guard_in(decoded(state))


def course_of(state: bytes) -> Course:
    """How that comparison went."""
    return Course(decoded(state).course)


def summary_of(state: bytes) -> Summary:
    """Read a kept state (`Snapshot.state`), for those who only want to look at it.

    >>> from rankloop.live.fold import Fold
    >>> shop = Fold(ModelSettings(name="shop", features=2, seed=1), [0.5, 0.0])
    >>> summary_of(shop.state()).weights
    array([0.5, 0. ])
    """
    then = decoded(state)
    try:
        weights = np.frombuffer(then.arrays["ranker.weights"], np.float64)
    except (KeyError, ValueError) as error:
        raise damaged(error) from None
    return Summary(then.version, then.mode, weights, Counter(then.fates), then.clicks, then.explored)


def restored_by(event: Event) -> Restored | Promoted:
    """The state that a roll back, a refold or a promotion in the log goes on from."""
    try:
        restored: Restored | Promoted = decode(event.kind, event.body)
    except msgspec.MsgspecError as error:
        raise damaged(error) from None
    return restored


def promoted_settings(made: ModelSettings, promoted: Promoted) -> ModelSettings:
    """The settings of a model that a challenger has taken the place of."""
    return replace(stored_settings(promoted.settings), name=made.name, challenges=None)


def decoded(state: bytes) -> Kept:
    """A kept state, read; refuses one that is damaged, or of a format that this version does not know."""
    try:
        plain = msgspec.msgpack.decode(state)
        if isinstance(plain, dict) and (number := plain.get("format", 1)) != FORMAT:
            raise StoreError(
                f"its kept state has format {number}, and this rankloop reads format {FORMAT}; "
                f"use the version of rankloop that wrote it"
            )
        return msgspec.convert(plain, Kept)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError, TypeError) as error:
        raise damaged(error) from None


def restore_counted(fold: "Fold", then: Kept) -> None:
    """Let a fold that has learned what a kept state had learned go on from what it had counted, too."""
    settings = fold.settings
    fold.influence, fold.consistency = influence_in(then), consistency_in(settings, then)
    fold.clicks, fold.moved, fold.explored = then.clicks, then.moved, then.explored
    fold.fates, fold.outliers = Counter(then.fates), Counter(then.outliers)
    fold.guard, fold.experiments = guard_in(then), experiments_in(then)
    fold.looks, fold.noted = looks_in(settings, then), noted_in(settings, then)
    fold.shadow, fold.watch = shadow_in(settings, then), watch_in(settings, then)


def guard_in(then: Kept) -> Guard:
    """The comparison with the control group, as it was kept."""
    with _reading():
        return Guard(then.guard)


def experiments_of(state: bytes) -> Experiments:
    """The experiments that a kept state knows of."""
    return experiments_in(decoded(state))


def experiments_in(then: Kept) -> Experiments:
    """What was interleaved, as it was kept."""
    with _reading():
        return Experiments(then.experiments)


def noted_of(settings: ModelSettings, state: bytes) -> Noted:
    """What a kept state has noted of closed pages: actions, queries, segments."""
    return noted_in(settings, decoded(state))


def noted_in(settings: ModelSettings, then: Kept) -> Noted:
    """What was noted of closed pages, as it was kept."""
    with _reading():
        return Noted(settings, then.acts, then.evidence, then.course)


def influence_in(then: Kept) -> Influence:
    """Who has taught how often, as it was kept."""
    with _reading():
        return Influence(then.influence)


def influence_after(found: Restored | Promoted, then: Kept, before: Influence) -> Influence:
    """Who has taught how often, once a model goes on from a state that was found in its log."""
    return influence_in(then) if isinstance(found, Restored) and found.with_influence else before


def consistency_in(settings: ModelSettings, then: Kept) -> Consistency | None:
    """What clients clicked for, as it was kept."""
    with _reading():
        return Consistency.of(settings, then.consistency)


def drawers_in(then: Kept) -> dict[int, ModelSettings]:
    """Whose settings drew pages, as it was kept."""
    try:
        return {reign: stored_settings(text) for reign, text in then.drawers.items()}
    except (SettingsError, msgspec.MsgspecError) as error:
        raise damaged(error) from None


def settings_in(made: ModelSettings, then: Kept) -> ModelSettings:
    """The settings that a kept state is of, if its model was made with these."""
    if then.reign == 0:
        return made
    try:
        return drawers_in(then)[then.reign]
    except KeyError as error:
        raise damaged(error) from None


def watch_in(settings: ModelSettings, then: Kept) -> Watch | None:
    """What alerts are made of, as it was kept."""
    if not is_watched(settings):
        return None
    with _reading():
        return Watch(settings.names, then.watch)


def shadow_in(settings: ModelSettings, then: Kept) -> Shadow | None:
    """What a challenger would have earned, as it was kept."""
    if settings.challenges is None:
        return None
    with _reading():
        return Shadow(then.shadow)


def looks_in(settings: ModelSettings, then: Kept) -> Looks | None:
    """What was known about how people look, as it was kept."""
    with _reading():
        return Looks.of(settings, then.looks)


@contextmanager
def _reading() -> Iterator[None]:
    try:
        yield
    except ValueError as error:
        raise damaged(error) from None


def damaged(error: Exception) -> StateError:
    """What is said of a state that cannot be read, and what helps."""
    why = f"it lacks {error}, so another version may have written it" if isinstance(error, KeyError) else error
    return StateError(f"its kept state is damaged ({why}); rankloop log refold computes it anew from the log")
