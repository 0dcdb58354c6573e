"""`make bench-attack`: honest traffic alone, then beside an attack; a table, and raw figures.

python -m benchmarks.attack [--minutes 2] [--json benchmarks/attack/figures.json]
"""

import argparse
import asyncio
import json
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import commit
from benchmarks.attack.honest import PATIENCE, Acknowledged, Caller, Visitors, Visits
from benchmarks.live.scenarios import COMMAND, Service, folder, serving
from rankloop.cli.terminal import err
from rankloop.live.errors import StoreError
from rankloop.live.events import Kind
from rankloop.live.keys import create_key
from rankloop.live.service import now
from rankloop.live.stores import each_event, opened
from rankloop.live.tokens import Signer
from rankloop.runs.run import this_machine

RATE = 50.0
"""Honest pages a second."""
WARM_UP = 10.0
SLOWEST = 40
"""Pages of each phase that are written down with the second in which they were due."""
LONGEST_QUIET = 300.0
MODEL = {"name": "shop", "features": 20, "guards": {"control": 0}, "seed": 1}


def main(words: Sequence[str] | None = None) -> None:
    """Measure, print, write."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.attack", description=__doc__.splitlines()[0])
    parser.add_argument("--minutes", type=float, default=2.0, help="of attack; before it, up to five without")
    parser.add_argument("--json", type=Path, help="where raw figures go")
    given = parser.parse_args(words)
    figures = {"commit": commit(), "machine": this_machine(), "minutes": given.minutes, "rate": RATE}
    figures["load_before"] = os.getloadavg()[0]
    with folder() as place:
        figures |= measure(place / "log.db", 60 * given.minutes)
    print(table(figures))
    if given.json:
        given.json.write_text(json.dumps(figures, indent=1) + "\n", encoding="utf-8")


def measure(
    log: Path, seconds: float, *, rate: float = RATE, share: float = 1.0, warm_up: float = WARM_UP, port: int = 8792,
    command: Sequence[str] = COMMAND, patience: float = PATIENCE,
) -> dict[str, Any]:  # fmt: skip
    """Everything about one service: it is started, visited, attacked, stopped, and its log compared."""
    with opened(str(log)) as store:
        honest = create_key(store, "honest", ["rank", "click", "admin"], now())
        stolen = create_key(store, "stolen", ["rank"], now())
    with serving(log, port, command) as service:
        caller = Caller(port, honest, patience)
        found, acknowledged = asyncio.run(_visited(service, caller, stolen, seconds, rate, share, warm_up))
    return found | {"lost": lost(log, acknowledged)}


async def _visited(
    service: Service, caller: Caller, stolen: str, seconds: float, rate: float, share: float, warm_up: float
) -> tuple[dict[str, Any], Acknowledged]:
    status, made = await caller.post("/v1/models", MODEL)
    if status != 201:
        raise StoreError(f"the model was not made: {made}")
    visitors = Visitors(caller, MODEL["name"], rate)
    await visitors.first()
    await visitors.come(warm_up)
    memory = asyncio.create_task(_watch(service))
    quiet = _summary(await visitors.come(min(seconds, LONGEST_QUIET)), await _peak(memory))
    err.print(f"quiet: p50 {quiet['p50']:.1f}  p99 {quiet['p99']:.1f} ms  {quiet['memory']:.0f} MB")
    memory = asyncio.create_task(_watch(service))
    words = [sys.executable, "-m", "benchmarks.attack.attackers", str(service.port), stolen, str(seconds), str(share)]
    attackers = await asyncio.create_subprocess_exec(*words, stdout=subprocess.PIPE)
    visits = await visitors.come(seconds)
    told, _ = await attackers.communicate()
    attacked = _summary(visits, await _peak(memory))
    caller.close()
    return {"quiet": quiet, "attacked": attacked, "attackers": json.loads(told)}, visitors.acknowledged


async def _watch(service: Service) -> list[float]:
    """MB of the service, every half second until cancelled."""
    readings = [service.memory()]
    try:
        while True:
            await asyncio.sleep(0.5)
            readings.append(service.memory())
    except asyncio.CancelledError:
        return readings


async def _peak(watching: "asyncio.Task[list[float]]") -> list[float]:
    watching.cancel()
    return await watching


def _summary(visits: Visits, memory: list[float]) -> dict[str, Any]:
    p50, p99, worst = np.quantile(visits.latencies, [0.5, 0.99, 1.0]).tolist()
    slowest = sorted(zip(visits.latencies, visits.due, strict=True), reverse=True)[:SLOWEST]
    return {
        "pages": len(visits.latencies), "p50": p50, "p99": p99, "worst": worst, "memory": max(memory),
        "memory_at_the_end": memory[-1], "outcomes": dict(visits.outcomes),
        "slowest": [(round(at, 2), round(ms, 1)) for ms, at in slowest],
    }  # fmt: skip


def lost(log: Path, acknowledged: Acknowledged) -> dict[str, int]:
    """What was acknowledged, and how much of it is not in the log."""
    shown: set[int] = set()
    clicked: set[int] = set()
    with opened(str(log)) as store:
        signer = Signer(store.secrets())
        for event in each_event(store, kinds=(Kind.SHOWN, Kind.CLICKED)):
            (shown if event.kind == Kind.SHOWN else clicked).add(event.number)
    pages = {signer.verify(name).number for name in acknowledged.pages}
    clicks = {signer.verify(name).number for name in acknowledged.clicks}
    return {
        "acknowledged_pages": len(pages), "acknowledged_clicks": len(clicks),
        "missing_pages": len(pages - shown), "missing_clicks": len(clicks - clicked),
    }  # fmt: skip


def caution(figures: dict[str, Any]) -> list[str]:
    """What to know about figures from a machine that had other work: its latencies say little about the service."""
    load, cores = figures.get("load_before", 0.0), figures.get("machine", {}).get("cores", 1)
    if load <= cores / 4:
        return []
    return [f"The machine was busy with other things (load {load:.1f} on {cores} cores): do not compare latencies.", ""]


def table(figures: dict[str, Any]) -> str:
    """The figures as Markdown."""
    quiet, attacked, gone = figures["quiet"], figures["attacked"], figures["lost"]
    rows = [
        ("median page", *(f"{phase['p50']:.1f} ms" for phase in (quiet, attacked))),
        ("99 of 100 pages within", *(f"{phase['p99']:.1f} ms" for phase in (quiet, attacked))),
        ("slowest page", *(f"{phase['worst']:.0f} ms" for phase in (quiet, attacked))),
        ("pages", *(f"{phase['pages']:,}" for phase in (quiet, attacked))),
        ("not ranked by the model", *(str(_unranked(phase)) for phase in (quiet, attacked))),
        ("memory at most", *(f"{phase['memory']:.0f} MB" for phase in (quiet, attacked))),
    ]
    told = [f"- {kind}: " + ", ".join(f"{n:,} × {what}" for what, n in sorted(counts.items()))
            for kind, counts in figures["attackers"].items()]  # fmt: skip
    return "\n".join([
        *caution(figures),
        "| honest traffic | quiet | attacked |", "|---|--:|--:|", *(f"| {' | '.join(row)} |" for row in rows), "",
        f"Of {gone['acknowledged_pages']:,} acknowledged pages {gone['missing_pages']} are missing in the log, of "
        f"{gone['acknowledged_clicks']:,} acknowledged clicks {gone['missing_clicks']}.", "",
        "What the attackers were told:", "", *told,
    ])  # fmt: skip


def _unranked(phase: dict[str, Any]) -> int:
    return sum(n for what, n in phase["outcomes"].items() if what.startswith("rank ") and what != "rank 200")


if __name__ == "__main__":
    main()
