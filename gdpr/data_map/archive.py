"""Archived entries: moved out of the journal by compaction, shortened, still text."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Final

from django.utils.translation import gettext_noop

from gdpr.data_map import row_text
from gdpr.data_map.base import Fate, Holder, Person, RowMatch, Trace
from gdpr.data_map.journal import acting_ids
from gdpr.matching import name_fields
from gdpr.matching.matcher import Sign
from memory.journal import append as journal
from memory.journal import archive_erasure
from memory.models import ArchivedEntry

PLACE: Final = "archive"


def _subject_aliases(row: ArchivedEntry) -> list[str]:
    return [alias for alias in row.subjects.split("\n") if alias]


def _are_theirs(person: Person, row: ArchivedEntry) -> list[bool]:
    """Return for each name that the writer gave whether it is surely the person's."""
    sign_of = person.matcher.sign_of_value
    return [sign_of(alias) is Sign.SURE for alias in _subject_aliases(row)]


def _text(row: ArchivedEntry) -> str:
    aliases = _subject_aliases(row)
    context_ids = [row.mission_id or "", row.trace_id or "", row.span_id or ""]
    payload = name_fields.json_as_text(row.payload_text)
    return row_text.join_texts([row.summary, payload, *aliases, *context_ids])


def _rows(workspace_id: str) -> Iterator[ArchivedEntry]:
    rows = ArchivedEntry.objects.filter(workspace_id=workspace_id)
    rows = rows.exclude(summary="", payload_text="{}", subjects="")
    return row_text.in_chunks(rows, "seq")


class Archive(Holder):
    """Archived entries; links to a journal entry stay valid after compaction."""

    name, title = PLACE, gettext_noop("Archived entries")
    tables = ("memory.ArchivedEntry",)

    def find(self, person: Person) -> Iterator[RowMatch]:
        for row in _rows(person.workspace_id):
            text = _text(row)
            sign = self._sign(person, row, text)
            if sign is Sign.NONE:
                continue
            fate = Fate.DELETE
            reason = gettext_noop("It names nobody else: its text is erased.")
            if self._is_shared(person, row, text):
                fate = Fate.REDACT
                reason = gettext_noop("It names somebody else too.")
            sample, is_doubtful = row_text.sample(person, text), sign is not Sign.SURE
            form = person.matcher.form(text) if is_doubtful else ""
            yield RowMatch(row.id, fate, reason, sample, row.ts, is_doubtful, form)

    def _sign(self, person: Person, row: ArchivedEntry, text: str) -> Sign:
        """Return how surely an entry is about the person, by text or any link."""
        if any(_are_theirs(person, row)):
            return person.matcher.judge(text, linked=True)
        return max(person.sign(place, row.id, text) for place in ("journal", PLACE))

    def _is_shared(self, person: Person, row: ArchivedEntry, text: str) -> bool:
        if not all(_are_theirs(person, row)):
            return True
        fates = {person.fate(place, row.id, text) for place in ("journal", PLACE)}
        return Fate.REDACT in fates

    def export(
        self, person: Person, rows: Iterable[RowMatch]
    ) -> Iterator[dict[str, Any]]:
        for part in row_text.batches([match.row_id for match in rows]):
            for row in ArchivedEntry.objects.filter(
                workspace_id=person.workspace_id, pk__in=part
            ).order_by("seq"):
                texts = {"summary": row.summary, "payload": row.payload}
                yield {
                    "place": PLACE,
                    "id": row.id,
                    "ts": journal.stamp(row.ts),
                    "entry_type": row.entry_type,
                    "archived_at": journal.stamp(row.archived_at),
                    "severity": row.severity,
                    "priority": row.priority,
                    "actor_type": row.actor_type,
                    "actor_id": row.actor_id,
                    "crew_id": row.crew_id,
                    "agent_id": row.agent_id,
                    **row_text.without_others(person, texts),
                }

    def tokens(self, person: Person, row_ids: Sequence[str]) -> Iterator[bytes]:
        for part in row_text.batches(row_ids):
            for row in ArchivedEntry.objects.filter(
                workspace_id=person.workspace_id, pk__in=part
            ):
                yield from row_text.rare(_text(row))

    def erase(self, person: Person, row_ids: Sequence[str]) -> int:
        return archive_erasure.empty_archived(person.workspace_id, row_ids)

    def redact(self, person: Person, row_ids: Sequence[str]) -> int:
        def mask(value: Any) -> Any:
            # Each line of ``subjects`` is a complete name.
            finder = person.matcher.for_redaction()
            return row_text.masked(finder, value, column="subject")

        return archive_erasure.mask_archived(person.workspace_id, row_ids, mask)

    def verify(self, person: Person) -> Iterator[Trace]:
        for row in _rows(person.workspace_id):
            if self._sign(person, row, _text(row)) is not Sign.NONE:
                yield Trace(PLACE, row.id, gettext_noop("archived entry"))

    def kept_texts(self, person: Person) -> Iterator[str]:
        """Yield user ids under which the person acted: the audit trail keeps them."""
        return acting_ids(person, ArchivedEntry.objects.all())
