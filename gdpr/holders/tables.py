"""Plain tables that can name a person, described by their columns.

Most places are a table whose texts either say something (``words``), say who did
something (``labels``), or must stay as they are (``keeps``). What differs between them
is a few facts, so they are facts here and not classes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from django.db import models, transaction
from django.db.models import Q

from gdpr.holders import words
from gdpr.holders.base import Fate, Found, Person, Trace
from gdpr.holders.journal import followed
from memory.rules import entries


class Rule(StrEnum):
    """What becomes of a row whose words name a person.

    ABOUT: gone, or masked when it names others too; GONE: always gone; MASKED: the row
    has to stay, its words are masked.
    """

    ABOUT = "about"
    GONE = "gone"
    MASKED = "masked"


def in_workspace(workspace_id: str) -> Q:
    """Return the condition of tables that carry their workspace."""
    return Q(workspace_id=workspace_id)


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """One table of a place.

    ``jsons`` names the columns that hold JSON as text. ``entry`` names the column that
    may hold ids of journal entries, so that a row made from an entry goes with it.
    ``mend`` brings what was computed from the words in line after masking.
    """

    model: type[models.Model]
    words: tuple[str, ...] = ()
    labels: tuple[str, ...] = ()
    keeps: tuple[str, ...] = ()
    jsons: tuple[str, ...] = ()
    rule: Rule = Rule.ABOUT
    why: str = "It names the person."
    why_kept: str = ""
    within: Callable[[str], Q] = in_workspace
    at: str = ""
    unique: tuple[str, ...] = ()
    entry: str = ""
    mend: Callable[[Any], None] | None = None

    @property
    def label(self) -> str:
        """The table as ``app.Model``."""
        return self.model._meta.label

    @property
    def key(self) -> str:
        """The table's short name, before the ids of its rows."""
        return str(self.model._meta.model_name)

    def rows(self, workspace_id: str) -> models.QuerySet[models.Model]:
        """Return the table's rows of a workspace."""
        return self.model._default_manager.filter(self.within(workspace_id))

    def text(self, row: Mapping[str, Any], columns: Sequence[str]) -> str:
        """Return what the given columns of a row say, as one text."""
        return words.joined(
            words.from_json(row[name] or "")
            if name in self.jsons
            else words.plain(row[name])
            for name in columns
        )

    def read(self, workspace_id: str) -> Iterator[dict[str, Any]]:
        """Return every row's texts, in short queries, so that no reader stays open."""
        names = {"pk", *self.words, *self.labels, *self.keeps}
        names |= {name for name in (self.at, self.entry) if name}
        rows, last = self.rows(workspace_id).order_by("pk"), None
        while True:
            chunk = list(
                (rows if last is None else rows.filter(pk__gt=last)).values(*names)[
                    : words.CHUNK
                ]
            )
            yield from chunk
            if len(chunk) < words.CHUNK:
                return
            last = chunk[-1]["pk"]


class Family:
    """A place made of one table, or of a few that belong together.

    Row ids of the first table are primary keys, those of the others begin with the
    table's name: ``recallcheckrun:12``.
    """

    derived = False
    files: tuple[str, ...] = ()

    def __init__(self, name: str, title: str, *tables: Table) -> None:
        self.name, self.title = name, title
        self._tables = tables

    @property
    def tables(self) -> tuple[str, ...]:
        """The labels of the tables."""
        return tuple(table.label for table in self._tables)

    # ── Finding ──────────────────────────────────────────────────────────────
    def find(self, person: Person) -> Iterator[Found]:
        """Return every row that names the person."""
        for table in self._tables:
            for row in table.read(person.workspace_id):
                found = self._judge(table, row, person)
                if found is not None:
                    yield found

    def _row_id(self, table: Table, pk: object) -> str:
        return str(pk) if table is self._tables[0] else f"{table.key}:{pk}"

    def _judge(
        self, table: Table, row: Mapping[str, Any], person: Person
    ) -> Found | None:
        row_id, at = self._row_id(table, row["pk"]), row.get(table.at)
        said = table.text(row, table.words)
        if self._is_about(table, row, row_id, said, person):
            fate = self._fate(table, row_id, said, person)
            return Found(row_id, fate, table.why, words.sample(person, said), at)
        who = table.text(row, table.labels)
        if who and person.matcher.names(who):
            why = "It says that the person did this; the name is masked."
            return Found(row_id, Fate.REDACT, why, words.sample(person, who), at)
        kept = table.text(row, table.keeps)
        if kept and person.matcher.names(kept):
            return Found(row_id, Fate.KEEP, table.why_kept, "", at)
        return None

    def _is_about(
        self,
        table: Table,
        row: Mapping[str, Any],
        row_id: str,
        said: str,
        person: Person,
    ) -> bool:
        if row_id in person.linked(self.name):
            return True
        if said and person.matcher.names(said):
            return True
        if not table.entry:
            return False
        text = words.plain(row[table.entry])
        return any(one in followed(person) for one in words.entry_ids(text))

    def _fate(self, table: Table, row_id: str, said: str, person: Person) -> Fate:
        if table.rule is Rule.GONE:
            return Fate.DELETE
        if table.rule is Rule.MASKED:
            return Fate.REDACT
        shared = person.shared.get("journal", frozenset())
        if table.entry and shared.intersection(words.entry_ids(said)):
            return Fate.REDACT
        return person.fate(self.name, row_id, said)

    # ── Reading ──────────────────────────────────────────────────────────────
    def _split(self, row_ids: Iterable[str]) -> Iterator[tuple[Table, list[Any]]]:
        """Return each table with the primary keys of its rows among the ids."""
        by_key = {table.key: table for table in self._tables[1:]}
        found: dict[str, list[Any]] = {}
        for row_id in row_ids:
            key, colon, pk = row_id.partition(":")
            own = bool(colon) and key in by_key
            found.setdefault(key if own else "", []).append(pk if own else row_id)
        for key, pks in found.items():
            table = by_key.get(key, self._tables[0])
            field = table.model._meta.pk
            yield table, [field.to_python(pk) for pk in pks]

    def _rows(
        self, person: Person, row_ids: Sequence[str]
    ) -> Iterator[tuple[Table, dict[str, Any]]]:
        for part in words.batches(row_ids):
            for table, pks in self._split(part):
                names = ("pk", *table.words, *table.labels, *table.keeps)
                rows = table.rows(person.workspace_id).filter(pk__in=pks)
                for row in rows.order_by("pk").values(*names):
                    yield table, row

    def export(self, person: Person, rows: Iterable[Found]) -> Iterator[dict[str, Any]]:
        """Return rows with everything they say; other people are masked."""
        for table, row in self._rows(person, [found.row_id for found in rows]):
            told = {
                name: words.masked(person.others, _readable(value), words.OTHERS)
                for name, value in row.items()
                if name != "pk"
            }
            yield {"place": self.name, "id": self._row_id(table, row["pk"]), **told}

    def tokens(self, person: Person, row_ids: Sequence[str]) -> Iterator[bytes]:
        """Return the long words of rows."""
        for table, row in self._rows(person, row_ids):
            yield from words.rare(table.text(row, table.words))

    # ── Destroying ───────────────────────────────────────────────────────────
    def erase(self, person: Person, row_ids: Sequence[str]) -> int:
        """Delete rows, with what hangs on them; return how many there were."""
        done = 0
        with transaction.atomic():
            for table, pks in self._split(row_ids):
                rows = table.rows(person.workspace_id).filter(pk__in=pks)
                done += rows.delete()[1].get(table.label, 0)
        return done

    def redact(self, person: Person, row_ids: Sequence[str]) -> int:
        """Mask the person in rows; return how many there were."""
        done = 0
        with transaction.atomic():
            for table, pks in self._split(row_ids):
                rows = table.rows(person.workspace_id).filter(pk__in=pks)
                # A plan's rows can be megabytes: what is not masked is neither read
                # nor written.
                some = rows.only("pk", *table.words, *table.labels)
                locked = some.select_for_update(of=("self",)).order_by("pk")
                for row in locked:
                    _mask_row(table, row, person)
                    done += 1
        return done

    # ── Looking again ────────────────────────────────────────────────────────
    def verify(self, person: Person) -> Iterator[Trace]:
        """Return rows that still name the person, what is kept with a reason apart."""
        for table in self._tables:
            columns = (*table.words, *table.labels)
            for row in table.read(person.workspace_id) if columns else ():
                text = table.text(row, columns)
                if text and person.matcher.names(text):
                    yield Trace(self.name, self._row_id(table, row["pk"]), "row")

    def stays(self, person: Person) -> Iterator[str]:
        """Return kept texts that name the person."""
        for table in self._tables:
            for row in table.read(person.workspace_id) if table.keeps else ():
                text = table.text(row, table.keeps)
                if text and person.matcher.names(text):
                    yield text


def _readable(value: Any) -> Any:
    is_bytes = isinstance(value, (bytes, bytearray, memoryview))
    return words.plain(value) if is_bytes else value


def _mask_row(table: Table, row: models.Model, person: Person) -> None:
    """Mask the words and labels of a row, and what was computed from them."""
    for name in (*table.words, *table.labels):
        field = table.model._meta.get_field(name)
        left = _left(table, name, getattr(row, name), person)
        if name in table.unique and left != getattr(row, name):
            left = f"{left} {row.pk}"
        limit = getattr(field, "max_length", None)
        if limit and isinstance(left, str):
            left = left[-limit:] if name in table.unique else left[:limit]
        setattr(row, name, left)
    if table.mend is not None:
        table.mend(row)
    row.save()


def _left(table: Table, name: str, value: Any, person: Person) -> Any:
    if value is None:
        return None
    if name in table.jsons:
        return entries.canonical(words.masked(person.matcher, words.parsed(value)))
    if isinstance(value, (bytes, bytearray, memoryview)):
        return words.masked_bytes(person.matcher, bytes(value))
    return words.masked(person.matcher, value)
