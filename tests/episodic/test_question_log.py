"""The recall log: whose questions it keeps, when they are written, what is left out."""

from __future__ import annotations

import logging
import os
import threading
from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from django.db import DatabaseError, DataError, connection, connections
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from crewship_memory import process_end
from episodic.index import engine
from episodic.index.reference_counts import reference_counts
from episodic.models import LoggedHit, LoggedQuestion
from episodic.recall import checks, prompt_context, question_log, question_rows
from episodic.recall import search as recall
from episodic.recall.question_log import QuestionLog
from episodic.recall.request import Mode, Request
from gdpr.verification import read_paths
from memory.installation import identity as installation
from memory.journal import erasure
from memory.models import JournalEntry
from memory.ports import ranker
from memory.ports.ranker import Question
from memory.rules import errors
from tests.episodic import doubles
from tests.waiting import LIMIT_SECONDS
from tests.world import World

LOG = question_log.question_log


def ask(world: World, query: str = "refund", *, by: str = "ada", **fields: Any) -> None:
    recall.search(Request(query=query, **fields), by=world.actor(by))


def rows() -> list[LoggedQuestion]:
    """Return what the log has once everything is written."""
    LOG.flush()
    return list(LoggedQuestion.objects.order_by("id"))


@pytest.fixture
def logged(world: World) -> World:
    """A workspace that keeps a recall log, and has one entry."""
    world.set(recall_log=True)
    world.indexed("Refund denied without a receipt")
    return world


# ── What is kept ─────────────────────────────────────────────────────────────
def test_a_question_is_kept_with_its_answer(logged: World) -> None:
    entry, ada = JournalEntry.objects.latest("seq"), logged.agents["ada"]
    before = timezone.now()
    ask(logged, "Which refund?", k=3)
    (row,) = rows()
    assert (row.question, row.agent_id, row.crew_id) == (
        "Which refund?", ada.id, ada.crew_id,
    )  # fmt: skip
    assert (row.scope, row.mode, row.fusion, row.k) == ("own", "hybrid", "convex", 3)
    assert (row.asked_by, row.degraded) == ("", "")
    assert row.model == engine.embedder().model
    assert before <= row.asked_at <= timezone.now()
    assert row.latency_ms > 0
    (hit,) = row.hits.all()
    assert (hit.entry_id, hit.rank, hit.via) == (entry.id, 1, "both")
    assert hit.score > 0
    assert hit.cosine is not None


def test_every_way_in_of_agents_and_programs_is_kept(logged: World) -> None:
    ada = logged.api("ada")
    ada.post("/episodic/recall", {"query": "one"})
    ada.post("/episodic/recall", {"query": "two", "mark": False})
    ada.post("/episodic/recall", {"query": "three", "explain": True})
    ada.post("/episodic/context", {"query": "four"})
    ada.post("/memory/search/hybrid", {"query": "five"})
    by, agent_id = logged.actor("operator"), logged.agents["ada"].id
    ranker.ranker().recall(Question(query="six", agent_id=agent_id), by=by)
    stored_rows = rows()
    texts = [row.question for row in stored_rows]
    assert texts == ["one", "two", "three", "four", "five", "six"]
    assert (stored_rows[-1].agent_id, stored_rows[-1].asked_by) == (agent_id, by.label)


def test_people_checks_and_explanations_are_not_kept(logged: World) -> None:
    entry = JournalEntry.objects.latest("seq")
    page = {"query": "refund", "agent_id": logged.agents["ada"].id}
    assert logged.page("operator").get("/recall/", page).status_code == 200
    logged.session("operator").post("/episodic/recall", {"query": "refund"})
    logged.api("ada").post("/episodic/why", {"query": "refund", "entry_id": entry.id})
    operator = logged.actor("operator")
    check = checks.save("one", Request(query="refund"), [entry.id], by=operator)
    checks.run(check, by=operator)
    checks.run_all(logged.acme.id)
    # The search after an erasure asks with names, as agents that have no key.
    for by in read_paths.readers(logged.acme.id):
        recall.search(Request(query="Anna", mark=False), by=by)
    assert rows() == []


def test_prompt_context_counts_once(logged: World) -> None:
    prompt_context.build(Request(query="refund"), by=logged.actor("ada"))
    assert len(rows()) == 1


def test_a_neighbour_is_kept_without_the_hit_it_was_reached_from(
    logged: World,
) -> None:
    for number in range(3):
        logged.indexed(f"Refund denied without a receipt, {number}")
    ask(logged, "refund receipt", k=1, walk_depth=1)
    (row,) = rows()
    ways = [hit.via for hit in row.hits.order_by("rank")]
    assert ways == ["both", "similar"]


def test_an_outage_is_kept_as_degraded(logged: World) -> None:
    engine.use(doubles.Down())
    ask(logged)
    (row,) = rows()
    assert row.degraded.startswith("dense ranking unavailable")
    assert [hit.cosine for hit in row.hits.all()] == [None]


# ── When it is written ───────────────────────────────────────────────────────
def test_nothing_is_written_while_the_question_is_answered(logged: World) -> None:
    actor = logged.actor("ada")
    request = Request(query="refund", mark=False)
    with CaptureQueriesContext(
        connection,
    ) as queries:
        recall.search(request, by=actor)
    statements = [query["sql"] for query in queries]
    writes = ("INSERT", "UPDATE", "DELETE")
    assert not [sql for sql in statements if sql.startswith(writes)]
    assert not any("recall_log" in sql for sql in statements)
    assert not LoggedQuestion.objects.exists()
    assert len(rows()) == 1


def test_off_is_the_default_and_keeps_nothing(world: World) -> None:
    world.indexed()
    ask(world)
    assert rows() == []
    world.set(recall_log=True)
    # What was asked before the switch stays unkept.
    assert rows() == []
    ask(world)
    assert len(rows()) == 1
    ask(world)
    world.set(recall_log=False)
    assert len(rows()) == 1


def test_a_question_from_before_the_switch_is_not_kept(world: World) -> None:
    world.indexed()
    ask(world)
    world.set(recall_log=True)
    assert rows() == []


def test_another_workspace_decides_for_itself(logged: World) -> None:
    ask(logged, by="olga")
    ask(logged, by="ada")
    assert [row.workspace_id for row in rows()] == [logged.acme.id]


def test_an_entry_that_was_erased_meanwhile_is_not_kept(logged: World) -> None:
    entry = JournalEntry.objects.latest("seq")
    ask(logged, "refund")
    other = logged.indexed("Refund of a gift card")
    ask(logged, "refund gift")
    erasure.erase(logged.acme.id, [entry.id])
    stored_rows = rows()
    assert [row.question for row in stored_rows] == ["refund gift"]
    assert [hit.entry_id for hit in LoggedHit.objects.all()] == [other.id]


def test_an_erased_entry_leaves_the_log(logged: World) -> None:
    entry, other = JournalEntry.objects.latest("seq"), logged.indexed("A gift card")
    ask(logged, "receipt", k=1)
    ask(logged, "refund gift", k=2)
    assert len(rows()) == 2
    erasure.erase(logged.acme.id, [entry.id])
    assert [row.question for row in rows()] == ["refund gift"]
    assert [hit.entry_id for hit in LoggedHit.objects.all()] == [other.id]


def test_hostile_and_huge_questions_are_text(logged: World) -> None:
    texts = [
        "<script>alert(1)</script>",
        "'; DROP TABLE recall_log; --",
        "\u202edrawkcab\u200b",
        "é" * 4_000,
        " ".join(f"word{number}" for number in range(500)),
        "?!",
    ]
    for text in texts:
        ask(logged, text)
    assert [row.question for row in rows()] == texts


def test_text_that_cannot_be_stored_is_left_out(logged: World) -> None:
    answer = recall.search(Request(query="refund"), by=logged.actor("ada"))
    LOG.flush()
    bad = replace(answer, request=replace(answer.request, query="half \ud800"))
    LOG.note(bad, logged.actor("ada"))
    assert len(rows()) == 1


# ── The buffer ───────────────────────────────────────────────────────────────
def test_what_could_not_be_written_is_tried_again_in_order(
    logged: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = question_rows.write

    def broken(*_: object) -> int:
        raise DatabaseError("database is locked")

    monkeypatch.setattr(question_rows, "write", broken)
    ask(logged, "one")
    ask(logged, "two")
    assert rows() == []
    monkeypatch.setattr(question_rows, "write", real)
    ask(logged, "three")
    assert [row.question for row in rows()] == ["one", "two", "three"]


def test_a_batch_that_failed_half_way_is_written_whole(
    logged: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = LoggedHit.objects.bulk_create

    def broken(_rows: object) -> None:
        raise DatabaseError("disk is full")

    ask(logged)
    monkeypatch.setattr(LoggedHit.objects, "bulk_create", broken)
    assert rows() == []
    monkeypatch.setattr(LoggedHit.objects, "bulk_create", real)
    (row,) = rows()
    assert row.hits.count() == 1


def test_what_the_database_refuses_does_not_block_the_rest(
    logged: World, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    real = question_rows.write

    def picky(workspace_id: str, questions: Sequence[Any]) -> int:
        if workspace_id == logged.other.id:
            raise DataError("value too long")
        return real(workspace_id, questions)

    monkeypatch.setattr(question_rows, "write", picky)
    ask(logged, "theirs", by="olga")
    ask(logged, "ours")
    with caplog.at_level(logging.WARNING):
        assert [row.question for row in rows()] == ["ours"]
    assert "questions_lost" in caplog.text
    assert LOG._waiting == type(LOG._waiting)()


def test_nothing_is_written_into_another_installation(
    logged: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    ask(logged)
    monkeypatch.setattr(installation, "problem", lambda: "another key")
    assert rows() == []
    monkeypatch.undo()
    assert len(rows()) == 1


def test_a_full_buffer_drops_the_oldest_and_says_so(
    logged: World, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(question_log, "BUFFER_MOST", 2)
    with caplog.at_level(logging.WARNING):
        for text in ("one", "two", "three"):
            ask(logged, text)
    assert "questions_lost" in caplog.text
    assert [row.question for row in rows()] == ["two", "three"]


def test_the_last_write_waits_for_the_one_under_way(
    logged: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    started, let_go = threading.Event(), threading.Event()
    writes: list[Any] = []

    def slow(_home: str, questions: Sequence[Any]) -> int:
        started.set()
        let_go.wait(LIMIT_SECONDS)
        writes.extend(questions)
        return len(questions)

    monkeypatch.setattr(question_rows, "write", slow)
    monkeypatch.setattr(installation, "problem", lambda: None)
    log = QuestionLog()
    log._thread = threading.main_thread()
    log.note(
        recall.search(Request(query="x"), by=logged.actor("ada")), logged.actor("ada")
    )
    first = threading.Thread(target=log.flush)
    first.start()
    assert started.wait(LIMIT_SECONDS)
    threading.Timer(0.1, let_go.set).start()
    assert log.drain()
    assert len(writes) == 1
    first.join()


def test_the_server_writes_what_waits_before_it_ends(
    logged: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    class ServerEnd(Exception):
        """Stands for the end of the process."""

    def end(_code: int) -> None:
        raise ServerEnd

    monkeypatch.setattr(os, "_exit", end)
    monkeypatch.setattr(connections, "close_all", lambda: None)
    monkeypatch.setattr(logging, "shutdown", lambda: None)

    def wrong() -> bool:
        raise RuntimeError

    # What one buffer cannot write keeps the process from no other, and from no end.
    monkeypatch.setattr(reference_counts, "drain", wrong)
    ask(logged, "last words")
    with pytest.raises(ServerEnd):
        process_end.flush_and_exit()
    assert [row.question for row in LoggedQuestion.objects.all()] == ["last words"]


def test_a_program_error_is_not_swallowed_and_loses_nothing(
    logged: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    def wrong(*_: object) -> int:
        raise RuntimeError("a bug")

    ask(logged)
    monkeypatch.setattr(question_rows, "write", wrong)
    with pytest.raises(RuntimeError):
        LOG.flush()
    monkeypatch.undo()
    assert len(rows()) == 1


def test_an_invalid_question_leaves_nothing(logged: World) -> None:
    with pytest.raises(errors.Invalid):
        ask(logged, "   ")
    with pytest.raises(errors.TooLarge):
        ask(logged, "x" * 4_001)
    assert rows() == []


def test_an_old_moment_keeps_what_it_was(logged: World) -> None:
    ask(logged, mode=Mode.DENSE, until=timezone.now() - timedelta(days=1))
    (row,) = rows()
    assert (row.mode, row.hits.count(), row.unanswered) == ("dense", 0, True)


def test_a_question_as_the_thread_ends_starts_another(
    logged: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(question_log, "QUIET_SECONDS", 0)
    monkeypatch.setattr(question_log, "EVERY_SECONDS", 0)
    monkeypatch.setattr(installation, "problem", lambda: "Nothing is written here.")
    end_event, let_go = threading.Event(), threading.Event()

    class Closing:
        """Connections whose closing takes a while: the thread is still alive."""

        def close_all(self) -> None:
            end_event.set()
            let_go.wait(LIMIT_SECONDS)

    monkeypatch.setattr(question_log, "connections", Closing())
    ada, log = logged.actor("ada"), QuestionLog()
    answer = recall.search(Request(query="x"), by=ada)
    first = threading.Thread(target=log._run)
    log._thread = first
    first.start()
    assert end_event.wait(LIMIT_SECONDS)
    monkeypatch.setattr(question_log, "QUIET_SECONDS", 1_000)
    started: list[QuestionLog] = []
    monkeypatch.setattr(log, "_run", lambda: started.append(log))
    log.note(answer, ada)
    let_go.set()
    first.join()
    assert log._thread is not first
