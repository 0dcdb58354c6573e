"""One trace from a request over its commit to what was learned, and nothing at all where nobody traces."""

import pytest

from rankloop.errors import SettingsError
from rankloop.live import tracing, writer

from .diary import FOR_ALL
from .http.running import Running
from .in_process import IDS, X

MODEL = {"name": "m", "features": 3, "page_size": 3, "seed": 7, "guards": {"control": FOR_ALL.control}}
CALLER = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"


@pytest.fixture
def spans():
    """The spans that have ended."""
    export = pytest.importorskip("opentelemetry.sdk.trace.export.in_memory_span_exporter")
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import SimpleSpanProcessor

    exporter = export.InMemorySpanExporter()
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    tracing.trace_with(provider)
    yield exporter.get_finished_spans
    tracing.trace_with(None)


def visit(path, headers=None):
    candidates = [{"id": name, "features": row} for name, row in zip(IDS, X.tolist(), strict=True)]
    with Running(path) as service:
        assert service.post("/v1/models", json=MODEL).status_code == 201
        page = service.post("/v1/models/m/rank", json={"candidates": candidates}).json()
        closed = service.post(f"/v1/impressions/{page['impression']}/close", json={"wait": True}, headers=headers or {})
        assert closed.status_code == 200


def test_a_closing_is_followed_from_the_request_over_the_commit_to_what_was_learned(tmp_path, spans):
    visit(tmp_path / "log.db", {"traceparent": CALLER})
    [request] = [span for span in spans() if span.name == "close"]
    assert f"{request.context.trace_id:032x}" == CALLER.split("-")[1]
    assert f"{request.parent.span_id:016x}" == CALLER.split("-")[2]
    below = [span for span in spans() if span.parent and span.parent.span_id == request.context.span_id]
    assert sorted(span.name for span in below) == ["commit", "learn"]
    assert {span.context.trace_id for span in below} == {request.context.trace_id}
    [ranked] = [span for span in spans() if span.name == "rank"]
    assert ranked.context.trace_id != request.context.trace_id


def test_who_closed_a_page_is_known_before_a_learner_can_read_of_it(tmp_path, spans, monkeypatch):
    """A learner looks by itself, too: it may come between a commit and whatever is done after it."""
    known, settle = [], writer.settle
    monkeypatch.setattr(writer, "settle", lambda *given: known.append(len(tracing._closing)) or settle(*given))
    visit(tmp_path / "log.db", {"traceparent": CALLER})
    assert max(known) == 1
    assert "learn" in {span.name for span in spans()}


def test_without_it_nothing_is_made(tmp_path):
    visit(tmp_path / "log.db")
    assert tracing.request("rank", []) is tracing.learning(1, 1)
    assert tracing.current() is None
    assert not tracing._closing


def test_traces_are_sent_only_where_the_environment_says(monkeypatch):
    monkeypatch.delenv("OTEL_EXPORTER_OTLP_ENDPOINT", raising=False)
    monkeypatch.delenv("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", raising=False)
    tracing.set_up()
    assert tracing.TRACER is None


def test_traces_that_are_asked_for_and_cannot_be_made_are_a_sentence(monkeypatch):
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", "http://127.0.0.1:4318")
    monkeypatch.setitem(__import__("sys").modules, "opentelemetry.exporter.otlp.proto.http.trace_exporter", None)
    with pytest.raises(SettingsError, match=r"pip install 'rankloop\[otel\]'"):
        tracing.set_up()
