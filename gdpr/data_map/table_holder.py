"""Holders of plain tables that can name a person, declared by their columns.

Most places are tables whose texts are free text (``words``), names of who did
something (``labels``), written by the program (``facts``), or must stay unchanged
(``keeps``). They differ in a few attributes only, so they are declared as data.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any
from urllib.parse import parse_qs, urlencode

from django.db import models, transaction
from django.utils.translation import gettext_noop

from gdpr.data_map import export_columns, row_text
from gdpr.data_map.base import Fate, Holder, Person, RowMatch, Trace
from gdpr.data_map.journal import entries_naming
from gdpr.matching import name_fields
from gdpr.matching.matcher import Sign
from memory.rules import entries
from memory.rules.tiers import Tier


class Rule(StrEnum):
    """What happens to a row whose words name a person.

    BY_CONTENT: deleted, or masked when it names others too; GONE: always deleted;
    MASKED: the row has to stay, its words are masked.
    """

    BY_CONTENT = "about"
    GONE = "gone"
    MASKED = "masked"


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """One table of a place.

    ``workspace`` and ``owner`` are the look-ups of the workspace and of the person
    whose row it is; that row is never doubtful, and with ``owned``, the reason, it is
    deleted whatever it says. ``jsons`` are columns with JSON as text, ``queries`` with
    the query of an address. ``entry`` is a column that may hold ids of journal entries,
    so that a row made from an entry is erased with it. ``facts`` are columns that the
    program fills: their keys and numbers stay. ``system`` tables have no free text:
    only sure matches count. ``cards``: a row of the peer tier is about the person whom
    its ``key`` names. ``mend`` updates values computed from columns.
    """

    model: type[models.Model]
    words: tuple[str, ...] = ()
    labels: tuple[str, ...] = ()
    keeps: tuple[str, ...] = ()
    facts: tuple[str, ...] = ()
    system: bool = False
    cards: bool = False
    jsons: tuple[str, ...] = ()
    queries: tuple[str, ...] = ()
    rule: Rule = Rule.BY_CONTENT
    why: str = gettext_noop("It names the person.")
    keep_reason: str = ""
    workspace: str = "workspace_id"
    owner: str = ""
    owned: str = ""
    at: str = ""
    unique: tuple[str, ...] = ()
    entry: str = ""
    mend: Callable[[Any], None] | None = None

    @property
    def label(self) -> str:
        """The model as ``app.Model``."""
        return self.model._meta.label

    @property
    def key(self) -> str:
        """The model's name, the prefix of row ids."""
        return str(self.model._meta.model_name)

    def rows(self, workspace_id: str) -> models.QuerySet[models.Model]:
        return self.model._default_manager.filter(**{self.workspace: workspace_id})

    def text(self, row: Mapping[str, Any], columns: Sequence[str]) -> str:
        card = self.cards and "key" in columns and row.get("tier") == Tier.PEERS
        card_owner = [row_text.plain(row["key"], "handle")] if card else []
        return row_text.join_texts(
            card_owner
            + [
                name_fields.json_as_text(row[name] or "")
                if name in self.jsons
                else row_text.plain(self.readable(name, row[name]), name)
                for name in columns
            ]
        )

    def readable(self, name: str, value: Any) -> Any:
        """Return a column's value as people read it: bytes as text, a query parsed."""
        if name in self.queries:
            return parse_qs(value or "", keep_blank_values=True)
        is_bytes = isinstance(value, (bytes, bytearray, memoryview))
        return row_text.plain(value) if is_bytes else value

    def sign(self, person: Person, row_id: str, text: str, place: str) -> Sign:
        sign = person.sign(place, row_id, text) if text else Sign.NONE
        return Sign.NONE if self.system and sign is not Sign.SURE else sign

    def names_in_facts(self, person: Person, row: Mapping[str, Any]) -> bool:
        own, quoted = (
            row_text.join_texts(
                text
                for name in self.facts
                for text in row_text.facts(row[name], quoted=quoted)
            )
            for quoted in (False, True)
        )
        sure = bool(own) and bool(person.matcher.only_sure().names(own))
        return sure or (bool(quoted) and bool(person.matcher.names(quoted)))

    def read(self, workspace_id: str) -> Iterator[dict[str, Any]]:
        names = {"pk", *self.words, *self.labels, *self.keeps, *self.facts}
        names |= {name for name in (self.at, self.entry) if name}
        names |= {"tier"} if self.cards else set()
        return row_text.in_chunks(self.rows(workspace_id).values(*names))


class TableHolder(Holder):
    """A holder of one table, or of a few that belong together.

    Row ids of the first table are primary keys, those of the others have the model's
    name as prefix: ``recallcheckrun:12``.
    """

    def __init__(self, name: str, title: str, *tables: Table) -> None:
        self.name, self.title = name, title
        self.tables = tuple(table.label for table in tables)
        self._tables = tables

    @property
    def declarations(self) -> tuple[Table, ...]:
        """The tables as they were declared."""
        return self._tables

    # ── Finding ──────────────────────────────────────────────────────────────
    def find(self, person: Person) -> Iterator[RowMatch]:
        own = self.own(person)
        for table in self._tables:
            for row in table.read(person.workspace_id):
                match = self._judge(table, row, person, own)
                if match is not None:
                    yield match

    def own(self, person: Person) -> set[str]:
        """Return the rows of the person, by the ``owner`` of their tables."""
        return {
            self._row_id(table, pk)
            for table in self._tables
            if table.owner
            for pk in table.rows(person.workspace_id)
            .filter(**{table.owner: person.subject_id})
            .values_list("pk", flat=True)
        }

    def _row_id(self, table: Table, pk: object) -> str:
        return str(pk) if table is self._tables[0] else f"{table.key}:{pk}"

    def _judge(
        self, table: Table, row: Mapping[str, Any], person: Person, own: set[str]
    ) -> RowMatch | None:
        row_id, at = self._row_id(table, row["pk"]), row.get(table.at)
        is_own = row_id in own
        if is_own and table.owned:
            return RowMatch(row_id, Fate.DELETE, table.owned)
        text = table.text(row, table.words)
        sign = self._sign(table, row, row_id, text, person)
        if sign is not Sign.NONE:
            fate = self._fate(table, row_id, text, person)
            sample = row_text.sample(person, text)
            doubt = sign is not Sign.SURE and not is_own
            form = person.matcher.form(text) if doubt else ""
            return RowMatch(row_id, fate, table.why, sample, at, doubt, form)
        label_text = table.text(row, table.labels)
        sign = table.sign(person, "", label_text, self.name)
        if sign is not Sign.NONE:
            reason = gettext_noop(
                "It says that the person did this; the name is masked."
            )
            sample = row_text.sample(person, label_text)
            doubt = sign is not Sign.SURE and not is_own
            form = person.matcher.form(label_text) if doubt else ""
            return RowMatch(row_id, Fate.REDACT, reason, sample, at, doubt, form)
        if table.facts and table.names_in_facts(person, row):
            return RowMatch(row_id, Fate.REDACT, table.why, "", at)
        kept_text = table.text(row, table.keeps)
        if table.sign(person, "", kept_text, self.name) is not Sign.NONE:
            return RowMatch(row_id, Fate.KEEP, table.keep_reason, "", at)
        return None

    def _sign(
        self,
        table: Table,
        row: Mapping[str, Any],
        row_id: str,
        row_words: str,
        person: Person,
    ) -> Sign:
        if table.entry:
            entry_ids = row_text.entry_ids(row_text.plain(row[table.entry]))
            if entry_ids and not entries_naming(person).isdisjoint(entry_ids):
                return Sign.SURE
        if row_id in person.linked(self.name):
            return person.sign(self.name, row_id, row_words)
        return table.sign(person, row_id, row_words, self.name)

    def _fate(self, table: Table, row_id: str, row_words: str, person: Person) -> Fate:
        if table.rule is Rule.GONE:
            return Fate.DELETE
        if table.rule is Rule.MASKED:
            return Fate.REDACT
        shared_ids = person.shared.get("journal", frozenset())
        if table.entry and shared_ids.intersection(row_text.entry_ids(row_words)):
            return Fate.REDACT
        return person.fate(self.name, row_id, row_words)

    # ── Reading ──────────────────────────────────────────────────────────────
    def _split(self, row_ids: Iterable[str]) -> Iterator[tuple[Table, list[Any]]]:
        """Yield each table with the primary keys of its rows among the ids."""
        by_key = {table.key: table for table in self._tables[1:]}
        pks_by_key: dict[str, list[Any]] = {}
        for row_id in row_ids:
            key, colon, pk = row_id.partition(":")
            own = bool(colon) and key in by_key
            pks_by_key.setdefault(key if own else "", []).append(pk if own else row_id)
        for key, pks in pks_by_key.items():
            table = by_key.get(key, self._tables[0])
            field = table.model._meta.pk
            yield table, [field.to_python(pk) for pk in pks]

    def _rows(
        self, person: Person, row_ids: Sequence[str], *, to_export: bool = False
    ) -> Iterator[tuple[Table, dict[str, Any]]]:
        for part in row_text.batches(row_ids):
            for table, pks in self._split(part):
                more = export_columns.of(table.label) if to_export else ()
                names = dict.fromkeys((
                    "pk", *table.words, *table.labels, *table.keeps, *table.facts, *more
                ))  # fmt: skip
                rows = table.rows(person.workspace_id).filter(pk__in=pks)
                for row in rows.order_by("pk").values(*names):
                    yield table, row

    def export(
        self, person: Person, rows: Iterable[RowMatch]
    ) -> Iterator[dict[str, Any]]:
        """Yield rows with all their columns; other people are masked."""
        ids = [match.row_id for match in rows]
        for table, row in self._rows(person, ids, to_export=True):
            row_id, values = self._row_id(table, row.pop("pk")), dict[str, Any]()
            for name, value in row.items():
                readable_value = export_columns.as_json(table.readable(name, value))
                values[name] = row_text.without_others(person, readable_value)
            yield {"place": self.name, "id": row_id, **values}

    def tokens(self, person: Person, row_ids: Sequence[str]) -> Iterator[bytes]:
        for table, row in self._rows(person, row_ids):
            yield from row_text.rare(table.text(row, table.words))

    # ── Erasing ──────────────────────────────────────────────────────────────
    def erase(self, person: Person, row_ids: Sequence[str]) -> int:
        """Delete rows with their dependents; return how many there were."""
        count = 0
        with transaction.atomic():
            for table, pks in self._split(row_ids):
                rows = table.rows(person.workspace_id).filter(pk__in=pks)
                count += rows.delete()[1].get(table.label, 0)
        return count

    def redact(self, person: Person, row_ids: Sequence[str]) -> int:
        count = 0
        with transaction.atomic():
            for table, pks in self._split(row_ids):
                rows = table.rows(person.workspace_id).filter(pk__in=pks)
                # Rows can be megabytes: columns that are not masked are neither read
                # nor written.
                slim_rows = rows.only("pk", *table.words, *table.labels, *table.facts)
                locked = slim_rows.select_for_update(of=("self",)).order_by("pk")
                for row in locked:
                    _mask_row(table, row, person)
                    count += 1
        return count

    # ── Verifying ────────────────────────────────────────────────────────────
    def verify(self, person: Person) -> Iterator[Trace]:
        """Yield rows that still name the person, except in ``keeps`` columns."""
        for table in self._tables:
            for row in table.read(person.workspace_id):
                word_text = table.text(row, table.words)
                label_text = table.text(row, table.labels)
                if (
                    table.sign(person, "", word_text, self.name)
                    or table.sign(person, "", label_text, self.name)
                    or (table.facts and table.names_in_facts(person, row))
                ):
                    yield Trace(self.name, self._row_id(table, row["pk"]), self.trace)

    def kept_texts(self, person: Person) -> Iterator[str]:
        """Yield texts of ``keeps`` columns that name the person."""
        for table in self._tables:
            for row in table.read(person.workspace_id) if table.keeps else ():
                text = table.text(row, table.keeps)
                if table.sign(person, "", text, self.name) is not Sign.NONE:
                    yield text


def _mask_row(table: Table, row: models.Model, person: Person) -> None:
    """Mask the words and labels of a row, and update values computed from them."""
    for name in table.facts:
        value = row_text.masked_facts(person.matcher, getattr(row, name))
        setattr(row, name, value)
    for name in (*table.words, *table.labels):
        field = table.model._meta.get_field(name)
        value = _masked_value(table, name, getattr(row, name), person)
        if name in table.unique and value != getattr(row, name):
            value = f"{value} {row.pk}"
        limit = getattr(field, "max_length", None)
        if limit and isinstance(value, str):
            value = value[-limit:] if name in table.unique else value[:limit]
        setattr(row, name, value)
    if table.mend is not None:
        table.mend(row)
    row.save()


def _masked_value(table: Table, name: str, value: Any, person: Person) -> Any:
    if value is None:
        return None
    finder = person.matcher if table.system else person.matcher.for_redaction()
    if name in table.jsons:
        return entries.canonical(row_text.masked(finder, row_text.parsed(value)))
    if name in table.queries:
        params = row_text.masked(finder, table.readable(name, value))
        return urlencode(params, doseq=True)
    if isinstance(value, (bytes, bytearray, memoryview)):
        return row_text.masked_bytes(finder, bytes(value))
    return row_text.masked(finder, value, column=name)
