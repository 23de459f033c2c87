"""Letters about requests, and where they go: sealed, so found by whose case it is.

What was sent stays until its day, as proof of the answer; what was kept and never sent
goes with the person. The address stays until the closing letter went out, because the
person has to be told that they were erased.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, Final

from django.utils.translation import gettext_noop

from gdpr.data_map import row_text
from gdpr.data_map.base import Fate, Person, RowMatch, Trace
from gdpr.data_map.table_holder import Rule, Table, TableHolder
from gdpr.models import Correspondence, Letter, LetterTemplate

# The day is that of the letter that stays longest.
PROOF: Final = gettext_noop(
    "Letters about the request, sealed, the last of them until {day} unless a hold"
    " keeps it longer: proof that it was answered."
)
ADDRESS: Final = gettext_noop(
    "Where the answer to the request goes, sealed: until the closing letter went out,"
    " at most until 30 days after the case is closed."
)
UNSENT: Final = gettext_noop("A letter to the person that was never sent.")
_PREFIX: Final = "correspondence:"


class Letters(TableHolder):
    """The letters of a person's cases, and the addresses of these."""

    def __init__(self) -> None:
        super().__init__(
            "letters",
            gettext_noop("Letters about requests, and where they go"),
            Table(
                model=Letter,
                owner="case__subject_ref",
                labels=("kept_by", "sent_by"),
                rule=Rule.MASKED,
                at="kept_at",
            ),
            Table(
                model=Correspondence,
                owner="case__subject_ref",
                labels=("changed_by",),
                rule=Rule.MASKED,
                at="changed_at",
            ),
        )

    def find(self, person: Person) -> Iterator[RowMatch]:
        """Yield the letters and addresses of the person's cases, whatever they say.

        Also rows of other people's cases where the person wrote the letter.
        """
        letters = list(_letters(person))
        unsent_ids = {letter.id for letter in letters if letter.sent_at is None}
        acting = {
            match.row_id: match
            for match in super().find(person)
            if match.row_id not in unsent_ids
        }
        yield from acting.values()
        days = [str(letter.keep_until) for letter in letters if letter.keep_until]
        proof = PROOF.format(day=max(days)) if days else ""
        for letter in letters:
            if letter.id in unsent_ids:
                yield RowMatch(letter.id, Fate.DELETE, UNSENT, "", letter.kept_at)
            elif letter.id not in acting:
                yield RowMatch(letter.id, Fate.KEEP, proof, "", letter.kept_at)
        for row in _addresses(person):
            row_id = f"{_PREFIX}{row.pk}"
            if row_id not in acting:
                yield RowMatch(row_id, Fate.KEEP, ADDRESS, "", row.changed_at)

    def export(
        self, person: Person, rows: Iterable[RowMatch]
    ) -> Iterator[dict[str, Any]]:
        """Yield what the letters say, and the addresses; raises where one is broken."""
        requested_ids = {match.row_id for match in rows}
        own_ids = set()
        for letter in _letters(person):
            if letter.id in requested_ids:
                own_ids.add(letter.id)
                yield self._letter(letter, person)
        for row in _addresses(person):
            row_id = f"{_PREFIX}{row.pk}"
            if row_id in requested_ids:
                own_ids.add(row_id)
                known_values = {**row.opened(), "language": row.language}
                yield {"place": self.name, "id": row_id, **known_values}
        acting = [RowMatch(row_id, Fate.REDACT, "") for row_id in requested_ids]
        yield from super().export(
            person, [match for match in acting if match.row_id not in own_ids]
        )

    def _letter(self, letter: Letter, person: Person) -> dict[str, Any]:
        content = {
            name: row_text.without_others(person, value)
            for name, value in letter.opened().items()
        }
        return {
            "place": self.name,
            "id": letter.id,
            "case_id": letter.case_id,
            "occasion": letter.occasion,
            "language": letter.language,
            "sent_at": letter.sent_at.isoformat() if letter.sent_at else None,
            "way": letter.way,
            **content,
        }

    def verify(self, person: Person) -> Iterator[Trace]:
        """Yield letters that were never sent and are still there, and who wrote."""
        for letter in _letters(person):
            if letter.sent_at is None:
                yield Trace(self.name, letter.id, gettext_noop("letter"))
        yield from super().verify(person)


def _letters(person: Person) -> Iterator[Letter]:
    rows = Letter.objects.filter(
        workspace_id=person.workspace_id, case__subject_ref=person.subject_id
    )
    yield from rows.order_by("kept_at", "id")


def _addresses(person: Person) -> Iterator[Correspondence]:
    rows = Correspondence.objects.filter(
        workspace_id=person.workspace_id, case__subject_ref=person.subject_id
    )
    yield from rows.order_by("pk")


LETTERS: Final = Letters()
TEMPLATES: Final = TableHolder(
    "letter_templates",
    gettext_noop("Texts that letters start from"),
    Table(
        model=LetterTemplate,
        words=("subject", "body"),
        labels=("changed_by",),
        rule=Rule.MASKED,
        at="changed_at",
        why=gettext_noop("The text of a letter names the person; it is masked."),
    ),
)
