"""No way in shows or takes a text while erasures wait to be repeated."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any, Final

import httpx
import pytest
from django.core.management import CommandError, call_command
from django.test import Client
from django.urls import URLPattern, URLResolver, get_resolver

from crewship_memory import api, healthz, serving_gate
from gdpr.erasure import readiness, tombstones
from gdpr.models import ErasureMark
from memory import webhooks
from memory.integrations import registry as dialects
from memory.integrations.gateway import users
from memory.jobs import registry as jobs
from memory.models import JobRun, RunState, Webhook, WebhookDelivery
from tests.gdpr.test_erasures_file import ledger, record
from tests.world import World

pytestmark = pytest.mark.django_db
# Ninja's own document and page, and what anybody may ask: no text of a workspace.
PUBLIC: Final = ("/api/v1/openapi.json", "/api/v1/docs", "/api/v1/gdpr/certificates")
# Signing in is outside of any workspace; what is not there is a page of errors.
NO_TEXTS: Final = ("livez", "readyz", "metrics", "mcp", *serving_gate.OPEN_PAGES)
METHODS: Final = ("get", "post", "put", "patch", "delete")


@pytest.fixture
def behind(world: World) -> World:
    """Return a world whose first workspace lacks an erasure that was announced."""
    tombstones.announce(record(workspace_id=world.acme.id))
    readiness.forget()
    return world


def _is_refusal(status: int, body: bytes) -> bool:
    return status == 503 and b"erasures_wait" in body


# ── The API, MCP and the interfaces of other systems ─────────────────────────
def _operations() -> Iterator[tuple[str, str]]:
    for path, item in api.api.get_openapi_schema()["paths"].items():
        yield from ((method, path) for method in METHODS if method in item)


@pytest.mark.parametrize("caller", ["owner", "ada"])
def test_no_operation_of_the_api_answers(behind: World, caller: str) -> None:
    client = Client(headers={"Authorization": f"Bearer {behind.tokens[caller]}"})
    answered = []
    for method, path in _operations():
        address = re.sub(r"{\w+}", "x", path)
        if address.startswith((*PUBLIC, *serving_gate.OPEN_API)):
            continue
        reply = client.generic(method.upper(), address, "{}", "application/json")
        if not _is_refusal(reply.status_code, reply.content):
            answered.append((method, path, reply.status_code))
    assert answered == []


def test_what_stays_open_has_ids_and_no_text(behind: World) -> None:
    assert behind.api("owner").get("/gdpr/actions").status == 200
    assert behind.api("owner").get("/gdpr/certificates").status == 200


def test_another_workspace_is_served(behind: World) -> None:
    assert behind.api("stranger").get("/journal").status == 200
    assert behind.page("stranger").get("/").status_code == 200


def test_a_client_is_told_when_to_come_back(behind: World) -> None:
    headers = {"Authorization": f"Bearer {behind.tokens['ada']}"}
    reply = Client().get("/api/v1/journal", headers=headers)
    assert reply["Content-Type"] == "application/problem+json"
    assert reply["Retry-After"] == str(readiness.RETRY_SECONDS)
    assert reply.json()["count"] == 1


def test_mcp_is_refused(behind: World) -> None:
    call = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}
    headers = {"Authorization": f"Bearer {behind.tokens['ada']}"}
    reply = Client().post("/mcp", call, "application/json", headers=headers)
    assert _is_refusal(reply.status_code, reply.content)


def _routes() -> Iterator[tuple[Any, str, str]]:
    for dialect in dialects.dialects():
        for route in dialect.routes:
            if not route.is_open:
                address = re.sub(r"<[\w:]+>", "x", route.path)
                path = f"/{dialect.prefix.strip('/')}/{address}".rstrip("/")
                yield from ((dialect, method, path) for method in route.methods)


def test_no_interface_of_another_system_answers(behind: World) -> None:
    key, answered = behind.tokens["ada"], []
    user = users.issue(behind.agents["ada"], "mia", by=behind.actor("owner"))
    body = json.dumps({"user_id": "mia", "user_key": user.token})
    assert len({dialect.prefix for dialect, *_ in _routes()}) > 3
    for _, method, path in _routes():
        headers = {"Authorization": f"Bearer {key}", "X-API-Key": key}
        reply = Client().generic(
            method, path, body, "application/json", headers=headers
        )
        if reply.status_code != 503:
            answered.append((method, path, reply.status_code))
    assert answered == []


# ── Pages ────────────────────────────────────────────────────────────────────
def _pages(
    patterns: list[Any], before: str = "", names: tuple[str, ...] = ()
) -> Iterator[tuple[str, str]]:
    """Yield view name and address of every page, its parts filled in."""
    for pattern in patterns:
        path = before + str(pattern.pattern).lstrip("^").rstrip("$")
        if isinstance(pattern, URLResolver):
            inside = (*names, *filter(None, [pattern.namespace]))
            yield from _pages(pattern.url_patterns, path, inside)
        elif isinstance(pattern, URLPattern) and pattern.name:
            name = ":".join((*names, pattern.name))
            address = re.sub(r"<int:\w+>", "1", path)
            yield name, "/" + re.sub(r"<[\w:]+>", "x", address)


def test_no_page_answers(behind: World) -> None:
    client, answered, count = behind.page("owner"), [], 0
    for name, address in _pages(get_resolver().url_patterns):
        is_open = name in NO_TEXTS or name.startswith(serving_gate.OPEN_PREFIXES)
        if is_open or address.startswith(("/api/", "/compat/")) or "(" in address:
            continue
        count += 1
        for method in ("GET", "POST"):
            reply = client.generic(method, address)
            if reply.status_code != 503:
                answered.append((method, name, reply.status_code))
    assert answered == []
    assert count > 100


def test_the_page_says_in_plain_words_what_happens(behind: World) -> None:
    reply = behind.page("owner").get("/")
    text = " ".join(reply.content.decode().split())
    assert "are being carried out again: 1 to go" in text
    assert "Refunds" not in text


def test_the_officer_reads_the_audit_log_meanwhile(behind: World) -> None:
    page = behind.page("compliance")
    assert page.get("/privacy/ledger/").status_code == 200
    assert page.get("/privacy/subjects/").status_code == 503


# ── Without a request ────────────────────────────────────────────────────────
def test_no_job_of_the_workspace_runs(
    behind: World,
) -> None:
    acts: list[str] = []

    def act(home: str) -> jobs.Outcome:
        acts.append(home)
        return jobs.Outcome()

    job = jobs.Job("probe", "Probe", "never", act)
    for workspace in (behind.acme, behind.other):
        run = jobs.claim(job, workspace.id, "now")
        assert run is not None
        jobs.execute(job, run)
    assert acts == [behind.other.id]
    states = JobRun.objects.filter(name="probe").values_list("workspace_id", "state")
    assert dict(states)[behind.acme.id] == RunState.FAILED


def test_no_message_of_the_workspace_leaves(behind: World) -> None:
    hook = Webhook.objects.create(
        workspace=behind.acme, url="https://hooks.example/x", active=True
    )
    row = WebhookDelivery.objects.create(
        workspace=behind.acme, webhook=hook, event="probe", body="{}"
    )
    sweep = webhooks.deliver_due(transport=httpx.MockTransport(_never))
    assert (sweep.sent_count, sweep.retried, sweep.failed) == (0, 0, 0)
    row.refresh_from_db()
    assert row.attempts == 0


def _never(request: httpx.Request) -> httpx.Response:
    raise AssertionError(request.url)


def test_a_command_says_why_it_does_nothing(behind: World, tmp_path: Any) -> None:
    with pytest.raises(CommandError, match="carried out again"):
        call_command("memory_export", str(tmp_path / "out"), workspace="acme")
    with pytest.raises(CommandError, match="carried out again"):
        call_command("gdpr_export", "maria@example.org", workspace="acme")


# ── The probe ────────────────────────────────────────────────────────────────
def test_readyz_says_how_many_wait(behind: World) -> None:
    reply = Client().get("/readyz")
    assert reply.status_code == 503
    assert "1 to go in 1 workspaces" in reply.json()["reasons"][0]
    assert reply.json()["erasures"] == {"ok": False, "behind": 1, "fault": ""}
    assert Client().get("/livez").status_code == 200


def test_a_damaged_file_closes_the_workspace_as_well(world: World) -> None:
    ledger(world.acme.id, run=1)
    tombstones.announce(record(workspace_id=world.acme.id))
    path = tombstones.path_of(world.acme.id)
    path.write_bytes(path.read_bytes().replace(b"j_1", b"j_9"))
    readiness.forget()
    reply = world.api("owner").get("/journal")
    assert (reply.status, reply.code) == (503, "erasures_unknown")
    assert "was changed" in Client().get("/readyz").json()["reasons"][0]


def test_a_file_that_is_gone_is_said_and_nobody_is_shut_out(world: World) -> None:
    ledger(world.acme.id, run=1)
    readiness.forget()
    body = Client().get("/readyz").json()
    assert body["degraded"] == [readiness.TAIL_LOST]
    assert body["checks"]["erasures"] == readiness.TAIL_LOST
    assert world.api("owner").get("/journal").status == 200


# ── What it costs, and how soon it is noticed ────────────────────────────────
def test_a_request_asks_nothing_between_two_looks(
    behind: World, django_assert_num_queries: Any
) -> None:
    assert readiness.refusal(behind.acme.id) is not None
    with django_assert_num_queries(0):
        for _ in range(3):
            readiness.refusal(behind.acme.id)
            readiness.refusal(behind.other.id)


def test_a_look_costs_two_queries_once_the_database_is_marked(
    world: World, django_assert_num_queries: Any
) -> None:
    ledger(world.acme.id, run=1)
    tombstones.announce(record(workspace_id=world.acme.id))
    readiness.settle()
    assert ErasureMark.objects.get(pk=world.acme.id).end
    assert readiness.gaps() == {}
    readiness._state.checked_at = None
    with django_assert_num_queries(2):
        assert readiness.gaps() == {}


def test_a_database_restored_beneath_the_process_is_noticed(world: World) -> None:
    home = world.acme.id
    ledger(home, run=1)
    tombstones.announce(record(workspace_id=home))
    readiness.settle()
    assert readiness.refusal(home) is None
    # The older database knows neither the erasure nor the mark of it.
    ErasureMark.objects.all().delete()
    type(ledger(home, "c_9", run=1)).objects.filter(case_ref="c_1").delete()
    readiness._state.checked_at = None
    assert readiness.refusal(home) is not None


def test_a_file_swapped_beneath_the_process_closes_everything(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(readiness, "_database_file", lambda: ("db", 1, 1))
    readiness.forget()
    assert readiness.refusal(world.acme.id) is None
    monkeypatch.setattr(readiness, "_database_file", lambda: ("db", 1, 2))
    readiness.forget()
    reply = world.api("owner").get("/journal")
    assert (reply.status, reply.code) == (503, "database_replaced")
    with pytest.raises(healthz.NotReady):
        healthz.check_erasures()
