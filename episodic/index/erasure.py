"""What the index does when words are erased, redacted, withheld or freed.

Listens to ``memory.journal.erasure.entries_left``, inside its transaction: a vector
never outlives the words it was made from, and what may not be used is in no matrix. The
change log makes every other process follow at its next question. In the recall log an
erased entry is no answer any more.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from django.db.models import Q

from episodic.models import (
    Embedding,
    LoggedHit,
    LoggedQuestion,
    MemoryRelation,
    State,
)
from memory.journal import erasure
from memory.journal.erasure import entries_left

CHUNK: Final = 500


def on_entries_left(
    *, workspace_id: str, entry_ids: Sequence[str], kind: str, **_: Any
) -> None:
    """Follow an erasure, a redaction, a withholding or its end."""
    rows = erasure.of(Embedding.objects.filter(pk__in=entry_ids), workspace_id)
    # In the order in which decay, marks and the sweep lock them.
    locked = rows.order_by("pk").select_for_update(of=("self",))
    list(locked.values_list("pk"))
    if kind == "erased":
        rows.delete()
        _edges(workspace_id, entry_ids).delete()
        _leave_recall_log(workspace_id, entry_ids)
    elif kind == "redacted":
        _begin_again(workspace_id, entry_ids)
    elif kind == "withheld":
        rows.update(state=State.WITHHELD, lease_until=None)
    elif kind == "freed":
        withheld_rows = rows.filter(state=State.WITHHELD)
        withheld_rows.filter(dim__gt=0).update(state=State.INDEXED)
        withheld_rows.filter(dim=0).update(state=State.PENDING)


def _edges(workspace_id: str, entry_ids: Sequence[str]) -> Any:
    ends = Q(src_id__in=entry_ids) | Q(dst_id__in=entry_ids)
    return erasure.of(MemoryRelation.objects.filter(ends), workspace_id)


def _leave_recall_log(workspace_id: str, entry_ids: Sequence[str]) -> None:
    """Delete the hits on erased entries, and the questions that only they answered.

    A question that is left without the entry which answered it would tell what the
    entry said.
    """
    hits = LoggedHit.objects.filter(workspace_id=workspace_id)
    erased = hits.filter(entry_id__in=entry_ids)
    question_ids = sorted(set(erased.values_list("question_id", flat=True)))
    erased.delete()
    for start in range(0, len(question_ids), CHUNK):
        batch = question_ids[start : start + CHUNK]
        remaining = hits.filter(question_id__in=batch).values_list("question_id")
        answered = {question_id for (question_id,) in remaining}
        questions = LoggedQuestion.objects.filter(workspace_id=workspace_id)
        questions.filter(pk__in=set(batch) - answered).delete()


def _begin_again(workspace_id: str, entry_ids: Sequence[str]) -> None:
    """Forget the vector of what was redacted; the sweep embeds what is left.

    ``indexed_at`` and the reference count stay: the statement is as old and as useful.
    """
    rows = erasure.of(Embedding.objects.filter(pk__in=entry_ids), workspace_id)
    empty = {"vector": b"", "dim": 0, "attempts": 0, "last_error": ""}
    rows.update(next_attempt_at=None, lease_until=None, **empty)
    rows.exclude(state=State.WITHHELD).update(state=State.PENDING)
    similar = MemoryRelation.Kind.SIMILAR
    _edges(workspace_id, entry_ids).filter(relation=similar).delete()


def install() -> None:
    """Listen from start-up on."""
    entries_left.connect(on_entries_left, dispatch_uid="episodic.index.erasure")
