"""What the log means: a model is a fold over its closed impressions, one after the other.

A state is a function of the settings and the events before it, and of nothing else: no clock, no other model, no
order in which processes happened to run. So after any crash the same log gives the same bits.
"""

import math
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Self

import msgspec
import numpy as np
from numpy.typing import NDArray

from rankloop.data.naming import document_numbers
from rankloop.errors import DivergenceError, SettingsError
from rankloop.learners.contract import arrays_of, copy_of, with_arrays
from rankloop.live.as_drawn import page_as_drawn
from rankloop.live.consistency import Consistency
from rankloop.live.errors import StateError, StoreError
from rankloop.live.events import ENDED, Closing, Event, Group, Impression, Kind, Late, Promoted, decode
from rankloop.live.experiments import Experiments, client_number
from rankloop.live.fates import fate_of
from rankloop.live.guard import Guard
from rankloop.live.influence import LEAST, Influence
from rankloop.live.keeping import content_of, is_same
from rankloop.live.kept import (
    FORMAT,
    Kept,
    consistency_in,
    damaged,
    decoded,
    drawers_in,
    influence_after,
    noted_in,
    promoted_settings,
    restore_counted,
    restored_by,
)
from rankloop.live.looks import Looks
from rankloop.live.noted import Noted
from rankloop.live.scaling import Scaler
from rankloop.live.settings import ModelSettings
from rankloop.live.shadow import Shadow
from rankloop.live.staleness import foreign_weight, is_foldable, is_foreign, moved, weight_of
from rankloop.live.start import no_weights, ranker_of, starting_point
from rankloop.live.views import View, scores_by
from rankloop.live.watching import Watch, is_watched
from rankloop.online import Page

if TYPE_CHECKING:
    from rankloop.live.redrawing import Redrawing


class Fold:
    """A live model's state, and how an event changes it.

    Pages were drawn by the settings `drawn_by`: the model's own, or those of the model that it challenges or replays.
    """

    def __init__(
        self, settings: ModelSettings, weights: list[float] | None = None, drawn_by: ModelSettings | None = None
    ) -> None:
        self.settings = settings
        self.reign = 0
        """Where in the log a challenger was promoted, whose settings these are; 0: as the model was made."""
        self.drawers = {0: drawn_by or settings}
        """Whose settings drew pages, by reign."""
        self.ranker = ranker_of(settings, starting_point(settings).weights if weights is None else weights)
        self.scaler = Scaler(settings.scaling, len(settings.names))
        self.mode = "learning"
        self.version = 0
        self.offset = 0
        self.fates: Counter[str] = Counter()
        self.clicks = 0.0
        self.moved = 0.0
        self.explored = 0.0
        """Sum over learned pages of their displacement: what exploration has cost the people who saw them."""
        self.guard = Guard()
        self.looks = Looks.of(settings)
        self.shadow = Shadow() if settings.challenges else None
        """Of a challenger: what it would have earned on the pages of the model that it challenges."""
        self.watch = Watch(settings.names) if is_watched(settings) else None
        """What alerts are made of."""
        self.at = 0
        """When the newest event happened, in milliseconds since 1970."""
        self.worth: float | None = None
        """In a replay: how many pages of its own policy those seen so far are worth, Σ min(1, π_now / π_drawn)."""
        self.redrawing: Redrawing | None = None
        """In a refold after an erasure: where this state would have placed the documents of pages."""
        self.influence = Influence()
        self.consistency = Consistency.of(settings)
        self.experiments = Experiments()
        self.noted = Noted(settings)
        self.outliers: Counter[str] = Counter()
        """Pages with a value that can only be a mistake, by the feature's name."""

    @classmethod
    def restored(cls, settings: ModelSettings, state: bytes, offset: int) -> Self:
        """Go on from a kept state, which has the weights: where the model once began is not worked out again."""
        fold = cls(settings, no_weights(settings))
        try:
            fold.restore(state, offset)
        except StoreError as error:
            raise type(error)(f"model {settings.name!r}: {error}") from None
        return fold

    def apply(self, event: Event, shown: Event | None = None) -> str | None:
        """Take one event in, with the impression that a closing closes; what became of that impression."""
        self.offset, self.at = event.offset, event.at
        match event.kind:
            case Kind.CLOSED:
                fate = self._close(decode(event.kind, event.body), shown)
                self.fates[fate] += 1
                return fate
            case Kind.PAUSED:
                self.mode = "paused"
            case Kind.RESUMED:
                self.mode = "learning"
                if self.watch is not None:
                    self.watch.end("diverged", event.at)
            case Kind.FROZEN:
                self.mode = "frozen"
            case Kind.SCALING_FROZEN:
                self.scaler.frozen = True
                self.version += 1
            case Kind.EXPERIMENT_STARTED:
                self.experiments.start(event)
            case Kind.EXPERIMENT_STOPPED:
                self.experiments.stop(event.at)
            case Kind.LATE:
                self._take_late(decode(event.kind, event.body), shown)
            case Kind.ROLLED_BACK | Kind.REFOLDED | Kind.PROMOTED:
                self._take_over(event)
        return None

    def overhear(self, event: Event, shown: Event | None = None) -> str | None:
        """Take in an event of the model that this one challenges: its pages, and who draws them. What people decide
        about that model, and the states that it returns to, are its own."""
        if event.kind in ENDED:
            return self.apply(event, shown)
        self.offset = event.offset
        if event.kind == Kind.PROMOTED:
            self.drawers[event.offset] = promoted_settings(self.drawers[0], decode(event.kind, event.body))
        return None

    @property
    def guarded(self) -> bool:
        """Whether most people see the incoming order, because the learned one is worse."""
        return self.guard.is_on

    def _close(self, closing: Closing, shown: Event | None) -> str:
        if shown is None or shown.kind != Kind.SHOWN:
            return "missing"
        impression: Impression = decode(shown.kind, shown.body)
        fate = fate_of(closing, impression, self.settings, self.mode)
        if closing.why != "void":
            self.clicks += sum(closing.clicks)
            who = client_number(shown.client, shown.number)
            if self.shadow is not None:
                self._note_shadow(self.shadow, impression, closing.clicks, who)
            else:
                self._compare(impression, shown, closing, who)
        if fate == "learned":
            fate = self._learn(impression, shown, closing.clicks)
        if fate == "learned":
            self.version += 1
            self.explored += impression.displacement if self.shadow is None else 0.0
            self.influence.note(shown.client, self.settings.guards, impression.network)
        return fate

    def _take_late(self, late: Late, shown: Event | None) -> None:
        """More of a page that was closed: it is put right wherever it was counted, and learned from by methods that
        can take in the rest of a page by itself."""
        if shown is None or shown.kind != Kind.SHOWN:
            return
        impression: Impression = decode(shown.kind, shown.body)
        self.clicks += sum(late.clicks) - sum(late.before)
        if self.shadow is None:
            self._correct(impression, late, shown)
        more = [now - then for then, now in zip(late.before, late.clicks, strict=True)]
        closing = Closing(late.shown, late.clicks, "asked")
        learns = (
            self.settings.learner.takes_more and fate_of(closing, impression, self.settings, self.mode) == "learned"
        )
        if learns and any(more) and self._learn(impression, shown, more, more=True) == "learned":
            self.version += 1

    def _correct(self, impression: Impression, late: Late, shown: Event) -> None:
        """Put right what was held against the control, interleaved and noted."""
        before, after = sum(late.before), sum(late.clicks)
        who = client_number(shown.client, shown.number)
        if self.settings.guards.compares:
            with self._turning():
                self.guard.correct(Group(impression.group), before, after, late.shown, self.offset, who)
        if impression.group == Group.INTERLEAVED:
            self.experiments.correct(impression, late.before, late.clicks, who)
        self.noted.correct(impression, shown, late, who)

    @contextmanager
    def _turning(self) -> Iterator[None]:
        """Whatever makes the guard come on or go off inside: comparisons begin anew, and an alert begins or ends."""
        since, was_on = self.guard.since, self.guard.is_on
        yield
        if self.guard.since != since:
            self.noted.begin_anew(self.offset)
        self.noted.follow(self.guard, self.at, self.version)
        if self.watch is not None and self.guard.is_on != was_on:
            (self.watch.end if was_on else self.watch.begin)("worse", self.at)

    def _compare(self, impression: Impression, shown: Event, closing: Closing, who: int) -> None:
        """A page of the model's own, for whatever its order is held against."""
        if self.settings.guards.compares:
            with self._turning():
                self.guard.note(Group(impression.group), sum(closing.clicks), closing.shown, self.offset, who)
        if impression.group == Group.INTERLEAVED:
            self.experiments.note(impression, closing.clicks, who)
        self.noted.note(impression, shown, closing, self.offset, who)

    def _note_shadow(self, shadow: Shadow, impression: Impression, clicks: list[float], who: int) -> None:
        """What would this challenger, as it is before it learns from the page, have earned?"""
        X = self.scaler.apply(impression.matrix(self.settings.precision))
        remembers = self.settings.learner.remembers
        numbers = document_numbers(impression.query, impression.candidates) if remembers else None
        scores = scores_by(self.ranker.model, X, numbers)
        if np.isfinite(scores).all():
            shadow.note(self.settings, self.ranker.model, scores, impression, self._drawer(impression), clicks, who)

    def _drawer(self, impression: Impression) -> ModelSettings:
        """Whose settings drew a page."""
        return self.drawers.get(impression.reign, self.drawers[0])

    def _learn(self, impression: Impression, shown: Event, clicks: list[float], *, more: bool = False) -> str:
        counts = self._counts(impression, shown, clicks)
        if counts < LEAST:
            return "capped"
        raw = impression.matrix(self.settings.precision)
        before = {name: array.copy() for name, array in arrays_of(self.ranker.model, tables=False).items()}
        drawer = self._drawer(impression)
        if not is_foldable(drawer, self.settings):
            return "stale"
        X = self.scaler.apply(raw)
        page, feedback = page_as_drawn(impression, shown.number, X, clicks, self.settings.learner, drawer.learner)
        foreign = is_foreign(drawer, self.settings)
        weight = 1.0 if more else self._weight(impression, page, foreign)
        if weight == 0.0:
            return "stale"
        ranks = self.redrawing.ranks(self, impression, shown, counted=not more) if self.redrawing else None
        placed = page if ranks is None else replace(page, ranks=ranks)
        try:
            as_drawn = self.settings.late_updates == "drawn" and not foreign
            self.ranker.learn(placed, feedback, as_drawn=as_drawn, weight=weight * counts, more=more)
        except DivergenceError:
            # Weights beyond float32 cannot rank anybody's page: stay where we were, and wait for a person.
            for name, array in arrays_of(self.ranker.model, tables=False).items():
                array[...] = before[name]
            self.mode = "paused"
            if self.watch is not None:
                self.watch.begin("diverged", self.at)
            return "diverged"
        self._shorten_update(before["ranker.weights"])
        if more:
            return "learned"
        outlying = self.scaler.far_out(raw)
        self.outliers.update(self.settings.names[place] for place in outlying)
        if self.watch is not None:
            self.watch.note_features(raw, outlying, self.at)
        self.scaler.learn(raw)
        if self.looks is not None and impression.group == Group.LEARNED and impression.reign == self.reign:
            # Of pages that it drew: how likely neighbours were to change places is not known of others.
            self.looks.note(page, feedback, self.settings.learner.policy_temperature or 1.0)
            if self.watch is not None:
                self.watch.note_looks(self.looks.swaps.moments, self.at)
        return "learned"

    def _counts(self, impression: Impression, shown: Event, clicks: list[float]) -> float:
        """How much the page counts, by who it came from and what they clicked on before; what they clicked on now is
        for later."""
        counts = self.influence.weight(shown.client, self.settings.guards, impression.network)
        if self.consistency is None:
            return counts
        own = self.consistency.weight(shown.client)
        self.consistency.note(shown.client, impression, clicks, own)
        return counts * own

    def _weight(self, impression: Impression, page: Page, foreign: bool) -> float:
        """How much of the page's update to take, whoever it came from."""
        settings = self.settings
        if self.worth is None and not foreign and settings.guards.stale_below == 0.0:
            return 1.0
        apart = moved(settings, self.ranker, impression, page)
        if self.worth is not None and apart is not None:
            self.worth += math.exp(min(apart, 0.0))
        return foreign_weight(settings, apart) if foreign else weight_of(settings, len(page), apart)

    def _shorten_update(self, before: NDArray[np.float64]) -> None:
        """Take no more of the step than the cap allows."""
        step = self.ranker.weights - before
        length = float(np.sqrt((step * step).sum()))
        cap = self.settings.guards.update_cap
        if cap is not None and length > cap:
            self.ranker.step_to(before + step * (cap / length))
            length = cap
        self.moved += length

    # States

    def _take_over(self, event: Event) -> None:
        """Weights, optimiser and scaling as a roll back, a refold or a promotion has them, the last with the settings
        of a challenger. What was counted since stays counted, but what was held against the control, or interleaved,
        was another order. If the state cannot be read, all stays as it is."""
        before = dict(vars(self))
        try:
            found = restored_by(event)
            then = decoded(found.state)
            if isinstance(found, Promoted):
                self.drawers[event.offset] = promoted_settings(self.drawers[0], found)
            self._become(event.offset if isinstance(found, Promoted) else then.reign)
            if event.kind == Kind.REFOLDED or self.reign != before["reign"]:
                self.consistency = consistency_in(self.settings, then)
            if event.kind == Kind.REFOLDED:
                # Whoever was erased is no longer in these, either.
                self.influence = influence_after(found, then, self.influence)
                self.noted = noted_in(self.settings, then)
            self._restore_learned(then)
        except (StoreError, SettingsError) as error:
            vars(self).update(before)
            kind = type(error) if isinstance(error, StoreError) else StateError
            raise kind(f"model {self.settings.name!r}: event {event.offset} of its log: {error}") from None
        self.guard.begin_anew(self.offset)
        self.noted.begin_anew(self.offset)
        self.noted.follow(self.guard, self.at, self.version)
        self.experiments.stop(event.at)
        if self.watch is not None:
            self.watch.end("worse", event.at)
        self.version += 1

    def _become(self, reign: int) -> None:
        """Have the settings of a reign."""
        if reign == self.reign:
            return
        if reign not in self.drawers:
            raise damaged(KeyError(f"the settings of reign {reign}"))
        settings = self.drawers[reign]
        self.settings, self.reign = settings, reign
        self.ranker = ranker_of(settings, no_weights(settings))
        self.scaler = Scaler(settings.scaling, len(settings.names))
        fresh = Looks.of(settings)
        self.looks = self.looks if self.looks is not None and fresh is not None else fresh

    def state(self) -> bytes:
        """Everything that the future depends on, as bytes."""
        return msgspec.msgpack.encode(content_of(self) | {"format": FORMAT})

    def is_kept_as(self, state: bytes) -> bool:
        """Whether kept bytes are this very state, whichever version of rankloop kept them."""
        return is_same(state, self.state())

    def ranks_as(self, other: "Fold") -> bool:
        """Whether another state of this model has learned the same, in every bit."""
        mine, theirs = (arrays_of(fold.ranker.model) for fold in (self, other))
        same = all(array.tobytes() == theirs[name].tobytes() for name, array in mine.items())
        return same and self.scaler.state() == other.scaler.state()

    def restore(self, state: bytes, offset: int) -> None:
        """Go on from a snapshot."""
        then = decoded(state)
        self.drawers |= drawers_in(then)
        self._become(then.reign)
        self._restore_learned(then)
        restore_counted(self, then)
        self.mode, self.version, self.offset = then.mode, then.version, offset

    def _restore_learned(self, then: Kept) -> None:
        """All of it or, if it cannot be read, nothing."""
        scaler = self.scaler.copy()
        try:
            model = with_arrays(self.ranker.model, then.arrays)
            scaler.restore(then.scaling)
        except (KeyError, TypeError, ValueError) as error:
            raise damaged(error) from None
        self.ranker.model, self.scaler = model, scaler

    def view(self) -> View:
        """The state as ranking needs it, unaffected by what is learned later."""
        return self.at_once()._replace(model=copy_of(self.ranker.model), scaler=self.scaler.copy())

    def at_once(self) -> View:
        """The same without a copy, for whoever is done before anything is learned."""
        return View(
            self.version, self.offset, self.ranker.model, self.scaler, self.mode, self.guarded,
            self.experiments.view(), self.reign, self.settings,
        )  # fmt: skip


def stand_in(settings: ModelSettings, version: int, offset: int, damage: str) -> View:
    """What is known of a model in the place of a state that cannot be read: nothing is ranked with it."""
    blank = Fold(settings, no_weights(settings)).view()
    return blank._replace(version=version, offset=offset, mode="damaged", damage=damage)
