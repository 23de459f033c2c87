"""The rest of AtomicMemory's API: health, audit, lifecycle, lessons.

What this server does not implement is 501 with the reason, what is disabled 410.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from memory.integrations.atomicmemory import schemas, serializers
from memory.integrations.atomicmemory.provider import statistics
from memory.integrations.atomicmemory.provider.statistics import RecordScope
from memory.integrations.atomicmemory.session import (
    MAX_PAGE,
    PAGE,
    Disabled,
    NotOffered,
    Session,
    number,
    open_session,
    user_records,
)
from memory.integrations.base import Call, Handler, agent_only, moment
from memory.ports import language_model
from memory.rules import errors


# ── Health ───────────────────────────────────────────────────────────────────
def health(call: Call) -> dict[str, Any]:
    """Return the configuration, with the embedding and language models in use."""
    agent_only(call.by, "records.read")
    model = language_model.current()
    engine, model_name = model.engine(), model.model_name()
    return {
        "status": "ok",
        "config": {
            "retrieval_profile": "hybrid",
            "embedding_provider": engine.provider,
            "embedding_model": engine.model,
            "embedding_dimensions": engine.dimensions,
            "llm_provider": "ollama",
            "llm_model": model_name,
            "clarification_conflict_threshold": 0.85,
            "max_search_results": MAX_PAGE,
            "hybrid_search_enabled": True,
            "iterative_retrieval_enabled": False,
            "entity_graph_enabled": False,
            "cross_encoder_enabled": False,
            "agentic_retrieval_enabled": False,
            "repair_loop_enabled": False,
        },
    }


# ── Audit ────────────────────────────────────────────────────────────────────
def trail(call: Call) -> dict[str, Any]:
    """Return a memory's history, oldest first."""
    session = open_session(call, call.read_query(schemas.OneQuery), "records.read")
    record_id = call.path_params["id"]
    versions = session.provider.versions(session.ref(record_id))
    if not versions:
        raise errors.NotFound
    versions_json = serializers.of_history(record_id, versions)
    return {
        "memory_id": record_id,
        "trail": versions_json,
        "version_count": len(versions_json),
    }


def audit_recent(call: Call) -> dict[str, Any]:
    """Return a user's last mutations, newest first."""
    session = _user(call)
    limit = number(call.query.get("limit"), PAGE, 1, MAX_PAGE)
    user = session.scope.user
    mutations = [
        {**serializers.of_version(record_id, version), "user_id": user}
        for record_id, version in statistics.recent(session.record_scope, limit)
    ]
    return {"mutations": mutations, "count": len(mutations)}


# ── Lifecycle ────────────────────────────────────────────────────────────────
def _user(call: Call) -> Session:
    """Return the session of a query that names a user."""
    return open_session(call, call.read_query(schemas.OneQuery), "records.read")


def _user_of(call: Call, user_id: str, action: str) -> Session:
    """Return the session of a body that names a user, without a workspace."""
    return open_session(call, schemas.OneQuery(user_id=user_id), action)


def _of_user(statistic: Callable[[RecordScope], dict[str, Any]]) -> Handler:
    """Return a handler that answers a statistic of the query's user."""

    def handler(call: Call) -> dict[str, Any]:
        return statistic(_user(call).record_scope)

    return handler


def consolidate(call: Call) -> dict[str, Any]:
    """Return groups of similar memories; only a person merges them."""
    data = call.read(schemas.UserIn)
    session = _user_of(call, data.user_id, "records.read")
    if data.execute:
        raise NotOffered(why="memories are merged by a person, who sees the evidence")
    return statistics.clusters(session.record_scope)


def decay(call: Call) -> dict[str, Any]:
    """Return memories of low retention; nothing is archived without a person."""
    data = call.read(schemas.UserIn)
    session = _user_of(call, data.user_id, "records.read")
    if not data.dry_run:
        raise NotOffered(why="nothing is archived without a person")
    return statistics.decay(session.record_scope)


def reset_source(call: Call) -> dict[str, Any]:
    """Forget a user's memories of one source."""
    data = call.read(schemas.ResetIn)
    session = _user_of(call, data.user_id, "records.write")
    count = statistics.reset_source(user_records(session), data.source_site)
    return {"success": True, "deleted_memories": count, "deleted_episodes": 0}


RECONCILED: Final = (
    "processed resolved noops updates supersedes deletes adds errors duration_ms"
).split()


def reconcile(call: Call) -> dict[str, Any]:
    """Return zeros: every write is complete when it is answered."""
    agent_only(call.by, "records.read")
    return dict.fromkeys(RECONCILED, 0)


def reconcile_status(call: Call) -> dict[str, Any]:
    _user(call)
    return {"enabled": False, "pending": 0}


# ── Lessons ──────────────────────────────────────────────────────────────────
def lessons(call: Call) -> dict[str, Any]:
    """Return what the scanner held for a user: the rules matched, never the text."""
    open_lessons = statistics.lessons(user_records(_user(call)))
    lessons_json = [
        {**lesson, "created_at": moment(lesson["created_at"])}
        for lesson in open_lessons
    ]
    return {"lessons": lessons_json, "count": len(lessons_json)}


def lesson_stats(call: Call) -> dict[str, Any]:
    """Return how many lessons are open, by kind."""
    open_lessons = statistics.lessons(user_records(_user(call)))
    active = sum(lesson["active"] for lesson in open_lessons)
    return {
        "total_active": active,
        "by_type": {"injection_blocked": active} if active else {},
    }


# ── Not offered ──────────────────────────────────────────────────────────────
def _not_offered(reason: str) -> Handler:
    def handler(call: Call) -> Any:
        agent_only(call.by, "records.read")
        raise NotOffered(why=reason)

    return handler


def config(call: Call) -> Any:
    """Refuse with 410: settings are not changed over the API."""
    agent_only(call.by, "records.read")
    raise Disabled


_BY_PERSON: Final = _not_offered("people decide in the quarantine")
_NO_TRUST: Final = _not_offered("trust is given to keys, by an admin")
_NO_STORE: Final = _not_offered("artifacts are not kept here")
_NO_ENTITY: Final = _not_offered("people are handled as subjects, with their rights")
_NOT_INCLUDED: Final = _not_offered("it is not part of this server")

MEMORIES: Final[dict[str, dict[str, Handler]]] = {
    "health": {"GET": health},
    "config": {"PUT": config},
    "audit/summary": {"GET": _of_user(statistics.summary)},
    "audit/recent": {"GET": audit_recent},
    "stats": {"GET": _of_user(statistics.stats)},
    "cap": {"GET": _of_user(statistics.cap)},
    "consolidate": {"POST": consolidate},
    "decay": {"POST": decay},
    "reset-source": {"POST": reset_source},
    "reconcile": {"POST": reconcile},
    "reconcile/status": {"GET": reconcile_status},
    "lessons": {"GET": lessons},
    "lessons/stats": {"GET": lesson_stats},
    "lessons/report": {"POST": _BY_PERSON},
    "lessons/<id>": {"DELETE": _BY_PERSON},
    "verify": {"POST": _NOT_INCLUDED},
    "event-chains": {"GET": _NOT_INCLUDED, "POST": _NOT_INCLUDED},
    "first-mentions/extract": {"POST": _NOT_INCLUDED},
}
OTHER: Final[dict[str, dict[str, Handler]]] = {
    "agents/trust": {"GET": _NO_TRUST, "PUT": _NO_TRUST},
    "agents/conflicts": {"GET": _NO_TRUST},
    "agents/conflicts/auto-resolve": {"POST": _NO_TRUST},
    "agents/conflicts/<id>/resolve": {"PUT": _NO_TRUST},
    "storage/<path:rest>": dict.fromkeys(("GET", "POST", "PUT", "DELETE"), _NO_STORE),
    "entities": {"GET": _NO_ENTITY},
    "entities/<path:rest>": dict.fromkeys(
        ("GET", "POST", "PATCH", "DELETE"), _NO_ENTITY
    ),
    "documents": {"GET": _NOT_INCLUDED, "POST": _NOT_INCLUDED},
    "reflect/flush": {"POST": _NOT_INCLUDED},
    "admin/scope": {"DELETE": _NOT_INCLUDED},
}
