"""The recall log: what agents asked, and which entries answered.

A question that names the person is deleted whole, whoever else it names: nothing else
depends on it. Entries that are erased leave the answers of all other questions in the
same transaction (``episodic.index.erasure``); what was asked meanwhile and is not
written yet is dropped with the caches.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from django.db.models import Exists, OuterRef
from django.utils.translation import gettext_noop

from episodic.models import LoggedHit, LoggedQuestion
from gdpr.data_map.base import Person, Trace
from gdpr.data_map.table_holder import Rule, Table, TableHolder
from memory.models import JournalEntry


class _RecallLog(TableHolder):
    """The questions; their hits are ids of entries, which are verified as well."""

    def verify(self, person: Person) -> Iterator[Trace]:
        """Search for questions that name the person, and for hits on erased entries."""
        yield from super().verify(person)
        erased = JournalEntry.objects.filter(
            pk=OuterRef("entry_id"),
            workspace_id=person.workspace_id,
            erased_at__isnull=False,
        )
        hits = LoggedHit.objects.filter(workspace_id=person.workspace_id)
        for hit in hits.filter(Exists(erased)).order_by("pk"):
            yield Trace(
                self.name,
                str(hit.question_id),
                gettext_noop("answer with an erased entry"),
            )


RECALL_LOG: Final = _RecallLog(
    "recall_log",
    gettext_noop("Recall log"),
    Table(
        model=LoggedQuestion,
        words=("question",),
        labels=("asked_by",),
        rule=Rule.GONE,
        at="asked_at",
        why=gettext_noop("The question of an agent names the person."),
    ),
    Table(model=LoggedHit),
)
