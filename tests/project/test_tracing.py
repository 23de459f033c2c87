"""Traces: from a request through a task to a call, and nothing of anybody in them."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
from django.http import HttpResponse
from django.test import RequestFactory, override_settings
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import (
    ExportTraceServiceRequest,
)
from opentelemetry.proto.trace.v1.trace_pb2 import Span
from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.sdk.trace.export import SpanExportResult
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from crewship_memory import client_address
from crewship_memory import tracing as opentelemetry_tracing
from crewship_memory.middleware.measuring import MeasuringMiddleware
from crewship_memory.tracing import OpenTelemetryBackend
from memory.measurements import tracing
from tests import factories, processes
from tests.project import source
from tests.world import World

SECRET = "Where did Ada Quill leave the parcel?"
PEERS = (
    *(tracing.EMBEDDER, tracing.MODEL),
    *(tracing.PROVIDER, tracing.GATEWAY, tracing.WEBHOOK),
)
# A request that starts a job, the worker that takes it, and the embedder that it calls.
TRACED = """
import os
os.environ["OTEL_EXPORTER_OTLP_ENDPOINT"] = {collector!r}
os.environ["OTEL_BSP_SCHEDULE_DELAY"] = "50"
import threading, time
from django.test import Client
from celery import current_app
from crewship_memory import background, tracing as exporting
from episodic.embedders.ollama import OllamaEmbedder
from episodic.index import engine
from memory.measurements import tracing
from memory.models import JobRun

exporting.start()
engine.use(OllamaEmbedder({collector!r}))
worker = background._worker()
threading.Thread(target=worker.start, daemon=True).start()
current_app.conf.crewship_delivers = True
head = {{"Authorization": "Bearer " + {token!r}}}
answer = Client(SERVER_NAME="localhost").post("/api/v1/jobs/index/run", headers=head)
assert answer.status_code == 202, answer.content
while JobRun.objects.filter(name="index", ended_at=None).exists():
    time.sleep(0.05)
print(JobRun.objects.get(name="index").state, flush=True)
time.sleep(0.3)
tracing.stop()
os._exit(0)
"""


@dataclass
class Receiver:
    """A collector of spans that is an embedder, too."""

    url: str = ""
    spans: list[Span] = field(default_factory=list)
    resource: dict[str, str] = field(default_factory=dict)
    parents_sent: list[str] = field(default_factory=list)

    def take(self, body: bytes) -> None:
        message = ExportTraceServiceRequest.FromString(body)
        for resource in message.resource_spans:
            for pair in resource.resource.attributes:
                self.resource[pair.key] = pair.value.string_value
            for scope in resource.scope_spans:
                self.spans += scope.spans


@contextmanager
def receiving() -> Iterator[Receiver]:
    receiver = Receiver()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            answer = b""
            if self.path == "/v1/traces":
                receiver.take(body)
            else:
                receiver.parents_sent.append(self.headers.get("traceparent", ""))
                texts = json.loads(body)["input"]
                answer = json.dumps({"embeddings": [[1.0, 0.5]] * len(texts)}).encode()
            self.send_response(200)
            self.send_header("Content-Length", str(len(answer)))
            self.end_headers()
            self.wfile.write(answer)

        def log_message(self, *_: object) -> None:
            """Print nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        receiver.url = f"http://127.0.0.1:{server.server_address[1]}"
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield receiver
        server.shutdown()


@pytest.fixture
def exporter() -> Iterator[InMemorySpanExporter]:
    """Trace in this process, to memory."""
    spans = InMemorySpanExporter()
    tracing.start(OpenTelemetryBackend(spans))
    yield spans
    tracing.start(None)


def finished(exporter: InMemorySpanExporter) -> dict[str, dict[str, object]]:
    """Return the attributes of every span by its name."""
    tracing.stop()
    spans = exporter.get_finished_spans()
    return {span.name: dict(span.attributes or {}) for span in spans}


@pytest.mark.slow
def test_one_trace_goes_from_a_request_through_a_worker_to_the_embedder(
    transactional_db: None, world: World
) -> None:
    factories.append(world.actor("ada"), summary=SECRET)
    with receiving() as receiver:
        code = TRACED.format(collector=receiver.url, token=world.tokens["operator"])
        assert processes.run(code).strip() == "done"
    by_name = {span.name: span for span in receiver.spans}
    request = by_name["POST api/v1/jobs/<job>/run"]
    task, job = by_name["task memory.run_job"], by_name["job index"]
    call = by_name["call embedder"]
    assert not request.parent_span_id
    assert task.parent_span_id == request.span_id
    assert job.parent_span_id == task.span_id
    assert {s.trace_id for s in (request, task, job, call)} == {request.trace_id}
    # The embedder is the installation's own, and may go on with the trace.
    assert receiver.parents_sent
    assert request.trace_id.hex() in receiver.parents_sent[0]
    names = {pair.key for span in receiver.spans for pair in span.attributes}
    assert names <= tracing.ATTRIBUTES
    assert not any(span.events for span in receiver.spans)
    assert SECRET not in str(receiver.spans)
    assert receiver.resource["service.name"] == "crewship-memory"


def test_a_recall_has_a_span_for_each_stage_and_says_nothing_of_the_question(
    world: World, exporter: InMemorySpanExporter
) -> None:
    reply = world.api("ada").post("/episodic/recall", {"query": SECRET})
    assert reply.status == 200
    spans = finished(exporter)
    stages = {"recall embed", "recall dense", "recall sparse", "recall fuse"}
    assert stages | {"recall load", "recall"} <= spans.keys()
    assert spans["POST api/v1/episodic/recall"] == {
        "http.request.method": "POST",
        "http.route": "api/v1/episodic/recall",
        "http.response.status_code": 200,
    }
    assert {name for span in spans.values() for name in span} <= tracing.ATTRIBUTES
    assert not any(word in str(spans) for word in SECRET.split() if word.istitle())


def test_an_exception_leaves_its_type_and_not_its_message(
    exporter: InMemorySpanExporter,
) -> None:
    with pytest.raises(ValueError, match="Quill"), tracing.span("work", mode="x"):
        raise ValueError(SECRET)
    tracing.stop()
    (span,) = exporter.get_finished_spans()
    assert dict(span.attributes or {}) == {"mode": "x", "error.type": "ValueError"}
    assert not span.status.is_ok
    assert (span.events, span.status.description) == ((), None)


def test_an_attribute_that_is_not_on_the_list_is_dropped(
    exporter: InMemorySpanExporter,
) -> None:
    with tracing.span("work", query=SECRET) as span:
        span.set("url.full", "https://ada.example/quill")
    assert finished(exporter) == {"work": {}}


def test_only_the_servers_of_the_installation_hear_of_a_trace(
    exporter: InMemorySpanExporter,
) -> None:
    with tracing.span("work"):
        informed = [peer for peer in PEERS if tracing.headers(peer)]
    assert informed == [tracing.EMBEDDER, tracing.MODEL]


@pytest.mark.parametrize(("proxies", "is_believed"), [([], False), (["::1"], True)])
def test_a_caller_names_the_trace_only_through_a_trusted_proxy(
    exporter: InMemorySpanExporter, proxies: list[str], is_believed: bool
) -> None:
    trace_id = "0af7651916cd43dd8448eb211c80319c"
    parent = {"traceparent": f"00-{trace_id}-b7ad6b7169203331-01", "baggage": "who=ada"}
    request = RequestFactory().get("/livez", headers=parent, REMOTE_ADDR="::1")
    with override_settings(TRUSTED_PROXIES=client_address.parse_proxies(proxies)):
        MeasuringMiddleware(lambda _: HttpResponse())(request)
    tracing.stop()
    (span,) = exporter.get_finished_spans()
    assert (f"{span.context.trace_id:032x}" == trace_id) is is_believed


@pytest.mark.slow
@pytest.mark.parametrize(("value", "is_imported"), [("0", False), ("1", True)])
def test_nothing_of_it_is_imported_until_it_is_switched_on(
    value: str, is_imported: bool
) -> None:
    code = (
        "import django; django.setup(); import sys;"
        "import crewship_memory.urls;"
        "print('opentelemetry.sdk' in sys.modules)"
    )
    process = subprocess.run(
        [sys.executable, "-c", code],
        env=os.environ | {"CREWSHIP_TRACES": value},
        cwd=source.ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    assert process.stdout.strip() == str(is_imported)


class Silent(InMemorySpanExporter):
    """A collector that takes a connection and never answers."""

    def __init__(self) -> None:
        super().__init__()
        self.ended = threading.Event()

    def export(self, _spans: Sequence[ReadableSpan]) -> SpanExportResult:
        self.ended.wait()
        return SpanExportResult.FAILURE


def test_a_collector_that_never_answers_holds_nobody_up(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Whoever waited for it would wait for ever: more spans than the queue takes."""
    monkeypatch.setattr(opentelemetry_tracing, "LAST_SECONDS", 0.01)
    collector = Silent()
    tracing.start(OpenTelemetryBackend(collector))
    for _ in range(5_000):
        with tracing.span("work"):
            pass
    tracing.stop()
    tracing.start(None)
    collector.ended.set()
