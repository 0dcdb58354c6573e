"""What the paper says, as data: each sentence is a list of comparisons, all of which must hold."""

from collections.abc import Iterable, Sequence
from functools import partial
from itertools import chain, pairwise
from typing import NamedTuple

from rankloop.studies.claims.evidence import (
    ONLINE_MARGIN,
    Measure,
    Part,
    Term,
    offline_at,
    speed_within,
)
from rankloop.studies.claims.relations import (
    ABOVE,
    ALIKE,
    BELOW,
    CLEARLY_BELOW,
    DIFFERS,
    NO_WORSE,
    Relation,
    within,
)

BOTH = ("perfect", "noisy")
ACROSS = "noisy vs. perfect"

SPEED = Measure("learning speed (mean offline nDCG)", lambda record: record.learning_speed)
EARLY = Measure("mean offline nDCG over the first 10,000 impressions", partial(speed_within, 10_000), reach=10_000)
EARLIEST = Measure("mean offline nDCG over the first 3,000 impressions", partial(speed_within, 3_000), reach=3_000)
END = Measure("offline nDCG at the end", lambda record: record.offline_ndcg)
AT_100K = Measure("offline nDCG at 100,000 impressions", partial(offline_at, 100_000), reach=100_000)
AT_1M = Measure("offline nDCG at 1,000,000 impressions", partial(offline_at, 1_000_000), reach=1_000_000)
ONLINE = Measure("online nDCG", lambda record: record.online_ndcg, margin=ONLINE_MARGIN, relative=True, form=".1f")
VARIANCE = Measure("gradient variance", lambda record: record.gradient_variance, form=".3g")

ABOUT_HALF = within(0.35, 0.7)
ABOUT_TEN_TIMES = within(5, 20)

POSITIVE = ("naive+", "ips+")
SAMPLING = ("DBGD", "PMGD", "COLTR")


class Sentence(NamedTuple):
    """A sentence of the paper. `threshold` is the p it claims; `only` the published collection that it is about."""

    number: str
    text: str
    parts: tuple[Part, ...]
    users: tuple[str, ...] = BOTH
    threshold: float = 0.05
    only: str | None = None

    @property
    def claim(self) -> str:
        """The claim that the sentence belongs to: "1" for "1a"."""
        return self.number.rstrip("abcdefghij")


def _each(lefts: Sequence[str], relation: Relation, rights: Sequence[str], measure: Measure) -> tuple[Part, ...]:
    return tuple(Part(Term(left), relation, Term(right), measure) for left in lefts for right in rights)


def _in_turn(series: Iterable[str], relation: Relation, measure: Measure) -> tuple[Part, ...]:
    """Each of a series against the one after it."""
    return tuple(Part(Term(one), relation, Term(other), measure) for one, other in pairwise(series))


def _discounts(reward: str, *discounts: str) -> list[str]:
    return [f"{reward} γ={discount}" for discount in discounts]


def _together(*groups: tuple[Part, ...]) -> tuple[Part, ...]:
    return tuple(chain.from_iterable(groups))


_DISCOUNT = (
    Sentence(
        "1a",
        "γ = 0 learns fastest.",
        _together(*(_each([f"{r} γ=0"], ABOVE, _discounts(r, "0.3", "0.5", "1"), SPEED) for r in POSITIVE)),
    ),
    Sentence(
        "1b",
        "The larger γ, the slower the learning.",
        _together(*(_in_turn(_discounts(r, "0", "0.3", "0.5", "1"), ABOVE, SPEED) for r in POSITIVE)),
    ),
    Sentence(
        "1c",
        "IPS+ is more sensitive to γ than NAIVE+.",
        (Part(Term("ips+ γ=0", minus="ips+ γ=1"), ABOVE, Term("naive+ γ=0", minus="naive+ γ=1"), SPEED),),
    ),
    Sentence(
        "1d",
        "At γ = 1, IPS+ has not converged by 100,000 impressions (perfect clicks).",
        _each(["ips+ γ=1"], CLEARLY_BELOW, ["ips+ γ=0"], AT_100K),
        users=("perfect",),
    ),
    Sentence(
        "1e",
        "γ ≥ 0.5 is still below γ = 0 at 1,000,000 impressions.",
        _each(["ips+ γ=0.5", "ips+ γ=1"], BELOW, ["ips+ γ=0"], AT_1M),
    ),
)

_VARIANCE = (
    Sentence(
        "2a",
        "The gradient's variance at γ = 0 is about half of that at γ = 1.",
        _together(*(_each([f"{r} γ=0"], ABOUT_HALF, [f"{r} γ=1"], VARIANCE) for r in POSITIVE)),
    ),
    Sentence(
        "2b",
        "IPS+ has about ten times the gradient variance of NAIVE+.",
        _together(*(_each([f"ips+ γ={g}"], ABOUT_TEN_TIMES, [f"naive+ γ={g}"], VARIANCE) for g in ("0", "0.5", "1"))),
    ),
    Sentence(
        "2c",
        "Noisy clicks give more gradient variance than perfect ones.",
        tuple(
            Part(Term(role, user="noisy"), ABOVE, Term(role, user="perfect"), VARIANCE)
            for reward in POSITIVE
            for role in _discounts(reward, "0", "0.5", "1")
        ),
        users=(ACROSS,),
    ),
)

_REWARDS = (
    Sentence(
        "3a",
        "Every IPS reward learns faster than its naive twin.",
        _together(*(_each([f"ips{sign}"], ABOVE, [f"naive{sign}"], SPEED) for sign in ("+", "-", "+-"))),
    ),
    Sentence(
        "3b",
        "Both signs together learn fastest.",
        _together(*(_each([f"{r}+-"], ABOVE, [f"{r}+", f"{r}-"], SPEED) for r in ("naive", "ips"))),
    ),
    Sentence(
        "3c",
        "IPS+ and IPS− learn alike under noisy clicks.",
        _each(["ips+"], ALIKE, ["ips-"], SPEED),
        users=("noisy",),
    ),
    Sentence(
        "3d",
        "IPS+ learns faster than IPS− under perfect clicks.",
        _each(["ips+"], ABOVE, ["ips-"], SPEED),
        users=("perfect",),
    ),
    Sentence(
        "3e",
        "At 100,000 impressions NAIVE− differs.",
        _each(["naive-"], DIFFERS, ["ips+-"], AT_100K),
    ),
    Sentence(
        "3f",
        "At 100,000 impressions the rewards other than NAIVE− do not differ.",
        _each(["naive+", "naive+-", "ips+", "ips-"], ALIKE, ["ips+-"], AT_100K),
    ),
)

_OFFLINE = (
    Sentence(
        "4a",
        "Offline, ROLTR and PDGD beat DBGD, PMGD and COLTR.",
        _each(["ROLTR", "PDGD"], ABOVE, SAMPLING, END),
    ),
    Sentence("4b", "Offline, COLTR beats PMGD and DBGD.", _each(["COLTR"], ABOVE, ["PMGD", "DBGD"], END)),
    Sentence("4c", "Offline, ROLTR and PDGD do not differ at the end.", _each(["ROLTR"], ALIKE, ["PDGD"], END)),
    Sentence(
        "5a",
        "Under noisy clicks ROLTR is ahead of PDGD in the first 10,000 impressions.",
        _each(["ROLTR"], ABOVE, ["PDGD"], EARLY),
        users=("noisy",),
    ),
    Sentence(
        "5b",
        "On MSLR under noisy clicks, PMGD leads in the first 3,000 impressions.",
        _each(["PMGD"], ABOVE, ["DBGD", "COLTR", "PDGD", "ROLTR"], EARLIEST),
        users=("noisy",),
        only="mslr-web10k",
    ),
)

_ONLINE = (
    Sentence(
        "6a",
        "Online, ROLTR is best or tied.",
        _each(["ROLTR"], NO_WORSE, [*SAMPLING, "PDGD"], ONLINE),
    ),
    Sentence(
        "6b",
        "Online, COLTR is worst.",
        _each(["COLTR"], BELOW, ["DBGD", "PMGD", "PDGD", "ROLTR"], ONLINE),
    ),
    Sentence(
        "6c",
        "Online, DBGD, PMGD and COLTR are worse than ROLTR and PDGD with p < 0.01.",
        _each(SAMPLING, BELOW, ["ROLTR", "PDGD"], ONLINE),
        threshold=0.01,
    ),
    Sentence(
        "7a",
        "With perfect clicks ROLTR reaches MDPRank's level.",
        _each(["ROLTR"], NO_WORSE, ["MDPRank"], END),
        users=("perfect",),
    ),
    Sentence(
        "7b",
        "With noisy clicks ROLTR stays below MDPRank.",
        _each(["ROLTR"], BELOW, ["MDPRank"], END),
        users=("noisy",),
    ),
)

_MISMATCH = (
    Sentence(
        "8a",
        "Noisy clicks: η < 1 ends up level with η = 1.",
        _each(["η=0"], ALIKE, ["η=1"], END) + _each(["η=0.5"], NO_WORSE, ["η=1"], END),
        users=("noisy",),
    ),
    Sentence("8b", "Noisy clicks: η = 0.5 ends up better.", _each(["η=0.5"], ABOVE, ["η=1"], END), users=("noisy",)),
    Sentence(
        "8c",
        "Noisy clicks: η > 1 hurts learning speed.",
        _each(["η=1.5", "η=2"], BELOW, ["η=1"], SPEED),
        users=("noisy",),
    ),
    Sentence(
        "8d",
        "Noisy clicks: η > 1 ends up worse.",
        _each(["η=1.5", "η=2"], BELOW, ["η=1"], END),
        users=("noisy",),
    ),
    Sentence("8e", "Perfect clicks: η = 2 ends up worse.", _each(["η=2"], BELOW, ["η=1"], END), users=("perfect",)),
    Sentence(
        "8f",
        "Perfect clicks: no other η ends up worse.",
        _each(["η=0", "η=0.5", "η=1.5"], NO_WORSE, ["η=1"], END),
        users=("perfect",),
    ),
    Sentence(
        "8g",
        "Perfect clicks: a larger η learns faster.",
        _in_turn(["η=0", "η=0.5", "η=1", "η=1.5", "η=2"], BELOW, SPEED),
        users=("perfect",),
    ),
)

SENTENCES = (*_DISCOUNT, *_VARIANCE, *_REWARDS, *_OFFLINE, *_ONLINE, *_MISMATCH)
