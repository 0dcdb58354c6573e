"""Which alerts there are, kept up to date while a service runs, and told to a webhook when they begin and end."""

import threading
from collections.abc import Callable
from typing import TYPE_CHECKING

import msgspec

from rankloop.live.alerts import Alert, Condition, alert_of, conditions
from rankloop.live.errors import StateError, StoreError
from rankloop.live.events import now
from rankloop.live.fold import Fold
from rankloop.live.kept import decoded
from rankloop.live.registry import LiveModel
from rankloop.live.watching import Period

if TYPE_CHECKING:
    from rankloop.live.service import Service

EVERY_SECONDS = 5.0
"""How often a service looks."""

Tell = Callable[[Alert], None]


class Alarms:
    """The alerts of a service's models. `tell` hears of each when it begins, and again when it has ended."""

    def __init__(self, service: "Service", tell: Tell = lambda alert: None) -> None:
        self._service = service
        self._tell = tell
        self._noticed: dict[int, dict[str, tuple[Period, str]]] = {}
        """What only a running service knows, by model and kind, with what its sentence says."""
        self._current: dict[str, Alert] = {}
        """Alerts that were told and have not ended."""
        self._looking = threading.Lock()

    def look(self) -> None:
        """Notice what has begun and ended, and tell it. Reads the store: in a thread. Of several processes, the one
        that learns a model tells."""
        with self._looking:
            self._look()

    def _look(self) -> None:
        service, folds = self._service, self._service.folds()
        try:
            lags = service.lag() if not service.is_store_in_trouble() else {}
        except StoreError:  # what is known of models is told all the same
            lags = {}
        current: dict[str, Alert] = {}
        for model in service.registry.all():
            # A learner in trouble has let go of its states.
            if model.id in folds or (service.learner and (model.damage or self._trouble())):
                self._notice(model, folds.get(model.id), lags.get(model.id, 0))
                current |= {alert.id: alert for alert in self.of(model, folds.get(model.id))}
        for alert in current.values():
            before = self._current.get(alert.id)
            if before is None or before.ended != alert.ended:
                self._tell(alert)
        self._current = current
        known = {model.id for model in service.registry.all()}
        self._noticed = {number: found for number, found in self._noticed.items() if number in known}

    def _notice(self, model: LiveModel, fold: Fold | None, lag: int) -> None:
        service = self._service
        found = conditions(
            guarded=model.view().guarded, damage=model.damage, trouble=self._trouble(), lag=lag, fold=fold,
            suspects=service.steering.found.get(model.id),
        )  # fmt: skip
        known = self._noticed.setdefault(model.id, {})
        for condition in found:
            self._begin(known, condition)
        wrong = {condition.kind for condition in found}
        for kind, (period, detail) in list(known.items()):
            if kind not in wrong and period.ended is None:
                known[kind] = msgspec.structs.replace(period, ended=now()), detail

    def _trouble(self) -> str | None:
        """Why nothing is learned here; None if it is, or if another process does."""
        learner = self._service.learner
        if learner is not None and not learner.alive:
            return "the learner has stopped; restart the service."
        return f"{learner.error}." if learner is not None and learner.error else None

    def _begin(self, known: dict[str, tuple[Period, str]], condition: Condition) -> None:
        before = known.get(condition.kind)
        if before is None or before[0].ended is not None:
            known[condition.kind] = Period(condition.kind, "", now()), condition.detail
        else:
            known[condition.kind] = before[0], condition.detail

    def of(self, model: LiveModel, fold: Fold | None = None) -> list[Alert]:
        """A model's alerts, those that last first, then the newest; what has ended is remembered for a while."""
        fold = fold or self._service.folds().get(model.id)
        name = model.settings.name
        periods = fold.watch.periods if fold and fold.watch else self._kept(model) if fold is None else []
        found = [alert_of(name, period) for period in periods]
        found += [alert_of(name, period, detail) for period, detail in self._noticed.get(model.id, {}).values()]
        return sorted(found, key=lambda alert: (alert.ended is not None, -alert.started))

    def _kept(self, model: LiveModel) -> list[Period]:
        """As the newest state says that was kept, for a model that is learned elsewhere."""
        snapshot = self._service.store.newest_snapshot(model.id)
        try:
            watch = decoded(snapshot.state).watch if snapshot else None
        except StateError:
            return []
        return watch.periods if watch else []

    def open(self) -> list[Alert]:
        """All that last, of the models that are learned here."""
        return [alert for alert in self._current.values() if alert.ended is None]
