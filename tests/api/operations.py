"""Every operation of the API, as a request that succeeds for whom it is meant."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

from episodic.consolidation import run as consolidation
from episodic.health import snapshots as health
from episodic.summarisers.base import Rule
from memory.rules.tiers import Tier
from tests.api import gdpr_operations
from tests.world import World

# Who is asked for in the permission matrix, in the order of its columns.
CALLERS: Final = (
    "owner",
    "operator",
    "compliance",
    "viewer",
    "ada",
    "reader",
    "looker",
    "stranger",
    "nobody",
    "expired",
    "revoked",
)


@dataclass(frozen=True)
class Operation:
    """One operation: how to call it, and the status everybody gets, as one line."""

    id: str
    method: str
    path: str
    statuses: str
    body: Callable[[World], Any] | None = None
    query: Callable[[World], str] | None = None
    before: Callable[[World], object] | None = None

    def expected(self, caller: str) -> int:
        """Return somebody's status."""
        return int(self.statuses.split()[CALLERS.index(caller)])

    @property
    def is_open(self) -> bool:
        """Whether it needs no credential at all."""
        return self.expected("nobody") < 300

    @property
    def caller(self) -> str:
        """Return somebody for whom the operation is meant."""
        likely = ("operator", "ada", "owner")
        return next(
            (caller for caller in likely if self.expected(caller) < 300), "operator"
        )

    def url(self, world: World) -> str:
        """Return the path with the world's own things in it."""
        if self.before:
            self.before(world)
        path = re.sub(r"{(\w+)}", lambda match: PARTS[match[1]](world), self.path)
        return path + (f"?{self.query(world)}" if self.query else "")


def _measured(world: World) -> object:
    return health.take(world.acme.id)


# ── What the paths name ──────────────────────────────────────────────────────
def _file(world: World) -> str:
    return world.file().versions.latest("number").sha256


def _held_text(world: World) -> str:
    if (held_id := world.kept.get("held")) is None:
        held_id = world.kept["held"] = world.held()
    return str(held_id.id)


def _proposal(world: World) -> str:
    if (proposal_id := world.kept.get("proposal")) is None:
        rows = [world.entry(f"Refund {n} denied: no receipt") for n in range(2)]
        rule = Rule("Refund without a receipt", "Ask.", 0.8, tuple(r.id for r in rows))
        crew = world.crews["support"]
        proposal_id = world.kept["proposal"] = consolidation.propose(crew, rule, "test")
    return str(proposal_id.id)


def _record(world: World) -> str:
    return world.record().id


PARTS: Final[dict[str, Callable[[World], str]]] = {
    "record_id": _record,
    "entry_id": lambda world: world.entry().id,
    "held_id": _held_text,
    "label": lambda world: str(world.file().label),
    "sha": _file,
    "name": lambda _: "memory.read",
    "tool": lambda _: "memory__list",
    "proposal_id": _proposal,
    "job": lambda _: "decay",
    **gdpr_operations.PARTS,
}


def _agent_of(world: World) -> str:
    return f"agent_id={world.agents['ada'].id}"


def _crew_of(world: World) -> str:
    return f"{_agent_of(world)}&path={world.file().label}"


# ── What the bodies say ──────────────────────────────────────────────────────
def _entry(_: World) -> Any:
    return {"entry_type": "peer.escalation", "summary": "Refund above $200"}


def _restore(world: World) -> Any:
    return {"path": world.file().label, "agent_id": world.agents["ada"].id}


def _own_body(world: World, **extra: Any) -> Any:
    return {"workspace_id": world.acme.id, "agent_id": world.agents["ada"].id, **extra}


def _input() -> Any:
    scope = {"user": "u1"}
    return {"mode": "verbatim", "content": "Refunds end at $250.", "scope": scope}


def _decision(world: World) -> Any:
    _held_text(world)
    version = world.kept["held"].version
    return {"decision": "discard", "version": version, "reason": "an attack"}


def _decided(world: World) -> None:
    path = f"/quarantine/{_held_text(world)}/decision"
    reply = world.api("operator").post(path, _decision(world))
    assert reply.status == 200, reply.body


def _bulk(world: World) -> Any:
    return {"ids": [_held_text(world)], "decision": "discard", "reason": "an attack"}


def _import(_: World) -> Any:
    path = "crews/support/agents/ada/AGENT.md"
    return {"documents": [{"path": path, "body": "Refunds end at $200."}]}


# The one table. Columns: owner operator compliance viewer agent, the agent's read-only
# key, the owner's read-only key, an admin of another workspace, nobody, expired,
# revoked. A stranger reads their own workspace, so lists answer 200 and ids 404.
OPERATIONS: Final = (
    #                                own ope com vie age red loo str nob exp rev
    Operation("append_entry", "post", "/journal",
              "403 403 403 403 201 403 403 403 401 401 401", _entry),
    Operation("append_batch", "post", "/journal/batch",
              "403 403 403 403 200 403 403 403 401 401 401",
              lambda world: {"entries": [_entry(world)]}),
    Operation("list_entries", "get", "/journal",
              "200 200 200 200 200 200 200 200 401 401 401"),
    Operation("count_entries", "get", "/journal/count",
              "200 200 200 200 200 200 200 200 401 401 401"),
    Operation("verify_chain", "get", "/journal/verify",
              "200 200 403 403 403 403 200 200 401 401 401"),
    Operation("get_entry", "get", "/journal/{entry_id}",
              "200 200 200 200 200 200 200 404 401 401 401"),
    Operation("set_entry_priority", "post", "/journal/{entry_id}/priority",
              "200 200 403 403 403 403 403 404 401 401 401",
              lambda _: {"priority": "pin", "reason": "watch"}),
    Operation("recall", "post", "/episodic/recall",
              "200 200 200 200 200 200 200 200 401 401 401",
              lambda _: {"query": "refund"}),
    Operation("why", "post", "/episodic/why",
              "200 200 200 200 200 200 200 404 401 401 401",
              lambda world: {"query": "refund", "entry_id": world.entry().id}),
    Operation("context", "post", "/episodic/context",
              "200 200 200 200 200 200 200 200 401 401 401",
              lambda _: {"query": "refund", "session_id": "s1"}),
    Operation("entry_relations", "get", "/episodic/entries/{entry_id}/relations",
              "200 200 200 200 200 200 200 404 401 401 401"),
    Operation("list_recall_questions", "get", "/episodic/questions",
              "200 200 200 200 403 403 200 200 401 401 401"),
    Operation("index_status", "get", "/episodic/index",
              "200 200 200 200 200 200 200 200 401 401 401"),
    Operation("index_now", "post", "/episodic/index",
              "200 200 403 403 403 403 403 200 401 401 401", lambda _: {"limit": 1}),
    Operation("memory_health", "get", "/memory/health",
              "200 200 200 200 200 200 200 404 401 401 401", before=_measured),
    Operation("recompute_health", "post", "/memory/health/recompute",
              "200 200 403 403 403 403 403 200 401 401 401", lambda _: {}),
    Operation("health_history", "get", "/memory/health/history",
              "200 200 200 200 200 200 200 200 401 401 401"),
    Operation("whoami", "get", "/me",
              "200 200 200 200 200 200 200 200 401 401 401"),
    Operation("list_crews", "get", "/crews",
              "200 200 200 200 200 200 200 200 401 401 401"),
    Operation("list_agents", "get", "/agents",
              "200 200 200 200 200 200 200 200 401 401 401"),
    Operation("workspace_settings", "get", "/workspace/settings",
              "200 403 403 403 403 403 200 200 401 401 401"),
    Operation("change_workspace_settings", "patch", "/workspace/settings",
              "200 403 403 403 403 403 403 200 401 401 401",
              lambda _: {"fusion": "convex"}),
    Operation("test_remote_provider", "post",
              "/workspace/settings/remote_provider/test",
              "200 403 403 403 403 403 403 200 401 401 401"),
    # ── Files and tools ──
    Operation("list_memory_tools", "get", "/memory/tools",
              "200 200 200 200 200 200 200 200 401 401 401"),
    Operation("call_memory_tool", "post", "/memory/tools/{name}",
              "403 403 403 403 200 200 403 403 401 401 401",
              lambda _: {"tier": Tier.AGENT.value}),
    Operation("list_tools", "get", "/tools",
              "200 200 200 200 200 200 200 200 401 401 401"),
    Operation("call_tool", "post", "/tools/{tool}",
              "403 403 403 403 200 200 403 403 401 401 401", lambda _: {"limit": 5}),
    Operation("list_memory_files", "get", "/memory/files",
              "200 200 200 200 200 200 200 200 401 401 401"),
    Operation("read_memory_file", "get", "/memory/files/{label}",
              "200 200 200 200 200 200 200 404 401 401 401", query=_agent_of),
    Operation("list_memory_versions", "get", "/memory/versions",
              "200 200 200 200 200 200 200 404 401 401 401", query=_crew_of),
    Operation("read_memory_version", "get", "/memory/versions/{sha}",
              "200 200 200 200 200 200 200 404 401 401 401", query=_crew_of),
    Operation("restore_memory_version", "post", "/memory/versions/{sha}/restore",
              "200 200 403 403 403 403 403 404 401 401 401", _restore),
    Operation("search_hybrid", "post", "/memory/search/hybrid",
              "200 200 200 200 200 200 200 200 401 401 401",
              lambda _: {"query": "refund"}),
    Operation("export_files", "post", "/memory/export",
              "200 403 403 403 403 403 403 200 401 401 401", lambda _: {}),
    Operation("import_files", "post", "/memory/import",
              "200 403 403 403 403 403 403 200 401 401 401", _import),
    # ── The provider wire ──
    Operation("provider_retain", "post", "/provider/retain",
              "200 200 403 403 200 403 403 404 401 401 401",
              lambda world: _own_body(world, tier="AGENT", content="x", mode="append")),
    Operation("provider_recall", "post", "/provider/recall",
              "200 200 403 403 200 403 403 404 401 401 401",
              lambda world: _own_body(world, query="refund")),
    Operation("provider_forget", "post", "/provider/forget",
              "200 200 403 403 200 403 403 404 401 401 401",
              lambda world: _own_body(world, id=world.file().label)),
    Operation("provider_health", "get", "/provider/health",
              "200 200 403 403 200 403 403 404 401 401 401", query=_agent_of),
    Operation("provider_reflect", "post", "/provider/reflect",
              "200 200 403 403 200 403 403 404 401 401 401",
              lambda world: _own_body(world, query="refund", scope={"user": "u1"})),
    Operation("provider_profile", "post", "/provider/profile",
              "200 200 403 403 200 403 403 404 401 401 401",
              lambda world: _own_body(world, scope={"user": "u1"})),
    Operation("provider_graph", "post", "/provider/graph",
              "200 200 403 403 200 403 403 404 401 401 401",
              lambda world: _own_body(world, query="refund", scope={"user": "u1"})),
    Operation("provider_batch", "post", "/provider/batch",
              "200 200 403 403 200 403 403 404 401 401 401",
              lambda world: _own_body(world, inputs=[_input()])),
    # ── A turn's memory ──
    Operation("recall_turn", "post", "/turns/recall",
              "403 403 403 403 200 200 403 403 401 401 401",
              lambda _: {"conversation_id": "c1", "prompt": "refund?"}),
    Operation("persist_turn", "post", "/turns/persist",
              "403 403 403 403 200 403 403 403 401 401 401",
              lambda _: {"conversation_id": "c1", "prompt": "a", "answer": "b"}),
    Operation("list_turn_setups", "get", "/turns/setups",
              "200 403 403 403 403 403 403 200 401 401 401"),
    Operation("choose_turn_setup", "post", "/turns/setups",
              "200 403 403 403 403 403 403 200 401 401 401",
              lambda _: {"mode": "curated"}),
    # ── Records ──
    Operation("save_record", "post", "/records",
              "201 201 403 403 201 403 403 201 401 401 401",
              lambda _: {"content": "Refunds end at $200."}),
    Operation("list_records", "get", "/records",
              "200 200 200 200 200 200 200 200 401 401 401"),
    Operation("search_records", "post", "/records/search",
              "200 200 200 200 200 200 200 200 401 401 401",
              lambda _: {"query": "refund"}),
    Operation("supersede_records", "post", "/records/supersede",
              "201 201 403 403 201 403 403 404 401 401 401",
              lambda world: {"content": "Refunds end at $300.",
                             "sources": [_record(world)]}),
    Operation("get_record", "get", "/records/{record_id}",
              "200 200 200 200 200 200 200 404 401 401 401"),
    Operation("amend_record", "patch", "/records/{record_id}",
              "200 200 403 403 200 403 403 404 401 401 401",
              lambda _: {"content": "Refunds end at $300."}),
    Operation("forget_record", "delete", "/records/{record_id}",
              "200 200 403 403 200 403 403 404 401 401 401", lambda _: {}),
    Operation("record_history", "get", "/records/{record_id}/history",
              "200 200 200 200 200 200 200 404 401 401 401"),
    # ── Quarantine ──
    Operation("list_quarantine", "get", "/quarantine",
              "200 200 403 403 403 403 200 200 401 401 401"),
    Operation("export_labels", "get", "/quarantine/labels",
              "200 200 403 403 403 403 200 200 401 401 401"),
    Operation("get_quarantine", "get", "/quarantine/{held_id}",
              "200 200 403 403 403 403 200 404 401 401 401"),
    Operation("preview_quarantine", "post", "/quarantine/{held_id}/preview",
              "200 200 403 403 403 403 200 404 401 401 401", lambda _: {}),
    Operation("decide_quarantine", "post", "/quarantine/{held_id}/decision",
              "200 200 403 403 403 403 403 404 401 401 401", _decision),
    Operation("decide_quarantine_bulk", "post", "/quarantine/bulk",
              "200 200 403 403 403 403 403 200 401 401 401", _bulk),
    Operation("undo_quarantine", "post", "/quarantine/{held_id}/undo",
              "200 200 403 403 403 403 403 404 401 401 401", before=_decided),
    Operation("claim_quarantine", "post", "/quarantine/{held_id}/claim",
              "200 200 403 403 403 403 403 404 401 401 401"),
    Operation("rescan_files", "post", "/quarantine/rescan",
              "200 200 403 403 403 403 403 200 401 401 401", lambda _: {"limit": 1}),
    # ── Consolidation ──
    Operation("consolidate_run", "post", "/consolidate/run",
              "200 200 403 403 403 403 403 200 401 401 401", lambda _: {}),
    Operation("list_proposals", "get", "/proposals",
              "200 200 200 200 403 403 200 200 401 401 401"),
    Operation("get_proposal", "get", "/proposals/{proposal_id}",
              "200 200 200 200 403 403 200 404 401 401 401"),
    Operation("approve_proposal", "post", "/proposals/{proposal_id}/approve",
              "200 200 403 403 403 403 403 404 401 401 401", lambda _: {"version": 1}),
    Operation("reject_proposal", "post", "/proposals/{proposal_id}/reject",
              "200 200 403 403 403 403 403 404 401 401 401",
              lambda _: {"version": 1, "reason": "trivial"}),
    # ── The clock ──
    Operation("list_jobs", "get", "/jobs",
              "200 200 403 403 403 403 200 200 401 401 401"),
    Operation("run_job", "post", "/jobs/{job}/run",
              "202 202 403 403 403 403 403 202 401 401 401"),
    # ── Personal data ──
    *(Operation(*row) for row in gdpr_operations.ROWS),
)  # fmt: skip
BY_ID: Final = {operation.id: operation for operation in OPERATIONS}
