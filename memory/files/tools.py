"""The four tools over memory files: schemas, call, answer.

A fault that a model can act on is a result with ``ok`` false and a sentence that says
what to do; nothing is raised but for a missing permission of the whole tool.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from django.utils import timezone

from memory import tool_registry
from memory.files import paths, reading, writer
from memory.files.paths import Owner
from memory.files.storage import RootLost
from memory.files.writer import Request, Written
from memory.installation import identity as installation
from memory.journal import append as journal
from memory.models import Agent
from memory.rules import errors, prompt_fence, tiers
from memory.rules.permissions import Actor
from memory.rules.tiers import Tier, WriteMode
from memory.tool_registry import Run, Tool, schema

_TIERS: Final = [tier.value for tier in Tier]
_WRITABLE: Final = [tier.value for tier in Tier if tiers.RULES[tier].by_tools]
_KEY: Final = {
    "type": "string",
    "description": "Needed for daily and learned: a date YYYY-MM-DD. "
    "Needed for peers: whom the card is about.",
}
_SUBJECTS: Final = {
    "type": "array",
    "items": {"type": "string", "minLength": 1},
    "description": "Whom the text is about: user ids, e-mail addresses, names.",
}


@dataclass(frozen=True, slots=True)
class Result:
    """What a tool answers; ``error`` is a code and a sentence when ``ok`` is false."""

    ok: bool
    content: str
    metadata: dict[str, Any] = field(default_factory=dict)
    error: dict[str, Any] | None = None


# ── Calls ────────────────────────────────────────────────────────────────────
def owner_of(by: Actor) -> Owner:
    """Return the agent behind a key as an owner of files."""
    agents = Agent.objects.select_related("crew__workspace")
    agent = agents.filter(pk=by.id, workspace_id=by.workspace_id).first()
    if agent is None:
        raise errors.NotFound
    return paths.owner_of_agent(agent)


def _read(owner: Owner, given: Mapping[str, Any], by: Actor) -> Result:
    place = tiers.place(given["tier"], given.get("key"))
    text = reading.read(owner, place, by=by)
    if not text.exists:
        held = reading.quarantined(owner, place)
        return Result(ok=True, content="", metadata={"held": True} if held else {})
    told = {"source": text.label, "bytes": text.size, "sha256": text.sha256}
    if reading.quarantined(owner, place):
        told["held"] = True
    return Result(ok=True, content=text.text, metadata=told)


def _told(done: Written, body: str) -> dict[str, Any]:
    told: dict[str, Any] = {
        "source": done.label,
        "bytes_written": done.size,
        "sha256": done.sha256,
        "cap_bytes": done.cap,
        "cap_pct": round(100 * done.size / done.cap) if done.cap else 0,
        "search_index_updated": True,
        "version_id": done.version.id,
    }
    if done.is_nearly_full:
        told |= {"usage": done.usage, "current_entries": body}
    return told


def _done(done: Written, by: Actor) -> Result:
    content = f"Wrote {done.label}: {done.usage}."
    body = reading.shown(by.workspace_id, done.body, by)
    if done.is_nearly_full:
        content += (
            " The file is nearly full: consolidate it now and write it with mode "
            f"replace. It holds:\n{prompt_fence.around_json({'text': body})}"
        )
    return Result(ok=True, content=content, metadata=_told(done, body))


def _write(owner: Owner, given: Mapping[str, Any], by: Actor) -> Result:
    place = tiers.place(given["tier"], given.get("key"))
    mode = WriteMode(given["mode"])
    named = tuple(given.get("subjects") or ())
    request = Request(owner, place, given["content"], mode, "tool", subjects=named)
    return _done(writer.write(request, by=by), by)


def _search(owner: Owner, given: Mapping[str, Any], by: Actor) -> Result:
    tier = Tier(given["tier"]) if given.get("tier") else None
    limit = int(given.get("limit") or reading.LIMIT)
    found = reading.search(owner, given["q"], by=by, tier=tier, limit=limit)
    hits = [
        {
            "source": hit.source,
            "snippet": hit.snippet,
            "line": hit.line,
            "heading": hit.heading,
            "score": hit.score,
        }
        for hit in found.hits
    ]
    told: dict[str, Any] = {"query": given["q"], "hits": hits}
    if found.quarantined:
        told["quarantined"] = found.quarantined
    return Result(ok=True, content=json.dumps(told, ensure_ascii=False), metadata=told)


def _append_daily(owner: Owner, given: Mapping[str, Any], by: Actor) -> Result:
    now = timezone.now()
    if not given["entry"].strip():
        raise tool_registry.fault("entry", "entry must not be blank.")
    line = f"- {journal.stamp(now)} — {given['entry'].strip()}\n"
    place = tiers.place("daily", now.date().isoformat())
    named = tuple(given.get("subjects") or ())
    mode = WriteMode.APPEND
    request = Request(owner, place, line, mode, "tool", subjects=named)
    return _done(writer.write(request, by=by), by)


_CALLS: Final[dict[str, Callable[[Owner, Mapping[str, Any], Actor], Result]]] = {
    "memory.read": _read,
    "memory.write": _write,
    "memory.search": _search,
    "memory.append_daily": _append_daily,
}


# ── The catalogue ────────────────────────────────────────────────────────────
class Failed(errors.Conflict):
    """A tool's own refusal, when whoever asked wants an error and not a result."""

    code = "tool_failed"


def _run(name: str) -> Run:
    def run(given: Mapping[str, Any], by: Actor) -> dict[str, Any]:
        done = call(name, given, by=by)
        if not done.ok:
            raise Failed(done.content)
        return {"ok": True, "content": done.content, "metadata": done.metadata}

    return run


_ANSWERS: Final = schema(
    ["ok", "content", "metadata"],
    ok={"type": "boolean"},
    content={"type": "string"},
    metadata={"type": "object"},
)
CATALOGUE: Final = (
    Tool(
        name="memory.read",
        title="Read a memory file",
        description="Read one of your memory files, or your crew's.",
        schema=schema(["tier"], tier={"type": "string", "enum": _TIERS}, key=_KEY),
        answers=_ANSWERS,
        needs=("tools.call", "files.read"),
        run=_run("memory.read"),
        reads_only=True,
    ),
    Tool(
        name="memory.write",
        title="Write a memory file",
        description="Write one of your memory files. Replace states the whole new "
        "text; append adds to the end.",
        schema=schema(
            ["tier", "content", "mode"],
            tier={"type": "string", "enum": _WRITABLE},
            key=_KEY,
            content={"type": "string", "minLength": 1},
            mode={"type": "string", "enum": [mode.value for mode in WriteMode]},
            subjects=_SUBJECTS,
        ),
        answers=_ANSWERS,
        needs=("tools.call", "files.write"),
        run=_run("memory.write"),
        destructive=True,
    ),
    Tool(
        name="memory.search",
        title="Search memory files",
        description="Search your memory files and your crew's by words.",
        schema=schema(
            ["q"],
            q={"type": "string", "minLength": 1},
            tier={"type": "string", "enum": _TIERS},
            limit={"type": "integer", "minimum": 1, "maximum": reading.LIMIT},
        ),
        answers=_ANSWERS,
        needs=("tools.call", "files.read"),
        run=_run("memory.search"),
        reads_only=True,
    ),
    Tool(
        name="memory.append_daily",
        title="Add to today's notes",
        description="Add a line with the time to today's notes.",
        schema=schema(
            ["entry"], entry={"type": "string", "minLength": 1}, subjects=_SUBJECTS
        ),
        answers=_ANSWERS,
        needs=("tools.call", "files.write"),
        run=_run("memory.append_daily"),
    ),
)


def offered(by: Actor) -> list[Tool]:
    """Return the tools over files that a caller has, as they are registered."""
    registered = [tool_registry.named(tool.name) or tool for tool in CATALOGUE]
    return [tool for tool in registered if tool.available(by)]


def call(name: str, arguments: Mapping[str, Any], *, by: Actor) -> Result:
    """Call a tool for the agent behind ``by``; recoverable faults are results."""
    by.require("tools.call")
    tools = offered(by)
    tool = next((tool for tool in tools if tool.name == name), None)
    if tool is None:
        names = ", ".join(tool.name for tool in tools) or "none"
        detail = f"There is no such tool. There are: {names}."
        return Result(
            ok=False, content=detail, error={"code": "unknown_tool", "detail": detail}
        )
    try:
        tool_registry.check(name, tool.schema, arguments)
        return _CALLS[name](owner_of(by), arguments, by)
    except (errors.Outage, installation.NotReady, RootLost):
        # Nothing a model could mend, and an empty text would be believed.
        raise
    except errors.HouseError as error:
        return _refusal(name, error, by)


def _refusal(name: str, error: errors.HouseError, by: Actor) -> Result:
    """Return a refusal as a result: all a model needs is in its content."""
    content = f"{name}: {error.detail}"
    metadata, body = dict(error.fields), error.fields.get("current_entries")
    if body is not None:
        body = reading.shown(by.workspace_id, str(body), by)
        metadata["current_entries"] = body
        held = prompt_fence.around_json({"text": body})
        content += f" {metadata['usage']}. The file holds:\n{held}"
    told = {"code": error.problem_code, "detail": error.detail}
    return Result(ok=False, content=content, metadata=metadata, error=told)
