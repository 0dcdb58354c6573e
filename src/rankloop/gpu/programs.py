"""The device's sources: put together, compiled when they are first needed, and a fingerprint of them."""

import hashlib
import re
from functools import cache
from pathlib import Path
from typing import Any

from rankloop.gpu.planning import Shape

SOURCES = Path(__file__).parent / "cuda"
OPTIONS = ("--std=c++17", "--fmad=false")
"""No contraction: a product and a sum are rounded once only where the sources say so, as on the CPU."""
_INCLUDE = re.compile(r'^#include "(.*)"$', re.MULTILINE)


@cache
def fingerprint() -> str:
    """A short digest of the device's sources and of what plans and packs for it: part of a record's key."""
    digest = hashlib.sha256()
    for path in sorted([*SOURCES.iterdir(), *SOURCES.parent.glob("*.py")]):
        if path.is_file():
            digest.update(path.name.encode() + b"\0" + path.read_bytes() + b"\0")
    return digest.hexdigest()[:16]


@cache
def source_of(name: str) -> str:
    """A source with all that it includes, each once: the compiler at run time knows no folders."""
    seen: set[str] = set()

    def put(match: re.Match[str]) -> str:
        included = match.group(1)
        if included in seen:
            return ""
        seen.add(included)
        return _INCLUDE.sub(put, (SOURCES / included).read_text().replace("#pragma once", ""))

    return _INCLUDE.sub(put, (SOURCES / name).read_text())


@cache
def simulation(learner: int, shape: Shape, stride: int, *, variance: bool) -> tuple[Any, Any]:
    """The kernel that runs impressions, and where it looks for its problem."""
    defines = {
        "LEARNER": learner,
        "STRIDE": stride,
        "GROUP": shape.group,
        "THREADS": shape.threads,
        "BLOCKS": shape.blocks,
        "VARIANCE": int(variance),
    }
    if shape.columns:
        defines |= {"COLUMNS": shape.columns, "ROOT_SHARED": int(shape.root_shared)}
    if shape.rankers:
        defines |= {"RANKERS": shape.rankers, "AT_ONCE": shape.at_once, "ORDERED": shape.ordered}
    module = _module("simulate.cu", tuple(defines.items()))
    return module.get_function("simulate"), module.get_global("problem")


@cache
def evaluation(depth: int) -> tuple[Any, Any, Any]:
    """The kernels that score, rank and average held-out queries."""
    module = _module("evaluate.cu", (("DEPTH", depth), ("THREADS", 128)))
    score, rank, average = (module.get_function(name) for name in ("score_all", "rank_all", "average_all"))
    return score, rank, average


def _module(name: str, defines: tuple[tuple[str, int], ...]) -> Any:
    import cupy

    options = (*OPTIONS, *(f"-D{key}={value}" for key, value in defines))
    return cupy.RawModule(code=source_of(name), options=options, backend="nvrtc")
