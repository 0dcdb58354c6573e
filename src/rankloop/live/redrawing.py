"""Where a model that is folded anew would have shown the documents of a page.

After an erasure, the pages that are left were drawn by a model that had learned from what was erased. Bots that click
for a vendor bring its products to the top of people's pages, and people pass them over there, where they look most.
While the bots' clicks are in the log, both balance. Without them, a fold sees a vendor that fails page after page. It
expects too much of whatever it ranks low itself (what it believes of documents is drawn together: the best are better
than it thinks, and the worst are worse), and is the more disappointed the further up these are shown. So the vendor
would end far below where it would stand had nobody come.

A method that learns how far people look learns with it how much better what it puts first is than it thinks, rank by
rank. A refold therefore lets each document of such a page stand where the refolded weights would have shown it at that
point of the log, with the same random numbers, or last, if nowhere: then what it expects of a document is what it
expects at that rank of its own pages. Where nothing that was erased had a say, that is the page as it was, if its
weights were those of its place in the log; a page that a busy service drew with weights a moment older is taken as the
newer ones would have drawn it. To other methods pages are as they were shown.

Clicks count as they came. To multiply them by how much further or less far people look there would be right if that
were known; but a curve that is too steep makes a refold agree with itself, page after page: what it ranks low gets
ever fewer of the clicks that it got. With 1/k in the place of the first guess, k^-½, which is close to the truth there,
nDCG@10 of the simulated shop fell from .690 to .445. As they came, clicks speak for what was lifted, if for anything.

Left as they are: pages from before the first erased one, those closed after a refold that knew nothing of what is
erased by now, and those that this model's own policy did not draw.
"""

import numpy as np
from numpy.typing import NDArray

from rankloop.live.errors import RequestError
from rankloop.live.events import Event, Group, Impression, decode
from rankloop.live.fold import Fold
from rankloop.live.loading import misshapen
from rankloop.live.ranking import Ranking, Request
from rankloop.live.settings import ModelSettings

OPEN = 100_000
"""Of so many pages that are not closed yet it is kept where their documents would have stood."""


class Redrawing:
    """Pages that were shown after an event and closed before another; without that one, all that come later."""

    def __init__(self, after: int, until: int | None = None) -> None:
        self._after, self._until = after, until
        self._ranking: Ranking | None = None
        self._open: dict[int, NDArray[np.int64] | None] = {}
        self.pages = 0
        """How many would have had another order."""

    def see(self, fold: Fold, shown: Event) -> None:
        """A page is shown at this point of the log: where would the fold, as it is now, have put its documents?

        By the time it is closed, the fold has learned from others, and would agree too well with what it knows itself.
        """
        impression: Impression = decode(shown.kind, shown.body)
        if self._concerns(fold, impression, shown):
            self._open[shown.offset] = self._drawn(fold, impression, shown)
            if len(self._open) > OPEN:
                del self._open[next(iter(self._open))]

    def ranks(self, fold: Fold, impression: Impression, shown: Event, *, counted: bool) -> NDArray[np.int64] | None:
        """The rank (from 0) at which the fold would have shown each document that was not pinned: as it was when the
        page was shown or, if nobody saw that, as it is. None: the page counts as it was shown."""
        if not self._concerns(fold, impression, shown):
            return None
        seen = shown.offset in self._open
        ranks = self._open.pop(shown.offset) if seen else self._drawn(fold, impression, shown)
        self.pages += counted and ranks is not None and ranks.tolist() != _free(impression)
        return ranks

    def _drawn(self, fold: Fold, impression: Impression, shown: Event) -> NDArray[np.int64] | None:
        if not impression.page or misshapen(impression, fold.settings):  # damaged, as verifying has told
            return None
        try:
            page = self._drawn_by(fold.settings).own_page(fold.at_once(), _asked(fold, impression, shown), shown.number)
        except RequestError:  # features beyond what its weights can score
            return None
        own = {document: rank for rank, document in enumerate(page.tolist())}
        last = len(impression.page) - 1
        return np.array([own.get(impression.page[rank], last) for rank in _free(impression)], np.int64)

    def _concerns(self, fold: Fold, impression: Impression, shown: Event) -> bool:
        within = self._after < shown.offset and (self._until is None or fold.offset < self._until)
        own = impression.group == Group.LEARNED and impression.reign == fold.reign and fold.shadow is None
        return within and own and fold.settings.learner.learns_examination

    def _drawn_by(self, settings: ModelSettings) -> Ranking:
        if self._ranking is None or self._ranking.settings is not settings:
            self._ranking = Ranking(settings)
        return self._ranking


def _free(impression: Impression) -> list[int]:
    """The ranks that were not pinned."""
    return [rank for rank in range(len(impression.page)) if rank not in impression.pinned]


def _asked(fold: Fold, impression: Impression, shown: Event) -> Request:
    """The request that a page answered, with the candidates that its model could choose from."""
    pinned = {impression.page[rank]: rank for rank in impression.pinned}
    features = impression.matrix(fold.settings.precision)
    return Request(impression.query, shown.client, impression.candidates, features, len(impression.page), pinned)
