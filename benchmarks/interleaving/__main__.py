"""`make bench-interleaving`: how many pages tell two orders apart, interleaved and in two groups. Raw figures as JSON.

python -m benchmarks.interleaving [--repeats 20] [--json FILE]
"""

import argparse
import json
import math
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

from benchmarks import commit
from benchmarks.interleaving.people import clicks_per_page, improved, in_two_groups, interleaved
from benchmarks.shop.world import CANDIDATES, QUERIES, Shop
from rankloop.cli.terminal import err
from rankloop.runs.run import this_machine

CASES = ((1.0, 0.2), (1.0, 0.5), (1.0, 0.8), (5.0, 0.13), (5.0, 0.17), (5.0, 0.25))
"""By how many places the rival's order differs from the engine's, and how much of what people want is in it."""
MOST_INTERLEAVED, MOST_GROUPED = 200_000, 4_000_000
NULL_PAGES = 2_000
COMPARISONS = ("interleaved", "in_two_groups")


def main() -> None:
    """Every size of the difference, and none."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.interleaving", description=__doc__.splitlines()[0])
    parser.add_argument("--repeats", type=int, default=20)
    parser.add_argument("--nulls", type=int, default=200)
    parser.add_argument("--json", type=Path)
    given = parser.parse_args()
    rows = []
    for places, dose in CASES:
        rows.append(measured(places, dose, given.repeats))
        err.print(_told(rows[-1]), markup=False)
    wrong = false_alarms(given.nulls)
    figures = {
        "commit": commit(), "machine": this_machine(), "repeats": given.repeats, "rows": rows,
        "null": {"experiments": given.nulls, "pages": NULL_PAGES, "false_alarms": wrong},
    }  # fmt: skip
    err.print(f"nobody cares: {wrong} of {given.nulls} experiments of {NULL_PAGES:,} pages decided", markup=False)
    if given.json:
        given.json.write_text(json.dumps(figures, indent=1) + "\n", encoding="utf-8")


def measured(places: float, dose: float, repeats: int) -> dict[str, Any]:
    """The pages that each comparison needed, time after time, in one shop."""
    shop = Shop()
    orders = [np.tile(np.arange(CANDIDATES), (QUERIES, 1)), improved(shop, places, dose, np.random.default_rng(1))]
    before, after = (clicks_per_page(shop, order) for order in orders)
    drafts = [interleaved(shop, orders, seed, MOST_INTERLEAVED) for seed in range(1, repeats + 1)]
    groups = [in_two_groups(shop, orders, seed, MOST_GROUPED) for seed in range(1, repeats + 1)]
    return {
        "places": places, "dose": dose, "clicks_per_page": before, "lift": after / before - 1,
        "interleaved": [found.pages for found in drafts], "winners": [found.winner for found in drafts],
        "in_two_groups": [found.pages for found in groups], "group_winners": [found.winner for found in groups],
    }  # fmt: skip


def false_alarms(experiments: int) -> int:
    """Of experiments on people who look at ranks only, those that were ever decided."""
    shop = Shop()
    orders = [np.tile(np.arange(CANDIDATES), (QUERIES, 1)), improved(shop, 5.0, 0.2, np.random.default_rng(1))]
    found = [interleaved(shop, orders, 1_000 + seed, NULL_PAGES, indifferent=True) for seed in range(experiments)]
    return sum(each.pages is not None for each in found)


def needed(row: dict[str, Any]) -> tuple[float, float]:
    """Median pages, interleaved and in two groups; what was never decided took longer than all others."""
    found = [median(math.inf if pages is None else pages for pages in row[name]) for name in COMPARISONS]
    return found[0], found[1]


def _told(row: dict[str, Any]) -> str:
    drafts, groups = needed(row)
    return f"{row['lift']:+.1%} clicks: {drafts:,.0f} pages interleaved, {groups:,.0f} in two groups"


HEAD = """| places moved | gain in clicks | pages, interleaved | correct | pages, two groups | correct |
|---:|---:|---:|---:|---:|---:|
"""


def table(figures: dict[str, Any]) -> str:
    """What docs/interleaving.md shows."""
    lines = []
    for row in figures["rows"]:
        drafts, groups = needed(row)
        right = [f"{row[name].count(1)} of {len(row[name])}" for name in ("winners", "group_winners")]
        cells = f"{row['places']:g}", f"{row['lift']:+.1%}", f"{drafts:,.0f}", right[0], f"{groups:,.0f}", right[1]
        lines.append(f"| {' | '.join(cells)} |\n".replace("%", " %"))
    return HEAD + "".join(lines)


if __name__ == "__main__":
    main()
