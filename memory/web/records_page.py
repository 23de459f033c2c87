"""The content of the records' pages: lines of the list, one record, its changes."""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

from django.utils.translation import gettext, gettext_noop, ngettext, pgettext

from memory import figures, records
from memory.models import Record, RecordStatus
from memory.records import Version, bulk
from memory.rules import errors
from memory.rules.bulk import LIMIT, Item, Pick
from memory.rules.permissions import Actor
from memory.web import pages
from memory.web.bulk_page import Confirmation, Report
from memory.web.bulk_page import Line as ConfirmLine
from memory.web.records_forms import FROM

_TOKEN: Final = re.compile(r"\s+|[^\s]+")
EVENTS: Final = {
    "created": (gettext_noop("Recorded"), "green"),
    "updated": (gettext_noop("Revised"), ""),
    "superseded": (gettext_noop("Superseded"), "yellow"),
    "invalidated": (gettext_noop("Forgotten"), "red"),
}


@dataclass(frozen=True, slots=True)
class State:
    """A record's state as a coloured label; the page translates the word."""

    colour: str
    word: str


@dataclass(frozen=True, slots=True)
class Line:
    record: Record
    state: State
    scope: list[tuple[str, str]]
    origin: str


@dataclass(frozen=True, slots=True)
class Piece:
    """A part of a difference: same, added or removed."""

    kind: str
    text: str


@dataclass(frozen=True, slots=True)
class Step:
    """A version with its author and its changes since the one before."""

    version: Version
    author: str
    word: str
    colour: str
    pieces: list[Piece]
    facts: list[tuple[str, str, str]]
    origin: str

    @property
    def has_text(self) -> bool:
        """Whether the version has text; the end of a record has none."""
        return self.version.event in ("created", "updated")


@dataclass(frozen=True, slots=True)
class RecordDetail:
    """Everything on a record's page."""

    line: Line
    steps: list[Step]
    people: list[str]
    sources: list[Record]

    @property
    def record(self) -> Record:
        return self.line.record

    @property
    def text_version_count(self) -> int:
        """How many versions have text."""
        return sum(step.has_text for step in self.steps)

    @property
    def is_current(self) -> bool:
        """Whether the record may be changed."""
        return self.record.status == RecordStatus.CURRENT

    @property
    def is_forgotten(self) -> bool:
        """Whether its text is erased."""
        return self.record.status == RecordStatus.FORGOTTEN


def line(row: Record) -> Line:
    scope = list(records.scope_of(row).as_map().items())
    return Line(row, _state(row), scope, FROM.get(row.provenance, row.provenance))


def _state(row: Record) -> State:
    if row.status == RecordStatus.FORGOTTEN:
        return State("", gettext_noop("Forgotten"))
    if row.status == RecordStatus.SUPERSEDED:
        return State("yellow", gettext_noop("Superseded"))
    return (
        State("yellow", gettext_noop("Expired"))
        if records.is_expired(row)
        else State("green", gettext_noop("Current"))
    )


# ── Many at once ─────────────────────────────────────────────────────────────
@dataclass(frozen=True, slots=True)
class ManyAct:
    """An act on the ticked records, and the sentence about those it changed."""

    service: Callable[..., list[Item]]
    words: tuple[str, str]
    can_undo: bool


ACTS: Final = {
    "expire": ManyAct(
        bulk.expire,
        (
            gettext_noop("{count} record has expired now"),
            gettext_noop("{count} records have expired now"),
        ),
        can_undo=True,
    ),
    "unexpire": ManyAct(
        bulk.unexpire,
        (
            gettext_noop("{count} record holds again"),
            gettext_noop("{count} records hold again"),
        ),
        can_undo=True,
    ),
    "forget": ManyAct(
        bulk.forget,
        (
            gettext_noop("{count} record forgotten"),
            gettext_noop("{count} records forgotten"),
        ),
        can_undo=False,
    ),
    "undo": ManyAct(
        bulk.undo_expiry,
        (
            gettext_noop("{count} record has its former expiry"),
            gettext_noop("{count} records have their former expiry"),
        ),
        can_undo=False,
    ),
}


def report(name: str, items: list[Item], query: str) -> Report:
    act = ACTS[name]
    return Report(
        items=items,
        words=act.words,
        action=pages.address("records:many", query=query),
        item_page="records:detail",
        undo="1" if act.can_undo else "",
    )


def confirm_forget(
    actor: Actor, picks: Sequence[Pick], reason: str, query: str
) -> Confirmation:
    """Return the list of what forgetting the ticked records would erase."""
    versions = {pick.id: pick.version for pick in picks}
    rows = bulk.forgettable(actor, picks)
    if not rows or len(versions) > LIMIT:
        detail = gettext("Tick between 1 and {limit} records that are not forgotten.")
        raise errors.Invalid(detail.format(limit=LIMIT), code="bad_ids")
    lines = [
        ConfirmLine(f"{row.id}:{versions[row.id]}", row.content, _whose(row))
        for row in rows
    ]
    return Confirmation(
        lines=lines,
        words=(
            gettext_noop("Forget this record?"),
            gettext_noop("Forget these {count} records?"),
        ),
        text=gettext(
            "Their text is erased from every version, from the journal and from every "
            "index. That they were there, when they were forgotten and why stays."
        ),
        button=(
            gettext_noop("Forget it for good"),
            gettext_noop("Forget the ticked ones for good"),
        ),
        action=pages.address("records:many", query=query),
        act="forget",
        back=pages.address("records:list", query=query),
        place=gettext("Records"),
        reason=reason,
    )


def _whose(row: Record) -> str:
    whole = gettext("workspace")
    owner = row.agent.slug if row.agent else row.crew.slug if row.crew else whole
    return gettext("{owner} · {kind} · version {number} · {id}").format(
        owner=owner, kind=row.kind, number=row.version, id=row.id
    )


# ── Differences ──────────────────────────────────────────────────────────────
def pieces(before: str, after: str) -> list[Piece]:
    """Return what changed from one text to another, word by word."""
    old, new = _TOKEN.findall(before), _TOKEN.findall(after)
    result: list[Piece] = []
    match = difflib.SequenceMatcher(None, old, new, autojunk=False)
    for kind, i, j, k, m in match.get_opcodes():
        if kind == "equal":
            result.append(Piece("same", "".join(new[k:m])))
            continue
        if j > i:
            result.append(Piece("removed", "".join(old[i:j])))
        if m > k:
            result.append(Piece("added", "".join(new[k:m])))
    return result


def _facts(before: Version, after: Version) -> list[tuple[str, str, str]]:
    """Return the changed fields other than the text: name, before, after."""
    origins = [
        gettext(FROM.get(version.provenance, version.provenance))
        for version in (before, after)
    ]
    degrees = [figures.decimal(version.confidence) for version in (before, after)]
    pairs = [
        (gettext("Type"), before.kind, after.kind),
        (gettext("Confidence"), degrees[0], degrees[1]),
        (pgettext("origin", "From"), origins[0], origins[1]),
    ]
    differences = [pair for pair in pairs if pair[1] != pair[2]]
    if before.metadata != after.metadata:
        count = len(before.metadata)
        names = ngettext("{count} name", "{count} names", count).format(count=count)
        differences.append((gettext("Metadata"), names, gettext("changed")))
    return differences


def _steps(versions: list[Version], authors: dict[str, str]) -> list[Step]:
    steps = []
    for before, now in pairwise([None, *versions]):
        assert now is not None  # noqa: S101  (only the first of the pairs is None)
        word, colour = EVENTS[now.event]
        is_update = before is not None and now.event == "updated"
        steps.append(
            Step(
                version=now,
                author=authors.get(now.entry_id, now.author),
                word=word,
                colour=colour,
                pieces=pieces(before.content, now.content)
                if before and is_update
                else [],
                facts=_facts(before, now) if before and is_update else [],
                origin=FROM.get(now.provenance, now.provenance),
            )
        )
    return steps[::-1]


def detail(actor: Actor, row: Record) -> RecordDetail:
    """Return everything that a record's page shows."""
    versions = records.versions(row)
    return RecordDetail(
        line=line(row),
        steps=_steps(versions, records.authors(versions, by=actor)),
        people=records.subjects_of(row),
        sources=records.sources(row),
    )
