"""The JSON API of the recall log: what agents asked, and what came back."""

from __future__ import annotations

from ninja import Query, Router, Schema
from pydantic import Field

from episodic.api.schemas import Rounded4, Rounded6
from episodic.recall import questions
from episodic.recall.questions import QuestionFilter, QuestionPage
from memory.api.request import ApiRequest
from memory.api.shapes import Stamp, TextOrNull
from memory.rules.shapes import Id, Moment, Strict

router = Router(tags=["episodic"])


class QuestionQuery(Strict):
    """Filters of the list; what is left out means any."""

    found_nothing: bool | None = Field(
        None,
        description="Nothing came back that is near the question or holds most of its "
        "words.",
    )
    degraded: bool | None = Field(None, description="A ranking did not answer.")
    slow: bool | None = Field(
        None, description=f"Took {questions.SLOW_MS:.0f} ms or longer."
    )
    since: Moment | None = None
    agent_id: Id | None = Field(None, description="Whose memory was asked.")
    limit: int = Field(default=50, ge=1, le=questions.PAGE_MOST)
    cursor: str | None = None


class QuestionHitOut(Schema):
    """An entry that came back; entries that were erased since are not listed."""

    entry_id: str
    score: Rounded6
    cosine: Rounded4 | None
    via: str


class QuestionOut(Schema):
    """One question; ``asked_by`` is null where the agent itself asked."""

    id: int
    asked_at: Stamp
    query: str = Field(validation_alias="question")
    agent_id: str | None
    crew_id: str | None
    asked_by: TextOrNull
    scope: str
    mode: str
    fusion: str
    k: int
    found_nothing: bool = Field(validation_alias="unanswered")
    degraded: TextOrNull
    latency_ms: Rounded4
    model: TextOrNull
    hits: list[QuestionHitOut] = Field(validation_alias="returned")


class QuestionListOut(Schema):
    """A page of the log, newest first."""

    items: list[QuestionOut]
    next_cursor: str | None


@router.get(
    "/questions", response=QuestionListOut, operation_id="list_recall_questions"
)
def list_questions(request: ApiRequest, query: Query[QuestionQuery]) -> QuestionPage:
    """List what agents asked, newest first; empty while the recall log is off."""
    filters = QuestionFilter(
        found_nothing=query.found_nothing,
        degraded=query.degraded,
        slow=query.slow,
        since=query.since,
        agent_id=query.agent_id,
    )
    return questions.page(
        filters, limit=query.limit, cursor=query.cursor, by=request.auth
    )
