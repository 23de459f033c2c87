"""Export of the entries that match a filter, as CSV or JSON lines, page by page.

The export is of the chain as it stood when it began; its own entry in the journal comes
after that and is not in it.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict, dataclass
from typing import Any, Final

from memory.journal import append as journal
from memory.journal import queries
from memory.journal.queries import JournalFilter
from memory.models import JournalEntry
from memory.rules import csv_lines, errors
from memory.rules.entries import NewEntry
from memory.rules.permissions import Actor

# How many entries are in memory at once.
PAGE: Final = 500
EXPORTED: Final = "journal.exported"
# How a column of the export is stored, where the names differ.
STORED: Final = {"payload": "payload_text", "refs": "refs_text"}
# Filters whose words may name a person: an export must not become a trace of one.
TEXTS: Final = frozenset({"q", "subject"})
COLUMNS: Final = (
    *("id", "seq", "ts", "recorded_at", "entry_type", "severity", "priority"),
    *("actor_type", "actor_id", "crew_id", "agent_id", "mission_id", "trace_id"),
    *("summary", "payload", "refs", "entry_hash", "erased_at"),
)


@dataclass(frozen=True, slots=True)
class Export:
    """The lines of an export and what they are; ``entries`` is their number."""

    format: str
    content_type: str
    entries: int
    lines: Iterator[str]


def _fields(row: JournalEntry) -> dict[str, Any]:
    fields = {name: getattr(row, name) for name in COLUMNS}
    for name in ("ts", "recorded_at", "erased_at"):
        fields[name] = journal.stamp(fields[name]) if fields[name] else None
    return fields


def _json(value: Any) -> str:
    # Half a surrogate pair, escaped in a payload, has no UTF-8.
    text = json.dumps(value, ensure_ascii=False)
    return text.encode("utf-8", "replace").decode()


def _cell(value: Any) -> Any:
    return csv_lines.Verbatim(_json(value)) if isinstance(value, dict) else value


def _csv(rows: Iterable[JournalEntry]) -> Iterator[str]:
    cells = ([_cell(value) for value in _fields(row).values()] for row in rows)
    return csv_lines.lines(COLUMNS, cells)


def _jsonl(rows: Iterable[JournalEntry]) -> Iterator[str]:
    for row in rows:
        yield _json(_fields(row)) + "\n"


FORMATS: Final[dict[str, tuple[str, Callable[..., Iterator[str]]]]] = {
    "csv": ("text/csv; charset=utf-8", _csv),
    "jsonl": ("application/x-ndjson", _jsonl),
}


def _rows(actor: Actor, filters: JournalFilter, end: int) -> Iterator[JournalEntry]:
    """Yield the entries up to a number, newest first."""
    matching = queries.filtered(actor, filters).filter(seq__lte=end)
    matching = matching.only(*(STORED.get(name, name) for name in COLUMNS))
    rows = list(matching.order_by("-ts", "-seq")[:PAGE])
    while rows:
        yield from rows
        if len(rows) < PAGE:
            return
        older = queries.older(matching, (rows[-1].ts, rows[-1].seq))
        rows = list(older.order_by("-ts", "-seq")[:PAGE])


def _payload(filters: JournalFilter, name: str, entries: int) -> dict[str, Any]:
    values: dict[str, Any] = {}
    for key, value in asdict(filters).items():
        if key in TEXTS:
            value = "set" if value else None
        elif key in ("since", "until"):
            value = journal.stamp(value) if value else None
        if value not in (None, "", ()):
            values[key] = list(value) if isinstance(value, tuple) else value
    return {"format": name, "entries": entries, "filter": values}


def export(actor: Actor, filters: JournalFilter, name: str) -> Export:
    """Begin an export in the format ``name``; people only, and the journal records it.

    The lines are read while they are sent, PAGE entries at a time, without a maximum.
    """
    actor.require("journal.read")
    if actor.is_agent:
        raise errors.Forbidden(role=actor.role.value, action="journal.export")
    if name not in FORMATS:
        raise errors.unknown_value("format", sorted(FORMATS))
    end = queries.chain_length(actor.workspace_id)
    entries = queries.filtered(actor, filters).filter(seq__lte=end).count()
    summary = f"Entries of the journal were exported as {name}"
    payload = _payload(filters, name, entries)
    new = NewEntry(entry_type=EXPORTED, summary=summary, payload=payload)
    journal.write([new], by=actor)
    content_type, write = FORMATS[name]
    return Export(name, content_type, entries, write(_rows(actor, filters, end)))
