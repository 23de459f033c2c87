"""How near the answers of the recall log were to their questions."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from episodic.models import LoggedHit, LoggedQuestion
from episodic.recall.request import Mode

SPAN: Final = timedelta(days=7)
# Rows that are read, and different questions that are returned.
ROWS_MOST: Final = 2_000
QUESTIONS_MOST: Final = 500
CHUNK: Final = 500
# Ways in which the rankings find an entry; a neighbour was not ranked.
RANKED: Final = ("both", "dense", "words", "context")


@dataclass(frozen=True, slots=True)
class LoggedAnswer:
    """The best and the mean cosine of one question's answer, each from 0 to 1."""

    agent_id: str | None
    best: float
    mean: float


def recent(
    workspace_id: str, crew_id: str | None, *, model: str, until: datetime, top: int
) -> list[LoggedAnswer]:
    """Return the answers of the seven days before a moment, newest first.

    Only those ranked by meaning with a model, each question of an agent once; the
    cosines are of the first ``top`` hits, 0 where there was none.
    """
    rows = LoggedQuestion.objects.filter(
        workspace_id=workspace_id,
        asked_at__gt=until - SPAN,
        asked_at__lte=until,
        model=model,
        degraded="",
    ).exclude(mode=Mode.SPARSE)
    if crew_id:
        rows = rows.filter(crew_id=crew_id)
    newest = rows.order_by("-asked_at", "-id").values_list(
        "id", "question_key", "agent_id"
    )
    latest: dict[tuple[str, str | None], int] = {}
    for pk, key, agent_id in newest[:ROWS_MOST]:
        latest.setdefault((key, agent_id), pk)
    cosines = _cosines(workspace_id, list(latest.values())[:QUESTIONS_MOST], top)
    answers = []
    for (_, agent_id), pk in latest.items():
        if pk in cosines and (values := cosines[pk]) is not None:
            mean = sum(values) / len(values)
            answers.append(LoggedAnswer(agent_id, max(values), mean))
    return answers


def _cosines(
    workspace_id: str, pks: Sequence[int], top: int
) -> dict[int, list[float] | None]:
    """Return the cosines of each answer, None where no hit has one."""
    hits: dict[int, list[float | None]] = defaultdict(list)
    for start in range(0, len(pks), CHUNK):
        rows = LoggedHit.objects.filter(
            workspace_id=workspace_id,
            question_id__in=pks[start : start + CHUNK],
            via__in=RANKED,
        ).order_by("question_id", "rank")
        for question_id, cosine in rows.values_list("question_id", "cosine"):
            if len(hits[question_id]) < top:
                hits[question_id].append(cosine)
    result: dict[int, list[float] | None] = {}
    for pk in pks:
        values = [min(1.0, max(0.0, c)) for c in hits[pk] if c is not None]
        result[pk] = values or (None if hits[pk] else [0.0])
    return result
