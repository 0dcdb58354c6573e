"""`make bench-live`: run every scenario, print a table, and write the page of results.

python -m benchmarks.live [--out docs/live-benchmarks.md] [--quick] [--soak MINUTES]
"""

import argparse
import os
import platform
import sqlite3
from pathlib import Path

from benchmarks.live.generator import Load
from benchmarks.live.scenarios import LATENCY, Measured, climb, folder, grow, measure, serving, soak
from rankloop.cli.terminal import err

WIDE = Load("wide", candidates=100, features=136, rate=500, seconds=20)
NARROW = Load("narrow", candidates=10, features=20, rate=1500, seconds=20)


def main() -> None:
    """Everything, in order."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.live", description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path)
    parser.add_argument("--store", help="another store than a fresh SQLite file (an empty database): steady load only")
    parser.add_argument("--quick", action="store_true", help="a tenth of everything, to see that it works")
    parser.add_argument("--soak", type=float, default=10.0, metavar="MINUTES")
    given = parser.parse_args()
    part = 0.1 if given.quick else 1.0
    wide, narrow = (load._replace(seconds=max(2.0, load.seconds * part)) for load in (WIDE, NARROW))
    if given.store:
        rows = steady(wide, narrow, given.store)
        print(table(rows))
        return
    rows = steady(wide, narrow)
    grown = growth(wide, narrow, int(50_000 * part), int(1_000_000 * part))
    soaked = soaking(narrow._replace(rate=300), given.soak * part)
    text = page(rows, grown, soaked)
    print(text)
    if given.out:
        given.out.write_text(text, encoding="utf-8")


def told(row: Measured) -> Measured:
    """Say what was measured, as it is measured."""
    err.print(
        f"{row.name}: {row.achieved:,.0f}/s  p50 {row.p50:.1f}  p95 {row.p95:.1f}  p99 {row.p99:.1f}  "
        f"worst {row.worst:.0f} ms  fell back {row.rejected}  behind {row.lag}  {row.memory:.0f} MB"
    )
    return row


def steady(wide: Load, narrow: Load, store: str | None = None) -> list[Measured]:
    """Both shapes at their goals, then as far as they go."""
    rows = []
    with folder() as place, serving(store or place / "log.db") as service:
        # The first use of a new version compiles, which is not what is measured.
        measure(service, "warm-up", wide._replace(rate=50, seconds=10.0))
        rows.append(told(measure(service, "100 × 136, base64", wide)))
        rows.append(told(measure(service, "100 × 136, JSON numbers", wide._replace(as_json=True, rate=100))))
        rows.append(told(measure(service, "10 × 20, base64", narrow)))
        rows.append(told(measure(service, "10 × 20, JSON numbers", narrow._replace(as_json=True, rate=1000))))
        rows += [told(row) for row in climb(service, "100 × 136, base64", wide, [600, 700, 800, 1000])]
        rows += [told(row) for row in climb(service, "10 × 20, base64", narrow, [1750, 2000, 2500, 3000])]
    return rows


def growth(wide: Load, narrow: Load, many_wide: int, many_narrow: int) -> list[tuple[str, Measured, Measured]]:
    """The same load on an empty log and on one that has grown."""
    compared = []
    for load, many in ((wide._replace(rate=250), many_wide), (narrow._replace(rate=750), many_narrow)):
        shape = f"{load.candidates} × {load.features}"
        with folder() as place:
            with serving(place / "empty.db") as service:
                empty = told(measure(service, f"{shape}, empty log", load))
            err.print(f"writing {many:,} impressions of {shape}")
            grow(place / "grown.db", load, many)
            with serving(place / "grown.db") as service:
                grown = told(measure(service, f"{shape}, {many:,} impressions", load))
        compared.append((f"{shape} after {many:,} impressions", empty, grown))
    return compared


def soaking(load: Load, minutes: float) -> list[tuple[float, float]]:
    """Memory over time, under steady load."""
    with folder() as place, serving(place / "log.db") as service:
        measure(service, "warm-up", load._replace(seconds=10.0))
        return soak(service, load, minutes, lambda minute, memory: err.print(f"minute {minute:.1f}: {memory:.0f} MB"))


def page(rows: list[Measured], grown: list[tuple[str, Measured, Measured]], soaked: list[tuple[float, float]]) -> str:
    """The results as Markdown."""
    lines = [
        "# The live service, measured",
        "",
        "Written by `make bench-live`. Open-loop arrivals (Poisson, seeded), the generator on the same cores as the",
        "service, latency from the moment a request was due until its answer, every page on disk (SQLite, full sync)",
        "before it is answered; clicks and closings follow in batches of fifty, and the learner folds them meanwhile.",
        "",
        f"Machine: {platform.processor() or platform.machine()}, {os.cpu_count()} cores,",
        f"Python {platform.python_version()}, SQLite {sqlite3.sqlite_version}.",
        "",
        table(rows),
        "",
        f"Rates climb until the p99 leaves {LATENCY:g} ms. *Fell back*: pages in the incoming order because the store",
        "was too slow. *Not yet learned*: closed pages not folded half a second after the last answer.",
        "",
        "What the rates rest on: entries that wait share one commit, and under load the writer lets them gather for",
        "1.5 ms; a commit's rows travel in a few statements; closings are learned from together, every 10 ms, unless",
        "somebody waits; checkpoints are copied beside the writer; the garbage collector leaves compiled code alone.",
        "",
        "## As the log grows",
        "",
        "| | p50 empty | p50 grown | p99 empty | p99 grown |",
        "|---|--:|--:|--:|--:|",
        *(f"| {name} | {a.p50:.1f} ms | {b.p50:.1f} ms | {a.p99:.1f} ms | {b.p99:.1f} ms |" for name, a, b in grown),
        "",
        "## Soak",
        "",
        *_soaked(soaked),
        "",
    ]
    return "\n".join(lines)


def table(rows: list[Measured]) -> str:
    """Steady loads as a Markdown table."""
    head = "| candidates × features | asked for | answered | p50 | p95 | p99 | worst | fell back | not yet learned |"
    return "\n".join([head, "|---|--:|--:|--:|--:|--:|--:|--:|--:|", *(_row(row) for row in rows)])


def _row(row: Measured) -> str:
    times = " | ".join(f"{value:.1f} ms" for value in (row.p50, row.p95, row.p99, row.worst))
    return f"| {row.name} | {row.wanted:,.0f}/s | {row.achieved:,.0f}/s | {times} | {row.rejected} | {row.lag} |"


def _soaked(readings: list[tuple[float, float]]) -> list[str]:
    if not readings:
        return ["Not run."]
    half = readings[len(readings) // 2 :]
    return [
        f"{readings[-1][0]:.1f} minutes at 300 pages a second (10 × 20): {readings[0][1]:.0f} MB after the first ten",
        f"seconds, {half[0][1]:.0f} MB half way, {half[-1][1]:.0f} MB at the end. The caches that may grow: 64 MiB",
        "of pages whose documents are kept at hand for clicks, and SQLite's own page caches (2 MB a connection).",
    ]


if __name__ == "__main__":
    main()
