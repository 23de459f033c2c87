"""Data that the handling of requests stores: cases, holds, bundles, names.

The names of a person stay until the end of an erasure, because everything else is
found by them; the run erases them last.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Final

from django.db.models import QuerySet
from django.utils.translation import gettext_noop

from gdpr import bundle_files
from gdpr.data_map import covered_words, row_text
from gdpr.data_map.base import Fate, Holder, Person, RowMatch, Trace
from gdpr.data_map.table_holder import Rule, Table, TableHolder
from gdpr.matching.matcher import Sign
from gdpr.models import (
    Alias,
    Case,
    CaseEvent,
    CasePlan,
    CaseStep,
    Certificate,
    Dismissal,
    Export,
    ExportState,
    ExportWord,
    GdprAction,
    Hold,
    Lifting,
    ProcessingPurpose,
    RememberedWord,
    RowVerdict,
    Subject,
    Suppression,
)

CASES: Final = TableHolder(
    "cases",
    gettext_noop("Cases, holds and the audit log"),
    Table(
        model=Case,
        owner="subject_ref",
        words=(
            "reason", "requester", "ticket", "extension_reason", "identity_how",
            "break_glass_reason", "refusal_reason", "correction",
            "identity_skipped_reason",
        ),
        facts=("result",),
        labels=(
            "opened_by", "assignee", "identity_by", "approved_by", "executed_by",
            "closed_by",
        ),
        rule=Rule.MASKED,
        at="opened_at",
        why=gettext_noop("The case names the person; that there was one has to stay."),
    ),
    Table(
        model=CasePlan,
        owner="case__subject_ref",
        facts=("body",),
        labels=("made_by",),
        rule=Rule.MASKED,
        at="made_at",
        why=gettext_noop("The plan's samples name the person."),
    ),
    Table(
        model=CaseEvent,
        owner="case__subject_ref",
        words=("text",),
        facts=("data",),
        labels=("by",),
        rule=Rule.MASKED,
        at="at",
        why=gettext_noop("The case's timeline names the person."),
    ),
    Table(
        model=RowVerdict,
        owner="case__subject_ref",
        words=("reason",),
        labels=("decided_by",),
        rule=Rule.MASKED,
        at="decided_at",
        why=gettext_noop("Why a row stays names the person."),
    ),
    Table(
        model=CaseStep,
        owner="case__subject_ref",
        facts=("fault", "counts"),
        rule=Rule.MASKED,
        at="started_at",
    ),
    Table(
        model=Hold,
        owner="subject",
        words=("ground", "reason", "release_reason"),
        labels=("owner", "placed_by", "released_by"),
        rule=Rule.MASKED,
        at="placed_at",
    ),
    Table(
        model=GdprAction,
        owner="subject_ref",
        words=("reason",),
        facts=("error", "scope"),
        labels=("actor_label",),
        rule=Rule.MASKED,
        at="initiated_at",
        why=gettext_noop(
            "The audit log names the person; that something was done has to stay."
        ),
    ),
    Table(
        model=Suppression,
        owner="subject_ref",
        words=("lift_reason",),
        labels=("lifted_by",),
        rule=Rule.MASKED,
        at="since",
    ),
    Table(
        model=Certificate,
        owner="case__subject_ref",
        keeps=("document",),
        at="issued_at",
        keep_reason=gettext_noop("A certificate is signed and can only be replaced."),
    ),
    Table(
        model=ProcessingPurpose,
        words=("purpose", "legal_basis"),
        labels=("confirmed_by",),
        rule=Rule.MASKED,
        at="confirmed_at",
        why=gettext_noop("The record of processing names the person; it has to stay."),
    ),
)  # fmt: skip


_DECIDED: Final = gettext_noop("It was decided about this person.")
DECISIONS: Final = TableHolder(
    "decisions",
    gettext_noop("Addresses set aside, restrictions lifted"),
    Table(
        model=Dismissal,
        owner="subject",
        owned=_DECIDED,
        labels=("decided_by",),
        at="decided_at",
    ),
    Table(
        model=Lifting,
        owner="subject",
        owned=_DECIDED,
        words=("reason",),
        labels=("lifted_by",),
        rule=Rule.MASKED,
        at="lifted_at",
        why=gettext_noop("Why a restriction ended names the person."),
    ),
    Table(
        model=RememberedWord,
        labels=("decided_by",),
        rule=Rule.MASKED,
        at="decided_at",
    ),
)


class Exports(Holder):
    """Bundles made for the person: encrypted files with an expiry date.

    Also another person's bundle that waits for a decision on words that name this one:
    those are deleted, and the bundle is collected again.
    """

    name, title = "exports", gettext_noop("Bundles made for the person")
    tables = ("gdpr.Export", "gdpr.ExportWord", "memory.StoredFile")
    files = ("exports",)
    trace = gettext_noop("bundle")

    def _rows(self, person: Person) -> QuerySet[Export]:
        rows = Export.objects.filter(
            workspace_id=person.workspace_id, subject_ref=person.subject_id
        )
        return rows.order_by("made_at", "id")

    def find(self, person: Person) -> Iterator[RowMatch]:
        """Yield every bundle that still exists."""
        for row in self._rows(person):
            if row.state != ExportState.GONE or bundle_files.remains(row):
                reason = gettext_noop("It is a copy of everything about the person.")
                yield RowMatch(row.id, Fate.DELETE, reason, "", row.made_at)
        for row, sign in covered_words.naming(person):
            reason = gettext_noop("A word that waits for a decision names the person.")
            doubt = sign is not Sign.SURE
            yield RowMatch(row.id, Fate.DELETE, reason, "", row.made_at, doubt)

    def export(
        self, person: Person, rows: Iterable[RowMatch]
    ) -> Iterator[dict[str, Any]]:
        """Yield when bundles were made; their content is not repeated."""
        ids = [match.row_id for match in rows]
        for row in self._rows(person).filter(pk__in=ids):
            yield {
                "place": self.name,
                "id": row.id,
                "state": row.state,
                "made_at": row.made_at.isoformat(),
                "bytes": row.bytes,
            }

    def erase(self, person: Person, row_ids: Sequence[str]) -> int:
        """Delete bundles; the audit log still says that they were made."""
        other_bundles = [row.pk for row, _ in covered_words.naming(person)]
        count = covered_words.collect_again(set(other_bundles).intersection(row_ids))
        for row in self._rows(person).filter(pk__in=row_ids):
            bundle_files.erase(row)
            erased_fields = {
                "state": ExportState.GONE,
                "sha256": "",
                "error": "",
                "counts": {},
            }
            count += Export.objects.filter(pk=row.pk).update(**erased_fields)
            # Afterwards: whoever makes it stores no more words.
            ExportWord.objects.filter(export=row).delete()
        return count


class Subjects(Holder):
    """The person's own row and names, erased by the run at the end."""

    name, title, derived = (
        "subjects",
        gettext_noop("The person's name and aliases"),
        True,
    )
    tables = ("gdpr.Subject", "gdpr.Alias", "gdpr.SubjectLink")

    def _texts(self, person: Person) -> Iterator[tuple[str, str]]:
        """Yield the row and every alias: id and text, unless that is empty."""
        rows = {"workspace_id": person.workspace_id}
        for subject in Subject.objects.filter(pk=person.subject_id, **rows):
            texts = [subject.display_name, subject.consent_note]
            if any(texts):
                yield subject.id, row_text.join_texts(texts)
        for alias in Alias.objects.filter(subject_id=person.subject_id, **rows):
            yield f"alias:{alias.pk}", alias.value

    def find(self, person: Person) -> Iterator[RowMatch]:
        """Yield the row and every alias."""
        reason = gettext_noop(
            "It is erased at the end: everything else is found by it."
        )
        for row_id, text in self._texts(person):
            yield RowMatch(row_id, Fate.DELETE, reason, text)

    def export(
        self, person: Person, rows: Iterable[RowMatch]
    ) -> Iterator[dict[str, Any]]:
        requested_ids = {match.row_id for match in rows}
        for row_id, text in self._texts(person):
            if row_id in requested_ids:
                yield {"place": self.name, "id": row_id, "text": text}

    def verify(self, person: Person) -> Iterator[Trace]:
        """Yield names that remain after a completed erasure."""
        is_erased = Subject.objects.filter(
            pk=person.subject_id, erased_at__isnull=False
        ).exists()
        for row_id, _ in self._texts(person) if is_erased else ():
            yield Trace(self.name, row_id, gettext_noop("alias"))
