"""A live model as what leaves rankloop, and how far that ranks as the model does.

Other systems score one document at a time, with one shift and one spread per feature. Where a model's scaling looks at
the other candidates of the query, numbers that are typical of its logged pages take their place:

    robust   shift: the typical median of a query; spread: the model's own or, of a feature without, the typical one
    query    shift: the typical minimum; spread: the typical range (geometric mean)
    running  the statistics as they are now

What that changes is not guessed but measured: both order the candidates of logged pages (`rankloop.live.orders`).
"""

from collections.abc import Callable, Sequence
from typing import TypeVar

import msgspec
import numpy as np
from numpy.typing import NDArray

from rankloop.errors import SettingsError
from rankloop.interchange import LinearModel, NeuralModel
from rankloop.interchange.models import made
from rankloop.live.errors import StateError
from rankloop.live.events import Event, Impression, Kind, decode
from rankloop.live.incoming import INCOMING, MEANS
from rankloop.live.loading import UNREADABLE, closed_impression
from rankloop.live.orders import Orders, compare_orders
from rankloop.live.scaling import FARTHEST, Scaler, deviation_within, typical
from rankloop.live.settings import ModelSettings
from rankloop.live.stores.contract import Reader
from rankloop.live.views import View

MOST_PAGES = 200
"""So many of the newest logged pages are looked at."""

ENGINES = ("elasticsearch", "opensearch", "solr")
"""Formats of engines that compute a model's features themselves, one document at a time."""

Array = NDArray[np.float64]
T = TypeVar("T")


class Leaving(msgspec.Struct, frozen=True):
    """A model on its way out.

    Attributes:
        model: what other systems get.
        differs: in sentences, what it does in another way than the live model.
        orders: how alike both order the candidates of logged pages; None if there are none.
    """

    model: LinearModel | NeuralModel
    differs: tuple[str, ...]
    orders: Orders | None

    def __str__(self) -> str:
        measured = (
            f"beside the live model, {self.orders}" if self.orders else "there is no logged page to compare it on"
        )
        return "\n".join([*self.differs, measured])


def newest_pages(store: Reader, model: int, limit: int = MOST_PAGES) -> list[Impression]:
    """Pages that were shown last, closed ones first; what cannot be read is left out."""
    shown: list[Event | None] = []
    for closing in store.newest_closings(model, limit):
        try:
            shown.append(closed_impression(store, closing))
        except StateError:
            continue
    shown += [store.event(row.shown) for row in store.newest_open(model, limit - len(shown))]
    pages = []
    for event in shown:
        if event is not None and event.kind == Kind.SHOWN:
            try:
                pages.append(decode(event.kind, event.body))
            except UNREADABLE:
                continue
    return pages


def leaving(settings: ModelSettings, view: View, pages: Sequence[Impression], form: str) -> Leaving:
    """A model's state as other systems take it, and how far it ranks as the state does.

    Args:
        settings: the model's.
        view: the state.
        pages: logged pages, from which typical numbers are taken.
        form: the format. Our own JSON has a scaling per query; an engine's has no place among the others.
    """
    scaler = view.scaler
    matrices = [page.matrix(settings.precision).astype(np.float64) for page in pages]
    scaling: dict[str, tuple[float, ...] | bool] = {}
    differs: tuple[str, ...] = ()
    if scaler.settings == "query" and form == "json":
        scaling = {"per_query": True}
    elif scaler.settings != "none":
        shift, spread, differs = _fixed(scaler, matrices, _matters(settings, view), settings.name)
        scaling = {"shift": tuple(shift.tolist()), "spread": tuple(spread.tolist())}
    leaves, remarks = _features_that_leave(settings, form)
    if view.remembers:
        differs = (
            *differs,
            f"what {settings.name!r} knows of single documents, beyond their features, is not exported",
        )
    model = made(
        settings.learner.scoring_ranker,
        weights=_weights(settings, view, leaves),
        feature_names=_kept(settings.names, leaves),
        name=settings.name,
        **{key: value if isinstance(value, bool) else _kept(value, leaves) for key, value in scaling.items()},
    )
    orders = None
    if pages:
        orders = compare_orders(
            pages,
            lambda page: view.scores_of(page, settings.precision),
            lambda page: model.scores(page.matrix(settings.precision)[:, leaves]),
        )
    return Leaving(model, (*differs, *remarks), orders)


def _features_that_leave(settings: ModelSettings, form: str) -> tuple[list[int], tuple[str, ...]]:
    """Their places, and what there is to say: an engine scores one document, and does not know where it stood."""
    everything = list(range(len(settings.names)))
    if INCOMING not in settings.names:
        return everything, ()
    if form not in ENGINES or not settings.is_linear:
        return everything, (f"{MEANS}; whoever ranks with what leaves must provide it",)
    without = [place for place in everything if settings.names[place] != INCOMING]
    return without, (f"{MEANS}; {form} scores each document alone, so what leaves does without it",)


def _weights(settings: ModelSettings, view: View, leaves: list[int]) -> tuple[float, ...]:
    """Of the features that leave; a network's all."""
    weights = view.model.ranker.weights.tolist()
    return _kept(weights, leaves) if settings.is_linear else tuple(weights)


def _kept(values: Sequence[T], places: list[int]) -> tuple[T, ...]:
    return tuple(values[place] for place in places)


def _matters(settings: ModelSettings, view: View) -> bool:
    """Whether the order depends on how features are scaled beside each other: not with one weight, nor with none."""
    return not settings.is_linear or int(np.count_nonzero(view.model.ranker.weights)) > 1


def _fixed(scaler: Scaler, pages: list[Array], matters: bool, name: str) -> tuple[Array, Array, tuple[str, ...]]:
    """(shift, spread, what they do in another way): one of each per feature, whatever the scaling."""
    if scaler.settings == "query":
        shift, spread = _typical(scaler, pages, matters, name, lambda X: X.min(axis=0), lambda X: np.ptp(X, axis=0))
        return shift, spread, (f"{name!r} scales features per query; what leaves has the typical minimum and range",)
    if scaler.settings == "robust":
        if scaler.spread.all() and not pages:
            return np.zeros(len(scaler.spread)), scaler.spread, (_bound(name),)
        shift, typical = _typical(scaler, pages, matters, name, lambda X: np.median(X, axis=0), deviation_within)
        return shift, np.where(scaler.spread > 0, scaler.spread, typical), (_bound(name),)
    if scaler.settings == "running" and not scaler.frozen:
        if scaler.count == 0:
            shift, spread = _typical(scaler, pages, matters, name, lambda X: X.mean(axis=0), lambda X: X.std(axis=0))
        else:
            shift, spread = scaler.affine()
        return shift, spread, (f"{name!r} goes on moving its running statistics; what leaves has those of now",)
    return *scaler.affine(), ()


def _bound(name: str) -> str:
    return (
        f"{name!r} counts from each query's median and to {FARTHEST:g} deviations at most; what leaves counts from the "
        f"typical median, and without a bound"
    )


def _typical(
    scaler: Scaler,
    pages: list[Array],
    matters: bool,
    name: str,
    middle: Callable[[Array], Array],
    width: Callable[[Array], Array],
) -> tuple[Array, Array]:
    """The mean of the pages' middles, and the geometric mean of their widths, over those where a feature varies."""
    if not pages:
        if matters:
            raise SettingsError(
                f"{name!r} has not shown a page yet, so how widely its features spread is unknown; rank some pages "
                f"first, or create it with the scaling 'none' or a fixed one"
            )
        # With one weight, or none, every scale gives the same order.
        return np.zeros(len(scaler.spread)), np.ones(len(scaler.spread))
    return np.mean([middle(X) for X in pages], axis=0), typical(np.array([width(X) for X in pages]))
