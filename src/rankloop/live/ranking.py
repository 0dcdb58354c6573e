"""From candidates to a page: who sees what, drawn from the newest state, with all that the log will need.

A page is a function of the model's settings, the state it was drawn from, the impression's number and the request; it
is computed from the features as they will be stored, so that the log holds exactly what was ranked.
"""

from collections.abc import Mapping, Sequence
from hashlib import blake2b
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rankloop.kernels.draws import INTERLEAVING, stream_key, uniform
from rankloop.live.errors import RequestError
from rankloop.live.events import Group, Impression
from rankloop.live.experiments import Running
from rankloop.live.interleaving import draft_seed, drafted
from rankloop.live.settings import IncomingOrder, ModelSettings
from rankloop.live.views import View
from rankloop.loop import rank_page
from rankloop.policies.displacement import displacement_of_page

CONTROL_DRAW = 1 << 20
"""The place in the impression's stream that decides the group of somebody unknown: far from all that methods draw."""
SHARE_DRAW = CONTROL_DRAW + 1
"""And the one that decides whether their page is interleaved."""


class Request(NamedTuple):
    """What is to be ranked, checked: ids, (candidates, features) in storage precision, page size, pinned ranks."""

    query: str
    client: bytes
    candidates: list[str]
    features: NDArray[Any]
    size: int
    pinned: dict[int, int]
    """candidate → rank, both from 0."""
    network: bytes = b""
    segment: str = ""
    titles: Mapping[str, str] = MappingProxyType({})
    """What people read, by id; for those who look at the log later."""

    def titles_of(self, candidates: list[str]) -> dict[str, str]:
        """Those of some of the candidates."""
        return {name: self.titles[name] for name in candidates if name in self.titles} if self.titles else {}


class DrawnPage(NamedTuple):
    """An impression ready for the log, and the order of what is not on the page."""

    impression: Impression
    rest: list[int]


class _Drawn(NamedTuple):
    """Scores of all candidates, the page, what the method must remember of it, and how likely it was."""

    scores: NDArray[np.float32]
    page: NDArray[np.int64]
    notes: NDArray[np.float32]
    log_probability: float


class Rival(NamedTuple):
    """Another model whose order is interleaved."""

    ranking: "Ranking"
    view: View


class Ranking:
    """Draws the pages of one model. Not shared between threads: it has its own scratch."""

    def __init__(self, settings: ModelSettings) -> None:
        self.settings = settings
        self._key = np.uint64(settings.seed or 0)
        self._room = 0
        self._work: Any = None

    def rank(
        self,
        view: View,
        request: Request,
        number: int,
        *,
        rest: bool = False,
        rivals: Mapping[int, Rival] | None = None,
    ) -> DrawnPage:
        """The page for a request. Other models whose orders are interleaved are among the `rivals`, by their number;
        without them nothing is interleaved."""
        group = self._group(view, request.client, number)
        experiment = view.experiment if group == Group.LEARNED and rivals is not None else None
        if rivals is not None and experiment is not None and self._is_in(experiment, request.client, number):
            return self._interleaved(view, experiment, request, number, rivals, rest=rest)
        beyond = range(0)
        if group == Group.LEARNED:
            request, beyond = self._within_reach(view, request)
        X, numbers = view.scaler.apply(request.features), _numbers(view, request)
        drawn = _finite(self._draw(view, X, numbers, request, number, group))
        # Weights that were drawn for this page are exploration, too: what it cost is counted from the ranker's own.
        best = view.scores(X, numbers) if self.settings.learner.draws_weights else drawn.scores
        impression = Impression(
            query=request.query,
            candidates=request.candidates,
            features=request.features.tobytes(),
            scores=drawn.scores.tobytes(),
            page=drawn.page.tolist(),
            pinned=sorted(request.pinned.values()),
            notes=drawn.notes.tobytes(),
            group=int(group),
            version=view.version,
            log_probability=drawn.log_probability,
            displacement=_displacement(drawn._replace(scores=best), request, group),
            greedy=group == Group.LEARNED and view.mode == "frozen",
            network=request.network,
            segment=request.segment,
            reign=view.reign,
            titles=request.titles_of(request.candidates),
        )
        order = _order(drawn._replace(scores=best), group) if rest else np.zeros(0, np.int64)
        return DrawnPage(impression, [*_rest(order, drawn.page), *beyond] if rest else [])

    def _interleaved(
        self, view: View, experiment: Running, request: Request, number: int, rivals: Mapping[int, Rival], *, rest: bool
    ) -> DrawnPage:
        """A team draft of what each arm would have shown. What none of them could have placed is not on the log."""
        arms = [rivals.get(model, Rival(self, view)) if model else None for model in experiment.models]
        orders = [
            np.array(incoming_order(request)) if arm is None else arm.ranking.own_page(arm.view, request, number)
            for arm in arms
        ]
        kept = max(len(arm.ranking._within_reach(arm.view, request)[0].candidates) if arm else 0 for arm in arms)
        near = request
        if 0 < kept < len(request.candidates):
            near = request._replace(candidates=request.candidates[:kept], features=request.features[:kept])
        page, teams = drafted(
            orders, len(near.candidates), draft_seed(int(self._key), experiment.id), number, request.pinned
        )
        free = sum(rank not in request.pinned.values() for rank in range(len(page)))
        notes = np.zeros((free, self.settings.learner.note_width()), np.float32)
        drawn = _finite(_Drawn(view.scores(view.scaler.apply(near.features), _numbers(view, near)), page, notes, 0.0))
        impression = Impression(
            query=request.query,
            candidates=near.candidates,
            features=near.features.tobytes(),
            scores=drawn.scores.tobytes(),
            page=page.tolist(),
            pinned=sorted(request.pinned.values()),
            notes=notes.tobytes(),
            group=int(Group.INTERLEAVED),
            version=view.version,
            log_probability=None,
            displacement=_displacement(drawn, near, Group.LEARNED),
            network=request.network,
            experiment=experiment.id,
            teams=teams,
            segment=request.segment,
            reign=view.reign,
            titles=request.titles_of(near.candidates),
        )
        order = _order(drawn, Group.LEARNED) if rest else np.zeros(0, np.int64)
        beyond = range(len(near.candidates), len(request.candidates))
        return DrawnPage(impression, [*_rest(order, page), *beyond] if rest else [])

    def own_page(self, view: View, request: Request, number: int) -> NDArray[np.int64]:
        """The page that this model would show for a request, exploration and all."""
        request, _ = self._within_reach(view, request)
        X = view.scaler.apply(request.features)
        return _finite(self._draw(view, X, _numbers(view, request), request, number, Group.LEARNED)).page

    def _within_reach(self, view: View, request: Request) -> tuple[Request, range]:
        """The engine's first results, as many as a model that has learned so much may choose from; and the others.

        What is out of reach is not on the log: for this page it was no candidate.
        """
        start, count = self.settings.start, len(request.candidates)
        if view.mode == "frozen" or not isinstance(start, IncomingOrder) or not self.settings.learner.draws_weights:
            return request, range(0)
        reach = start.reach(self.settings.page_size, view.version)
        if reach >= count:
            return request, range(0)
        kept = max(int(reach), request.size, *(place + 1 for place in request.pinned))
        if kept >= count:
            return request, range(0)
        near = request._replace(candidates=request.candidates[:kept], features=request.features[:kept])
        return near, range(kept, count)

    def _group(self, view: View, client: bytes, number: int) -> Group:
        """Who gets the incoming order: the control group and, while the model is guarded, most of the others."""
        guards = self.settings.guards
        if self._is_among(guards.control, client, number):
            return Group.CONTROL
        if view.guarded and self._is_among(guards.control + guards.falls_back * (1 - guards.control), client, number):
            return Group.GUARDED
        return Group.LEARNED

    def _is_in(self, experiment: Running, client: bytes, number: int) -> bool:
        """Whether somebody's pages are interleaved: drawn anew for each experiment, whoever is in control."""
        salt = draft_seed(int(self._key), experiment.id)
        return self._is_among(experiment.share, client, number, salt, SHARE_DRAW)

    def _is_among(
        self, share: float, client: bytes, number: int, salt: int | None = None, draw: int = CONTROL_DRAW
    ) -> bool:
        """The same people every time; somebody unknown by the impression's own draw. A larger share holds a smaller."""
        if share == 0.0:
            return False
        if client:
            key = int(self._key) if salt is None else salt
            salted = blake2b(client, digest_size=8, key=key.to_bytes(8, "little")).digest()
            return int.from_bytes(salted, "little") < share * 2.0**64
        # As an unsigned number: a compiled function hands its key to Python as an int, of which half are too large.
        stream = np.uint64(stream_key(self._key, INTERLEAVING, number))
        return bool(uniform(stream, draw) < share)

    def _draw(
        self,
        view: View,
        X: NDArray[np.float32],
        numbers: NDArray[np.int64],
        request: Request,
        number: int,
        group: Group,
    ) -> _Drawn:
        """The page, with what is pinned in its place and the others drawn from what is not."""
        size = min(request.size, len(X))
        if not request.pinned:
            return self._draw_free(view, X, numbers, size, number, group)
        free = np.setdiff1d(np.arange(len(X)), list(request.pinned))
        ranks = np.setdiff1d(np.arange(size), list(request.pinned.values()))
        page = np.full(size, -1, np.int64)
        page[list(request.pinned.values())] = list(request.pinned)
        scores = view.scores(X, numbers)
        if len(ranks) == 0:
            return _Drawn(scores, page, np.zeros((0, 0), np.float32), 0.0)
        drawn = self._draw_free(view, np.ascontiguousarray(X[free]), numbers[free], len(ranks), number, group)
        page[ranks] = free[drawn.page]
        scores[free] = drawn.scores
        return drawn._replace(scores=scores, page=page)

    def _draw_free(
        self, view: View, X: NDArray[np.float32], numbers: NDArray[np.int64], size: int, number: int, group: Group
    ) -> _Drawn:
        page = np.zeros(size, np.int64)
        notes = np.zeros((size, self.settings.learner.note_width()), np.float32)
        if group != Group.LEARNED:
            return _Drawn(view.scores(X, numbers), np.arange(size), notes, 0.0)
        if view.mode == "frozen":
            scores = view.scores(X, numbers)
            return _Drawn(scores, np.argsort(-scores, kind="stable")[:size], notes, 0.0)
        if len(X) > self._room:
            self._room = max(len(X), 2 * self._room)
            self._work = self.settings.learner.work(X.shape[1], self.settings.page_size, self._room)
        self._work.base.documents[: len(X)] = numbers
        rank_page(view.model, self._work, X, self._key, number, page, notes)
        scores = self._work.base.scores[: len(X)].copy()
        return _Drawn(scores, page, notes, self.settings.learner.page_log_probability(self._work, scores, page))


def incoming_order(request: Request) -> list[int]:
    """The page in the order in which candidates came, with what is pinned in its place: for all but the learned group.

    >>> incoming_order(Request("", b"", ["a", "b", "c"], np.zeros((3, 1)), 2, {2: 0}))
    [2, 0]
    """
    places = {rank: document for document, rank in request.pinned.items()}
    others = (document for document in range(len(request.candidates)) if document not in request.pinned)
    size = min(request.size, len(request.candidates))
    return [places[rank] if rank in places else next(others) for rank in range(size)]


def _numbers(view: View, request: Request) -> NDArray[np.int64]:
    return view.numbers(request.query, request.candidates)


def _finite(drawn: _Drawn) -> _Drawn:
    """Refuse scores that are no numbers."""
    if not np.isfinite(drawn.scores).all():
        raise RequestError(
            "scores_overflow",
            "candidates: features times weights are beyond what single precision can hold; scale the features, "
            "or roll the model back",
        )
    return drawn


def _order(drawn: _Drawn, group: Group) -> NDArray[np.int64]:
    """All candidates as they would stand without exploration."""
    if group != Group.LEARNED:
        return np.arange(len(drawn.scores))
    return np.argsort(-drawn.scores, kind="stable")


def _displacement(drawn: _Drawn, request: Request, group: Group) -> float:
    """Mean |rank shown − rank without exploration| over what was free to move.

    Without exploration, what is not pinned follows the policy's own order into the ranks that are not taken.
    """
    if group == Group.LEARNED and not request.pinned:
        return float(displacement_of_page(drawn.scores, drawn.page))
    page, order, pinned = drawn.page, _order(drawn, group), request.pinned
    ranks, shown = np.arange(len(order)), np.arange(len(page))
    if pinned:
        taken = list(pinned.values())
        order, ranks, shown = order[~np.isin(order, list(pinned))], np.delete(ranks, taken), np.delete(shown, taken)
    if len(shown) == 0:
        return 0.0
    rank = np.empty(len(order) + len(pinned), np.int64)
    rank[order] = ranks
    return float(np.abs(rank[page[shown]] - shown).mean())


def _rest(order: NDArray[np.int64], page: Sequence[int] | NDArray[np.int64]) -> list[int]:
    shown = set(np.asarray(page).tolist())
    return [document for document in order.tolist() if document not in shown]
