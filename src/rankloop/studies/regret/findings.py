"""What was found out about regret, as a results folder keeps it in `regret.json`: reports need no collection for it."""

from pathlib import Path

import msgspec

from rankloop.display import counted
from rankloop.files import write_text

FILE = "regret.json"


class Skyline(msgspec.Struct, frozen=True):
    """The skyline of a collection (and fold): nDCG on the training queries, and S, that as people would have seen it.

    `gradient` is the norm of the loss's gradient where the fit ended.
    """

    collection: str
    fold: int | None
    content: str
    page_size: int
    ndcg: float
    online: float
    gradient: float


class End(msgspec.Struct, frozen=True):
    """Offline nDCG after so many impressions beside the reference's: is it lower by no more than the margin?

    `low` and `high` are the two-sided 90 % interval of the difference: each side is a test at 5 %. `seeds`: 0 where
    earlier versions did not write them down.
    """

    impressions: int
    ndcg: float
    reference: float
    low: float | None
    high: float | None
    verdict: str
    seeds: int = 0


class Row(msgspec.Struct, frozen=True):
    """A learner in a cell: its regret beside the reference's on the same seeds, with a 95 % interval of the ratio.

    `setting` is the label of the setting that other collections chose. `near_zero`: the reference hardly falls behind
    the skyline, so there is no ratio. `regrets` has every run's, by seed.
    """

    collection: str
    user: str
    learner: str
    setting: str
    runs: int
    regret: float
    reference: float
    ratio: float | None = None
    low: float | None = None
    high: float | None = None
    near_zero: bool = False
    ends: tuple[End, ...] = ()
    regrets: tuple[float, ...] = ()


class Tried(msgspec.Struct, frozen=True):
    """A setting of a learner's small grid, and its mean ratio on each collection."""

    learner: str
    setting: str
    described: str
    ratios: dict[str, float | None]


class Choice(msgspec.Struct, frozen=True):
    """The setting of a learner on a collection: the best on all others; or the first, where there are no others."""

    learner: str
    collection: str
    setting: str
    by_others: bool


class Average(msgspec.Struct, frozen=True):
    """A learner's mean ratio over cells, with a 95 % interval by leaving out one seed at a time."""

    learner: str
    cells: int
    ratio: float | None
    low: float | None
    high: float | None


class Findings(msgspec.Struct, frozen=True):
    """All of it."""

    against: str
    margin: float
    impressions: int
    seeds: int
    skylines: tuple[Skyline, ...]
    rows: tuple[Row, ...]
    averages: tuple[Average, ...]
    tried: tuple[Tried, ...]
    choices: tuple[Choice, ...]
    left_out: tuple[str, ...] = ()

    @property
    def learners(self) -> list[str]:
        """In the order of the study."""
        return list(dict.fromkeys(row.learner for row in self.rows))

    @property
    def cells(self) -> list[tuple[str, str]]:
        """Collections and people, in the order of the study."""
        return list(dict.fromkeys((row.collection, row.user) for row in self.rows))

    def of(self, learner: str) -> list[Row]:
        """A learner's rows."""
        return [row for row in self.rows if row.learner == learner]

    @property
    def shared_seeds(self) -> str:
        """On how many seeds learners were compared: `10 seeds`, or `30 seeds, or the first 10 of them`."""
        runs = {max(row.runs for row in self.of(name)) for name in self.learners if name != self.against}
        fewest = min(runs, default=self.seeds)
        return counted(self.seeds, "seed") + (f", or the first {fewest} of them" if fewest < self.seeds else "")


def write_findings(folder: Path, found: Findings) -> Path:
    """Write them, whole or not at all."""
    text = msgspec.json.format(msgspec.json.encode(found), indent=1).decode()
    return write_text(folder / FILE, [text, "\n"])


def read_findings(folder: Path) -> Findings | None:
    """What a folder has of them; None where it has nothing readable."""
    try:
        return msgspec.json.decode((folder / FILE).read_bytes(), type=Findings)
    except (OSError, msgspec.DecodeError, UnicodeDecodeError):
        return None
