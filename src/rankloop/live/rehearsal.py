"""A rehearsal: pages drawn, clicked and learned from before anybody asks for one, so that nobody waits for a compiler.

Kernels are compiled, or loaded from disk, for kinds of methods, rankers and features, never for their sizes. So a small
model stands for a large one, and a rehearsal on kernels that are there takes milliseconds.
"""

import numpy as np
from msgspec.structs import replace

from rankloop.learners import LEARNERS
from rankloop.live.events import PRECISIONS, Closing, Event, Group, Kind, encode
from rankloop.live.fold import Fold
from rankloop.live.ranking import Ranking, Request
from rankloop.live.scaling import Fixed
from rankloop.live.settings import Guards, ModelSettings, Zeros

FEATURES, RANKS, CANDIDATES = 2, 3, 5
PAGES = 8
"""Enough for somebody in the control group and somebody who is not."""


def rehearse(settings: ModelSettings) -> None:
    """Go once through all that a page of this model will need, with a model of the same kind that nobody sees."""
    small = _small(settings)
    fold, ranking = Fold(small), Ranking(small)
    features = np.arange(CANDIDATES * FEATURES).reshape(CANDIDATES, FEATURES).astype(PRECISIONS[small.precision])
    names = [str(place) for place in range(CANDIDATES)]
    for number in range(PAGES):
        # Every other page has its first document pinned; the learner is then given what is left.
        pinned = {0: 0} if number % 2 else {}
        page = ranking.rank(fold.view(), Request("", b"", names, features, RANKS, pinned), number, rest=True)
        clicks = [1.0, *([0.0] * (RANKS - 1))]
        impression = replace(page.impression, group=int(Group.LEARNED))
        shown = Event(2 * number + 1, 1, int(Kind.SHOWN), number, 0, b"", encode(impression))
        closing = encode(Closing(shown.offset, clicks, "asked"))
        fold.apply(Event(2 * number + 2, 1, int(Kind.CLOSED), number, 0, b"", closing), shown)


def _small(settings: ModelSettings) -> ModelSettings:
    """The same kind of model in a small size, with a control group."""
    scaling = Fixed((0.0,) * FEATURES, (1.0,) * FEATURES) if isinstance(settings.scaling, Fixed) else settings.scaling
    guards = Guards(control=0.5, stale_below=settings.guards.stale_below)
    return replace(
        settings, features=tuple(f"f{place}" for place in range(FEATURES)), page_size=RANKS, start=Zeros(),
        scaling=scaling, guards=guards, seed=1,
    )  # fmt: skip


def rehearse_all() -> None:
    """Compile what every method needs that a service can learn with, as it is by default: for an image, say, that is
    to hold its kernels (`python -m rankloop.live.rehearsal`)."""
    for kind in LEARNERS.values():
        if not kind.needs_grades():
            rehearse(ModelSettings(name=kind.__name__, features=FEATURES, learner=kind()))


if __name__ == "__main__":
    rehearse_all()
