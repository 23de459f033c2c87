"""The demo's recall log: questions of its agents, answered by what was loaded.

The index is filled only after the demo is loaded, so the entries are ranked by words
here, and their cosines come from embedding just those that were returned. Where the
embedder does not answer there are none.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, date, datetime, time, timedelta
from typing import Any, Final

from django.utils import timezone

from crewship_memory.demo import story
from crewship_memory.demo.load_memory import actor_of
from episodic.embedders.base import EmbedderError
from episodic.index import engine
from episodic.models import LoggedQuestion
from episodic.recall import question_log, question_rows
from episodic.recall import search as recall
from episodic.recall.question_rows import Question
from episodic.recall.request import Mode, Request
from memory import workspace_settings
from memory.models import Workspace
from memory.rules.permissions import Actor

# Milliseconds, in turn.
LATENCIES: Final = (9.0, 14.0, 11.0, 38.0, 12.0, 270.0, 17.0)


def load(workspace: Workspace, by: Actor) -> None:
    """Switch the recall log on and fill it, once; ``by`` is an admin."""
    if LoggedQuestion.objects.filter(workspace=workspace).exists():
        return
    workspace_settings.change({question_rows.RECALL_LOG.name: True}, by=by)
    today = timezone.now().date()
    rows = story.document("questions.toml", today)["question"]
    questions = [
        _at(question, moment, latency)
        for row in rows
        for question in [_answered(workspace, row)]
        for moment, latency in zip(_moments(row, today), LATENCIES, strict=False)
    ]
    questions.sort(key=lambda question: question.row.asked_at)
    question_rows.judge(questions)
    question_rows.store(workspace.id, questions)


def _answered(workspace: Workspace, row: dict[str, Any]) -> Question:
    by = actor_of(workspace, row["agent"])
    request = Request(
        query=row["text"], scope="crew_shared", mode=Mode.SPARSE, mark=False
    )
    answer = recall.search(request, by=by)
    question = question_log.of(answer, by)
    question.row.mode = Mode.HYBRID.value
    texts = [hit.entry.summary for hit in answer.hits]
    try:
        vector = engine.embedder().embed_query(row["text"])
        cosines: list[float] = []
        if texts:
            cosines = (engine.embedder().embed_documents(texts) @ vector).tolist()
    except EmbedderError:
        return question
    hits = [
        replace(hit, cosine=cosine)
        for hit, cosine in zip(question.hits, cosines, strict=True)
    ]
    return replace(question, hits=tuple(hits))


def _at(question: Question, moment: datetime, latency: float) -> Question:
    """Return the same question, asked at another moment."""
    fields = {
        field.attname: getattr(question.row, field.attname)
        for field in LoggedQuestion._meta.concrete_fields
    }
    fields |= {"id": None, "asked_at": moment, "latency_ms": latency}
    return replace(question, row=LoggedQuestion(**fields))


def _moments(row: dict[str, Any], today: date) -> list[datetime]:
    pairs = [text.split() for text in row["at"]]
    return [
        datetime.combine(
            today + timedelta(days=int(days)), time.fromisoformat(clock), UTC
        )
        for days, clock in pairs
    ]
