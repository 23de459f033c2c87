"""The tools a model calls: schemas, argument check, call, answer.

A fault that a model can act on is a result with ``ok`` false and a sentence that says
what to do; nothing is raised but for a missing permission of the whole tool.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from django.utils import timezone

from memory import journal
from memory.files import places, reading, scribe
from memory.files.places import Owner
from memory.files.scribe import Request, Written
from memory.models import Agent
from memory.rules import errors, tiers
from memory.rules.actors import Actor
from memory.rules.tiers import Tier, WriteMode

_TIERS: Final = [tier.value for tier in Tier]
_WRITABLE: Final = [tier.value for tier in Tier if tiers.RULES[tier].by_tools]
_KEY: Final = {
    "type": "string",
    "description": "daily, learned: a date YYYY-MM-DD, today if left out. "
    "peers: whom the card is about.",
}


def _schema(required: list[str], **properties: Any) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": properties,
        "required": required,
        "additionalProperties": False,
    }


@dataclass(frozen=True, slots=True)
class Tool:
    """One tool as a model sees it."""

    name: str
    description: str
    schema: dict[str, Any]
    reads_only: bool


CATALOGUE: Final = (
    Tool(
        "memory.read",
        "Read one of your memory files, or your crew's.",
        _schema(["tier"], tier={"type": "string", "enum": _TIERS}, key=_KEY),
        reads_only=True,
    ),
    Tool(
        "memory.write",
        "Write one of your memory files. Replace states the whole new text; append "
        "adds to the end.",
        _schema(
            ["tier", "content", "mode"],
            tier={"type": "string", "enum": _WRITABLE},
            key=_KEY,
            content={"type": "string", "minLength": 1},
            mode={"type": "string", "enum": [mode.value for mode in WriteMode]},
        ),
        reads_only=False,
    ),
    Tool(
        "memory.search",
        "Search your memory files and your crew's by words.",
        _schema(
            ["q"],
            q={"type": "string", "minLength": 1},
            tier={"type": "string", "enum": _TIERS},
            limit={"type": "integer", "minimum": 1, "maximum": reading.LIMIT},
        ),
        reads_only=True,
    ),
    Tool(
        "memory.append_daily",
        "Add a line with the time to today's notes.",
        _schema(["entry"], entry={"type": "string", "minLength": 1}),
        reads_only=False,
    ),
)
NAMES: Final = tuple(tool.name for tool in CATALOGUE)


@dataclass(frozen=True, slots=True)
class Result:
    """What a tool answers; ``error`` is a code and a sentence when ``ok`` is false."""

    ok: bool
    content: str
    metadata: dict[str, Any] = field(default_factory=dict)
    error: dict[str, Any] | None = None


# ── Arguments ────────────────────────────────────────────────────────────────
_KINDS: Final[dict[str, type]] = {"string": str, "integer": int}


def _fault(name: str, message: str) -> errors.Invalid:
    return errors.Invalid(message, code="bad_argument", argument=name)


def _check_value(name: str, rule: Mapping[str, Any], value: object) -> None:
    kind = _KINDS[rule["type"]]
    if not isinstance(value, kind) or isinstance(value, bool):
        raise _fault(name, f"{name} is {rule['type']}.")
    if "enum" in rule and value not in rule["enum"]:
        raise _fault(name, f"{name} is one of {', '.join(rule['enum'])}.")


def check(tool: Tool, arguments: Mapping[str, Any]) -> None:
    """Raise Invalid when arguments do not fit a tool's schema."""
    properties = tool.schema["properties"]
    for name in sorted(set(arguments) - set(properties)):
        raise _fault(name[:40], f"{tool.name} knows no argument {name[:40]}.")
    for name in tool.schema["required"]:
        if arguments.get(name) in (None, ""):
            raise _fault(name, f"{name} is required.")
    for name, value in arguments.items():
        if value is not None:
            _check_value(name, properties[name], value)


# ── Calls ────────────────────────────────────────────────────────────────────
def owner_of(by: Actor) -> Owner:
    """Return the agent behind a key as an owner of files."""
    agents = Agent.objects.select_related("crew__workspace")
    agent = agents.filter(pk=by.id, workspace_id=by.workspace_id).first()
    if agent is None:
        raise errors.NotFound
    return places.owner_of_agent(agent)


def _read(owner: Owner, given: Mapping[str, Any], by: Actor) -> Result:
    place = tiers.place(given["tier"], given.get("key"), today=timezone.now().date())
    text = reading.read(owner, place, by=by)
    if not text.exists:
        held = reading.quarantined(owner, place)
        return Result(ok=True, content="", metadata={"held": True} if held else {})
    told = {"source": text.label, "bytes": text.size, "sha256": text.sha256}
    if reading.quarantined(owner, place):
        told["held"] = True
    return Result(ok=True, content=text.text, metadata=told)


def _told(done: Written) -> dict[str, Any]:
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
        told |= {"usage": done.usage, "current_entries": done.body}
    return told


def _done(done: Written) -> Result:
    content = f"Wrote {done.label}: {done.usage}."
    if done.is_nearly_full:
        content += (
            " The file is nearly full: consolidate it now and write it with mode "
            f"replace. It holds:\n{done.body}"
        )
    return Result(ok=True, content=content, metadata=_told(done))


def _write(owner: Owner, given: Mapping[str, Any], by: Actor) -> Result:
    place = tiers.place(given["tier"], given.get("key"), today=timezone.now().date())
    mode = WriteMode(given["mode"])
    request = Request(owner, place, given["content"], mode, "tool")
    return _done(scribe.write(request, by=by))


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
        raise _fault("entry", "entry must not be blank.")
    line = f"- {journal.stamp(now)} — {given['entry'].strip()}\n"
    place = tiers.place("daily", None, today=now.date())
    request = Request(owner, place, line, WriteMode.APPEND, "tool")
    return _done(scribe.write(request, by=by))


_CALLS: Final[dict[str, Callable[[Owner, Mapping[str, Any], Actor], Result]]] = {
    "memory.read": _read,
    "memory.write": _write,
    "memory.search": _search,
    "memory.append_daily": _append_daily,
}


def call(name: str, arguments: Mapping[str, Any], *, by: Actor) -> Result:
    """Call a tool for the agent behind ``by``; recoverable faults are results."""
    by.require("tools.call")
    tool = next((one for one in CATALOGUE if one.name == name), None)
    if tool is None:
        detail = f"There is no such tool. There are: {', '.join(NAMES)}."
        return Result(
            ok=False, content=detail, error={"code": "unknown_tool", "detail": detail}
        )
    try:
        check(tool, arguments)
        return _CALLS[name](owner_of(by), arguments, by)
    except errors.HouseError as error:
        return _refusal(name, error)


def _refusal(name: str, error: errors.HouseError) -> Result:
    """Return a refusal as a result: all a model needs is in its content."""
    content = f"{name}: {error.detail}"
    body = error.fields.get("current_entries")
    if body is not None:
        content += f" {error.fields['usage']}. The file holds:\n{body}"
    told = {"code": error.problem_code, "detail": error.detail}
    return Result(ok=False, content=content, metadata=dict(error.fields), error=told)
