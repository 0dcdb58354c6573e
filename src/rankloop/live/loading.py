"""A model as the log has it: its settings, its newest kept state, whose events it is folded from, and their pages."""

import msgspec

from rankloop.errors import SettingsError
from rankloop.live.errors import StateError
from rankloop.live.events import ENDED, PRECISIONS, Closing, Event, Impression, Kind, Late, decode
from rankloop.live.fold import Fold
from rankloop.live.settings import ModelSettings, stored_settings
from rankloop.live.stores.contract import Reader
from rankloop.live.stores.rows import COMPACTED, StoredModel

UNREADABLE = (msgspec.MsgspecError, UnicodeDecodeError)
"""What reading bytes ends with that are damaged."""


def settings_of(model: StoredModel) -> ModelSettings:
    """A stored model's settings."""
    try:
        return stored_settings(model.settings)
    except (SettingsError, *UNREADABLE) as error:
        raise SettingsError(f"the settings of model {model.name!r} cannot be read: {error}") from None


def load(store: Reader, model: StoredModel) -> tuple[Fold, int]:
    """A model's newest kept state and the offset it was kept at (−1: none, the state is the model's beginning)."""
    settings = settings_of(model)
    snapshot = store.newest_snapshot(model.id)
    if snapshot is None:
        return begun(store, model), -1
    return Fold.restored(settings, snapshot.state, snapshot.offset), snapshot.offset


def parent_of(store: Reader, settings: ModelSettings) -> StoredModel | None:
    """The model that a challenger challenges; None if it is no challenger."""
    if settings.challenges is None:
        return None
    for model in store.models():
        if model.name == settings.challenges:
            return model
    raise StateError(f"model {settings.name!r} challenges {settings.challenges!r}, which is gone; drop it")


def sources_of(store: Reader, model: StoredModel, settings: ModelSettings | None = None) -> tuple[int, ...]:
    """Whose events a model is folded from: its own and, if it is a challenger, those of the model it challenges."""
    parent = parent_of(store, settings or settings_of(model))
    return (model.id,) if parent is None else (model.id, parent.id)


def begun(store: Reader, model: StoredModel) -> Fold:
    """A model before its first event."""
    settings = settings_of(model)
    parent = parent_of(store, settings)
    return Fold(settings, drawn_by=settings_of(parent) if parent else None)


def take_in(model: int, fold: Fold, event: Event, shown: Event | None) -> str | None:
    """Fold an event of a model, or of the one that it challenges."""
    return (fold.apply if event.model == model else fold.overhear)(event, shown)


def beginning_of(store: Reader, model: StoredModel) -> int | None:
    """Where in the log a model begins: at its creation or, if it is a challenger, at that of the model it challenges;
    None if not all events since then are left."""
    created = store.events(0, 1, kinds=(Kind.CREATED,), model=sources_of(store, model)[-1])
    if not created or created[0].offset + 1 < int(store.fact(COMPACTED) or 0):
        return None
    return created[0].offset


def read_page(store: Reader, event: Event) -> Event | StateError | None:
    """The impression that an event closes, or why that cannot be told."""
    try:
        return closed_impression(store, event)
    except StateError as error:
        return error


def closed_impression(store: Reader, event: Event) -> Event | None:
    """The impression that a closing closes, or that something late is about; None if it is gone or, which `log verify`
    tells, cannot be read."""
    if event.kind not in ENDED:
        return None
    try:
        closing: Closing | Late = decode(event.kind, event.body)
    except UNREADABLE as error:
        raise StateError(
            f"event {event.offset} of the log, which closes a page, cannot be read ({error}); rankloop log refold "
            f"passes it over"
        ) from None
    shown = store.event(closing.shown)
    if shown is not None:
        try:
            decode(shown.kind, shown.body)
        except UNREADABLE:
            return None
    return shown


def misshapen(impression: Impression, settings: ModelSettings) -> str | None:
    """Why a page cannot be what was shown, if it cannot."""
    candidates, page = len(impression.candidates), impression.page
    width = PRECISIONS[settings.precision].itemsize * len(settings.names)
    if len(impression.features) != candidates * width or len(impression.scores) != 4 * candidates:
        return f"features and scores are not those of {candidates} candidates"
    if len(set(page)) < len(page) or not all(0 <= document < candidates for document in page):
        return "its page does not show different candidates"
    if not set(impression.pinned) <= set(range(len(page))):
        return "it pins ranks that the page does not have"
    return None
