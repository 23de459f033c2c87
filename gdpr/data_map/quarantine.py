"""Texts held for review by the scanner, and records of reviews."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from django.utils.translation import gettext_noop

from gdpr.data_map.base import Person
from gdpr.data_map.memory_files import redactor
from gdpr.data_map.table_holder import Rule, Table, TableHolder
from memory.files import erasure
from memory.models import (
    BlockedSource,
    Clearance,
    HeldFile,
    HeldRecord,
    KnownAttack,
    ReviewLabel,
    ScannerProposal,
)


class _Quarantine(TableHolder):
    """Held texts. One on which a block of a writer is based is emptied, not deleted."""

    def erase(self, person: Person, row_ids: Sequence[str]) -> int:
        """Delete held texts, or empty those on which a block is based."""
        held_ids, rest = _split(row_ids)
        count = erasure.discard_held(person.workspace_id, held_ids)
        return count + (super().erase(person, rest) if rest else 0)

    def redact(self, person: Person, row_ids: Sequence[str]) -> int:
        """Mask the person in held texts, and scan the result again."""
        held_ids, rest = _split(row_ids)
        count = erasure.mask_held(person.workspace_id, held_ids, redactor(person))
        return count + (super().redact(person, rest) if rest else 0)


def _split(row_ids: Sequence[str]) -> tuple[list[str], list[str]]:
    held_ids = [row_id for row_id in row_ids if ":" not in row_id]
    return held_ids, [row_id for row_id in row_ids if ":" in row_id]


QUARANTINE: Final = _Quarantine(
    "held",
    gettext_noop("Texts held for review"),
    Table(
        model=HeldFile,
        cards=True,
        words=("body", "findings", "label", "key", "reason", "outcome"),
        labels=("written_by", "claimed_by", "decided_by"),
        at="received_at",
        why=gettext_noop("The held text names the person; no model ever saw it."),
    ),
    Table(model=HeldRecord, words=("draft",)),
    Table(model=Clearance, labels=("cleared_by",), at="cleared_at"),
    Table(model=KnownAttack, labels=("confirmed_by",), at="confirmed_at"),
    Table(model=BlockedSource, labels=("blocked_by",), at="blocked_at"),
    # Neither has words of a held text: they refer to it and go with it.
    Table(model=ReviewLabel, labels=("decided_by",), at="decided_at"),
    Table(
        model=ScannerProposal,
        words=("reason",),
        labels=("decided_by",),
        rule=Rule.MASKED,
        at="proposed_at",
        why=gettext_noop("The reason names the person; what was decided has to stay."),
    ),
)
