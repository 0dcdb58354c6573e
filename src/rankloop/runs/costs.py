"""How long a device takes for a run, by method and shape: for the display, and so that batches are of some seconds.

An estimate changes no result, so it is not among the sources that a record's key names (`rankloop.gpu`).
"""

from rankloop.learners import COLTR, DBGD, PDGD, PMGD, Learner, Posterior

RECORDING = 0.02
"""Seconds on the host until a run of a device is recorded."""
ONE_EACH = (Posterior, DBGD, PMGD, COLTR)
"""Methods that have a run to a block: what shares a seed gains nothing by sharing a batch."""
_PROCESSORS = 132  # of an H200
_MSLR = 125 * 136  # numbers of its mean query
_READ = {PDGD: 1 / 41e6, DBGD: 1 / 11.8e6}  # seconds an impression, in proportion to candidates × features
_READ_OTHERS = 1 / 31e6
_PRODUCT = 28 / 39 / 3.7e6 / (_MSLR * 50)  # PMGD's time, parted as its counts are: 28 ns of products,
_DRAW = 11 / 39 / 3.7e6 / (136 * 50)  # and 11 ns of draws (docs/gpu.md)
_JUDGED = (1 / 2.88e6 - _READ_OTHERS) / (136 * 500)  # a feature of one of COLTR's rivals
_FACTOR = 1 / 0.49e6 / (136**2 * 10 * 1.136)  # Posterior's factor, an entry and a rank
_EVALUATED = 9_035 * 16_000 * _MSLR  # products of a feature and a weight in a second


def device_seconds(
    learner: Learner,
    impressions: int,
    *,
    candidates: float,
    features: int,
    page_size: int = 10,
    points: int = 0,
    held_out: int = 0,
) -> float:
    """Seconds of a full H200 that one run takes, beside the others; its record not counted (`RECORDING`).

    Rates are those of `make bench-gpu` at commit 6bac707 with MSLR's shape, a seed each: ROLTR and MDPRank 31 million
    impressions a second, PDGD 41, DBGD 11.8, PMGD 3.7, COLTR 2.88; Posterior 0.49 million with 136 features, 0.19 with
    220 and 12,400 with 700; 9,035 rankers a second on 16,000 held-out queries. 9,200 runs of 2.0 billion impressions
    took 248 s in all, 20 ms a run beside learning (`benchmarks/gpu/figures.json`, `blocks.json`, `paper.json`). Other
    shapes follow from what bounds a method. With 700 features PMGD and COLTR take longer than this says: 1,200 runs, of
    DBGD, PMGD and COLTR, took more than 183 s.

    Args:
        candidates: of a query, on average.
        points: of the offline curve.
        held_out: documents × features of the test split.

    >>> from rankloop import COLTR, ROLTR
    >>> [round(100 * device_seconds(one, 1_000_000, candidates=125, features=136), 1) for one in (ROLTR(), COLTR())]
    [3.2, 34.7]
    """
    size = candidates * features
    if isinstance(learner, Posterior):
        # From some 210 features on the factor lies in the device's memory, the slower the larger it is.
        each = _FACTOR * features**2 * page_size * (1 + features / 1000)
    elif isinstance(learner, PMGD):
        each = (learner.candidates + 1) * (_PRODUCT * size + _DRAW * features)
    elif isinstance(learner, COLTR):
        each = _READ_OTHERS * size / _MSLR + _JUDGED * (learner.candidates + 1) * features
    else:
        each = _READ.get(type(learner), _READ_OTHERS) * size / _MSLR
    return impressions * each + points * held_out / _EVALUATED


def runs_that_fill(learner: Learner) -> int:
    """How many runs fill an H200: its 132 processors have eight blocks each, or two of methods that need much room.

    Eight settings of a seed are a block to each processor.
    """
    return _PROCESSORS * (2 if isinstance(learner, (Posterior, PMGD, COLTR)) else 8)
