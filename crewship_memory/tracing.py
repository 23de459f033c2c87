"""Traces by OpenTelemetry: imported and started only where CREWSHIP_TRACES is on.

Where they go, and how many, is said by OpenTelemetry's own variables (OTEL_…). Spans
are sent by a thread that drops what it cannot send: no request waits for a collector.
"""

from __future__ import annotations

import atexit
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final

from celery import Task
from celery.signals import before_task_publish, task_postrun, task_prerun
from opentelemetry import context, trace
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import OTELResourceDetector, Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SpanExporter
from opentelemetry.trace import SpanKind, StatusCode, Tracer
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

from crewship_memory.version import VERSION
from memory.measurements import tracing
from memory.measurements.tracing import ATTRIBUTES, TRACE_HEADER, Attribute

# How long the end of the process waits for a collector.
LAST_SECONDS: Final = 2.0
KINDS: Final = {
    "internal": SpanKind.INTERNAL,
    "server": SpanKind.SERVER,
    "client": SpanKind.CLIENT,
    "consumer": SpanKind.CONSUMER,
}
_propagator: Final = TraceContextTextMapPropagator()


class OpenTelemetrySpan:
    """A span of OpenTelemetry, with our attributes alone."""

    def __init__(self, span: trace.Span) -> None:
        self._span = span

    def rename(self, name: str) -> None:
        self._span.update_name(name)

    def set(self, name: str, value: Attribute) -> None:
        if name in ATTRIBUTES:
            self._span.set_attribute(name, value)

    def fail(self) -> None:
        # Without a description: it would be an exception's message, which quotes data.
        self._span.set_status(StatusCode.ERROR)


class OpenTelemetryBackend:
    """Makes spans with a provider of its own; the global one stays untouched."""

    def __init__(self, exporter: SpanExporter) -> None:
        own = {"service.name": "crewship-memory", "service.version": VERSION}
        # What the operator's environment says of the service goes before ours.
        resource = Resource(own).merge(OTELResourceDetector().detect())
        self._provider = TracerProvider(resource=resource, shutdown_on_exit=False)
        self._provider.add_span_processor(BatchSpanProcessor(exporter))
        self._tracer: Tracer = self._provider.get_tracer("crewship_memory", VERSION)

    @contextmanager
    def span(
        self, name: str, kind: str, parent: str, attributes: dict[str, Attribute]
    ) -> Iterator[OpenTelemetrySpan]:
        # An exception is no event of the span: its message may quote data.
        with self._tracer.start_as_current_span(
            name,
            context=_context_of(parent),
            kind=KINDS[kind],
            record_exception=False,
            set_status_on_exception=False,
        ) as inner:
            span = OpenTelemetrySpan(inner)
            for key, value in attributes.items():
                span.set(key, value)
            try:
                yield span
            except BaseException as error:
                span.set("error.type", type(error).__name__)
                span.fail()
                raise

    def header(self) -> str:
        carrier: dict[str, str] = {}
        _propagator.inject(carrier)
        return carrier.get(TRACE_HEADER, "")

    def stop(self) -> None:
        ending = threading.Thread(target=self._provider.shutdown, daemon=True)
        ending.start()
        ending.join(LAST_SECONDS)


def _context_of(parent: str) -> context.Context | None:
    """Return the context that a header names; None stands for the present one."""
    return _propagator.extract({TRACE_HEADER: parent}) if parent else None


# ── Tasks ────────────────────────────────────────────────────────────────────
_running: dict[str, Any] = {}


def send_along(headers: dict[str, Any] | None = None, **_: Any) -> None:
    """Write into a message which trace it belongs to."""
    if headers is not None and (value := tracing.header()):
        headers[TRACE_HEADER] = value


def begin_task(task_id: str, task: Task[Any, Any], **_: Any) -> None:
    """Open a span for a task that a traced request or task sent.

    Sweeps of the clock have none: what they find to do has one, as a job.
    """
    parent = task.request.get(TRACE_HEADER) or ""
    if parent:
        span = tracing.span(f"task {task.name}", "consumer", str(parent))
        span.__enter__()
        _running[task_id] = span


def end_task(task_id: str, state: str | None = None, **_: Any) -> None:
    """Close the span of a task; Celery has caught what it raised."""
    span = _running.pop(task_id, None)
    if span is not None:
        if state == "FAILURE":
            trace.get_current_span().set_status(StatusCode.ERROR)
        span.__exit__(None, None, None)


def start(exporter: SpanExporter | None = None) -> None:
    """Make spans in this process, and send them; default: over HTTP, by OTEL_…."""
    tracing.start(OpenTelemetryBackend(exporter or OTLPSpanExporter()))
    before_task_publish.connect(send_along)
    task_prerun.connect(begin_task)
    task_postrun.connect(end_task)
    atexit.register(tracing.stop)
