"""The load test: what it sends is accepted, and what is lost or doubled is seen."""

from __future__ import annotations

import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self

import pytest
from django.core.management import CommandError, call_command
from django.test import Client as Browser

from crewship_memory.bench import load, load_checks, load_fleet, load_mix, load_sender
from crewship_memory.bench.client import Answer
from crewship_memory.bench.load_fleet import Fleet, Ledger
from crewship_memory.bench.load_mix import WEIGHTS, Call, Mix
from crewship_memory.bench.load_sender import Plan, Sender
from gdpr.models import Case, CaseState
from memory.journal import append as journal
from memory.models import JournalEntry, Record
from memory.rules.entries import NewEntry
from memory.rules.permissions import system

TRACE = {"what": "2 words", "place": "files", "where": "7"}


def send(call: Call) -> Answer:
    """Send a call to this process."""
    headers = {name: text for name, text in call.headers.items() if name != "Cookie"}
    browser = Browser()
    if "Cookie" in call.headers:
        name, _, session = call.headers["Cookie"].partition("=")
        browser.cookies[name] = session
    reply = browser.generic(
        call.method,
        call.path,
        call.body or b"",
        content_type=headers.pop("Content-Type", "application/json"),
        headers=headers,
    )
    return Answer(reply.status_code, reply.content)


class InProcess:
    """A client of the checks that needs no server."""

    def __init__(self, _url: str, token: str) -> None:
        self._headers = {"Authorization": f"Bearer {token}"}

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        """Nothing is open."""

    def post(self, path: str, *, json: Any) -> Answer:
        reply = Browser().post(
            f"/api/v1{path}", json, "application/json", headers=self._headers
        )
        return Answer(reply.status_code, reply.content)


@pytest.fixture
def fleet(db: None, monkeypatch: pytest.MonkeyPatch) -> Fleet:
    monkeypatch.setattr(load_fleet, "AGENTS", 3)
    monkeypatch.setattr(load_fleet, "ENTRIES", 10)
    monkeypatch.setattr(load_checks, "Client", InProcess)
    return load_fleet.make()


def test_every_kind_is_accepted_and_the_checks_see_what_is_lost(
    fleet: Fleet, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(load_mix, "WEIGHTS", dict.fromkeys(WEIGHTS, 1))
    ledger = Ledger()
    mix, kinds = Mix(fleet, ledger), set()
    for call in [*(mix.next() for _ in WEIGHTS), mix.erasure()]:
        answer = send(call)
        assert answer.status < 300, (call.kind, answer)
        assert call.note is None or call.note(answer) is None
        kinds.add(call.kind)
    assert kinds == {*WEIGHTS, "erasure"}
    ledger.cases.clear()
    assert load_checks.check("", fleet, ledger)["ok"]
    number, entry_id = next(iter(ledger.entries.items()))
    summary = JournalEntry.objects.get(pk=entry_id).summary
    by = system(fleet.workspace_id, "test")
    journal.append(NewEntry(entry_type="memory.recorded", summary=summary), by=by)
    ledger.entries[number + 10_000] = "j_" + "0" * 16
    Record.objects.filter(pk=ledger.records[0]).delete()
    next(iter(ledger.files.values())).acknowledged = "another"
    case = Case.objects.get()
    case.state, residue = CaseState.PARTIAL, {"traces": [TRACE], "todo": ["End it."]}
    case.result = {"residue": residue}
    case.save()
    ledger.cases.append(case.pk)
    report = load_checks.check("", fleet, ledger)
    figures = report["entries"] | report["files"]
    assert not report["ok"]
    assert (figures["lost"], figures["twice"], figures["other_version"]) == (1, 1, 1)
    assert report["records"]["lost"] == 1
    assert report["erasures"] == {"partial": 1}
    assert report["faults"][-1] == "An erasure is partial: 2 words in files 7. End it."


def test_latency_counts_from_the_moment_a_request_was_due(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response({"/away": 503, "/busy": 429}.get(self.path, 200))
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, *_: Any) -> None:
            """Say nothing."""

    class Calls(Mix):
        def __init__(self) -> None:
            """Send three kinds in turn."""
            self.paths = ["/", "/away", "/busy", "/"] * 5

        def next(self) -> Call:
            path = self.paths.pop()
            return Call(path, "GET", path, {})

        def erasure(self) -> Call:
            return self.next()

    # Every request after the first is due long before it can be sent.
    monkeypatch.setattr(load_sender.Sender, "_sleep_until", lambda *_: None)
    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        url = f"http://127.0.0.1:{server.server_port}"
        sender = Sender(url, Calls(), Plan(seconds=1, rate=20, connections=1))
        assert list(sender.run()) == list(range(1, 11))
        server.shutdown()
    figures = load.figures(sender.results)
    assert (figures["requests"], figures["server_errors"]) == (20, 5)
    assert figures["statuses"] == {
        "/": {"200": 10}, "/away": {"503": 5}, "/busy": {"429": 5}
    }  # fmt: skip
    assert load.faults(figures | {"checks": {"faults": ["It is lost."]}}) == [
        "5 answers were a 4xx: /busy.",
        "5 answers were a 5xx.",
        "It is lost.",
    ]
    # Sent up to a second before they were due.
    assert min(sender.results.latencies["/"]) < -500


def test_memory_that_grows_has_a_slope_and_the_first_part_does_not_count() -> None:
    sizes = [100, 200, 300, 300, 300, 302, 304, 306, 308, 310, 312]
    rows = [
        {"tenth": tenth, "memory_mb": {"up": size, "gone": None}}
        for tenth, size in enumerate(sizes)
    ]
    assert load.slopes(rows, 600) == {"up": 2.0, "gone": None}


def test_a_database_without_redis_is_refused() -> None:
    with pytest.raises(CommandError, match="--database and --redis"):
        call_command("bench", "load", "--database", "postgres://x/y")
