"""Tools for models over files, records, earlier sessions and the journal."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Annotated, Any, Final

from pydantic import Field

from memory import tool_registry, workspace_settings
from memory.files import session_search, tools
from memory.integrations.gateway import turns
from memory.integrations.promptkit import executor, extras
from memory.integrations.promptkit.executor import Executor
from memory.integrations.promptkit.protocols import Descriptor
from memory.integrations.promptkit.store import RecordStore
from memory.journal import append as journal
from memory.rules import errors
from memory.rules.entries import NewEntry, Severity
from memory.rules.permissions import Actor
from memory.tool_registry import Arguments, Object, Text, Tool, choice, schema
from memory.workspace_settings.declarations import TOOLS_REQUIRE_USER


class _Entry(Arguments):
    entry_type: Text = Field(
        description="Words joined by full stops, like peer.escalation. "
        "memory.recorded is recalled by meaning later."
    )
    summary: Text = Field(min_length=1)
    severity: Annotated[Severity, choice(Severity)] = Severity.INFO
    payload: Object = {}
    refs: Object = {}
    subjects: list[Text] = Field(
        [], description="Aliases of people the entry is about."
    )


def _append(entry: _Entry, by: Actor) -> dict[str, Any]:
    """Append an entry in the caller's name."""
    new = NewEntry(
        entry_type=entry.entry_type,
        summary=entry.summary,
        severity=entry.severity,
        payload=entry.payload,
        refs=entry.refs,
        subjects=tuple(entry.subjects),
    )
    row = journal.append(new, by=by)
    return {
        "id": row.id,
        "seq": row.seq,
        "ts": journal.stamp(row.ts),
        "entry_hash": row.entry_hash,
    }


JOURNAL_APPEND: Final = Tool(
    name="journal.append",
    title="Append to the journal",
    description="Write down what happened, as one entry of the journal. It cannot be "
    "changed afterwards. summary is one sentence; details go into payload.",
    arguments=_Entry,
    answers=schema(
        id={"type": "string"},
        seq={"type": "integer"},
        ts={"type": "string"},
        entry_hash={"type": "string"},
    ),
    needs=("journal.append",),
    run=_append,
)


# ── Records ──────────────────────────────────────────────────────────────────
NO_USER: Final = (
    " Without an end user (a key issued for one, the header X-End-User, or"
    " crewship/end-user in the request's _meta) this is your own memory, the same for"
    " everyone you speak to; with one, only what you keep about that user."
)


class EndUserRequired(errors.NotFound):
    """The workspace requires an end user, and the request names none."""

    code = "end_user_required"
    sentence = (
        "This workspace has these tools only for an end user: use a key issued for one,"
        " or name the user in the header X-End-User."
    )


def executor_for(by: Actor) -> Executor:
    """Return the executor of the tools, bound to an agent and to its end user.

    The scope already limits a key that is issued for one end user, so the store acts
    with the agent's own rights.
    """
    return Executor(RecordStore(replace(by, only_end_user=False)), scope_of(by))


def scope_of(by: Actor) -> dict[str, str]:
    """Return the scope of an agent's memories; with an end user, of those about it."""
    scope = {"workspace_id": by.workspace_id, "agent_id": by.id}
    return scope | {"user_id": by.end_user} if by.end_user else scope


def has_memories(by: Actor) -> bool:
    """Return whether a caller has the tools over memories.

    Some workspaces require an end user for them.
    """
    required = workspace_settings.value(by.workspace_id, TOOLS_REQUIRE_USER)
    return bool(by.end_user) or not required


def call_by_name(
    name: str, arguments: Mapping[str, Any], *, by: Actor
) -> dict[str, Any]:
    """Call a tool over records by name; errors name the tool."""
    by.require("tools.call")
    if not has_memories(by):
        raise EndUserRequired
    tool = tool_registry.find(name)
    if tool is None or tool not in RECORDS:
        return executor_for(by).execute(None, arguments)
    return tool_registry.call(tool, arguments, by=by)


_TITLES: Final = {
    "memory__recall": "Recall memories",
    "memory__remember": "Remember something",
    "memory__list": "List memories",
    "memory__forget": "Forget a memory",
    "memory__history": "Tell what a memory said before",
    "memory__revise": "Correct a memory",
}
_ARGUMENTS: Final[dict[str, type[Arguments]]] = {
    **executor.ARGUMENTS,
    **extras.ARGUMENTS,
}
_CHANGING: Final = ("memory__remember", "memory__forget", "memory__revise")


def _tool(descriptor: Descriptor) -> Tool:
    changes = descriptor.name in _CHANGING
    forgets = descriptor.name == "memory__forget"
    return Tool(
        name=descriptor.name,
        title=_TITLES[descriptor.name],
        description=descriptor.description + NO_USER,
        arguments=_ARGUMENTS[descriptor.name],
        answers=descriptor.output_schema,
        needs=("tools.call", "memories.write" if changes else "memories.read"),
        run=lambda arguments, by: executor_for(by).execute(descriptor, arguments),
        reads_only=not changes,
        destructive=forgets,
        idempotent=forgets,
        checked=False,
        available=has_memories,
    )


DESCRIPTORS: Final = (*executor.DESCRIPTORS, *extras.EXTRAS)
RECORDS: Final = tuple(_tool(descriptor) for descriptor in DESCRIPTORS)


def descriptors(by: Actor) -> list[Descriptor]:
    """Return the tools over memories as a host registers them; none to nobody."""
    if not by.can("records.read"):
        by.require("memories.read")
    if by.is_agent and not has_memories(by):
        return []
    return [
        replace(descriptor, description=descriptor.description + NO_USER)
        for descriptor in DESCRIPTORS
    ]


def install() -> None:
    """Register them; called at start-up.

    Which strategy the turns of an agent have decides whether it has the tools over
    files and over earlier sessions.
    """
    files = [replace(tool, available=turns.has_memory_tool) for tool in tools.CATALOGUE]
    sessions = replace(session_search.TOOL, available=turns.has_session_search)
    tool_registry.register([*files, *RECORDS, JOURNAL_APPEND, sessions])
