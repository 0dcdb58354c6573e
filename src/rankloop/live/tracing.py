"""Traces for OpenTelemetry (`pip install 'rankloop[otel]'`): request → commit → learn, in one trace over three threads.

Without it, or without an address to send traces to, `TRACER` is None, and every call here returns at once.
"""

import os
from collections import OrderedDict
from collections.abc import Iterable, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any

from rankloop.errors import SettingsError

TRACER: Any = None
MOST = 10_000
"""Closings whose requests are remembered until the learner gets to them."""
_NOTHING: AbstractContextManager[Any] = nullcontext()
_closing: OrderedDict[tuple[int, int], Any] = OrderedDict()


def set_up() -> None:
    """Send traces where the environment says (OTEL_EXPORTER_OTLP_ENDPOINT); nowhere if it says nothing."""
    if not any(os.environ.get(f"OTEL_EXPORTER_OTLP_{kind}ENDPOINT") for kind in ("", "TRACES_")):
        return
    try:
        from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
        from opentelemetry.sdk.trace import TracerProvider
        from opentelemetry.sdk.trace.export import BatchSpanProcessor
    except ImportError as missing:
        raise SettingsError(
            f"traces are asked for (OTEL_EXPORTER_OTLP_ENDPOINT), and OpenTelemetry cannot be loaded ({missing}): "
            f"pip install 'rankloop[otel]'"
        ) from None
    provider = TracerProvider()
    provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
    trace_with(provider)


def trace_with(provider: Any) -> None:
    """Trace with this provider from now on; None: no longer."""
    global TRACER
    TRACER = provider.get_tracer("rankloop") if provider is not None else None
    _closing.clear()


def request(name: str, headers: Iterable[tuple[bytes, bytes]]) -> AbstractContextManager[Any]:
    """A span around the answer to a request; part of the caller's trace if its headers name one."""
    if TRACER is None:
        return _NOTHING
    from opentelemetry import propagate

    caller = propagate.extract({key.decode("latin-1"): value.decode("latin-1") for key, value in headers})
    span: AbstractContextManager[Any] = TRACER.start_as_current_span(name, context=caller)
    return span


def current() -> Any:
    """Where what is asked for now belongs, for another thread to go on from; None if nobody traces."""
    if TRACER is None:
        return None
    from opentelemetry import context

    return context.get_current()


def closing(waiting: Iterable[tuple[Any, Sequence[tuple[int, int]]]]) -> None:
    """Pages (model, number) are about to be closed by these requests. Once that is committed, a learner may come."""
    if TRACER is None:
        return
    for belongs, closed in waiting:
        for page in closed if belongs is not None else ():
            _closing[page] = belongs
            if len(_closing) > MOST:
                _closing.popitem(last=False)


def committed(waiting: Iterable[Any], began: int) -> None:
    """A span for each request that shared a commit."""
    if TRACER is None:
        return
    for belongs in waiting:
        if belongs is not None:
            TRACER.start_span("commit", context=belongs, start_time=began).end()


def learning(model: int, number: int) -> AbstractContextManager[Any]:
    """A span around the learning from a page, in the trace of the request that closed it."""
    if TRACER is None or (belongs := _closing.pop((model, number), None)) is None:
        return _NOTHING
    span: AbstractContextManager[Any] = TRACER.start_as_current_span("learn", context=belongs)
    return span
