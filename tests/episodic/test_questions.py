"""Reading the recall log: filters, pages, groups; emptying it, and its retention."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from typing import Any

import pytest
from django.utils import timezone

from episodic.models import LoggedHit, LoggedQuestion
from episodic.recall import question_log, questions
from episodic.recall import search as recall
from episodic.recall.questions import QuestionFilter
from episodic.recall.request import Request
from gdpr.subjects import restriction
from memory.jobs import registry as jobs
from memory.models import JournalEntry
from memory.rules import errors
from tests.gdpr import kit
from tests.world import World


def logged(
    world: World, text: str = "refund?", *, by: str = "ada", **fields: Any
) -> LoggedQuestion:
    """Store a question with one hit, as if it had been asked."""
    agent = world.agents[by]
    values: dict[str, Any] = {
        "workspace_id": agent.workspace_id,
        "question": text,
        "question_key": question_log.key(text),
        "agent_id": agent.id,
        "crew_id": agent.crew_id,
        "scope": "own",
        "mode": "hybrid",
        "fusion": "rrf",
        "k": 5,
        "latency_ms": 12.0,
        **fields,
    }
    row = LoggedQuestion.objects.create(**values)
    LoggedHit.objects.create(
        workspace_id=row.workspace_id,
        question=row,
        rank=1,
        entry_id="j_0000000000000001",
        score=0.03,
        cosine=0.2,
        via="both",
    )
    return row


def texts(world: World, *, by: str = "viewer", **filters: Any) -> list[str]:
    page = questions.page(QuestionFilter(**filters), by=world.actor(by))
    return [row.question for row in page.items]


def ago(**span: float) -> datetime:
    return timezone.now() - timedelta(**span)


# ── The list ─────────────────────────────────────────────────────────────────
def test_filters_choose_and_the_newest_comes_first(world: World) -> None:
    logged(world, "slow", latency_ms=questions.SLOW_MS, asked_at=ago(minutes=4))
    logged(world, "nothing", unanswered=True, asked_at=ago(minutes=3))
    logged(world, "degraded", degraded="words only", by="lena", asked_at=ago(minutes=2))
    logged(world, "fine", asked_at=ago(minutes=1))
    logged(world, "theirs", by="olga")
    assert texts(world) == ["fine", "degraded", "nothing", "slow"]
    assert texts(world, found_nothing=True) == ["nothing"]
    assert texts(world, found_nothing=False) == ["fine", "degraded", "slow"]
    assert texts(world, degraded=True) == ["degraded"]
    assert texts(world, degraded=False, slow=False) == ["fine", "nothing"]
    assert texts(world, slow=True) == ["slow"]
    assert texts(world, since=ago(minutes=2.5)) == ["fine", "degraded"]
    assert texts(world, agent_id=world.agents["lena"].id) == ["degraded"]
    assert texts(world, agent_id="agent_nobody") == []
    assert texts(world, by="stranger") == ["theirs"]


def test_pages_follow_each_other_without_gap_or_repetition(world: World) -> None:
    moment = ago(minutes=1)
    expected = [logged(world, f"q{n}", asked_at=moment).pk for n in range(7)][::-1]
    by, collected, cursor = world.actor("viewer"), [], None
    while True:
        page = questions.page(QuestionFilter(), limit=3, cursor=cursor, by=by)
        collected += [row.pk for row in page.items]
        cursor = page.next_cursor
        if cursor is None:
            break
        # What is asked meanwhile shifts nothing.
        logged(world, "newer")
    assert collected == expected


@pytest.mark.parametrize("limit", [0, 201])
def test_a_page_has_bounds(world: World, limit: int) -> None:
    by = world.actor("viewer")
    with pytest.raises(errors.Invalid):
        questions.page(QuestionFilter(), limit=limit, by=by)
    with pytest.raises(errors.Invalid):
        questions.unanswered_groups(limit=limit, by=by)


def test_cursors_belong_to_their_list_and_workspace(world: World) -> None:
    for number in range(3):
        logged(world, f"q{number}", unanswered=True)
    by = world.actor("viewer")
    cursor = questions.page(QuestionFilter(), limit=1, by=by).next_cursor
    with pytest.raises(errors.Invalid):
        questions.page(QuestionFilter(slow=True), cursor=cursor, by=by)
    with pytest.raises(errors.Invalid):
        questions.unanswered_groups(cursor=cursor, by=by)
    with pytest.raises(errors.NotFound):
        questions.page(QuestionFilter(), cursor=cursor, by=world.actor("stranger"))


@pytest.mark.parametrize(
    ("person", "may"),
    [("viewer", True), ("operator", True), ("compliance", True), ("owner", True),
     ("ada", False), ("lena", False)],
)  # fmt: skip
def test_people_read_it_and_agents_do_not(world: World, person: str, may: bool) -> None:
    by = world.actor(person)
    calls: list[Callable[[], object]] = [
        lambda: questions.page(QuestionFilter(), by=by),
        lambda: questions.unanswered_groups(by=by),
        lambda: questions.state(by),
    ]
    for call in calls:
        if may:
            call()
            continue
        with pytest.raises(errors.Forbidden):
            call()


def test_a_restricted_person_is_masked_for_who_may_not_see_them(world: World) -> None:
    anna = kit.subject(world)
    logged(world, "What did Anna Kowalczyk say?", unanswered=True)
    restriction.restrict(anna, by=world.actor("compliance"))
    masked = "What did [restricted] say?"
    assert texts(world) == [masked]
    assert texts(world, by="compliance") == ["What did Anna Kowalczyk say?"]
    (group,) = questions.unanswered_groups(by=world.actor("viewer")).items
    assert group.latest.question == masked


# ── Groups ───────────────────────────────────────────────────────────────────
def groups(world: World, **options: Any) -> list[tuple[str, int, list[str]]]:
    page = questions.unanswered_groups(by=world.actor("viewer"), **options)
    return [(g.latest.question, g.count, g.askers) for g in page.items]


def test_the_same_words_are_one_question(world: World) -> None:
    for text in ("Where is the tent", "where is the TENT?", "Where is the tént!"):
        logged(world, text, unanswered=True)
    logged(world, "where is the tent", by="lena", unanswered=True)
    logged(world, "Is it raining?", unanswered=True)
    logged(world, "Where is the tent?")
    logged(world, "Where is the tent?", by="olga", unanswered=True)
    assert groups(world) == [
        ("where is the tent", 4, ["ada", "lena"]),
        ("Is it raining?", 1, ["ada"]),
    ]
    lena = world.agents["lena"].id
    assert groups(world, agent_id=lena) == [("where is the tent", 1, ["lena"])]


def test_who_asked_may_be_gone_or_a_program(world: World) -> None:
    logged(world, "one", unanswered=True, agent_id="agent_gone")
    logged(world, "one", unanswered=True, asked_by="operator@acme.example")
    assert groups(world) == [("one", 2, ["a program", "an agent that is gone"])]


def test_groups_have_pages(world: World) -> None:
    for number in range(9):
        for _ in range(1 + number % 3):
            logged(world, f"question {number}", unanswered=True)
    by, collected, cursor = world.actor("viewer"), [], None
    while True:
        page = questions.unanswered_groups(limit=2, cursor=cursor, by=by)
        collected += [(group.count, group.latest.pk) for group in page.items]
        cursor = page.next_cursor
        if cursor is None:
            break
    assert len(collected) == 9
    assert collected == sorted(collected, reverse=True)


@pytest.mark.parametrize("pair", [("a b", "b a"), ("?", "!"), ("tent", "tents")])
def test_other_words_are_another_question(pair: Sequence[str]) -> None:
    first, second = map(question_log.key, pair)
    assert first != second


# ── Retention and emptying ───────────────────────────────────────────────────
def test_the_nightly_job_deletes_what_is_older_than_its_days(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(questions, "CHUNK", 2)
    for days in (1, 29, 31, 32, 33, 34, 400):
        logged(world, f"{days} days", asked_at=ago(days=days))
    logged(world, "theirs", by="olga", asked_at=ago(days=50))
    assert jobs.get("recall_log").act(world.acme.id).counts == {"questions_dropped": 5}
    assert texts(world) == ["1 days", "29 days"]
    assert texts(world, by="stranger") == ["theirs"]
    assert LoggedHit.objects.count() == 3
    world.set(recall_log_days=7)
    assert jobs.get("recall_log").act(world.acme.id).counts == {"questions_dropped": 1}
    assert jobs.get("recall_log").act(world.acme.id).counts == {"questions_dropped": 0}


def test_an_admin_empties_it_and_the_journal_says_so(world: World) -> None:
    world.set(recall_log=True)
    world.indexed()
    logged(world)
    logged(world, "theirs", by="olga")
    # What waits to be written goes too.
    recall.search(Request(query="refund"), by=world.actor("ada"))
    assert questions.empty(by=world.actor("owner")) == 1
    question_log.question_log.flush()
    assert texts(world) == []
    assert texts(world, by="stranger") == ["theirs"]
    entry = JournalEntry.objects.get(entry_type=questions.EMPTIED)
    assert entry.payload == {"questions": 1}
    assert entry.actor_id == world.people["owner"].id
    assert questions.empty(by=world.actor("owner")) == 0


@pytest.mark.parametrize(
    "person", ["viewer", "operator", "compliance", "looker", "ada"]
)
def test_nobody_else_empties_it(world: World, person: str) -> None:
    logged(world)
    with pytest.raises(errors.Forbidden):
        questions.empty(by=world.actor(person))
    assert texts(world) == ["refund?"]


@pytest.mark.parametrize(
    ("days", "may"), [(1, True), (365, True), (0, False), (366, False)]
)
def test_the_days_have_bounds(world: World, days: int, may: bool) -> None:
    if may:
        world.set(recall_log_days=days)
        assert questions.state(world.actor("viewer")).days == days
    else:
        with pytest.raises(errors.Invalid):
            world.set(recall_log_days=days)


def test_a_change_of_the_switch_is_in_the_journal(world: World) -> None:
    world.set(recall_log=True)
    entry = JournalEntry.objects.get(entry_type="workspace.settings_changed")
    assert entry.payload["changed"] == {"recall_log": True}
    state = questions.state(world.actor("viewer"))
    assert (state.is_on, state.count, state.unanswered) == (True, 0, 0)
