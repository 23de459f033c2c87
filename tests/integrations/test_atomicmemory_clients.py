"""AtomicMemory's own software against us, unchanged."""

from __future__ import annotations

import pytest

from tests.integrations import clients
from tests.integrations.conftest import RunClient, RunningServer

NAME = "atomicmemory"
pytestmark = [pytest.mark.clients, pytest.mark.slow]
# Before a server is started for nothing.
needs_clients = pytest.mark.skipif(
    not clients.is_here(NAME), reason=clients.skip_reason(NAME)
)
# What the round trip has to have exercised; a driver that skips a call fails here.
CALLS = (
    "ingest text|ingest messages|ingest verbatim|search|search in a thread"
    "|search above a threshold|search_as_of|list page 1|list page 2|list a thread|get"
    "|get what is not there|history|package flat|package tiered|package structured"
    "|capabilities|health|handle search|handle search_fast|handle list|handle expand"
    "|handle ingest_full|handle ingest_quick|handle get|handle lifecycle.stats"
    "|handle lifecycle.cap|handle lifecycle.consolidate scan"
    "|handle lifecycle.decay dry run|handle lifecycle.reset_source"
    "|handle audit.summary|handle audit.recent|handle audit.trail|handle lessons.list"
    "|handle lessons.stats|handle config.health|tool memory_ingest|tool memory_search"
    "|delete|delete twice"
).split("|")


@needs_clients
def test_the_real_client_does_the_whole_round_trip(
    client: RunClient, running_server: RunningServer
) -> None:
    run = client(NAME, "atomicmemory_round_trip")

    assert run.failed == []
    assert run.client == "atomicmemory 1.1.4"
    assert set(CALLS) <= {call["call"] for call in run.calls}
    key = running_server.keys["key"].encode()
    assert key not in running_server.log_bytes()


@needs_clients
def test_its_own_live_tests_pass(running_server: RunningServer) -> None:
    extra = {
        "ATOMICMEMORY_TEST_API_URL": f"{running_server.url}/compat/atomicmemory",
        "ATOMICMEMORY_TEST_API_KEY": running_server.keys["key"],
    }
    path = "tests/providers/atomicmemory/test_integration.py"
    args = ["-m", "pytest", "-q", "-p", "no:cacheprovider", path]

    process = clients.python(NAME, args, extra, clients.source(NAME))

    assert process.returncode == 0, process.stdout[-4_000:]
    assert "3 passed" in process.stdout
    assert "skipped" not in process.stdout


@needs_clients
def test_our_answers_follow_its_schemas(client: RunClient) -> None:
    folder = clients.source(NAME) / "contract" / "v1"

    run = client(NAME, "atomicmemory_schemas", CONTRACT=str(folder))

    assert run.failed == []
    checked = {call["call"] for call in run.calls}
    assert {
        "CoreCapabilities validates",
        "IngestResult validates",
        "SearchResultPage validates",
        "Memory validates",
    } <= checked


def test_the_hermes_plugin_works(client: RunClient) -> None:
    run = client("hermes", "hermes_round_trip")

    assert run.failed == []
    assert run.client == "atomicmemory-hermes 0.2.3"
