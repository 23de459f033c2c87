"""Sample recalls: their best entries, to compare after a restore.

A question is named by the row whose text it is, an entry or one that was asked, so that
a sample holds ids alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from django.db.models import QuerySet

from episodic.models import LoggedQuestion
from episodic.recall import search as recall
from episodic.recall.request import Request
from memory.models import JournalEntry, Workspace
from memory.rules import errors
from memory.rules.permissions import system

PER_WORKSPACE: Final = 3
WORKSPACES: Final = 10
K: Final = 5
CHARS: Final = 300
ACTOR: Final = "backup"
ENTRY: Final = "entry"
QUESTION: Final = "question"


def taken() -> list[dict[str, Any]]:
    """Ask some questions of the first workspaces; return their hits."""
    rows = Workspace.objects.order_by("number").values_list("pk", flat=True)
    samples: list[dict[str, Any]] = []
    for workspace_id in rows[:WORKSPACES]:
        for kind, row_id in _rows(workspace_id):
            hits = _hits(workspace_id, kind, row_id)
            if hits:
                sample = {"workspace_id": workspace_id, "kind": kind, "row": row_id}
                samples.append(sample | {"hits": hits})
    return samples


def _usable(workspace_id: str) -> QuerySet[JournalEntry]:
    return JournalEntry.objects.filter(
        workspace_id=workspace_id,
        embeddable=True,
        erased_at=None,
        redacted_at=None,
        retired_at=None,
        restricted_at=None,
    )


def _rows(workspace_id: str) -> list[tuple[str, str]]:
    """Return the rows whose texts are asked: questions, filled up with entries."""
    questions = LoggedQuestion.objects.filter(workspace_id=workspace_id)
    newest = questions.order_by("-pk").values_list("pk", flat=True)[:PER_WORKSPACE]
    rows = [(QUESTION, str(pk)) for pk in newest]
    entries = _usable(workspace_id).order_by("seq").values_list("pk", flat=True)
    return rows + [(ENTRY, pk) for pk in entries[: PER_WORKSPACE - len(rows)]]


def _text(workspace_id: str, kind: str, row_id: str) -> str:
    if kind == ENTRY:
        entries = JournalEntry.objects.filter(workspace_id=workspace_id, pk=row_id)
        return entries.values_list("summary", flat=True).first() or ""
    questions = LoggedQuestion.objects.filter(workspace_id=workspace_id, pk=row_id)
    return questions.values_list("question", flat=True).first() or ""


def _hits(workspace_id: str, kind: str, row_id: str) -> list[str]:
    text = _text(workspace_id, kind, row_id)[:CHARS]
    if not text.strip():
        return []
    request = Request(query=text, k=K, mark=False, walk_depth=0)
    try:
        answer = recall.search(request, by=system(workspace_id, ACTOR))
    except errors.AppError:
        return []
    return [hit.entry.id for hit in answer.hits]


def compare(samples: Sequence[dict[str, Any]]) -> dict[str, int]:
    """Ask the questions again; count those with the same entries in the same order.

    ``first`` counts those whose best entry that is left comes first again.
    Where one of the entries was erased since, ``reduced`` counts the sample, and it is
    the same when the entries that are left come again. A question that was erased
    itself is not asked.
    """
    counts = {"asked": 0, "same": 0, "first": 0, "reduced": 0}
    for sample in samples:
        workspace_id, hits = str(sample["workspace_id"]), list(sample["hits"])
        kind, row_id = str(sample["kind"]), str(sample["row"])
        if not _text(workspace_id, kind, row_id).strip():
            continue
        usable = _usable(workspace_id).filter(pk__in=hits).values_list("pk", flat=True)
        usable_ids = set(usable)
        remaining = [hit for hit in hits if hit in usable_ids]
        hits_now = _hits(workspace_id, kind, row_id)
        is_reduced = len(remaining) < len(hits)
        is_same = set(remaining) <= set(hits_now) if is_reduced else hits_now == hits
        counts["asked"] += 1
        counts["same"] += is_same
        counts["first"] += hits_now[:1] == remaining[:1]
        counts["reduced"] += is_reduced
    return counts
