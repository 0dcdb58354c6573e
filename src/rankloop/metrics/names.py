"""What metrics are called: one grammar, and one registry of what there is.

    KIND, (rel=GRADE) or (max=GRADE), @RANK or @all

    ndcg          nDCG with gains 2^grade − 1, the paper's
    ndcg-linear   nDCG with gains = grade, as trec_eval has it
    err           expected reciprocal rank
    p             precision: the share of relevant documents
    mrr           reciprocal rank of the first relevant document
    map           average precision

Without a cut-off, `ndcg`, `ndcg-linear`, `err` and `p` end where the page ends, and `mrr` and `map` are about the whole
ranking. The name of a metric that was made from one always says where it ends: `metric("ndcg", page=3)` is `ndcg@3`.
"""

import re
from collections.abc import Iterable
from typing import Any, NamedTuple

import msgspec

from rankloop.errors import SettingsError
from rankloop.metrics.ndcg import CUTOFF, MAX_GRADE
from rankloop.settings import require_whole_number


class Kind(NamedTuple):
    """A kind of metric: how it is printed, its option in brackets if it has one, what no cut-off means."""

    title: str
    option: str = ""
    whole: bool = False


KINDS = {
    "ndcg": Kind("nDCG"),
    "ndcg-linear": Kind("linear nDCG"),
    "err": Kind("ERR", option="max"),
    "p": Kind("P", option="rel"),
    "mrr": Kind("MRR", option="rel", whole=True),
    "map": Kind("MAP", option="rel", whole=True),
}
_NAME = re.compile(r"([a-z-]+)(?:\(([a-z]+)=([0-9]{1,3})\))?(?:@([0-9]{1,6}|all))?", re.IGNORECASE)


class Metric(msgspec.Struct, frozen=True):
    """A metric with everything that its name says.

    Attributes:
        kind: one of `KINDS`.
        cutoff: the last rank that counts; None: all do.
        grade: the option in brackets. Of `rel`, the lowest grade that is relevant, 1 unless given; of `max`, the
            grade that satisfies for certain, None for the highest of the collection's scale.

    >>> metric("ndcg@10"), str(metric("map(rel=2)")), metric("p", page=3).title
    (Metric('ndcg@10'), 'map(rel=2)', 'P@3')
    """

    kind: str
    cutoff: int | None = None
    grade: int | None = None

    def __str__(self) -> str:
        return self.name

    def __repr__(self) -> str:
        return f"Metric({self.name!r})"

    @property
    def name(self) -> str:
        """As the grammar writes it."""
        option = "" if self.grade is None else f"({KINDS[self.kind].option}={self.grade})"
        cut = f"@{self.cutoff}" if self.cutoff is not None else "" if KINDS[self.kind].whole else "@all"
        return f"{self.kind}{option}{cut}"

    @property
    def title(self) -> str:
        """As tables and figures write it, with its cut-off: `nDCG@10`."""
        cut = "" if self.cutoff is None else f"@{self.cutoff}"
        option = {"rel": " (grade ≥ {})", "max": " (grades to {})"}.get(KINDS[self.kind].option, "")
        return f"{KINDS[self.kind].title}{cut}" + ("" if self.grade is None else option.format(self.grade))

    @property
    def relevant_from(self) -> int:
        """The lowest grade that is relevant."""
        return self.grade if self.grade is not None and KINDS[self.kind].option == "rel" else 1

    @property
    def is_seen_on_pages(self) -> bool:
        """Whether a page shows all that it needs; a metric of the whole ranking has no online curve."""
        return self.cutoff is not None


def metric(name: "str | Metric", page: int = CUTOFF, where: str = "metrics") -> Metric:
    """A metric by name; where the name has no cut-off, a page ends at rank `page`.

    >>> metric("nDCG").name, metric("err", page=5).name, metric("ndcg@all").name
    ('ndcg@10', 'err@5', 'ndcg@all')
    >>> metric("ndgc@10")
    Traceback (most recent call last):
    rankloop.errors.SettingsError: metrics: a metric must be one of ndcg, ndcg-linear, err, p, mrr, map, with a rank to end at if you like ('ndcg@10', 'mrr@all'); got 'ndgc@10'
    """  # noqa: E501
    if isinstance(name, Metric):
        return name
    found = _NAME.fullmatch(name.strip()) if isinstance(name, str) else None
    kind = found[1].lower() if found else ""
    if found is None or kind not in KINDS:
        raise SettingsError(
            f"{where}: a metric must be one of {', '.join(KINDS)}, with a rank to end at if you like "
            f"('ndcg@10', 'mrr@all'); got {name!r}"
        )
    cutoff = _cutoff(kind, found[4], page)
    if cutoff is not None:
        require_whole_number(where, f"the rank at which {kind} ends", cutoff, at_least=1)
    return Metric(kind, cutoff, _grade(kind, found[2], found[3], where))


def named(
    names: "str | Metric | Iterable[str | Metric]", page: int = CUTOFF, where: str = "metrics"
) -> tuple[Metric, ...]:
    """Several metrics by name, each once.

    >>> [str(one) for one in named(["ndcg", "ndcg@3", "map"], page=3)]
    ['ndcg@3', 'map']
    """
    listed: Any = (names,) if isinstance(names, (str, Metric)) else names
    if not isinstance(listed, Iterable):
        raise SettingsError(f"{where}: metrics must be a list of names, such as ['ndcg@10', 'map']; got {names!r}")
    made = tuple(dict.fromkeys(metric(name, page, where) for name in listed))
    if not made:
        raise SettingsError(f"{where}: metrics must not be empty; 'ndcg' is the usual one")
    return made


def with_ndcg(chosen: tuple[Metric, ...], page: int) -> tuple[Metric, ...]:
    """These, and nDCG at the end of the page if none of them is nDCG of a page: it is always measured."""
    return chosen if any(map(is_page_ndcg, chosen)) else (*chosen, metric("ndcg", page))


def is_page_ndcg(one: Metric) -> bool:
    """Whether this is what is meant by nDCG alone."""
    return one.kind == "ndcg" and one.is_seen_on_pages


def _cutoff(kind: str, text: str | None, page: int) -> int | None:
    if text is None:
        return None if KINDS[kind].whole else page
    return None if text.lower() == "all" else int(text)


def _grade(kind: str, option: str | None, text: str | None, where: str) -> int | None:
    allowed = KINDS[kind].option
    if option is None or text is None:
        return None
    if option.lower() != allowed:
        has = f"only {allowed}=GRADE" if allowed else "nothing"
        raise SettingsError(f"{where}: {kind} takes {has} in brackets; got {option}={text}")
    grade = require_whole_number(where, f"{allowed} of {kind}", int(text), at_least=1, at_most=MAX_GRADE)
    return None if allowed == "rel" and grade == 1 else grade
