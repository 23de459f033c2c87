"""Every write path for text, each storing one word of its own.

``WRITE_PATHS`` is name → a function that writes the word as production does, with the
operations of the API that it covers, so that no new operation can be left out.
"""

from __future__ import annotations

import io
import json
from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, Final
from unittest.mock import patch

from django.test import Client

from episodic.consolidation import run as consolidation
from episodic.index import sweep as index
from episodic.recall.question_log import question_log
from episodic.summarisers.base import Rule
from gdpr.cases import actions, legal_holds
from gdpr.cases import workflow as cases
from gdpr.cases.legal_holds import NewHold
from gdpr.cases.workflow import NewCase
from gdpr.data_map import registry
from gdpr.models import CaseKind
from memory import journal_import as memory_journal_import
from memory import journal_upload, workspace_settings
from memory.files import reconcile
from memory.integrations.gateway import users
from memory.jobs import registry as jobs
from memory.journal import append as journal
from memory.journal import compaction as journal_compaction
from memory.models import HeldFile, Record
from memory.rules.entries import Priority
from tests import factories
from tests.gdpr import kit
from tests.memory.files import kit as files
from tests.world import ATTACK, World

Write = Callable[[World, str], None]


@dataclass(frozen=True)
class WritePath:
    """A write path, and the API operations it covers."""

    write: Write
    operations: tuple[str, ...]


WRITE_PATHS: Final[dict[str, WritePath]] = {}


def write_path(*operations: str) -> Callable[[Write], Write]:
    """Register a function as a write path under its own name."""

    def add(write: Write) -> Write:
        WRITE_PATHS[write.__name__.replace("_", "")] = WritePath(write, operations)
        return write

    return add


def _ok(reply: Any, *statuses: int) -> Any:
    status = getattr(reply, "status", None) or reply.status_code
    answer = getattr(reply, "body", None) or reply.content
    assert status in (statuses or (200, 201)), (status, answer[:600])
    return reply


def _send(world: World, method: str, path: str, body: Any, agent: str = "ada") -> Any:
    return Client(enforce_csrf_checks=True).generic(
        method,
        path,
        json.dumps(body),
        content_type="application/json",
        headers={"Authorization": f"Bearer {world.tokens[agent]}"},
    )


# ── The journal ──────────────────────────────────────────────────────────────
def _entry(word: str) -> dict[str, Any]:
    return {
        "entry_type": "peer.escalation",
        "summary": f"About {word}",
        "payload": {"question": f"Who is {word}?", word: [word, {"deep": word}]},
        "refs": {"who": word},
        "mission_id": word,
        "trace_id": word,
        "span_id": word,
        "subjects": [word],
    }


@write_path("append_entry")
def append(world: World, word: str) -> None:
    """One entry, with an Idempotency-Key."""
    headers = {"Idempotency-Key": word}
    _ok(world.api("ada").post("/journal", _entry(word), headers=headers))
    index.sweep()


@write_path("append_batch")
def batch(world: World, word: str) -> None:
    """A batch with one refused entry."""
    body = {"entries": [_entry(word), {"entry_type": "Bad Type", "summary": word}]}
    _ok(world.api("ada").post("/journal/batch", body))


@write_path()
def journal_import(world: World, word: str) -> None:
    """A JSON-lines file, as the command reads it."""
    line = json.dumps(_entry(word)).encode()
    report = memory_journal_import.append(
        memory_journal_import.read_lines(io.BytesIO(line)),
        by=world.system(),
        on_refusal=lambda _number, _reason: None,
    )
    assert report.appended == 1, report


@write_path()
def upload(world: World, word: str) -> None:
    """A file of entries that waits for the worker to append it."""
    file = io.BytesIO(json.dumps(_entry(word)).encode())
    with patch.object(jobs, "run_now"):
        journal_upload.begin(world.actor("owner"), file, create=False)


@write_path()
def compaction(world: World, word: str) -> None:
    """Old entries moved to the archive."""
    day = factories.ago(50).replace(hour=1)
    for minute in range(journal_compaction.MIN_ENTRIES):
        factories.append(
            world.actor("ada"),
            entry_type="container.metrics",
            summary=f"cpu of {word}",
            payload={"of": word},
            mission_id=word,
            subjects=(word,),
            ts=day + timedelta(minutes=minute),
        )
    assert (
        journal_compaction.run(world.acme.id).archived == journal_compaction.MIN_ENTRIES
    )


@write_path("set_entry_priority")
def priority(world: World, word: str) -> None:
    """The reason of a priority, in its table and in the journal."""
    body = {"priority": "pin", "reason": f"{word} asked"}
    path = f"/journal/{world.entry().id}/priority"
    _ok(world.api("operator").post(path, body))


@write_path()
def priority_twice(world: World, word: str) -> None:
    """A reason with a later change after it."""
    row, by = world.entry(), world.actor("operator")
    journal.prioritise(row, Priority.HIGH, word, by=by)
    journal.prioritise(row, Priority.NORMAL, "over", by=by)


# ── Recall ───────────────────────────────────────────────────────────────────
@write_path("recall", "why", "context")
def questions(world: World, word: str) -> None:
    """A recall query: cached, written to the recall log, and waiting for it."""
    workspace_settings.change({"recall_log": True}, by=world.actor("owner"))
    ada, row = world.api("ada"), world.entry()
    _ok(ada.post("/episodic/recall", {"query": f"Where is {word}?"}))
    assert question_log.flush()
    _ok(ada.post("/episodic/why", {"query": word, "entry_id": row.id}))
    _ok(ada.post("/episodic/context", {"query": word, "session_id": word}))


@write_path()
def recall_check(world: World, word: str) -> None:
    """A recall check."""
    row = world.indexed()
    payload = {"query": f"Where is {word}?", "name": word, "expected": row.id}
    page = world.page("operator")
    _ok(page.post("/recall/checks/save/", payload), 200, 302)


# ── Memory files ─────────────────────────────────────────────────────────────
@write_path("call_memory_tool")
def tool_write(world: World, word: str) -> None:
    """A tier file with two versions."""
    payload = {"tier": "AGENT", "content": f"- about {word}\n", "mode": "append"}
    for _ in range(2):
        _ok(world.api("ada").post("/memory/tools/memory.write", payload))


@write_path()
def tool_daily(world: World, word: str) -> None:
    """The daily log."""
    payload = {"entry": f"talked to {word}"}
    _ok(world.api("ada").post("/memory/tools/memory.append_daily", payload))


@write_path()
def card(world: World, word: str) -> None:
    """A card: the name is in the path, on disk and in the journal."""
    payload = {"tier": "peers", "key": word, "content": f"{word} likes tea"}
    body = {**payload, "mode": "replace"}
    _ok(world.api("ada").post("/memory/tools/memory.write", body))


@write_path("import_files")
def files_import(world: World, word: str) -> None:
    """A bundle."""
    payload = {"label": "pins.md", "crew": "support", "agent": "lena", "path": word}
    body = {"documents": [{**payload, "body": f"- {word} called"}], "apply": True}
    result = _ok(world.api("owner").post("/memory/import", body)).data
    assert result["counts"] == {"written": 1}, result


@write_path("restore_memory_version")
def restored(world: World, word: str) -> None:
    """A restored version, with its note."""
    version = files.write(world, f"{word} once\n", "pins.md")
    files.write(world, "tea\n", "pins.md")
    body = {"path": "pins.md", "agent_id": world.agents["ada"].id}
    path = f"/memory/versions/{version.sha256}/restore"
    _ok(world.api("operator").post(path, body))


@write_path()
def disk(world: World, word: str) -> None:
    """A file changed on disk, a torn temporary file and one with an odd name."""
    path = files.on_disk(world, "daily/2026-05-19.md", "bob")
    files.put(path, f"{word} was here\n")
    reconcile.sweep("acme")
    files.put(path.parent / ".crewship-tmp-00", f"half of {word}")
    files.put(path.parent / f"{word}.txt", "tea")


# ── Providers, records, turns ────────────────────────────────────────────────
@write_path("provider_retain")
def retain(world: World, word: str) -> None:
    """The provider API."""
    payload = {"workspace_id": world.acme.id, "agent_id": world.agents["ada"].id}
    body = {**payload, "tier": "AGENT", "content": f"{word} pays", "mode": "append"}
    _ok(world.api("ada").post("/provider/retain", body))


def _record(word: str) -> dict[str, Any]:
    return {
        "content": f"{word} likes tea",
        "metadata": {"who": word, word: 1},
        "scope": dict.fromkeys(("user", "agent", "namespace", "thread"), word),
        "session_id": word,
        "external_id": word,
        "subjects": [word],
    }


@write_path("save_record", "amend_record")
def record(world: World, word: str) -> None:
    """A record and its next version."""
    ada = world.api("ada")
    response = _ok(
        ada.post("/records", _record(word), headers={"Idempotency-Key": word})
    )
    record_row = Record.objects.get(external_id=word)
    payload = {"content": f"{word} likes coffee", "reason": f"{word} said so"}
    _ok(_send(world, "PATCH", f"/api/v1/records/{record_row.id}", payload))
    assert response.data


@write_path("supersede_records", "forget_record")
def record_ends(world: World, word: str) -> None:
    """Superseded and forgotten records, with the reasons."""
    ada = world.api("ada")
    for n in range(2):
        _ok(ada.post("/records", {"content": f"{word} is number {n} here"}))
    rows = Record.objects.filter(content__contains=word).order_by("id")
    first, two = rows.values_list("pk", flat=True)
    payload = {"content": f"{word} is one", "sources": [first], "reason": word}
    _ok(ada.post("/records/supersede", payload))
    _ok(_send(world, "DELETE", f"/api/v1/records/{two}", {"reason": word}))


@write_path("call_tool")
def remembered(world: World, word: str) -> None:
    """The remember tool."""
    payload = {"content": f"{word} rides a bicycle", "metadata": {"who": word}}
    _ok(world.api("ada").post("/tools/memory__remember", payload))


@write_path("provider_batch")
def provider_batch(world: World, word: str) -> None:
    """Several statements at once over the provider API."""
    scope = {"user": word, "namespace": word}
    statement = {"mode": "verbatim", "content": f"{word} fences", "scope": scope}
    body = {"workspace_id": world.acme.id, "inputs": [statement]}
    _ok(world.api("ada").post("/provider/batch", body))


@write_path()
def gateway(world: World, word: str) -> None:
    """The memory gateway, as one of its users."""
    by = world.actor("owner")
    issued = users.issue(world.agents["ada"], word, users.Limits(), by=by, name=word)
    message = {
        "sender_id": word,
        "role": "user",
        "timestamp": 1_770_000_000_000,
        "content": f"{word} lives in Graz",
    }
    body = {
        "user_id": word,
        "user_key": issued.token,
        "session_id": f"chat:{word}",
        "messages": [message],
    }
    for operation in ("add", "flush"):
        path = f"/gateway/memories/{operation}"
        _ok(Client().post(path, json.dumps(body), "application/json"))
        body.pop("messages", None)


@write_path()
def atomicmemory(world: World, word: str) -> None:
    """The AtomicMemory API."""
    payload = {"user_id": word, "source_site": word, "conversation": f"{word} sails."}
    path = "/compat/atomicmemory/v1/memories/ingest/quick"
    _ok(_send(world, "POST", path, {**payload, "skip_extraction": True}))


@write_path()
def mem0(world: World, word: str) -> None:
    """The mem0 API."""
    payload = {"messages": f"{word} skis", "user_id": word, "metadata": {"who": word}}
    _ok(_send(world, "POST", "/compat/mem0/v3/memories/add/", payload))


@write_path()
def langgraph(world: World, word: str) -> None:
    """The LangGraph store."""
    payload = {"namespace": ["users", word], "key": word, "value": {"likes": word}}
    _ok(_send(world, "PUT", "/compat/langgraph/store/items", payload), 204)


@write_path()
def mcp(world: World, word: str) -> None:
    """The MCP endpoint."""
    payload = {"tier": "AGENT", "content": f"- {word} swims", "mode": "append"}
    params = {"name": "memory.write", "arguments": payload}
    call = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
    version = {"MCP-Protocol-Version": "2025-06-18"}
    reply = Client().post(
        "/mcp",
        json.dumps(call),
        content_type="application/json",
        headers={
            "Authorization": f"Bearer {world.tokens['lena']}",
            "Accept": "application/json, text/event-stream",
            **version,
        },
    )
    _ok(reply)


# ── Quarantine ───────────────────────────────────────────────────────────────
def _hold(world: World, text: str) -> HeldFile:
    files_before = set(HeldFile.objects.values_list("pk", flat=True))
    body = {"tier": "AGENT", "content": text, "mode": "append"}
    reply = _ok(world.api("ada").post("/memory/tools/memory.write", body))
    assert reply.data["error"]["code"] == "held"
    return HeldFile.objects.exclude(pk__in=files_before).get()


@write_path()
def held_text(world: World, word: str) -> None:
    """A text held for review."""
    _hold(world, f"{word}: {ATTACK}")


@write_path()
def held_record(world: World, word: str) -> None:
    """A record held for review, with its draft."""
    body = {**_record(word), "content": f"{word} says: {ATTACK}"}
    _ok(world.api("ada").post("/records", body), 409)


@write_path("decide_quarantine", "decide_quarantine_bulk", "undo_quarantine")
def decided(world: World, word: str) -> None:
    """Decisions with their reasons; one was revoked."""
    operator = world.api("operator")
    first, two, three = (_hold(world, f"{n} {word}. {ATTACK}") for n in ("a", "b", "c"))
    payload = {"decision": "discard", "reason": f"{word} sent it"}
    for row in (first, two):
        path = f"/quarantine/{row.id}/decision"
        _ok(operator.post(path, {**payload, "version": row.version}))
    _ok(operator.post("/quarantine/bulk", {**payload, "ids": [three.id]}))
    _ok(operator.post(f"/quarantine/{two.id}/undo"))


@write_path()
def released(world: World, word: str) -> None:
    """A held text released into its file."""
    row = _hold(world, f"released {word}. {ATTACK}")
    payload = {"decision": "release", "reason": "fine", "version": row.version}
    _ok(world.api("operator").post(f"/quarantine/{row.id}/decision", payload))


@write_path()
def saved_filter(world: World, word: str) -> None:
    """A saved filter of a reviewer."""
    operator = world.page("operator")
    _ok(operator.post(f"/quarantine/filters/?q={word}", {"name": "Mine"}), 302)
    _ok(operator.post(f"/views/journal/?subject={word}", {"name": "Hers"}), 302)


# ── Rules ────────────────────────────────────────────────────────────────────
def _propose(world: World, word: str) -> Any:
    rows = [world.entry(f"Refund {n} denied") for n in range(2)]
    rule = Rule(f"Ask {word} first", f"{word} decides.", 0.8, tuple(r.id for r in rows))
    proposals = consolidation.propose(world.crews["support"], rule, "test")
    assert proposals is not None
    return proposals


@write_path("reject_proposal")
def rejected(world: World, word: str) -> None:
    """A rejected rule, with the reason."""
    proposal = _propose(world, word)
    payload = {"version": 1, "reason": f"{word} said no"}
    _ok(world.api("operator").post(f"/proposals/{proposal.id}/reject", payload))


@write_path("approve_proposal")
def learned(world: World, word: str) -> None:
    """An approved rule, stored in the crew's learned file."""
    proposal = _propose(world, word)
    payload = {"version": 1, "text": f"## {word} comes first\n\n{word} decides.\n"}
    _ok(world.api("operator").post(f"/proposals/{proposal.id}/approve", payload))


# ── The workspace ────────────────────────────────────────────────────────────
@write_path()
def key(world: World, word: str) -> None:
    """The name of an agent's key."""
    payload = {"agent": world.agents["bob"].id, "name": word, "scopes": ["read"]}
    _ok(world.page("owner").post("/workspace/keys/", payload))


@write_path()
def crew(world: World, word: str) -> None:
    """The name of a crew."""
    payload = {"slug": "web", "name": f"The crew of {word}"}
    _ok(world.page("owner").post("/workspace/agents/crew/", payload), 302)


@write_path()
def webhook(world: World, word: str) -> None:
    """The address of a webhook."""
    url = f"https://hooks.example.com/{word}"
    payload = {"url": url, "events": ["memory.health_band_changed"]}
    _ok(world.page("owner").post("/workspace/webhooks/", payload), 200, 201, 302)


# ── Requests ─────────────────────────────────────────────────────────────────
@write_path()
def case(world: World, word: str) -> None:
    """A case of another person that names the person."""
    by, other = world.actor("compliance"), kit.subject(world, kit.BERT)
    new = NewCase(
        subject_id=other.id,
        kind=CaseKind.ACCESS,
        reason=f"{word} wrote",
        requester=word,
        ticket=word,
    )
    opened = cases.open_case(new, by=by)
    actions.comment(opened, f"{word} called", by=by)


@write_path()
def hold(world: World, word: str) -> None:
    """A hold on another person's data that names the person."""
    by, other = world.actor("compliance"), kit.subject(world, {"name": "Cy Twine"})
    due = factories.ago(-30)
    names = frozenset(holder.name for holder in registry.ALL)
    new = NewHold(reason=f"{word} sues", review_at=due, ground=word)
    legal_holds.place(other, new, by=by, places=names)
