"""Reading the recall log, and emptying it.

Whoever may use the recall explorer as an agent may read it, as they may the journal;
restricted people are masked for those who may not see them. An admin empties it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import datetime, timedelta
from typing import Any, Final

from django.db import transaction
from django.db.models import Count, Max, Q, QuerySet
from django.utils import timezone
from django.utils.translation import gettext

from episodic.models import LoggedHit, LoggedQuestion
from episodic.recall.question_log import question_log
from episodic.recall.question_rows import RECALL_LOG, RECALL_LOG_DAYS
from memory import pagination, workspace_settings, workspace_tree
from memory.jobs.registry import Outcome
from memory.journal import append as journal
from memory.ports import subject_linker
from memory.rules import errors
from memory.rules.entries import NewEntry, Severity
from memory.rules.permissions import Actor

READ: Final = "recall.ask_as_agent"
EMPTY: Final = "settings.manage"
EMPTIED: Final = "memory.recall_log_emptied"
PAGE_MOST: Final = 200
# An agent that waits longer for its memory notices it.
SLOW_MS: Final = 250.0
CHUNK: Final = 500


@dataclass(frozen=True, slots=True, kw_only=True)
class QuestionFilter:
    """Which questions; None leaves a condition out."""

    found_nothing: bool | None = None
    degraded: bool | None = None
    slow: bool | None = None
    since: datetime | None = None
    agent_id: str | None = None

    def rows(self, workspace_id: str) -> QuerySet[LoggedQuestion]:
        rows = LoggedQuestion.objects.filter(workspace_id=workspace_id)
        if self.found_nothing is not None:
            rows = rows.filter(unanswered=self.found_nothing)
        if self.degraded is not None:
            answered_fully = Q(degraded="")
            rows = rows.filter(~answered_fully if self.degraded else answered_fully)
        if self.slow is not None:
            late = Q(latency_ms__gte=SLOW_MS)
            rows = rows.filter(late if self.slow else ~late)
        if self.since is not None:
            rows = rows.filter(asked_at__gte=self.since)
        return rows.filter(agent_id=self.agent_id) if self.agent_id else rows

    def of_agent(self, agent_id: str | None) -> QuestionFilter:
        return replace(self, agent_id=agent_id)


@dataclass(frozen=True, slots=True)
class QuestionPage:
    """A page of questions with their hits, newest first."""

    items: list[LoggedQuestion]
    next_cursor: str | None


@dataclass(frozen=True, slots=True)
class QuestionGroup:
    """Questions in the same words: the last one, how many, and who asked."""

    latest: LoggedQuestion
    count: int
    askers: list[str]


@dataclass(frozen=True, slots=True)
class GroupPage:
    """A page of groups, the most frequent first."""

    items: list[QuestionGroup]
    next_cursor: str | None


@dataclass(frozen=True, slots=True)
class LogState:
    """Whether a workspace keeps a log, for how long, and what is in it."""

    is_on: bool
    days: int
    count: int
    unanswered: int


# ── Reading ──────────────────────────────────────────────────────────────────
def state(by: Actor) -> LogState:
    by.require(READ)
    settings = workspace_settings.values(by.workspace_id, [RECALL_LOG, RECALL_LOG_DAYS])
    rows = LoggedQuestion.objects.filter(workspace_id=by.workspace_id)
    return LogState(
        is_on=settings[RECALL_LOG.name],
        days=settings[RECALL_LOG_DAYS.name],
        count=rows.count(),
        unanswered=rows.filter(unanswered=True).count(),
    )


def _check_limit(limit: int) -> None:
    if not 1 <= limit <= PAGE_MOST:
        detail = f"The limit lies between 1 and {PAGE_MOST}."
        raise errors.Invalid(detail, code="bad_limit")


def _masked_rows(rows: Sequence[LoggedQuestion], by: Actor) -> list[LoggedQuestion]:
    """Return rows as the actor may see them, never to be saved."""
    if not by.can("gdpr.read"):
        for row in rows:
            row.question = subject_linker.mask(by.workspace_id, row.question)
            row.asked_by = subject_linker.mask(by.workspace_id, row.asked_by)
    return list(rows)


def page(
    filters: QuestionFilter, *, limit: int = 50, cursor: str | None = None, by: Actor
) -> QuestionPage:
    """Return a page of the log, newest first."""
    by.require(READ)
    _check_limit(limit)
    digest = pagination.digest(["questions", asdict(filters)])
    rows = filters.rows(by.workspace_id)
    if cursor:
        at, last = pagination.read(cursor, by.workspace_id, digest)
        moment = pagination.moment(at)
        rows = rows.filter(Q(asked_at__lt=moment) | Q(asked_at=moment, id__lt=last))
    batch = list(rows.order_by("-asked_at", "-id")[: limit + 1])
    items, next_cursor = _masked_rows(batch[:limit], by), None
    _attach_hits(items, by.workspace_id)
    if len(batch) > limit:
        position: list[str | int] = [items[-1].asked_at.isoformat(), items[-1].pk]
        next_cursor = pagination.make(by.workspace_id, digest, position)
    return QuestionPage(items, next_cursor)


def _attach_hits(rows: Sequence[LoggedQuestion], workspace_id: str) -> None:
    """Set the hits of each row as if they had been prefetched, in one query."""
    by_question: dict[int, list[LoggedHit]] = defaultdict(list)
    hits = LoggedHit.objects.filter(
        workspace_id=workspace_id, question_id__in=[row.pk for row in rows]
    )
    for hit in hits.order_by("question_id", "rank"):
        by_question[hit.question_id].append(hit)
    for row in rows:
        vars(row)["returned"] = by_question[row.pk]


def unanswered_groups(
    agent_id: str | None = None,
    *,
    limit: int = 50,
    cursor: str | None = None,
    by: Actor,
) -> GroupPage:
    """Return the questions that found nothing, those in the same words as one.

    The most frequent come first, then those asked last.
    """
    by.require(READ)
    _check_limit(limit)
    digest = pagination.digest(["unanswered", agent_id])
    filters = QuestionFilter(found_nothing=True, agent_id=agent_id)
    grouped = filters.rows(by.workspace_id).order_by().values("question_key")
    grouped = grouped.annotate(count=Count("id"), last=Max("id"))
    if cursor:
        count, last = pagination.read(cursor, by.workspace_id, digest)
        fewer = Q(count__lt=count) | Q(count=count, last__lt=last)
        grouped = grouped.filter(fewer)
    batch = list(grouped.order_by("-count", "-last")[: limit + 1])
    groups, next_cursor = batch[:limit], None
    if len(batch) > limit:
        position: list[str | int] = [groups[-1]["count"], groups[-1]["last"]]
        next_cursor = pagination.make(by.workspace_id, digest, position)
    return GroupPage(_groups(groups, filters, by), next_cursor)


def unanswered_counts(agent_ids: Sequence[str], *, by: Actor) -> dict[str, int]:
    """Return agent id → how many of its questions found nothing, if any did."""
    by.require(READ)
    rows = QuestionFilter(found_nothing=True).rows(by.workspace_id)
    rows = rows.filter(agent_id__in=agent_ids).order_by()
    return dict(rows.values_list("agent_id").annotate(count=Count("id")))


def _groups(
    groups: Sequence[Mapping[str, Any]], filters: QuestionFilter, by: Actor
) -> list[QuestionGroup]:
    rows = filters.rows(by.workspace_id)
    latest = _masked_rows(
        list(rows.filter(pk__in=[group["last"] for group in groups])), by
    )
    _attach_hits(latest, by.workspace_id)
    by_key = {row.question_key: row for row in latest}
    askers = _askers_of([group["question_key"] for group in groups], filters, by)
    return [
        QuestionGroup(
            by_key[group["question_key"]], group["count"], askers[group["question_key"]]
        )
        for group in groups
        # The nightly job may delete one between the two queries.
        if group["question_key"] in by_key
    ]


def _askers_of(
    keys: Sequence[str], filters: QuestionFilter, by: Actor
) -> dict[str, list[str]]:
    """Return by question who asked it: slugs of agents, or who used a program's key."""
    slugs = {agent.id: agent.slug for agent in workspace_tree.agents(by)}
    rows = filters.rows(by.workspace_id).filter(question_key__in=keys).order_by()
    askers: dict[str, set[str]] = defaultdict(set)
    pairs = rows.values_list("question_key", "agent_id", "asked_by").distinct()
    for question_key, agent_id, asked_by in pairs:
        askers[question_key].add(asker(agent_id, asked_by, slugs))
    return defaultdict(
        list, {name: sorted(askers_of_key) for name, askers_of_key in askers.items()}
    )


def asker(agent_id: str | None, asked_by: str, slugs: dict[str, str]) -> str:
    """Return a name for who asked."""
    if asked_by:
        return gettext("a program")
    return slugs.get(agent_id or "", "") or gettext("an agent that is gone")


# ── Emptying and retention ───────────────────────────────────────────────────
def _delete(rows: QuerySet[LoggedQuestion], workspace_id: str) -> int:
    """Delete questions with their hits, in batches; return how many."""
    total = 0
    while pks := list(
        rows.order_by("asked_at", "id").values_list("pk", flat=True)[:CHUNK]
    ):
        with transaction.atomic():
            questions = LoggedQuestion.objects.filter(workspace_id=workspace_id)
            questions.filter(pk__in=pks).delete()
        total += len(pks)
    return total


def empty(*, by: Actor) -> int:
    """Delete every question of the log; the journal says who did, and how many."""
    by.require(EMPTY)
    question_log.drop(by.workspace_id)
    with transaction.atomic():
        rows = LoggedQuestion.objects.filter(workspace_id=by.workspace_id)
        count = _delete(rows, by.workspace_id)
        new = NewEntry(
            entry_type=EMPTIED,
            severity=Severity.NOTICE,
            summary=f"Recall log emptied: {count:,} questions",
            payload={"questions": count},
        )
        journal.write([new], by=by)
    return count


def delete_old(workspace_id: str, at: datetime | None = None) -> int:
    """Delete the questions that are older than the workspace keeps them."""
    days = workspace_settings.value(workspace_id, RECALL_LOG_DAYS)
    before = (at or timezone.now()) - timedelta(days=days)
    rows = LoggedQuestion.objects.filter(workspace_id=workspace_id, asked_at__lt=before)
    return _delete(rows, workspace_id)


def run_nightly(home: str) -> Outcome:
    return Outcome({"questions_dropped": delete_old(home)})
