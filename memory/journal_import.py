"""Import journal entries from JSON lines: parse, check one by one, append in batches.

A line is what POST /journal takes, plus the slugs of a crew and an agent. A bad line is
reported with its number and skipped; it never stops the rest. The file is streamed, and
neither a line nor a batch can grow without bound.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any, BinaryIO, Final, NoReturn

from django.utils import timezone

from memory.accounts import workspaces
from memory.journal import append as journal
from memory.models import Agent, Crew
from memory.ports import subject_linker
from memory.rules import errors, validation
from memory.rules.entries import NewEntry, Severity
from memory.rules.json_structure import is_within
from memory.rules.permissions import Actor

LINE_BYTES: Final = 4 * 1024 * 1024
# As many as one entry over the API.
LINE_VALUES: Final = 50_000
BATCH: Final = 500
BATCH_BYTES: Final = 8 * 1024 * 1024
BOM: Final = b"\xef\xbb\xbf"
TEXTS: Final = ("mission_id", "trace_id", "span_id", "ts", "crew", "agent", "severity")
OBJECTS: Final = ("payload", "refs")
# Searched for erased people besides the whole line, which has them in quotes.
SEARCHED: Final = (
    "summary", "entry_type", "crew", "agent", "mission_id", "trace_id", "span_id",
)  # fmt: skip
FIELDS: Final = frozenset({"entry_type", "summary", "subjects", *TEXTS, *OBJECTS})


@dataclass(frozen=True, slots=True)
class Line:
    """One line of the file; ``raw`` is None when it is longer than ``LINE_BYTES``."""

    number: int
    size: int
    raw: bytes | None


@dataclass(slots=True)
class Report:
    appended: int = 0
    refused: int = 0


Watch = Callable[[Iterable[Line]], Iterable[Line]]
ReportFault = Callable[[int, str], None]


def _unwatched(lines: Iterable[Line]) -> Iterable[Line]:
    return lines


# ── Reading ──────────────────────────────────────────────────────────────────
def read_lines(source: BinaryIO) -> Iterator[Line]:
    """Yield the lines of a file; for a line that is too long only its length."""
    number = 0
    while raw := source.readline(LINE_BYTES + 1):
        number += 1
        size = len(raw)
        if size <= LINE_BYTES:
            yield Line(number, size, raw.removeprefix(BOM) if number == 1 else raw)
            continue
        while not raw.endswith(b"\n") and (raw := source.readline(LINE_BYTES)):
            size += len(raw)
        yield Line(number, size, None)


class BadLine(errors.Invalid):
    """A line that is no entry; ``plain`` says why without a word of the line."""

    def __init__(self, detail: str, plain: str = "") -> None:
        super().__init__(detail)
        self.plain = plain or detail


def _refuse(message: str, plain: str = "") -> NoReturn:
    raise BadLine(message, plain)


def without_quotes(error: errors.AppError) -> str:
    """Return why a line is refused, without a word of the line."""
    return error.plain if isinstance(error, BadLine) else error.detail


def _pairs(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    result = dict(pairs)
    if len(result) != len(pairs):
        _refuse("an object names a key twice")
    return result


def _constant(name: str) -> NoReturn:
    _refuse(f"{name} is not JSON")


def _object(line: Line) -> dict[str, Any]:
    """Return the JSON object of a line, or raise Invalid."""
    if line.raw is None:
        _refuse(f"the line is longer than {LINE_BYTES} bytes")
    if not is_within(line.raw, values=LINE_VALUES):
        _refuse(f"the JSON nests too deep or holds more than {LINE_VALUES} values")
    try:
        text = line.raw.decode()
        value = json.loads(text, object_pairs_hook=_pairs, parse_constant=_constant)
    except UnicodeDecodeError as error:
        _refuse(f"not UTF-8 at byte {error.start + 1}")
    except RecursionError:
        _refuse("the JSON nests too deep")
    except ValueError as error:
        why = getattr(error, "msg", "a number is too long")
        _refuse(f"not JSON: {why.rstrip(': ')}")
    if not isinstance(value, dict):
        _refuse("not a JSON object")
    return value


def _check_shape(row: dict[str, Any]) -> None:
    """Raise on unknown fields and on fields of the wrong type."""
    unknown = sorted(set(row) - FIELDS)
    if unknown:
        _refuse(f"unknown field {unknown[0][:80]!r}", "unknown field")
    for name in ("entry_type", "summary"):
        if not isinstance(row.get(name), str):
            _refuse(f"{name} is required and is text")
    for name in TEXTS:
        if not isinstance(row.get(name), str | None):
            _refuse(f"{name} is text")
    for name in OBJECTS:
        if not isinstance(row.get(name), dict | None):
            _refuse(f"{name} is an object")
    subjects = row.get("subjects")
    if subjects is None:
        return
    if not isinstance(subjects, list) or not all(isinstance(x, str) for x in subjects):
        _refuse("subjects is a list of texts")


def _moment(value: str | None) -> datetime | None:
    if value is None:
        return None
    try:
        return datetime.fromisoformat(value)
    except ValueError:
        _refuse("ts is not a time such as 2026-11-21T09:30:00Z")


def _searchable(values: Iterable[Any]) -> list[str]:
    """Return the texts among values; half of a character cannot be looked for."""
    texts = [value for value in values if isinstance(value, str)]
    return [text.encode(errors="replace").decode() for text in texts]


def _refuse_erased(row: dict[str, Any], workspace_id: str) -> None:
    """Raise Conflict for a line that names an erased person, in field names too."""
    # By key, as the journal stores objects: it must not refuse later what passed here.
    whole = json.dumps(row, ensure_ascii=False, sort_keys=True)
    texts = _searchable([whole, *(row.get(name) for name in SEARCHED)])
    subjects = row.get("subjects")
    named = _searchable(subjects) if isinstance(subjects, list) else []
    try:
        subject_linker.refuse(workspace_id, texts, named)
    except errors.Conflict as error:
        raise errors.Conflict(f"{error.problem_code}: {error.detail}") from error


def checked(line: Line, workspace_id: str) -> tuple[dict[str, Any], NewEntry]:
    """Return a line's fields and its entry, still without crew and agent.

    Raises why the line is no entry, or names somebody who has to stay out.
    """
    row = _object(line)
    # Before anything else: a fault may quote the line.
    _refuse_erased(row, workspace_id)
    _check_shape(row)
    severity = row.get("severity") or Severity.INFO
    if severity not in list(Severity):
        _refuse(f"severity is one of {', '.join(Severity)}")
    new = NewEntry(
        entry_type=row["entry_type"],
        summary=row["summary"],
        severity=Severity(severity),
        payload=row.get("payload") or {},
        refs=row.get("refs") or {},
        ts=_moment(row.get("ts")),
        subjects=tuple(row.get("subjects") or ()),
        mission_id=row.get("mission_id"),
        trace_id=row.get("trace_id"),
        span_id=row.get("span_id"),
    )
    validation.check(new, timezone.now())
    return row, new


# ── Crews and agents ─────────────────────────────────────────────────────────
@dataclass(slots=True)
class Names:
    """Crews and agents by slug, looked up once; created when ``create`` is set."""

    by: Actor
    create: bool
    crews: dict[str, Crew] = field(default_factory=dict)
    agents: dict[tuple[str, str], Agent] = field(default_factory=dict)

    def crew(self, slug: str) -> Crew:
        if slug not in self.crews:
            rows = Crew.objects.filter(workspace_id=self.by.workspace_id, slug=slug)
            row = rows.first()
            if row is None and self.create:
                row, _ = workspaces.ensure_crew(slug, by=self.by)
            message = f"there is no crew {slug[:64]!r}"
            self.crews[slug] = row or _refuse(message, "there is no such crew")
        return self.crews[slug]

    def agent(self, crew: Crew, slug: str) -> Agent:
        key = (crew.id, slug)
        if key not in self.agents:
            row = Agent.objects.filter(crew=crew, slug=slug).first()
            if row is None and self.create:
                row, _ = workspaces.ensure_agent(slug, crew, by=self.by)
            message = f"there is no agent {slug[:64]!r} in crew {crew.slug!r}"
            plain = "there is no such agent in that crew"
            self.agents[key] = row or _refuse(message, plain)
        return self.agents[key]

    def ids(self, row: dict[str, Any]) -> tuple[str | None, str | None]:
        """Return the ids of a line's crew and agent; an agent needs its crew."""
        crew_slug, agent_slug = row.get("crew"), row.get("agent")
        if crew_slug is None:
            return (None, None) if agent_slug is None else _refuse("agent needs crew")
        crew = self.crew(crew_slug)
        if agent_slug is None:
            return crew.id, None
        return crew.id, self.agent(crew, agent_slug).id


def _entry(line: Line, names: Names) -> NewEntry:
    """Return a line as a checked entry, or raise why it is refused."""
    # Checked before names are looked up: a bad line must not create a crew.
    row, new = checked(line, names.by.workspace_id)
    crew_id, agent_id = names.ids(row)
    return replace(
        new, crew_id=crew_id, agent_id=agent_id, as_agent=agent_id is not None
    )


# ── Appending ────────────────────────────────────────────────────────────────
def _valid_entries(
    lines: Iterable[Line],
    names: Names,
    report_fault: ReportFault,
    report: Report,
    *,
    quotes: bool,
) -> Iterator[tuple[Line, NewEntry]]:
    for line in lines:
        if line.raw is not None and not line.raw.strip():
            continue
        try:
            new = _entry(line, names)
        except errors.AppError as error:
            report.refused += 1
            report_fault(line.number, error.detail if quotes else without_quotes(error))
        else:
            yield line, new


def append(
    lines: Iterable[Line],
    *,
    by: Actor,
    on_refusal: ReportFault,
    create: bool = False,
    quotes: bool = True,
    watch: Watch = _unwatched,
) -> Report:
    """Append every valid line; ``on_refusal`` gets the line and fault of each other.

    Batches commit one by one: what is counted as appended stays. ``quotes`` is whether
    a fault may quote its line; one that is stored may not.
    """
    by.require("journal.import")
    report, names = Report(), Names(by, create)
    batch: list[NewEntry] = []
    size = 0
    valid = _valid_entries(watch(lines), names, on_refusal, report, quotes=quotes)
    for line, new in valid:
        batch.append(new)
        size += line.size
        if len(batch) >= BATCH or size >= BATCH_BYTES:
            report.appended += len(journal.write(batch, by=by))
            batch, size = [], 0
    report.appended += len(journal.write(batch, by=by))
    return report
