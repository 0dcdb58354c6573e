"""A service's pages as a click log: one row for each document that was shown, with its features."""

from pathlib import Path

import numpy as np

from rankloop.errors import SettingsError
from rankloop.live.errors import StateError
from rankloop.live.events import Closing, Impression, Kind, Late, decode
from rankloop.live.loading import closed_impression, settings_of
from rankloop.live.stores import Reader, each_event
from rankloop.logs.access import find_model, models_there
from rankloop.logs.clicked import Row, checked, write_clicks
from rankloop.logs.exported import Progress, silent


def write_click_log(store: Reader, path: Path, name: str | None, progress: Progress = silent) -> dict[str, int]:
    """Write a model's closed pages as Parquet; how many pages and rows. Pages that nobody saw are left out.

    The store should be one at a moment (`rankloop.logs.access.at_one_moment`).
    """
    models = store.models()
    if name is None and len(models) != 1:
        raise SettingsError(f"export: a click log is one model's; choose it with --model: {models_there(models)}")
    model = find_model(store, models[0].name if name is None else name)
    settings, last, rows = settings_of(model), store.last_offset(), list[Row]()
    done: list[int] = []
    for event in each_event(store, kinds=(Kind.CLOSED,), model=model.id):
        progress(event.offset, last)
        closing: Closing = decode(event.kind, event.body)
        try:
            shown = closed_impression(store, event)
        except StateError:
            continue
        if shown is None or shown.kind != Kind.SHOWN or closing.why == "void":
            continue
        impression: Impression = decode(shown.kind, shown.body)
        worth: Closing | Late = closing
        if settings.has_actions and (ended := store.ended(model.id, event.number)) is not None:
            worth = decode(ended.kind, ended.body)  # with what came late
            done += worth.actions
        X = impression.matrix(settings.precision).astype(np.float32)
        for rank, (document, click) in enumerate(zip(impression.page, worth.clicks, strict=True), start=1):
            features = dict(zip(settings.names, X[document].tolist(), strict=True))
            rows.append(
                Row(impression.query, impression.candidates[document], rank, click, str(shown.number), None, features)
            )
    if not rows:
        raise SettingsError(f"export: no page of {model.name!r} was closed yet: there is nothing to write")
    log = checked(path, rows)
    names = settings.actions if settings.has_actions else ()
    write_clicks(path, log, {name: [bool(bits >> place & 1) for bits in done] for place, name in enumerate(names)})
    return {"pages": log.pages, "rows": len(log.ranks)}
