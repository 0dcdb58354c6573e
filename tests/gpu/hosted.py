"""The device's sources, compiled for a host and run by one thread, or by threads that take turns: compared where there
is no device."""

import ctypes
import os
import shutil
import subprocess
import tempfile
from functools import cache
from itertools import product
from pathlib import Path

import numpy as np
import pytest

import rankloop as rl
from rankloop.asked import asked_for
from rankloop.gpu.batch import packed_batch, words_of_each
from rankloop.gpu.beliefs import columns_of, posterior_bytes
from rankloop.gpu.duels import duel_bytes
from rankloop.gpu.measuring import HeldOut
from rankloop.gpu.packing import LEARNERS, Queries, packed_problem, stride_of
from rankloop.gpu.planning import groups_of, room_for, shared_bytes
from rankloop.gpu.programs import fingerprint, source_of
from rankloop.gpu.rivals import comparison_bytes, comparison_shape, counterfactual_bytes, counterfactual_shape

FLAGS = ["-std=c++17", "-O1", "-mfma", "-ffp-contract=off", "-fPIC", "-shared", "-Wno-unknown-pragmas"]


class HostMemory:
    """The memory of this process, as a device's."""

    def __init__(self):
        self._kept = []

    def put(self, array):
        self._kept.append(np.ascontiguousarray(array))
        return self._kept[-1].ctypes.data

    def room(self, shape, dtype):
        self._kept.append(np.zeros(shape, dtype))
        return self._kept[-1]

    def address(self, array):
        return array.ctypes.data


@cache
def library(source, **defines):
    """A source as a library; compiled once for all processes of a test run."""
    compiler = shutil.which("g++") or shutil.which("c++")
    if compiler is None or os.uname().machine != "x86_64":
        pytest.skip("a C++ compiler for x86-64 is needed: apt-get install g++")
    given = [f"-D{name}={value}" for name, value in defines.items()]
    folder = Path(tempfile.gettempdir()) / f"rankloop-hosted-{os.getuid()}-{fingerprint()}"
    folder.mkdir(exist_ok=True, mode=0o700)
    found = folder / ("-".join([source, *given]) + ".so")
    if not found.exists():
        partial = found.with_suffix(f".{os.getpid()}")
        made = [compiler, *FLAGS, *given, "-x", "c++", "-", "-o", partial]
        subprocess.run(made, input=source_of(source), text=True, check=True)  # as the device's compiler is given it
        partial.rename(found)
    return ctypes.CDLL(str(found))


def simulated(learners, user, data, impressions, seeds, *, group=1, variance=False, page_size=10, metrics="ndcg"):
    """(learner, seed) with weights, values, clicks and variances, in two launches."""
    code = LEARNERS[type(learners[0])]
    code = library("host.cpp", LEARNER=code, GROUP=group, VARIANCE=int(variance), STRIDE=stride_of(data.features))
    batch = [
        asked_for(one, user, data, impressions, seed, page_size=page_size, metrics=metrics, gradient_variance=variance)
        for one, seed in product(learners, seeds)
    ]
    size = shared_bytes(group, data.features, room_for(data.train.longest, page_size), variance=variance)
    return _run(code, batch, group, size)


def believed(
    learners, user, data, impressions, seeds, *, page_size=10, weights=None, threads=1, last_first=False, root=True
):
    """The same for Posterior: by so many threads, in either order, with the factor in shared memory (`root`) or not."""
    columns = columns_of(data.features, page_size)
    defines = {"LEARNER": LEARNERS[type(learners[0])], "GROUP": 1, "VARIANCE": 0, "STRIDE": stride_of(data.features)}
    code = library("host.cpp", **defines, COLUMNS=columns, ROOT_SHARED=int(root), THREADS=threads)
    batch = [
        asked_for(one, user, data, impressions, seed, page_size=page_size, weights=weights)
        for one, seed in product(learners, seeds)
    ]
    size = posterior_bytes(data.features, page_size, room_for(data.train.longest, page_size), root=root)
    return _run(code, batch, 1, size, last_first)


def duelled(learners, user, data, impressions, seeds, *, page_size=10, threads=1, last_first=False):
    """The same for DBGD."""
    defines = {"LEARNER": LEARNERS[type(learners[0])], "GROUP": 1, "VARIANCE": 0, "STRIDE": stride_of(data.features)}
    code = library("host.cpp", **defines, THREADS=threads)
    batch = [
        asked_for(one, user, data, impressions, seed, page_size=page_size) for one, seed in product(learners, seeds)
    ]
    size = duel_bytes(data.features, room_for(data.train.longest, page_size))
    return _run(code, batch, 1, size, last_first)


def compared(learners, user, data, impressions, seeds, *, page_size=10, threads=1, last_first=False, **shaped):
    """The same for PMGD and COLTR, whose learners have as many rivals; `shaped` are a shape's fields of other value."""
    batch = [
        asked_for(one, user, data, impressions, seed, page_size=page_size) for one, seed in product(learners, seeds)
    ]
    one, features, room = learners[0], data.features, room_for(data.train.longest, page_size)
    planned = comparison_shape if isinstance(one, rl.PMGD) else counterfactual_shape
    shape = planned(one.candidates, features, page_size, room, 232_448)._replace(**shaped)
    if isinstance(one, rl.PMGD):
        size = comparison_bytes(features, room, shape)
    else:
        size = counterfactual_bytes(features, page_size, room, shape)
    return _run(rivals_library(one, data, shape, threads), batch, 1, size, last_first)


def rivals_library(learner, data, shape, threads=1):
    """The library of a method with rivals."""
    defines = {"LEARNER": LEARNERS[type(learner)], "GROUP": 1, "VARIANCE": 0, "STRIDE": stride_of(data.features)}
    own = {"RANKERS": shape.rankers, "AT_ONCE": shape.at_once, "ORDERED": shape.ordered}
    return library("host.cpp", **defines, **own, THREADS=threads)


def _run(code, batch, group, size, last_first=False):
    """What the device would be given of a batch, and what it leaves."""
    first, memory = batch[0], HostMemory()
    data, settings = first.data, first.settings
    impressions, page_size = settings["impressions"], settings["page_size"]
    seeds = [one.settings["seed"] for one in batch]
    queries = Queries.of(data.train, memory)
    groups = groups_of(seeds, group)
    people = first.user.compiled(page_size, data.train)
    left = packed_problem(
        queries,
        page_size,
        room_for(queries.longest, page_size),
        first.measures(),
        packed_batch(batch),
        [people] * len(batch),
        groups,
        impressions,
        memory,
        variance=settings["gradient_variance"],
        features=data.features,
        words_each=words_of_each(batch),
    )
    half = impressions // 2
    for begin, end in ((0, half), (half, impressions)):
        numbers = (ctypes.c_int64(one) for one in (len(groups), size, begin, end, last_first))
        whole = code.simulate_on_host(ctypes.c_void_p(left.problem.ctypes.data), *numbers)
        assert whole == len(groups), "some threads ended while others waited at a barrier"
    rows = zip(left.weights[:, : data.features], left.values, left.clicks, left.variance, strict=True)
    return [((one.learner, seed), row) for one, seed, row in zip(batch, seeds, rows, strict=True)]


def evaluated(weights, split, chosen, highest, nothing_relevant="skip"):
    """(metrics, rankers) means and (metrics, queries, rankers) values of rankers, as the device computes them."""
    memory = HostMemory()
    test = HeldOut.of(split, chosen, highest, nothing_relevant, memory)
    metrics, queries = test.shape
    columns = memory.room((stride_of(weights.shape[1]), len(weights)), np.float32)
    columns[: weights.shape[1]] = weights.T
    scores = memory.room((test.documents, len(weights)), np.float32)
    values = memory.room((metrics, queries, len(weights)), np.float64)
    means = memory.room((metrics, len(weights)), np.float64)
    fields = memory.put(test.fields(len(weights), *map(memory.address, (columns, scores, values, means))))
    library("evaluate.cu", DEPTH=test.depth).evaluate_on_host(ctypes.c_void_p(fields))
    return means, values
