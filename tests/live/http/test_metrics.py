"""Latencies are counted once: what Prometheus reads and what the dashboard shows are the same answers."""

import pytest
from prometheus_client.parser import text_string_to_metric_families

from rankloop.live.http.metrics import BUCKETS, Metrics
from rankloop.live.http.recent import BOUNDS
from rankloop.live.service import Service
from rankloop.live.settings import ModelSettings
from rankloop.live.stores import open_store

from ..diary import FOR_ALL
from ..in_process import rank, running, told, until


@pytest.fixture
def metrics(tmp_path):
    service = Service(open_store(tmp_path / "log.db"), learn=False)
    yield Metrics(service)
    service.store.close()


def samples(metrics, name):
    """(labels but the endpoint, value) of the samples of one endpoint."""
    families = text_string_to_metric_families(metrics.exposition().decode())
    found = [sample for family in families for sample in family.samples if sample.name == name]
    return {sample.labels.get("le", sample.labels.get("status")): sample.value for sample in found}


def test_an_answer_is_in_every_bucket_that_is_long_enough(metrics):
    for seconds in (0.0005, 0.001, 0.0015, 0.3, 100.0):
        metrics.recent.note("rank", 200, seconds)
    cumulative = samples(metrics, "rankloop_request_seconds_bucket")
    assert list(cumulative) == [*map(str, BUCKETS), "+Inf"]
    assert [cumulative[bound] for bound in ("0.001", "0.002", "0.2", "0.5", "5.0", "+Inf")] == [2, 3, 3, 4, 4, 5]
    assert samples(metrics, "rankloop_request_seconds_count") == {None: 5}
    assert samples(metrics, "rankloop_request_seconds_sum") == {None: pytest.approx(100.303)}
    assert set(BUCKETS) <= set(BOUNDS)


def test_prometheus_and_the_dashboard_count_the_same_answers(metrics):
    for status in (200, 200, 404, 503):
        metrics.recent.note("rank", status, 0.01)
    assert samples(metrics, "rankloop_answers_total") == {"200": 2, "404": 1, "503": 1}
    shown = metrics.recent.endpoints(0)["rank"]
    assert (shown.count, shown.refused, shown.failed) == (4, 1, 1)


def test_those_without_a_key_share_what_was_written_a_moment_ago(metrics, monkeypatch):
    shared = metrics.exposition(fresh=False)
    metrics.recent.note("rank", 200, 0.01)
    monkeypatch.setattr("rankloop.live.http.metrics.SHARED_SECONDS", 1e9)
    assert metrics.exposition(fresh=False) == shared
    told = metrics.exposition()
    assert told != shared
    assert metrics.exposition(fresh=False) == told


def lag(service):
    families = text_string_to_metric_families(Metrics(service).exposition().decode())
    return [s.value for family in families for s in family.samples if s.name == "rankloop_learner_lag_events"]


def test_pages_that_nobody_has_closed_are_no_lag_of_the_learner(tmp_path):
    async def story():
        async with running(tmp_path / "log.db", ModelSettings(name="m", features=3, guards=FOR_ALL)) as service:
            pages = [await rank(service) for _ in range(5)]
            await until(lambda: lag(service) == [0])
            service.learner.stop()
            before = lag(service)
            await service.close(pages[0].impression)
            return before, lag(service)

    assert told(story()) == ([0], [1])
