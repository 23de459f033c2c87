"""The format of a journal entry: enums, limits, text, canonical form."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Any, Final

from memory.rules import errors
from memory.rules.translation import gettext

SUMMARY_BYTES: Final = 4_096
JSON_BYTES: Final = 262_144
REFS_BYTES: Final = 65_536
JSON_DEPTH: Final = 32
BODY_CHARS: Final = 65_536
ID_CHARS: Final = 128
SUBJECTS: Final = 50
SUBJECT_CHARS: Final = 320
TYPE_PATTERN: Final = r"^[a-z][a-z0-9_]*(\.[a-z0-9_]+)+$"
TYPE_CHARS: Final = 80
# Certificates count these entries.
BACKUP_MADE: Final = "installation.backup_made"
FUTURE_SECONDS: Final = 300
# An entry's row number in the word index: workspace number, then 40 bits of seq.
SEQ_BITS: Final = 40
EARLIEST_YEAR: Final = 2000
# Audit entries of the gateway: in the chain, but not in the word index.
UNSEARCHED: Final = "memory_gateway."
# A rule that a person approved; with a crew and no agent it is for every member.
RULE_TYPE: Final = "memory.consolidated"
RESERVED: Final = (UNSEARCHED, "gdpr.", "memory.priority_changed")


class Severity(StrEnum):
    INFO = "info"
    NOTICE = "notice"
    WARN = "warn"
    ERROR = "error"


class Priority(StrEnum):
    """Set by operators; agents never set it on their own entries."""

    NORMAL = "normal"
    HIGH = "high"
    PIN = "pin"
    PERMANENT = "permanent"


class ActorType(StrEnum):
    AGENT = "agent"
    USER = "user"
    SYSTEM = "system"
    KEEPER = "keeper"
    SIDECAR = "sidecar"
    ORCHESTRATOR = "orchestrator"


@dataclass(frozen=True, slots=True, kw_only=True)
class NewEntry:
    """One entry as a caller passes it; the journal fills in what is unset."""

    entry_type: str
    summary: str
    severity: Severity = Severity.INFO
    payload: dict[str, Any] = field(default_factory=dict)
    refs: dict[str, Any] = field(default_factory=dict)
    crew_id: str | None = None
    agent_id: str | None = None
    mission_id: str | None = None
    trace_id: str | None = None
    span_id: str | None = None
    ts: datetime | None = None
    subjects: tuple[str, ...] = ()
    # The author is the agent, although an import appends the entry.
    as_agent: bool = False


# Made once: ``json.dumps`` would make one for every value.
_CANONICAL: Final = json.JSONEncoder(
    sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False
)


def canonical(value: object) -> str:
    """Return the one JSON text of a value: sorted keys, no spaces, no NaN.

    The journal stores and hashes this text itself, because a database that normalises
    JSON would change the bytes under the hash.
    """
    return _CANONICAL.encode(value)


def depth(value: object, limit: int = JSON_DEPTH) -> int:
    """Return how deep a JSON value nests, stopping one past ``limit``."""
    level, layer = 0, [value]
    while level <= limit:
        below: list[object] = []
        for item in layer:
            if isinstance(item, dict):
                below.extend(item.values())
            elif isinstance(item, list):
                below.extend(item)
        if not any(isinstance(item, (dict, list)) for item in layer):
            return level
        level, layer = level + 1, below
    return level


def leaves(value: object) -> list[str]:
    """Return the text of every string and number in a JSON value.

    The order is that of the canonical text, by key, so that the stored text gives it.
    """
    texts_found: list[str] = []
    stack: list[object] = [value]
    while stack:
        item = stack.pop()
        if isinstance(item, dict):
            # A key is text in the stored form, whatever it was before.
            stack.extend(item[key] for key in sorted(item, key=str, reverse=True))
        elif isinstance(item, (list, tuple)):
            stack.extend(reversed(item))
        elif isinstance(item, str):
            texts_found.append(item)
        elif isinstance(item, (int, float)) and not isinstance(item, bool):
            texts_found.append(str(item))
    return texts_found


def texts(value: object) -> Iterator[str]:
    """Yield every text of a JSON value, the names of its members too."""
    stack: list[object] = [value]
    while stack:
        item = stack.pop()
        if isinstance(item, str):
            yield item
        elif isinstance(item, dict):
            stack.extend(item)
            stack.extend(item.values())
        elif isinstance(item, list):
            stack.extend(item)


def body_of(entry_type: str, payload: dict[str, Any]) -> str:
    """Return the text of an entry for the word index: its values, never its keys.

    It depends on the type and the payload alone, and both are under the entry's hash:
    verifying the chain computes it again and compares.
    """
    if entry_type.startswith(UNSEARCHED):
        return ""
    body = "\n".join(leaf for leaf in leaves(payload) if leaf)[:BODY_CHARS]
    # New payloads hold no NUL; older ones may, and their words must stay the same.
    return body.replace("\x00", " ")


_TYPE = re.compile(TYPE_PATTERN)


def is_type(value: str) -> bool:
    """Whether a string is a well-formed entry type such as ``peer.escalation``."""
    return len(value) <= TYPE_CHARS and _TYPE.fullmatch(value) is not None


def round_ms(moment: datetime) -> datetime:
    """Return a moment cut to whole milliseconds, the journal's resolution."""
    return moment.replace(microsecond=moment.microsecond // 1000 * 1000)


def is_storable(text: str) -> bool:
    """Whether every database can store the text: no NUL, no half surrogate."""
    if "\x00" in text:
        return False
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def check_storable(*texts: str) -> None:
    """Raise Invalid ``bad_text`` for a text that a database cannot store."""
    if not all(map(is_storable, texts)):
        detail = gettext("A text holds a NUL or half a surrogate pair.")
        raise errors.Invalid(detail, code="bad_text")
