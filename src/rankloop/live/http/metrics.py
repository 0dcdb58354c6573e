"""Numbers for Prometheus, read off the service, and off the counts of its answers, when asked."""

import time
from collections.abc import Iterator

from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily, Metric

from rankloop.live.errors import StoreError
from rankloop.live.http.recent import Recent
from rankloop.live.service import Service
from rankloop.live.webhook import Webhook

BUCKETS = (0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0)
"""Of the bounds by which answers are counted, those that Prometheus is given."""
SHARED_SECONDS = 1.0
"""For which those without a key share an answer: with many models it takes a while to write."""


class Metrics:
    """Everything that is counted about a service."""

    def __init__(self, service: Service) -> None:
        self._service = service
        self.registry = CollectorRegistry(auto_describe=False)
        self.registry.register(self)
        self.recent = Recent()
        self._written, self._written_at = b"", -1e9

    def exposition(self, *, fresh: bool = True) -> bytes:
        """The text that Prometheus reads; unless it must be `fresh`, perhaps as it was a second ago."""
        if fresh or time.monotonic() - self._written_at > SHARED_SECONDS:
            self._written, self._written_at = generate_latest(self.registry), time.monotonic()
        return self._written

    def collect(self) -> Iterator[Metric]:
        """Read off what the service knows."""
        yield self._counters()
        yield from self._answers()
        yield from self._models()
        if self._service.webhook:
            yield self._webhook(self._service.webhook)

    def _webhook(self, webhook: Webhook) -> Metric:
        messages = CounterMetricFamily("rankloop_webhook_messages", "Alerts sent, and their fate", labels=["fate"])
        for fate, count in webhook.counts.copy().items():
            messages.add_metric([fate], count)
        return messages

    def _counters(self) -> Metric:
        events = CounterMetricFamily("rankloop_events", "What was reported, and its fate", labels=["what", "fate"])
        for (what, fate), count in self._service.counts.copy().items():
            events.add_metric([what, fate], count)
        return events

    def _answers(self) -> Iterator[Metric]:
        counts = CounterMetricFamily(
            "rankloop_answers", "Answers by endpoint and status", labels=["endpoint", "status"]
        )
        seconds = HistogramMetricFamily("rankloop_request_seconds", "Time to answer, by endpoint", labels=["endpoint"])
        for endpoint, answers in self.recent.since_start.copy().items():
            for status, count in answers.statuses.copy().items():
                counts.add_metric([endpoint, str(status)], count)
            buckets = [(str(bound), answers.within(bound)) for bound in BUCKETS]
            seconds.add_metric([endpoint], [*buckets, ("+Inf", answers.count)], answers.seconds)
        yield from (counts, seconds)

    def _models(self) -> Iterator[Metric]:
        service = self._service
        version = GaugeMetricFamily("rankloop_model_version", "Updates learned", labels=["model"])
        closed = CounterMetricFamily("rankloop_closed", "Closed impressions by fate", labels=["model", "fate"])
        outlying = CounterMetricFamily(
            "rankloop_outlying_pages", "Pages with a value that can only be a mistake", labels=["model", "feature"]
        )
        guarded = GaugeMetricFamily(
            "rankloop_model_guarded", "Whether most people see the incoming order", labels=["model"]
        )
        suspects = GaugeMetricFamily(
            "rankloop_suspects", "Clients who click for one thing as nobody else does", labels=["model"]
        )
        lag = GaugeMetricFamily(
            "rankloop_learner_lag_events", "Closings and decisions in the log not yet folded", labels=["model"]
        )
        interleaved = CounterMetricFamily(
            "rankloop_interleaved_pages", "Closed pages of experiments", labels=["model", "experiment"]
        )
        credit = CounterMetricFamily(
            "rankloop_interleaving_credit",
            "Clicks on documents that an arm placed",
            labels=["model", "experiment", "arm"],
        )
        acted = CounterMetricFamily(
            "rankloop_actions", "What happened to documents of closed pages, by action", labels=["model", "action"]
        )
        alerts = GaugeMetricFamily(
            "rankloop_alert", "Something to look at, while it lasts", labels=["model", "kind", "subject"]
        )
        for alert in service.alarms.open():
            alerts.add_metric([alert.model, alert.kind, alert.subject], 1.0)
        up = GaugeMetricFamily("rankloop_up", "Whether a part of the service works", labels=["part"])
        folds, unfolded = service.folds(), self._unfolded()
        up.add_metric(["store"], float(not service.is_store_in_trouble()))
        up.add_metric(["learner"], float(bool(service.learner and service.learner.alive and not service.learner.error)))
        for model in service.registry.all():
            name = model.settings.name
            version.add_metric([name], model.version)
            guarded.add_metric([name], float(model.view().guarded))
            if model.id in folds:
                for fate, count in folds[model.id].fates.copy().items():
                    closed.add_metric([name, fate], count)
                for feature, count in folds[model.id].outliers.copy().items():
                    outlying.add_metric([name, feature], count)
                if (acts := folds[model.id].noted.acts) is not None:
                    for action, count in zip(acts.names, acts.counts, strict=True):
                        acted.add_metric([name, action], count)
                for experiment in folds[model.id].experiments.all[-1:]:
                    interleaved.add_metric([name, str(experiment.id)], experiment.pages)
                    for arm, earned in zip(experiment.arms, experiment.credits, strict=True):
                        credit.add_metric([name, str(experiment.id), arm], earned)
            if model.id in service.steering.found:
                suspects.add_metric([name], len(service.steering.found[model.id].everybody))
            if model.id in unfolded:
                lag.add_metric([name], unfolded[model.id])
        yield from (version, guarded, closed, outlying, suspects, lag, interleaved, credit, acted, alerts, up)

    def _unfolded(self) -> dict[int, int]:
        """How far the learner lags; a store in trouble is not asked, for whoever reads this wants to know of it now."""
        if self._service.is_store_in_trouble():
            return {}
        try:
            return self._service.lag()
        except StoreError:
            return {}
