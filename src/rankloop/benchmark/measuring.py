"""Speed and memory, as ratios measured in one run: machines are noisy, ratios on one machine much less so.

The yardstick is memory: a vectorised sum that reads the same rows in the same order is the fastest that any learner
could be, since each impression has to read its query's features at least once.
"""

import gzip
import json
import math
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
from joblib import Parallel, delayed

from rankloop.benchmark.yardsticks import (
    DOCUMENTS,
    FEATURES,
    mslr_shaped,
    multiply_rows,
    numpy_roltr,
    sum_rows,
    write_svmlight,
)
from rankloop.data import read
from rankloop.data.collection import Collection
from rankloop.kernels.triangular import MANY, add_rows, solve_lower, solve_upper, whole_lanes
from rankloop.learners import COLTR, DBGD, PDGD, PMGD, ROLTR, Learner, MDPRank, Posterior
from rankloop.loop import draw_query
from rankloop.rankers import MLP
from rankloop.runs.commits import commits
from rankloop.runs.many import simulate_many
from rankloop.runs.run import this_machine
from rankloop.simulation import simulate
from rankloop.users import noisy

# Impressions per second of the ROLTR authors' published code, measured on machines of the same kind.
AUTHORS = {"ROLTR": 98, "PDGD": 2520, "DBGD": 705, "PMGD": 31, "COLTR": 566}
UNITS = 64


class Section(msgspec.Struct):
    """One table of the report."""

    title: str
    columns: list[str]
    rows: list[list[str]]
    values: dict[str, float]


class Results(msgspec.Struct):
    """The whole report, and the machine it was measured on."""

    sections: list[Section]
    manifest: dict[str, Any]


def run(quick: bool = False, progress: Callable[[str], None] = lambda title: None) -> Results:
    """Measure everything; `quick` with a small working set, for a first look. `progress` hears of each part."""
    manifest, sections = measured_here(), []
    for part in PARTS:
        sections.append(part(quick))
        progress(sections[-1].title)
    return Results(sections, manifest)


def measured_here() -> dict[str, Any]:
    """The machine, what else it is doing, and the sources that are measured."""
    return this_machine() | {"commits": commits(), "load": round(os.getloadavg()[0], 1)}


def against_memory(quick: bool) -> Section:
    """ROLTR against a vectorised sum over the same rows in the same order, and against NumPy."""
    data = mslr_shaped(1_000 if quick else 16_000)
    impressions = 20_000 if quick else 60_000
    order = np.array([draw_query(np.uint64(1), i, data.train.queries) for i in range(impressions)])
    arrays, few = data.train.arrays, order[:2_000]
    sum_rows(arrays.features, arrays.offsets, order[:10])  # compiles
    rates = [
        (
            impressions / _seconds(lambda: sum_rows(arrays.features, arrays.offsets, order)),
            _simulated_rate(ROLTR(), data, impressions),
            len(few) / _seconds(lambda: numpy_roltr(arrays, few)),
        )
        for _ in range(3)
    ]  # in turn, so that a slow moment of the machine meets all three
    read_rate, roltr, plain = map(max, zip(*rates, strict=True))
    row_bytes = data.train.features.nbytes / data.train.queries
    gigabytes = data.train.features.nbytes / 1e9
    return Section(
        f"ROLTR against memory ({gigabytes:.2f} GB working set, {DOCUMENTS} × {FEATURES} per query, one core)",
        ["", "impressions/s", "GB/s", "ROLTR is"],
        [
            ["vectorised float32 sum of the same rows", f"{read_rate:,.0f}", f"{read_rate * row_bytes / 1e9:.1f}",
             f"{roltr / read_rate:.0%} of it"],
            ["ROLTR", f"{roltr:,.0f}", f"{roltr * row_bytes / 1e9:.1f}", ""],
            ["ROLTR in NumPy, closed form", f"{plain:,.0f}", "", f"{roltr / plain:.1f} × as fast"],
        ],
        {"of_memory": roltr / read_rate, "over_numpy": roltr / plain, "impressions_per_second": roltr},
    )  # fmt: skip


def methods(quick: bool) -> Section:
    """Every method on the same working set, noisy clicks."""
    data = mslr_shaped(1_000 if quick else 16_000)
    learners: list[Learner] = [Posterior(), ROLTR(), PDGD(), DBGD(), PMGD(), COLTR(), MDPRank()]
    rows, values = [], {}
    for learner in learners:
        impressions = 2_000 if learner.name in ("PMGD", "COLTR") else 20_000
        rate = _best_rate(learner, data, impressions)
        published = AUTHORS.get(learner.name)
        compared = ["–", "–"] if published is None else [f"{published:,}", f"{rate / published:,.0f} ×"]
        rows.append([learner.name, f"{rate:,.0f}", *compared])
        values[learner.name] = rate
    columns = ["method", "impressions/s a core", "authors' code", "ratio"]
    return Section("Every method, noisy clicks", columns, rows, values)


def networks(quick: bool) -> Section:
    """A network in the loop against one product of the same features with its first layer, by BLAS on one core."""
    environment = os.environ | {f"{library}_NUM_THREADS": "1" for library in ("OPENBLAS", "OMP", "MKL")}
    script = f"import json, rankloop.benchmark.measuring as m; print(json.dumps(m.network_rates({quick})))"
    rates = json.loads(subprocess.check_output([sys.executable, "-c", script], env=environment))
    product = rates.pop("product")
    return Section(
        f"A network, {DOCUMENTS} × {FEATURES} per query, {UNITS} hidden units (one core)",
        ["", "impressions/s", "of the product"],
        [
            ["X W of every query by BLAS, nothing else", f"{product:,.0f}", ""],
            *([f"{name} with MLP(hidden=({UNITS},))", f"{rate:,.0f}", f"{rate / product:.0%}"]
              for name, rate in rates.items()),
        ],
        {name: rate / product for name, rate in rates.items()},
    )  # fmt: skip


def network_rates(quick: bool) -> dict[str, float]:
    """Impressions per second of the product and of the learners, best of three, where BLAS was told to use one core."""
    data = mslr_shaped(1_000 if quick else 8_000)
    impressions = 2_000 if quick else 10_000
    order = [draw_query(np.uint64(1), i, data.train.queries) for i in range(impressions)]
    W = np.random.default_rng(1).normal(size=(FEATURES, UNITS)).astype(np.float32)
    learners = [PDGD(ranker=MLP(hidden=(UNITS,))), ROLTR(ranker=MLP(hidden=(UNITS,)))]
    rates: dict[str, float] = {}
    for _ in range(3):  # in turn, so that a slow moment of the machine meets all
        measured = {"product": impressions / _seconds(lambda: multiply_rows(data.train.arrays, order, W))}
        measured |= {learner.name: _simulated_rate(learner, data, impressions) for learner in learners}
        rates = {name: max(rate, rates.get(name, 0.0)) for name, rate in measured.items()}
    return rates


def posterior(quick: bool) -> Section:
    """The posterior by the number of features, and its update against the same one with BLAS."""
    rows: list[list[str]] = []
    values: dict[str, float] = {}
    for features in (46, 136, 700):
        data = mslr_shaped(200 if quick else 2_000, features=features)
        rate = _best_rate(Posterior(), data, 1_000 if quick else 5_000)
        ours, blas = _posterior_updates(features, 50 if quick else 500)
        rows.append([str(features), f"{rate:,.0f}", f"{1e6 * ours:,.0f}", f"{1e6 * blas:,.0f}", f"{blas / ours:.1f} ×"])
        values |= {f"{features} features": rate, f"over BLAS at {features}": blas / ours}
    columns = ["features", "impressions/s a core", "update, µs", "with BLAS, µs", "BLAS takes"]
    return Section("Posterior, and a rank-9 update with its step", columns, rows, values)


def two_processes(quick: bool) -> Section:
    """Throughput of two processes at once against one alone."""
    impressions = 20_000 if quick else 200_000
    one = max(_worker_rates(1, impressions) for _ in range(3))[0]
    both = max((_worker_rates(2, impressions) for _ in range(3)), key=sum)
    return Section(
        "Two processes (ROLTR, each with its own working set)",
        ["", "impressions/s"],
        [["one", f"{one:,.0f}"], ["two together", f"{sum(both):,.0f}"], ["ratio", f"{sum(both) / one:.2f}"]],
        {"ratio": sum(both) / one},
    )


def two_threads(quick: bool) -> Section:
    """Two runs of `simulate_many` in two threads of one process, against one after the other."""
    data, impressions = mslr_shaped(400 if quick else 4_000), 10_000 if quick else 200_000
    seconds = {1: math.inf, 2: math.inf}
    _simulated_rate(ROLTR(), data, 1_000)
    for _ in range(3):  # in turn, so that a slow moment of the machine meets both
        for workers in seconds:
            took = _seconds(lambda: _two_runs(data, impressions, workers))  # noqa: B023  (called at once)
            seconds[workers] = min(seconds[workers], took)
    rates = {workers: 2 * impressions / best for workers, best in seconds.items()}
    ratio = rates[2] / rates[1]
    return Section(
        "Two threads (ROLTR, one collection for both)",
        ["", "impressions/s"],
        [["one after the other", f"{rates[1]:,.0f}"], ["both at once", f"{rates[2]:,.0f}"], ["ratio", f"{ratio:.2f}"]],
        {"ratio": ratio},
    )


def growth(quick: bool) -> Section:
    """How the cost of an impression grows with candidates, features and queries."""
    queries = 300 if quick else 2_000
    impressions = 5_000 if quick else 20_000
    base = mslr_shaped(queries)
    others = {
        "twice the candidates": mslr_shaped(queries, documents=2 * DOCUMENTS),
        "twice the features": mslr_shaped(queries, features=2 * FEATURES),
        "four times the queries": mslr_shaped(4 * queries),
    }
    reference = _best_rate(ROLTR(), base, impressions)
    costs = {name: reference / _best_rate(ROLTR(), data, impressions) for name, data in others.items()}
    rows = [[name, f"{cost:.2f} ×"] for name, cost in costs.items()]
    return Section("Cost of an impression (ROLTR)", ["", "time"], rows, costs)


def memory(quick: bool) -> Section:
    """Resident memory of a long run beyond that of a short one, and beyond the recorded curve."""
    short, long = (20_000, 100_000) if quick else (100_000, 1_000_000)
    before, after = (_python(_MEMORY_SCRIPT.format(impressions=n)) for n in (short, long))
    grown = (after - before) * 1024
    recorded = 16.0 * (long - short)  # nDCG and clicks, eight bytes each
    return Section(
        f"Memory of a run of {long:,} impressions against one of {short:,}",
        ["", "MB"],
        [
            ["grown", f"{grown / 1e6:.1f}"],
            ["of which the recorded curves", f"{recorded / 1e6:.1f}"],
            ["beyond them", f"{(grown - recorded) / 1e6:.1f}"],
        ],
        {"beyond_curves_mb": (grown - recorded) / 1e6},
    )


def reader(quick: bool) -> Section:
    """The SVMlight reader on MSLR-shaped text, against scikit-learn's where that is installed."""
    with tempfile.TemporaryDirectory() as folder:
        path = write_svmlight(Path(folder), documents=5_000 if quick else 60_000)
        megabytes = path.stat().st_size / 1e6
        read(path)
        ours = megabytes / min(_seconds(lambda: read(path)) for _ in range(3))
        rows = [["rankloop, plain text", f"{ours:,.0f}", ""]]
        values = {"mb_per_second": ours}
        packed = path.with_suffix(".txt.gz")
        packed.write_bytes(gzip.compress(path.read_bytes(), compresslevel=3))
        rows.append(["rankloop, .gz", f"{megabytes / _seconds(lambda: read(packed)):,.0f}", ""])
        try:
            from sklearn.datasets import load_svmlight_file
        except ImportError:
            rows.append(["scikit-learn", "not installed", ""])
        else:
            theirs = megabytes / _seconds(lambda: load_svmlight_file(str(path), query_id=True))
            rows.append(["scikit-learn", f"{theirs:,.0f}", f"rankloop is {ours / theirs:.0f} × as fast"])
            values["over_sklearn"] = ours / theirs
    return Section(f"SVMlight reader ({megabytes:.0f} MB, one core)", ["", "MB/s", ""], rows, values)


def compilation(quick: bool) -> Section:
    """Seconds until every learner has run once in a new process: first use, and from the cache."""
    with tempfile.TemporaryDirectory() as folder:
        environment = os.environ | {"NUMBA_CACHE_DIR": folder}
        first, cached = (_python(_COMPILE_SCRIPT, environment) for _ in range(2))
    return Section(
        "Compilation of all learners (one process)",
        ["", "seconds"],
        [["first use", f"{first:.1f}"], ["from the cache", f"{cached:.1f}"]],
        {"first": first, "cached": cached},
    )


PARTS: tuple[Callable[[bool], Section], ...] = (
    against_memory, methods, posterior, networks, two_processes, two_threads, growth, memory, reader, compilation,
)  # fmt: skip


def as_markdown(results: Results) -> str:
    """The report as a Markdown page."""
    machine = results.manifest
    versions = ", ".join(f"{name} {version}" for name, version in machine["versions"].items())
    lines = [
        "# Benchmarks",
        "",
        "Written by `make bench`; [speed](speed.md) says what the numbers mean.",
        f"Measured{_at_commit(machine)} on {machine['processor']}, {machine['cores']} cores, with a load of "
        f"{machine['load']:.1f} from other work when it began; {versions}.",
        "",
    ]
    for section in results.sections:
        lines += [f"## {section.title}", "", "| " + " | ".join(section.columns) + " |"]
        lines.append("|" + "---|" + "---:|" * (len(section.columns) - 1))
        lines += ["| " + " | ".join(row) + " |" for row in section.rows] + [""]
    return "\n".join(lines).rstrip() + "\n"


def _at_commit(manifest: dict[str, Any]) -> str:
    """Which sources were measured, where they are a checkout."""
    found = manifest["commits"].get("rankloop")
    return f" at commit {found['commit'][:7]}{' with changes' if found['dirty'] else ''}" if found else ""


def _simulated_rate(learner: Learner, data: Collection, impressions: int) -> float:
    run = simulate(learner, noisy(), data, impressions=impressions, seed=1, evaluate_every=0)
    return run.impressions_per_second


def _best_rate(learner: Learner, data: Collection, impressions: int) -> float:
    return max(_simulated_rate(learner, data, impressions) for _ in range(3))


def _posterior_updates(features: int, updates: int) -> tuple[float, float]:
    """Seconds for an update of rank nine and the step it leads to: reflections of the factor, and Woodbury's formula
    for the covariance with NumPy's BLAS (on all cores it likes)."""
    size = features + 9
    draws = np.random.default_rng(1)
    A = np.zeros((MANY, whole_lanes(size)))
    A[:, :size] = draws.normal(size=(MANY, size)) * 0.1
    U = np.eye(size, whole_lanes(size))
    P, used, g, v = np.eye(size), np.empty_like(A), np.empty(whole_lanes(size)), np.zeros(MANY + 1)

    def reflect(times: int) -> None:
        for _ in range(times):
            used[:], g[:] = A, A[0]
            add_rows(U, used, MANY, v)
            solve_lower(U, g)
            solve_upper(U, g, 0)

    def woodbury(times: int) -> None:
        rows = A[:, :size]
        for _ in range(times):
            across = rows @ P
            P[:] -= across.T @ np.linalg.solve(np.eye(MANY) + across @ rows.T, across)
            P @ rows[0]

    reflect(1)
    ours = min(_seconds(lambda: reflect(updates)) for _ in range(3))
    return ours / updates, min(_seconds(lambda: woodbury(updates)) for _ in range(3)) / updates


def _two_runs(data: Collection, impressions: int, workers: int) -> None:
    simulate_many(
        ROLTR(), noisy(), data, impressions, seeds=2, workers=workers, on="threads", progress=False, evaluate_every=0
    )


def _worker_rates(workers: int, impressions: int) -> list[float]:
    job = delayed(_worker_rate)(impressions)
    return list(Parallel(n_jobs=workers)(job for _ in range(workers)))


def _worker_rate(impressions: int) -> float:
    data = mslr_shaped(4_000)
    _simulated_rate(ROLTR(), data, 1_000)
    return _simulated_rate(ROLTR(), data, impressions)


def _seconds(job: Callable[[], Any]) -> float:
    began = time.perf_counter()
    job()
    return time.perf_counter() - began


def _python(script: str, environment: dict[str, str] | None = None) -> float:
    return float(subprocess.check_output([sys.executable, "-c", script], env=environment))


_MEMORY_SCRIPT = """
import rankloop as rl
from rankloop.benchmark.yardsticks import peak_memory_kb
rl.simulate(rl.ROLTR(), rl.users.noisy(), rl.load("tiny"), impressions={impressions}, seed=1, evaluate_every=0)
print(peak_memory_kb())
"""

_COMPILE_SCRIPT = """
import time
import rankloop as rl
data = rl.load("tiny")
began = time.perf_counter()
for learner in (rl.Posterior(), rl.ROLTR(), rl.PDGD(), rl.DBGD(), rl.PMGD(), rl.COLTR(), rl.MDPRank()):
    rl.simulate(learner, rl.users.noisy(), data, impressions=10, seed=1)
print(time.perf_counter() - began)
"""
