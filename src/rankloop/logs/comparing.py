"""How far two states of a model are apart, on pages that people were really shown: looked at before one of them takes
the other's place.

Orders are compared as they would be served now. Clicks are estimated for both states as they were at an earlier place
in the log, on pages closed after it: neither had learned from what it is judged by.
"""

from contextlib import suppress

import msgspec
import numpy as np

from rankloop.live.errors import StateError
from rankloop.live.events import Closing, Event, Kind, decode
from rankloop.live.fold import Fold
from rankloop.live.loading import closed_impression, sources_of
from rankloop.live.models import cosine
from rankloop.live.orders import Orders, compare_orders
from rankloop.live.shadow import examination_of, policy_of
from rankloop.live.stores import each_event
from rankloop.live.stores.contract import Reader
from rankloop.live.stores.rows import StoredModel
from rankloop.live.views import View
from rankloop.logs.replay.estimating import Candidate, Evaluation, Evaluator
from rankloop.offpolicy import Rules

HELD_OUT = 0.3
"""The share of a model's closed pages, the newest, that are held out."""
MOST_PAGES = 1_000
"""Of those, evenly spaced, so many are looked at."""
NOW, ANEW = "as it is", "recomputed"
CHANGES = ((0.95, "Hardly anything changes"), (0.8, "Some pages change"))
MUCH = "Much changes"
"""By the least of: first results that stay, results that stay on their page, Kendall's τ."""


class Difference(msgspec.Struct, frozen=True):
    """How much another state in the place of a model's own would change.

    Attributes:
        same_bits: whether both rank alike in every bit.
        distance: between their weights.
        relative: that beside the length of the weights as they are; None if that is 0.
        cosine: of the angle between them; None if one is zero.
        orders: of logged pages; None if there are none.
        evaluation: clicks per page, estimated; None if nothing was held out, or a state cannot be read.
    """

    same_bits: bool
    distance: float
    relative: float | None
    cosine: float | None
    orders: Orders | None
    evaluation: Evaluation | None

    @property
    def conclusion(self) -> str:
        """In words: what happens to orders, and to clicks."""
        if self.same_bits:
            return "Nothing changes."
        return f"{_orders_said(self.orders)}; {_clicks_said(self.evaluation)}."


class HeldOut:
    """The newest closed pages of a model. What is compared on them may have learned from the log up to `since`."""

    def __init__(self, store: Reader, model: StoredModel) -> None:
        self._store = store
        sources = sources_of(store, model)
        closings = [event.offset for event in each_event(store, kinds=(Kind.CLOSED,), model=sources)]
        first = len(closings) - round(HELD_OUT * len(closings))
        self.since = closings[first - 1] if first else -1
        held = closings[first:]
        places = np.linspace(0, len(held) - 1, min(len(held), MOST_PAGES)).astype(int)
        self._offsets = [held[place] for place in places]

    def pages(self) -> list[tuple[Event, Event | None]]:
        """Closings that can be read, each with the page that it closed, as far as it is still in the log."""
        pages = []
        for offset in self._offsets:
            event = self._store.event(offset)
            if event is not None and event.kind == Kind.CLOSED:
                with suppress(StateError):
                    pages.append((event, closed_impression(self._store, event)))
        return pages


def compare(own: Fold, other: Fold, then: tuple[View, View] | None, held_out: HeldOut) -> Difference:
    """Two states of a model, and what the same two folds had become at `held_out.since`."""
    pages = held_out.pages()
    settings, u, v = own.settings, own.ranker.weights, other.ranker.weights
    seen = [decode(shown.kind, shown.body) for event, shown in pages if _was_seen(event, shown) and shown is not None]
    views = own.view(), other.view()
    scorings = [lambda page, view=view: view.scores_of(page, settings.precision) for view in views]
    return Difference(
        same_bits=own.ranks_as(other),
        distance=(distance := float(np.linalg.norm(u - v))),
        relative=distance / length if (length := float(np.linalg.norm(u))) else None,
        cosine=cosine(u, v),
        orders=compare_orders(seen, *scorings) if seen else None,
        evaluation=_evaluate(own, pages, *then) if then and pages else None,
    )


def _orders_said(orders: Orders | None) -> str:
    if orders is None:
        return "No page is left to compare orders on"
    alike = min(orders.same_first, orders.shared, orders.kendall)
    return next((said for least, said in CHANGES if alike >= least), MUCH)


def _clicks_said(evaluation: Evaluation | None) -> str:
    wanted = f"{ANEW} − {NOW}", "examination model"
    for value in evaluation.differences if evaluation else ():
        if (value.policy, value.estimator) == wanted and value.estimate.value is not None:
            low, high = value.estimate.low, value.estimate.high
            assert low is not None
            assert high is not None
            if low <= 0 <= high:
                return "clicks per page cannot be told apart"
            return f"it would get {'more' if low > 0 else 'fewer'} clicks per page"
    return "what it does to clicks per page cannot be estimated"


def _was_seen(event: Event, shown: Event | None) -> bool:
    closing: Closing = decode(event.kind, event.body)
    return closing.why != "void" and shown is not None and shown.kind == Kind.SHOWN


def _evaluate(fold: Fold, pages: list[tuple[Event, Event | None]], own: View, other: View) -> Evaluation:
    settings = fold.settings
    policy = policy_of(settings)
    candidates = [Candidate(NOW, own, policy), Candidate(ANEW, other, policy)]
    evaluator = Evaluator(fold.drawers[0], candidates, examination_of(settings, own.model), fold.drawers)
    for event, shown in pages:
        evaluator.take(event, shown)
    return evaluator.conclude([Rules(method="self-normalised")])
