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
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from rankloop import __version__
from rankloop.commits import commits
from rankloop.errors import DataError
from rankloop.files import written_whole
from rankloop.metrics import online_performance
from rankloop.sources import fingerprint_of, outside_files

if TYPE_CHECKING:
    import pyarrow as pa

    from rankloop.pictures import Picture
    from rankloop.runs import Curve, Runs
    from rankloop.sheets import Sheet

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

    def _repr_html_(self) -> str:
        from rankloop.notebook import run_html

        return run_html(self)

    @property
    def online_means(self) -> NDArray[np.float64]:
        """(points − 1,), the mean nDCG of the pages shown between one evaluation and the next."""
        at = self.offline_curve[:, 0].astype(int).tolist()
        return np.array([float(self.online_curve[a:b].mean()) for a, b in pairwise(at)])

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

    def to_arrow(self, rows: Literal["runs", "curves"] = "runs") -> "pa.Table":
        """An Arrow table with this run as its row, or with a row for each evaluation point (`curves`)."""
        return self._alone().to_arrow(rows)

    def to_pandas(self, rows: Literal["runs", "curves"] = "runs") -> Any:
        """The same as a pandas frame."""
        return self._alone().to_pandas(rows)

    def summary(self) -> "Sheet":
        """Online and offline performance, as `Runs.summary` has them for many."""
        return self._alone().summary()

    def plot(
        self,
        curve: "Curve" = "offline",
        *,
        width: str | float | None = None,
        height: str | float | None = None,
    ) -> "Picture":
        """The learning curve; see `Runs.plot`."""
        return self._alone().plot(curve, width=width, height=height)

    def compare(self, other: "Run") -> "Sheet":
        """This run against another; one pair has no p-value, `simulate_many` makes more of them."""
        from rankloop.runs import compare_two

        return compare_two(self, other)

    def _alone(self) -> "Runs":
        from rankloop.runs import Runs

        return Runs([self])

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


def manifest_of(learner: Any, user: Any, content_hash: str) -> dict[str, Any]:
    """Where a result comes from: machine and versions, the code's fingerprint and commits, the data's hash."""
    return this_machine() | {
        "sources": fingerprint_of(learner, user),
        "commits": commits(outside_files(learner, user)),
        "data": content_hash,
    }


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
