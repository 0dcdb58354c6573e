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
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rankloop import __version__
from rankloop.errors import DataError, SettingsError
from rankloop.files import written_whole
from rankloop.metrics.averaging import online_performance
from rankloop.metrics.names import Metric, is_page_ndcg, metric
from rankloop.metrics.ndcg import CUTOFF
from rankloop.runs.commits import commits
from rankloop.sources import fingerprint_of, outside_files

if TYPE_CHECKING:
    import pyarrow as pa

    from rankloop.display.pictures import Picture
    from rankloop.display.sheets import Sheet
    from rankloop.runs.runs import Curve, Runs

_FORMAT = 1


@dataclass(frozen=True, eq=False, repr=False)
class Run:
    """The result of `rankloop.simulate`.

    Attributes:
        online_curve: (impressions,), nDCG of every page shown; 0 for queries with nothing relevant. The cut-off is the
            page's, unless `metrics` says another; `ndcg.title` has it.
        offline_curve: (points, 2), impression and mean nDCG on the test split.
        clicks: (impressions,), how many clicks each page got.
        weights: after the last impression, (features,) for a linear ranker.
        checkpoints: (points, weights), the weights behind each point of the offline curve.
        variance_curve: (impressions,), the gradient's variance over ranks, NaN where a page taught nothing; empty
            unless asked for.
        settings: learner, user, data, impressions, seed and everything else that determines the result.
        manifest: versions, processor and data hash: where the result comes from.
        seconds: how long learning and evaluation took.
        other_online, other_offline: the same for the other metrics, a column for each: see `by`.
        query_ids, query_values: each metric on each test query: see `by_query`.
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
    other_online: NDArray[np.float64] = field(default_factory=lambda: np.zeros((0, 0)))
    other_offline: NDArray[np.float64] = field(default_factory=lambda: np.zeros((0, 0)))
    query_ids: NDArray[np.int64] = field(default_factory=lambda: np.zeros(0, np.int64))
    query_values: NDArray[np.float32] = field(default_factory=lambda: np.zeros((0, 1, 0), np.float32))

    def __repr__(self) -> str:
        learner, user = self.settings["learner"]["learner"], self.settings["user"]["name"]
        return (
            f"Run({learner}, {user}, {self.settings['data']['name']}, "
            f"{len(self.online_curve):,} impressions: {self.ndcg.title} online {self.online_ndcg:.1f}, "
            f"offline {self.offline_ndcg:.4f})"
        )

    def _repr_html_(self) -> str:
        from rankloop.runs.notebook import run_html

        return run_html(self)

    @property
    def online_means(self) -> NDArray[np.float64]:
        """(points − 1,), the mean nDCG of the pages shown between one evaluation and the next."""
        return self.by(self.ndcg).online_means

    @property
    def metrics(self) -> tuple[Metric, ...]:
        """What the run was measured by."""
        return tuple(metric(name) for name in self.settings.get("metrics", [f"ndcg@{CUTOFF}"]))

    @property
    def ndcg(self) -> Metric:
        """Which nDCG `online_ndcg`, `offline_ndcg` and both curves are: with its cut-off."""
        return next(filter(is_page_ndcg, self.metrics))

    @property
    def _page_size(self) -> int:
        return int(self.settings.get("page_size", CUTOFF))

    def by(self, name: str | Metric) -> "Curves":
        """The run by one of its metrics.

        >>> import rankloop as rl
        >>> run = rl.simulate(rl.ROLTR(), rl.users.noisy(), rl.load("tiny"), 1000, seed=1, metrics=["ndcg", "map"])
        >>> [str(one) for one in run.metrics], run.by("map").offline_curve.shape, run.by("map").online_curve
        (['ndcg@10', 'map'], (2, 2), None)
        """
        wanted = metric(name, self._page_size, "run")
        if wanted not in self.metrics:
            have = ", ".join(map(str, self.metrics))
            raise SettingsError(
                f"the run was not measured by {wanted}, only by {have}; choose with simulate(metrics=…)"
            )
        if wanted == self.ndcg:
            return Curves(wanted, self.offline_curve, self.online_curve)
        others = [one for one in self.metrics if one != self.ndcg]
        on_pages = [one for one in others if one.is_seen_on_pages]
        offline = np.column_stack([self.offline_curve[:, 0], self.other_offline[:, others.index(wanted)]])
        return Curves(wanted, offline, self.other_online[:, on_pages.index(wanted)] if wanted in on_pages else None)

    @property
    def by_query(self) -> "ByQuery":
        """Each metric on each test query, at the end or at every point of the curve."""
        at = self.offline_curve[len(self.offline_curve) - len(self.query_values) :, 0].astype(np.int64)
        return ByQuery(self.metrics, at, self.query_ids, self.query_values, self._page_size)

    @property
    def online_ndcg(self) -> float:
        """Σ τ^i nDCG over the pages shown, τ = 0.9995."""
        return online_performance(self.online_curve)

    @property
    def offline_ndcg(self) -> float:
        """Mean nDCG on the test split after the last evaluation; NaN if there was none."""
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
        from rankloop.runs.runs import compare_two

        return compare_two(self, other)

    def _alone(self) -> "Runs":
        from rankloop.runs.runs import Runs

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
                there = set(archive.namelist())  # runs of earlier versions have nDCG alone
                arrays = {
                    name: np.load(io.BytesIO(archive.read(f"{name}.npy")), allow_pickle=False)
                    for name in _array_names()
                    if f"{name}.npy" in there or name not in _LATER
                }
                return cls(**arrays, **{name: document[name] for name in _DOCUMENTS})
        except OSError as error:
            raise DataError(f"cannot read {path}: {error.strerror or error}") from None
        except DataError:
            raise
        except (zipfile.BadZipFile, zlib.error, KeyError, TypeError, ValueError, EOFError, RuntimeError) as error:
            raise DataError(f"{path} is not a saved run, or is damaged: {error}") from None


class Curves(NamedTuple):
    """A run by one metric: what was learned, and what people saw (None: no page shows a whole ranking)."""

    metric: Metric
    offline_curve: NDArray[np.float64]
    online_curve: NDArray[np.float64] | None

    @property
    def offline(self) -> float:
        """The mean on the test split after the last evaluation; NaN if there was none."""
        return float(self.offline_curve[-1, 1]) if len(self.offline_curve) else float("nan")

    @property
    def online(self) -> float:
        """Σ τ^i over the pages shown, τ = 0.9995; NaN where pages cannot be measured."""
        return float("nan") if self.online_curve is None else online_performance(self.online_curve)

    @property
    def online_means(self) -> NDArray[np.float64]:
        """(points − 1,), the mean over the pages shown between one evaluation and the next; empty without pages."""
        if self.online_curve is None:
            return np.zeros(0)
        at = self.offline_curve[:, 0].astype(int).tolist()
        return np.array([float(self.online_curve[a:b].mean()) for a, b in pairwise(at)])


@dataclass(frozen=True, eq=False)
class ByQuery:
    """Each metric on each test query.

    Attributes:
        metrics: what was measured.
        at: (points,), after how many impressions.
        query_ids: (queries,), their numbers in the source.
        values: (points, metrics, queries), in single precision. NaN where the mean leaves a query out, because nothing
            is relevant.

    >>> import rankloop as rl
    >>> run = rl.simulate(rl.ROLTR(), rl.users.noisy(), rl.load("tiny"), 1000, seed=1)
    >>> bool(abs(np.nanmean(run.by_query["ndcg@10"]) - run.offline_ndcg) < 1e-6)
    True
    """

    metrics: tuple[Metric, ...]
    at: NDArray[np.int64]
    query_ids: NDArray[np.int64]
    values: NDArray[np.float32]
    page_size: int = CUTOFF

    def __getitem__(self, name: str | Metric) -> NDArray[np.float32]:
        """(queries,), a metric by name, at the end."""
        wanted = metric(name, self.page_size, "by_query")
        if wanted not in self.metrics or not len(self.values):
            have = ", ".join(map(str, self.metrics)) if len(self.values) else "nothing"
            raise SettingsError(f"no query results by {wanted} were kept, but {have}")
        at_the_end: NDArray[np.float32] = self.values[-1, self.metrics.index(wanted)]
        return at_the_end


def _array_names() -> list[str]:
    return [entry.name for entry in fields(Run) if entry.name not in _DOCUMENTS]


_DOCUMENTS = ("settings", "manifest", "seconds")
_LATER = ("other_online", "other_offline", "query_ids", "query_values")


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
