"""`make bench-challengers`: processor time that a challenger adds to each closed page. Raw figures as JSON.

python -m benchmarks.challengers [--pages 400] [--repeats 5] [--json FILE]
"""

import argparse
import json
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
from msgspec.structs import replace

from benchmarks import commit
from rankloop.cli.terminal import err
from rankloop.learners import ROLTR, Learner, PairRank, Posterior
from rankloop.live.events import PRECISIONS, Closing, Event, Kind, encode
from rankloop.live.fold import Fold
from rankloop.live.ranking import Ranking, Request
from rankloop.live.settings import Guards, ModelSettings
from rankloop.runs.run import this_machine

SIZES = ((10, 30), (46, 125))
"""Features, and candidates of a page."""
CHALLENGERS: tuple[Learner, ...] = (Posterior(), PairRank(), ROLTR())
PAGE = 10
Closed = tuple[Event, Event]
"""A closing, and the page that it closes."""


def main() -> None:
    """Every size, with every challenger."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.challengers", description=__doc__.splitlines()[0])
    parser.add_argument("--pages", type=int, default=400)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--json", type=Path)
    given = parser.parse_args()
    rows = []
    for features, candidates in SIZES:
        rows.append(measured(features, candidates, given.pages, given.repeats))
        err.print(_told(rows[-1]), markup=False)
    figures = {
        "commit": commit(), "machine": this_machine(), "pages": given.pages, "repeats": given.repeats, "rows": rows,
    }  # fmt: skip
    if given.json:
        given.json.write_text(json.dumps(figures, indent=1) + "\n", encoding="utf-8")


def measured(features: int, candidates: int, pages: int, repeats: int) -> dict[str, Any]:
    """Milliseconds of processor time a page: of the model, and of each challenger with and without its estimate."""
    settings = ModelSettings(
        name="shop", features=features, page_size=PAGE, seed=1, learner=Posterior(), guards=Guards(control=0.0)
    )
    closed = log_of(settings, candidates, pages)
    rows = {}
    for learner in CHALLENGERS:
        rival = replace(settings, name="rival", learner=learner, challenges="shop")
        fates = _challenger(rival, settings)
        for closing, shown in closed:
            fates.overhear(closing, shown)
        rows[learner.name] = {
            "learned": fates.fates["learned"],
            "whole": _cost(lambda: _challenger(rival, settings).overhear, closed, repeats),  # noqa: B023
            "without_estimate": _cost(lambda: _unjudged(rival, settings).overhear, closed, repeats),  # noqa: B023
        }
    return {
        "features": features,
        "candidates": candidates,
        "model": _cost(lambda: Fold(settings).apply, closed, repeats),
        "challengers": rows,
    }


def log_of(settings: ModelSettings, candidates: int, pages: int) -> list[Closed]:
    """Pages that a model drew and learned from; every one has a click or two, the first ranks more often."""
    rng, fold, ranking = np.random.default_rng(1), Fold(settings), Ranking(settings)
    names = [str(place) for place in range(candidates)]
    closed = []
    for number in range(pages):
        X = rng.normal(size=(candidates, len(settings.names))).astype(PRECISIONS[settings.precision])
        page = ranking.rank(fold.view(), Request("", b"", names, X, PAGE, {}), number).impression
        clicks = [0.0] * PAGE
        for rank in rng.choice(PAGE, size=2, p=(weights := 1.0 / np.arange(1, PAGE + 1)) / weights.sum()):
            clicks[rank] = 1.0
        shown = Event(2 * number + 1, 1, int(Kind.SHOWN), number, 0, b"", encode(page))
        body = encode(Closing(shown.offset, clicks, "asked"))
        closed.append((Event(2 * number + 2, 1, int(Kind.CLOSED), number, 0, b"", body), shown))
        fold.apply(*closed[-1])
    return closed


def _challenger(rival: ModelSettings, parent: ModelSettings) -> Fold:
    return Fold(rival, drawn_by=parent)


def _unjudged(rival: ModelSettings, parent: ModelSettings) -> Fold:
    """The same, without what it would have earned."""

    class Unjudged(Fold):
        def _note_shadow(self, *_: Any) -> None:
            return

    return Unjudged(rival, drawn_by=parent)


def _cost(begin: Callable[[], Callable[[Event, Event], Any]], closed: list[Closed], repeats: int) -> list[float]:
    """Milliseconds of this thread a page, time after time, each from a state that has learned nothing."""
    begin()(*closed[0])  # compiled code is loaded
    found = []
    for _ in range(repeats):
        take = begin()
        began = time.thread_time()
        for closing, shown in closed:
            take(closing, shown)
        found.append(1_000 * (time.thread_time() - began) / len(closed))
    return found


def _told(row: dict[str, Any]) -> str:
    added = ", ".join(
        f"{name} + {median(cost['whole']):.2f} ms ({1 - median(cost['without_estimate']) / median(cost['whole']):.0%} "
        f"of it the estimate)"
        for name, cost in row["challengers"].items()
    )
    return f"{row['features']} features, {row['candidates']} candidates: {median(row['model']):.2f} ms; {added}"


HEAD = """| features, candidates | the model | a Posterior | PairRank | ROLTR |
|---|---:|---:|---:|---:|
"""


def table(figures: dict[str, Any]) -> str:
    """What docs/challengers.md shows: medians, and the share of the estimate."""
    lines = []
    for row in figures["rows"]:
        cells = [f"{row['features']}, {row['candidates']}", f"{median(row['model']):.2f} ms"]
        for cost in row["challengers"].values():
            whole, without = median(cost["whole"]), median(cost["without_estimate"])
            cells.append(f"+ {whole:.2f} ms ({1 - without / whole:.0%})".replace("%", " %"))
        lines.append(f"| {' | '.join(cells)} |\n")
    return HEAD + "".join(lines)


if __name__ == "__main__":
    main()
