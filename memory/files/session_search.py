"""Search an agent's own entries of earlier sessions by words, newest first.

A session is a trace id; an entry without a trace belongs to none.
"""

from __future__ import annotations

from typing import Annotated, Any, Final

from pydantic import Field

from memory import scanner, tool_registry
from memory.journal import append as journal
from memory.journal import queries
from memory.journal.queries import JournalFilter
from memory.models import JournalEntry
from memory.rules.permissions import Actor
from memory.tool_registry import STORABLE, Arguments, Integer, Tool, schema

LIMIT: Final = 20
MAX_LIMIT: Final = 100
_TEXT: Final = {"type": "string"}


def _hit(row: JournalEntry) -> dict[str, Any]:
    return {
        "id": row.id,
        "session_id": row.trace_id,
        "entry_type": row.entry_type,
        "ts": journal.stamp(row.ts),
        "content": scanner.redact_for_prompt(row.summary),
    }


def search(query: str, *, limit: int = LIMIT, by: Actor) -> list[dict[str, Any]]:
    """Return the agent's own entries that hold words of a query, newest first."""
    if not query.strip():
        raise tool_registry.fault("query", "query must not be blank.")
    filters = JournalFilter(q=query, agent_id=by.id)
    rows = queries.filtered(by, filters).order_by("-ts", "-seq")
    return [_hit(row) for row in rows[: max(1, min(limit, MAX_LIMIT))]]


class _Question(Arguments):
    query: Annotated[str, Field(min_length=1, max_length=4_000), STORABLE]
    limit: Integer = Field(0, json_schema_extra={"minimum": 1, "maximum": MAX_LIMIT})


def _run(question: _Question, by: Actor) -> dict[str, Any]:
    hits = search(question.query, limit=question.limit or LIMIT, by=by)
    return {"query": question.query, "hits": hits, "count": len(hits)}


TOOL: Final = Tool(
    name="session_search",
    title="Search earlier sessions",
    description="Search what you wrote in the journal in earlier sessions, by words, "
    "newest first. Entries of one session share its session_id.",
    arguments=_Question,
    answers=schema(
        query=_TEXT,
        hits={
            "type": "array",
            "items": schema(
                id=_TEXT,
                session_id={"type": ["string", "null"]},
                entry_type=_TEXT,
                ts=_TEXT,
                content=_TEXT,
            ),
        },
        count={"type": "integer"},
    ),
    needs=("tools.call", "journal.read"),
    run=_run,
    reads_only=True,
)
