"""The four tools over memory files: schemas, calls, results.

An error that a model can act on is a result with ``ok`` false and a sentence that says
what to do; raised are a missing permission, and outages.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any, Final

from django.utils import timezone
from pydantic import AfterValidator, Field
from pydantic_core import PydanticCustomError

from memory import tool_registry
from memory.files import paths, reading, writer
from memory.files.paths import Owner
from memory.files.writer import Request, WriteResult
from memory.installation import identity as installation
from memory.journal import append as journal
from memory.rules import errors, prompt_fence, tiers
from memory.rules.permissions import Actor
from memory.rules.tiers import Tier, WriteMode
from memory.stored_files.store import RootLost
from memory.tool_registry import Arguments, Integer, Run, Text, Tool, choice, schema

_WRITABLE: Final = [tier for tier in Tier if tiers.RULES[tier].by_tools]


def _writable(tier: Tier) -> Tier:
    if tier not in _WRITABLE:
        names = ", ".join(_WRITABLE)
        raise PydanticCustomError("tier", "Tools write {names}", {"names": names})
    return tier


_Key = Annotated[
    Text | None,
    Field(
        description="Needed for daily and learned: a date YYYY-MM-DD. "
        "Needed for peers: whom the card is about."
    ),
]
_Subjects = Annotated[
    list[Annotated[Text, Field(json_schema_extra={"minLength": 1})]],
    Field(description="Whom the text is about: user ids, e-mail addresses, names."),
]


class _Read(Arguments):
    tier: Annotated[Tier, choice(Tier)]
    key: _Key = None


class _Write(Arguments):
    tier: Annotated[Tier, choice(_WRITABLE), AfterValidator(_writable)]
    key: _Key = None
    content: Text = Field(min_length=1)
    mode: Annotated[WriteMode, choice(WriteMode)]
    subjects: _Subjects = []


class _Search(Arguments):
    q: Text = Field(min_length=1)
    tier: Annotated[Tier | None, choice(Tier)] = None
    limit: Integer = Field(
        0, json_schema_extra={"minimum": 1, "maximum": reading.LIMIT}
    )


class _DailyLine(Arguments):
    entry: Text = Field(min_length=1)
    subjects: _Subjects = []


@dataclass(frozen=True, slots=True)
class Result:
    """A tool's result; ``error`` is a code and a sentence when ``ok`` is false."""

    ok: bool
    content: str
    metadata: dict[str, Any] = field(default_factory=dict)
    error: dict[str, Any] | None = None


# ── Calls ────────────────────────────────────────────────────────────────────
def owner_of(by: Actor) -> Owner:
    """Return the calling agent as an owner of files."""
    return paths.agent_owner(by.workspace_id, by.id)


def _read(owner: Owner, arguments: _Read, by: Actor) -> Result:
    place = tiers.place(arguments.tier, arguments.key)
    text = reading.read(owner, place, by=by)
    if not text.exists:
        is_held = reading.quarantined(owner, place)
        return Result(ok=True, content="", metadata={"held": True} if is_held else {})
    metadata = {"source": text.label, "bytes": text.size, "sha256": text.sha256}
    if reading.quarantined(owner, place):
        metadata["held"] = True
    return Result(ok=True, content=text.text, metadata=metadata)


def _write_result(write: WriteResult, by: Actor) -> Result:
    """Return the result of a write; a nearly full file is handed back with it."""
    content = f"Wrote {write.label}: {write.usage}."
    metadata: dict[str, Any] = {
        "source": write.label,
        "bytes_written": write.size,
        "sha256": write.sha256,
        "cap_bytes": write.cap,
        "cap_pct": round(100 * write.size / write.cap) if write.cap else 0,
        "search_index_updated": True,
        "version_id": write.version.id,
    }
    if write.is_nearly_full:
        body = reading.visible_text(by.workspace_id, write.body, by)
        metadata |= {"usage": write.usage, "current_entries": body}
        content += (
            " The file is nearly full: consolidate it now and write it with mode "
            f"replace. It holds:\n{prompt_fence.around_json({'text': body})}"
        )
    return Result(ok=True, content=content, metadata=metadata)


def _write(owner: Owner, arguments: _Write, by: Actor) -> Result:
    request = Request(
        owner,
        tiers.place(arguments.tier, arguments.key),
        arguments.content,
        arguments.mode,
        "tool",
        subjects=tuple(arguments.subjects),
    )
    return _write_result(writer.write(request, by=by), by)


def _search(owner: Owner, arguments: _Search, by: Actor) -> Result:
    limit = arguments.limit or reading.LIMIT
    result = reading.search(owner, arguments.q, by=by, tier=arguments.tier, limit=limit)
    hits = [
        {
            "source": hit.source,
            "snippet": hit.snippet,
            "line": hit.line,
            "heading": hit.heading,
            "score": hit.score,
        }
        for hit in result.hits
    ]
    content: dict[str, Any] = {"query": arguments.q, "hits": hits}
    if result.quarantined:
        content["quarantined"] = result.quarantined
    return Result(
        ok=True, content=json.dumps(content, ensure_ascii=False), metadata=content
    )


def _append_daily(owner: Owner, arguments: _DailyLine, by: Actor) -> Result:
    now = timezone.now()
    if not arguments.entry.strip():
        raise tool_registry.fault("entry", "entry must not be blank.")
    line = f"- {journal.stamp(now)} — {arguments.entry.strip()}\n"
    place = tiers.place("daily", now.date().isoformat())
    subjects, mode = tuple(arguments.subjects), WriteMode.APPEND
    request = Request(owner, place, line, mode, "tool", subjects=subjects)
    return _write_result(writer.write(request, by=by), by)


_CALLS: Final[dict[str, Callable[[Owner, Any, Actor], Result]]] = {
    "memory.read": _read,
    "memory.write": _write,
    "memory.search": _search,
    "memory.append_daily": _append_daily,
}


# ── The catalogue ────────────────────────────────────────────────────────────
class ToolFailed(errors.Conflict):
    """A result with ``ok`` false as an error, for callers of the registry."""

    code = "tool_failed"


def _run(name: str) -> Run:
    def run(arguments: Mapping[str, Any], by: Actor) -> dict[str, Any]:
        result = call(name, arguments, by=by)
        if not result.ok:
            raise ToolFailed(result.content)
        return {"ok": True, "content": result.content, "metadata": result.metadata}

    return run


_ANSWERS: Final = schema(
    ok={"type": "boolean"},
    content={"type": "string"},
    metadata={"type": "object"},
)
CATALOGUE: Final = (
    Tool(
        name="memory.read",
        title="Read a memory file",
        description="Read one of your memory files, or your crew's.",
        arguments=_Read,
        answers=_ANSWERS,
        needs=("tools.call", "files.read"),
        run=_run("memory.read"),
        checked=False,
        reads_only=True,
    ),
    Tool(
        name="memory.write",
        title="Write a memory file",
        description="Write one of your memory files. Replace states the whole new "
        "text; append adds to the end.",
        arguments=_Write,
        answers=_ANSWERS,
        needs=("tools.call", "files.write"),
        run=_run("memory.write"),
        checked=False,
        destructive=True,
    ),
    Tool(
        name="memory.search",
        title="Search memory files",
        description="Search your memory files and your crew's by words.",
        arguments=_Search,
        answers=_ANSWERS,
        needs=("tools.call", "files.read"),
        run=_run("memory.search"),
        checked=False,
        reads_only=True,
    ),
    Tool(
        name="memory.append_daily",
        title="Add to today's notes",
        description="Add a line with the time to today's notes.",
        arguments=_DailyLine,
        answers=_ANSWERS,
        needs=("tools.call", "files.write"),
        run=_run("memory.append_daily"),
        checked=False,
    ),
)


def _registered() -> list[Tool]:
    return [tool_registry.find(tool.name) or tool for tool in CATALOGUE]


def offered(by: Actor) -> list[Tool]:
    """Return the registered tools over files that a caller may use."""
    return [tool for tool in _registered() if tool.available(by)]


def call(name: str, arguments: Mapping[str, Any], *, by: Actor) -> Result:
    """Call a tool for the agent ``by``; recoverable errors are results."""
    by.require("tools.call")
    tool = next((tool for tool in _registered() if tool.name == name), None)
    # Each of them asks the database whether the caller has it: one, not all.
    if tool is None or not tool.available(by):
        names = ", ".join(tool.name for tool in offered(by)) or "none"
        detail = f"There is no such tool. There are: {names}."
        return Result(
            ok=False, content=detail, error={"code": "unknown_tool", "detail": detail}
        )
    try:
        parsed = tool_registry.parse(tool.arguments, arguments)
        return _CALLS[name](owner_of(by), parsed, by)
    except (errors.Outage, installation.NotReady, RootLost):
        # A model cannot act on these, and would believe an empty text.
        raise
    except errors.AppError as error:
        return _refusal(name, error, by)


def _refusal(name: str, error: errors.AppError, by: Actor) -> Result:
    """Return an error as a result; its content has all a model needs."""
    content = f"{name}: {error.detail}"
    metadata, body = dict(error.fields), error.fields.get("current_entries")
    if body is not None:
        body = reading.visible_text(by.workspace_id, str(body), by)
        metadata["current_entries"] = body
        fenced_text = prompt_fence.around_json({"text": body})
        content += f" {metadata['usage']}. The file holds:\n{fenced_text}"
    problem = {"code": error.problem_code, "detail": error.detail}
    return Result(ok=False, content=content, metadata=metadata, error=problem)
