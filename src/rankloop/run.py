"""What a simulation leaves behind: curves, weights, timing, and a manifest that says exactly what was run where."""

import io
import json
import os
import platform
import zipfile
import zlib
from dataclasses import dataclass, field, fields
from functools import cache
from importlib import metadata
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankloop import __version__
from rankloop.errors import DataError
from rankloop.files import written_whole
from rankloop.metrics import online_performance

_FORMAT = 1


@dataclass(frozen=True, eq=False, repr=False)
class Run:
    """The result of `rankloop.simulate`.

    Attributes:
        online_curve: (impressions,), nDCG@10 of every page shown; 0 for queries with nothing relevant.
        offline_curve: (points, 2), impression and mean nDCG@10 on the test split.
        clicks: (impressions,), how many clicks each page got.
        weights: (features,), after the last impression.
        checkpoints: (points, features), the weights behind each point of the offline curve.
        variance_curve: (impressions,), the gradient's variance over ranks, NaN where a page taught nothing; empty
            unless asked for.
        settings: learner, user, data, impressions, seed and everything else that determines the result.
        manifest: versions, processor and data hash: where the result comes from.
        seconds: how long learning and evaluation took.
    """

    online_curve: NDArray[np.float64]
    offline_curve: NDArray[np.float64]
    clicks: NDArray[np.int64]
    weights: NDArray[np.float64]
    checkpoints: NDArray[np.float64]
    variance_curve: NDArray[np.float64]
    settings: dict[str, Any]
    manifest: dict[str, Any]
    seconds: dict[str, float] = field(default_factory=dict)

    def __repr__(self) -> str:
        learner, user = self.settings["learner"]["learner"], self.settings["user"]["name"]
        return (
            f"Run({learner}, {user}, {self.settings['data']['name']}, "
            f"{len(self.online_curve):,} impressions: online {self.online_ndcg:.1f}, "
            f"offline {self.offline_ndcg:.4f})"
        )

    @property
    def online_ndcg(self) -> float:
        """Σ τ^i nDCG@10 over the pages shown, τ = 0.9995."""
        return online_performance(self.online_curve)

    @property
    def offline_ndcg(self) -> float:
        """nDCG@10 on the test split after the last evaluation; NaN if there was none."""
        return float(self.offline_curve[-1, 1]) if len(self.offline_curve) else float("nan")

    @property
    def gradient_variance(self) -> float:
        """The gradient's variance over ranks, averaged over impressions; NaN unless asked for."""
        taught = self.variance_curve[~np.isnan(self.variance_curve)]
        return float(taught.mean()) if len(taught) else float("nan")

    @property
    def impressions_per_second(self) -> float:
        """The rate of the loop itself, without evaluation and compilation."""
        return len(self.online_curve) / self.seconds["learning"]

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Write everything to one file (a zip of .npy arrays and a JSON document), whole or not at all."""
        document = {"format": _FORMAT} | {name: getattr(self, name) for name in _DOCUMENTS}
        with written_whole(path) as partial, zipfile.ZipFile(partial, "w", zipfile.ZIP_DEFLATED) as archive:
            archive.writestr("run.json", json.dumps(document, indent=2, sort_keys=True))
            for name in _array_names():
                buffer = io.BytesIO()
                np.save(buffer, getattr(self, name), allow_pickle=False)
                archive.writestr(f"{name}.npy", buffer.getvalue())
        return Path(path)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> "Run":
        """Read a run back, every bit of it."""
        try:
            with zipfile.ZipFile(path) as archive:
                document = json.loads(archive.read("run.json"))
                if document["format"] != _FORMAT:
                    raise DataError(f"{path} has format {document['format']!r}; this version reads {_FORMAT}")
                arrays = {
                    name: np.load(io.BytesIO(archive.read(f"{name}.npy")), allow_pickle=False)
                    for name in _array_names()
                }
                return cls(**arrays, **{name: document[name] for name in _DOCUMENTS})
        except OSError as error:
            raise DataError(f"cannot read {path}: {error.strerror or error}") from None
        except DataError:
            raise
        except (zipfile.BadZipFile, zlib.error, KeyError, TypeError, ValueError, EOFError, RuntimeError) as error:
            raise DataError(f"{path} is not a saved run, or is damaged: {error}") from None


def _array_names() -> list[str]:
    return [entry.name for entry in fields(Run) if entry.name not in _DOCUMENTS]


_DOCUMENTS = ("settings", "manifest", "seconds")


@cache
def this_machine() -> dict[str, Any]:
    """Versions and processor: what the same bits depend on besides the settings."""
    libraries = ("numpy", "numba", "llvmlite")
    return {
        "versions": {"python": platform.python_version(), "rankloop": __version__}
        | {library: metadata.version(library) for library in libraries},
        "platform": platform.platform(),
        "processor": _processor(),
        "cores": os.cpu_count(),
    }


def _processor() -> str:
    try:
        for line in Path("/proc/cpuinfo").read_text().splitlines():
            if line.startswith("model name"):
                return line.split(":", 1)[1].strip()
    except OSError:
        pass
    return platform.processor() or platform.machine()
