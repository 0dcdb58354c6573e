"""What `rankloop bench --on gpu` measures: runs side by side on a device, beside one core and the memory's own speed.

The yardstick is memory again: each impression has to read its query's features once. Runs that share a seed share
their queries, and may share that one read.
"""

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from typing import Any

from rankloop.benchmark.measuring import Results, Section, measured_here
from rankloop.benchmark.yardsticks import FEATURES, mslr_shaped
from rankloop.data.collection import Collection
from rankloop.errors import SettingsError
from rankloop.gpu import Request, simulate_on_device, why_no_device
from rankloop.learners import COLTR, DBGD, PDGD, PMGD, ROLTR, Learner, MDPRank, Posterior
from rankloop.simulation import simulate
from rankloop.users import noisy

SETTINGS = 8
"""Runs of a study that share a seed."""


def require_device() -> None:
    """Refuse a machine without one."""
    missing = why_no_device()
    if missing is not None:
        raise SettingsError(f"bench: {missing}")


def run(quick: bool = False, progress: Callable[[str], None] = lambda title: None) -> Results:
    """Measure everything on the device; `quick` with a small working set."""
    require_device()
    from rankloop.gpu.device import about_device

    data, manifest = mslr_shaped(1_000 if quick else 16_000), measured_here()
    sections = []
    for part in PARTS:
        sections.append(part(data, quick))
        progress(sections[-1].title)
    return Results(sections, manifest | {"device": about_device()})


def learning(data: Collection, quick: bool) -> Section:
    """Impressions per second of many runs, against one core and against reading every query once."""
    from rankloop.gpu.device import processors

    # So many that blocks of one run and of eight fill the device whole times over.
    runs, impressions = 3 * SETTINGS * processors(), 1_000 if quick else 25_000
    bound = memory_rate() / (4.0 * FEATURES * len(data.train.grades) / data.train.queries)
    rows, values = [], {"memory bound": bound}
    for learner in (ROLTR(), MDPRank(), PDGD()):
        core = simulate(learner, noisy(), data, 5_000, seed=1, evaluate_every=0).impressions_per_second
        apart = _rate([learner], data, runs, impressions)
        settings = [type(learner)(learning_rate=0.001 * (one + 1)) for one in range(SETTINGS)]
        together = _rate(settings, data, runs // SETTINGS, impressions)
        for label, rate in (("a seed each", apart), (f"{SETTINGS} settings a seed", together)):
            rows.append([f"{learner.name}, {label}", _millions(rate), f"{rate / bound:.2f}", f"{rate / core:,.0f} ×"])
            values[f"{learner.name}, {label}"] = rate
        values[f"{learner.name}, one core"] = core
    columns = ["runs", "million impressions/s", "of one read each", "of one core"]
    return Section(f"{runs:,} runs of {impressions:,} impressions, MSLR's shape", columns, rows, values)


def alone(data: Collection, quick: bool) -> Section:
    """Impressions per second of methods that have a run to a block, against one core.

    No bound is told: Posterior does more than read features, dimension after dimension of its factor.
    """
    from rankloop.gpu.device import processors

    runs, impressions = SETTINGS * processors(), 200 if quick else 5_000
    rows: list[list[str]] = []
    values: dict[str, float] = {}
    for label, learner in (
        ("Posterior", Posterior()),
        ("Posterior, no memory", Posterior(memory=0)),
        ("DBGD", DBGD()),
        ("PMGD", PMGD()),
        ("COLTR", COLTR()),
    ):
        core = simulate(learner, noisy(), data, 1_000, seed=1, evaluate_every=0).impressions_per_second
        rate = _rate([learner], data, runs, impressions)
        rows.append([label, f"{rate:,.0f}", f"{rate / core:,.0f} ×"])
        values |= {label: rate, f"{label}, one core": core}
    title = f"{runs:,} runs of {impressions:,} impressions, a block each"
    return Section(title, ["runs", "impressions/s", "of one core"], rows, values)


def curves(data: Collection, quick: bool) -> Section:
    """Rankers measured on held-out queries, per second."""
    learners, seeds = [ROLTR()], range(1, 33)
    requests = _requests(learners, data, len(seeds), 400, evaluate_every=100)
    simulate_on_device(requests)
    seconds = sum(one.seconds["evaluation"] for one in simulate_on_device(requests))
    rankers = len(requests) * 5
    products = rankers * len(data.test.grades) * FEATURES
    rows = [[f"{data.test.queries:,} queries", f"{rankers / seconds:,.0f}", f"{2 * products / seconds / 1e12:.1f}"]]
    return Section(
        "Held-out queries", ["test split", "rankers/s", "TFLOP/s of scoring"], rows, {"rankers": rankers / seconds}
    )


def first_result(_data: Collection, _quick: bool) -> Section:
    """From an empty start to the first result, compiling included."""
    with tempfile.TemporaryDirectory() as folder:
        began = time.perf_counter()
        output = subprocess.check_output(
            [sys.executable, "-c", _FIRST], env=os.environ | {"CUPY_CACHE_DIR": folder}, text=True
        )
        seconds = time.perf_counter() - began
    rows = [["a new process, nothing compiled for the device", f"{seconds:.1f}"]]
    rows.append(["of which after the imports", f"{float(output.split()[-1]):.1f}"])
    return Section("Time to the first result", ["what", "s"], rows, {"first result": seconds})


PARTS: tuple[Callable[[Collection, bool], Section], ...] = (learning, alone, curves, first_result)


def memory_rate() -> float:
    """Bytes per second that the device reads: the half of what a large copy moves, twice."""
    import cupy

    source = cupy.random.random(1 << 28, dtype=cupy.float32)
    target = cupy.empty_like(source)
    rates = []
    for _ in range(6):
        begin, end = cupy.cuda.Event(), cupy.cuda.Event()
        begin.record()
        cupy.copyto(target, source)
        end.record()
        end.synchronize()
        rates.append(2 * source.nbytes / (1e-3 * cupy.cuda.get_elapsed_time(begin, end)))
    return float(sorted(rates)[len(rates) // 2])


def _requests(
    learners: Sequence[Learner], data: Collection, seeds: int, impressions: int, **settings: Any
) -> list[Request]:
    user = noisy()
    return [
        Request(learner, user, data, impressions, seed, settings)
        for learner in learners
        for seed in range(1, seeds + 1)
    ]


def _rate(learners: Sequence[Learner], data: Collection, seeds: int, impressions: int) -> float:
    """Impressions per second of all runs together, compiled and loaded beforehand."""
    settings = {"evaluate_every": 0}
    simulate_on_device(_requests(learners, data, seeds, 100, **settings))
    found = simulate_on_device(_requests(learners, data, seeds, impressions, **settings))
    return len(found) * impressions / sum(one.seconds["learning"] for one in found)


def _millions(rate: float) -> str:
    return f"{rate / 1e6:.1f}"


_FIRST = """
import time
import rankloop as rl
from rankloop.gpu import Request, simulate_on_device
data, user = rl.load("tiny"), rl.users.noisy()
began = time.perf_counter()
simulate_on_device([Request(rl.ROLTR(), user, data, 1000, seed, {}) for seed in range(1, 101)])
print(time.perf_counter() - began)
"""
