"""The log for tools that read User Behavior Insights: one object a line."""

import os
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from rankloop.live.stores.contract import Reader
from rankloop.live.tokens import Signer
from rankloop.live.ubi import all_events, all_queries
from rankloop.logs.access import find_model
from rankloop.logs.exported import Progress, silent, whole_file
from rankloop.settings import require_choice
from rankloop.ubi import UbiEvent, UbiQuery, ndjson_lines

FORMS = ("ubi", "ubi-queries", "ubi-events")
"""Both kinds with the lines that the engines' `_bulk` API wants between them, or one kind alone."""


def write_ubi(
    store: Reader,
    path: str | os.PathLike[str],
    form: str,
    model: str | None = None,
    progress: Progress = silent,
) -> dict[str, int]:
    """Write the pages of a model (None: of all) into a file, which appears when it is complete; what is in it.

    `left_out` are pages that UBI cannot say, such as those with a document id of more than 256 characters. The store
    should be one at a moment (`rankloop.logs.access.at_one_moment`).
    """
    require_choice("export", "format", form, FORMS)
    counts: Counter[str] = Counter({"queries": 0, "events": 0, "left_out": 0})
    with whole_file(Path(path)) as file:
        file.writelines(ndjson_lines(_objects(store, form, model, counts, progress), bulk=form == "ubi"))
    return dict(counts)


def _objects(
    store: Reader, form: str, name: str | None, counts: Counter[str], progress: Progress
) -> Iterator[UbiQuery | UbiEvent]:
    models = store.models() if name is None else [find_model(store, name)]
    last, sign = store.last_offset(), Signer(store.secrets()).sign
    for model in models:
        for kind, pages in (("queries", all_queries), ("events", all_events)):
            if form not in ("ubi", f"ubi-{kind}"):
                continue
            for offset, objects in pages(store, sign, model.id, model.name):
                progress(offset, last)
                # Where both are written, a page that is left out was counted among the queries.
                counts["left_out"] += objects is None and (kind == "queries" or form == "ubi-events")
                counts[kind] += len(objects or ())
                yield from objects or ()
