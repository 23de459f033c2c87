"""Many records at once: one transaction, few questions, each its own record."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from memory import records
from memory.files.quarantine import HeldForReview
from memory.integrations.atomicmemory.contract import types
from memory.integrations.atomicmemory.provider.provider import NativeProvider
from memory.integrations.gateway import server as gateway_server
from memory.integrations.gateway import users
from memory.integrations.gateway.schemas import Message
from memory.integrations.gateway.server import AppProject
from memory.integrations.gateway.users import GatewayUser
from memory.journal import verify
from memory.models import HeldFile, JournalEntry, Record, RecordEntry, SubjectMention
from memory.ports import subject_linker
from memory.records import Action, Criteria, Order, Provenance, chain, rows
from memory.records.drafts import Draft, Scope
from memory.rules import errors
from memory.rules.permissions import Actor
from tests.world import ATTACK, World

PROVENANCE = Provenance.AGENT_EXTRACTED
SCOPE = types.Scope(user="harriet")


@pytest.fixture
def ada(world: World) -> Actor:
    return world.actor("ada")


def drafts(by: Actor, texts: list[str], **fields: Any) -> list[Draft]:
    owner = records.owner_for(by)
    return [Draft(content=text, owner=owner, **fields) for text in texts]


def facts(number: int, first: int = 0) -> list[str]:
    return [
        f"The lorry number {n} left for Porto." for n in range(first, first + number)
    ]


def query_count(act: Callable[[], Any]) -> int:
    """Return how many questions an act puts to the database."""
    with CaptureQueriesContext(connection) as captured:
        act()
    return len(captured)


def provider(by: Actor) -> NativeProvider:
    new_provider = NativeProvider(by)
    new_provider.initialize()
    return new_provider


# ── How much is asked ────────────────────────────────────────────────────────
def _ingest(world: World) -> Callable[[int, int], Any]:
    memory_provider = provider(world.actor("ada"))

    def act(number: int, first: int) -> Any:
        text = " ".join(facts(number, first))
        return memory_provider.ingest(types.TextIngest(content=text, scope=SCOPE))

    return act


def _batch(world: World) -> Callable[[int, int], Any]:
    memory_provider = provider(world.actor("ada"))

    def act(number: int, first: int) -> Any:
        return memory_provider.batch_ingest(
            [
                types.VerbatimIngest(content=text, scope=SCOPE)
                for text in facts(number, first)
            ]
        )

    return act


def _mem0(world: World) -> Callable[[int, int], Any]:
    client = Client(enforce_csrf_checks=True)

    def act(number: int, first: int) -> Any:
        turns = [{"role": "user", "content": text} for text in facts(number, first)]
        body = {"messages": turns, "user_id": "harriet", "infer": False}
        reply = client.post(
            "/compat/mem0/v3/memories/add/",
            json.dumps(body),
            "application/json",
            headers={"Authorization": f"Token {world.tokens['ada']}"},
        )
        assert len(reply.json()["results"]) == number

    return act


def _gateway(world: World) -> Callable[[int, int], Any]:
    issued = users.issue(world.agents["ada"], "mia", by=world.actor("owner"))
    gateway_user = GatewayUser(world.actor("ada"), issued.key)

    def act(number: int, first: int) -> Any:
        return gateway_server.add(
            gateway_user, PLACE, "chat:c1", messages(number, first)
        )

    return act


PLACE = AppProject(app_id="default", project_id="default")


def messages(number: int, first: int = 0) -> list[Message]:
    return [
        Message(sender_id="mia", role="user", timestamp=1 + n, content=text)
        for n, text in enumerate(facts(number, first), first)
    ]


@pytest.mark.parametrize("make_writer", [_ingest, _batch, _mem0, _gateway])
def test_what_a_record_costs_in_questions(
    world: World, make_writer: Callable[[World], Callable[[int, int], Any]]
) -> None:
    act = make_writer(world)
    act(2, 0)
    count_of_10, count_of_50 = (
        query_count(lambda: act(10, 100)),
        query_count(lambda: act(50, 200)),
    )
    # Rows go in by the thirty: that is what grows, and nothing else.
    assert (count_of_50 - count_of_10) / 40 <= 0.25
    assert count_of_50 / 50 <= 1.0
    assert Record.objects.count() == 62


def test_a_replay_costs_next_to_nothing_and_stores_nothing(world: World) -> None:
    act = _gateway(world)
    act(50, 0)
    before = JournalEntry.objects.count(), Record.objects.count()
    assert query_count(lambda: act(50, 0)) / 50 <= 0.4
    assert (JournalEntry.objects.count(), Record.objects.count()) == before


def test_a_single_record_is_written_once(ada: Actor) -> None:
    [draft] = drafts(ada, ["Refunds end at $200."])
    with CaptureQueriesContext(connection) as captured:
        records.insert(draft, provenance=PROVENANCE, by=ada)
    statements = [statement["sql"].split() for statement in captured.captured_queries]
    assert not [
        statement
        for statement in statements
        if statement[:2] == ["UPDATE", '"records"']
    ]


@pytest.mark.sqlite
def test_a_name_is_found_by_the_index_that_keeps_it_unique(ada: Actor) -> None:
    for owner in (records.owner_for(ada), records.owner_for(ada, is_shared=True), None):
        new_drafts = [Draft(content="x", owner=owner, external_id="one")]
        with CaptureQueriesContext(connection) as captured:
            rows.current_by_name(new_drafts, ada)
        [statement] = captured.captured_queries
        with connection.cursor() as cursor:
            cursor.execute(f"EXPLAIN QUERY PLAN {statement['sql']}")
            [plan] = [row[3] for row in cursor.fetchall()]
        assert "external_once" in plan or "external_id=" in plan


# ── Each its own record ──────────────────────────────────────────────────────
def test_each_has_its_entry_its_link_and_its_people(ada: Actor, world: World) -> None:
    new_drafts = drafts(ada, facts(3), scope=Scope(user="mia"), subjects=("harriet",))
    saved = records.keep_all(new_drafts, provenance=PROVENANCE, by=ada)
    assert [row.content for row, _ in saved] == facts(3)
    for row, action in saved:
        assert action is Action.CREATED
        row.refresh_from_db()
        entry = JournalEntry.objects.get(pk=row.current_entry_id)
        link = RecordEntry.objects.get(record=row)
        assert (entry.summary, entry.refs["record_id"]) == (row.content, row.id)
        assert (link.entry_id, link.event, link.valid_to) == (entry.id, "created", None)
        assert row.created_at == row.updated_at
        assert row.created_at - entry.recorded_at < timedelta(milliseconds=1)
        mentions = SubjectMention.objects.filter(entry=entry).values_list("alias")
        assert {alias for (alias,) in mentions} == {"harriet", "mia"}
        [version] = records.history(row.id, owner=None, by=ada)
        assert (version.number, version.content) == (1, row.content)
    seqs = [JournalEntry.objects.get(pk=r.current_entry_id).seq for r, _ in saved]
    assert seqs == sorted(seqs)
    assert verify.verify(ada.workspace_id, by=world.actor("owner")).ok


def test_a_batch_is_listed_in_its_order(ada: Actor) -> None:
    records.keep_all(drafts(ada, facts(9)), provenance=PROVENANCE, by=ada)
    for order, expected in ((Order.OLDEST, facts(9)), (Order.NEWEST, facts(9)[::-1])):
        page = records.page(Criteria(), order=order, by=ada)
        assert [row.content for row in page.rows] == expected


def test_a_known_name_is_the_next_version_and_twice_in_a_batch_too(ada: Actor) -> None:
    [draft] = drafts(ada, ["Limit 200."], external_id="limit")
    records.keep_all([draft], provenance=PROVENANCE, by=ada)
    unchanged, new, twice = (
        *drafts(ada, ["Limit 200."], external_id="limit"),
        *drafts(ada, ["Term 30."], external_id="term"),
        *drafts(ada, ["Term 60."], external_id="term"),
    )
    saved = records.keep_all(
        [unchanged, new, twice, new], provenance=PROVENANCE, by=ada
    )
    actions = [action for _, action in saved]
    assert actions == [Action.UNCHANGED, Action.CREATED] + 2 * [Action.UPDATED]
    assert len({row.id for row, _ in saved[1:]}) == 1
    assert (saved[-1][0].content, saved[-1][0].version) == ("Term 30.", 3)


def test_no_database_is_asked_for_what_it_cannot_hold(ada: Actor) -> None:
    for lookup in (records.by_content, records.by_external_ids):
        with pytest.raises(errors.Invalid, match="NUL"):
            lookup(["fine", "a\x00b"], Criteria(), by=ada)


def test_many_at_once_are_made_in_parts(
    ada: Actor, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(records.batch, "PART", 2)
    saved = records.keep_all(drafts(ada, facts(5)), provenance=PROVENANCE, by=ada)
    assert [row.content for row, _ in saved] == facts(5)
    criteria = Criteria(owner=records.owner_for(ada))
    assert set(records.by_content(facts(7), criteria, by=ada)) == set(facts(5))


def test_whoever_saved_a_name_first_meanwhile_keeps_it(
    ada: Actor, monkeypatch: pytest.MonkeyPatch
) -> None:
    [other_draft] = drafts(ada, ["Limit 200."], external_id="limit")
    first = records.insert(other_draft, provenance=PROVENANCE, by=ada)
    look, looks = rows.current_by_name, [0]

    def late(criteria: Any, by: Actor) -> Any:
        looks[0] += 1
        return {} if looks[0] == 1 else look(criteria, by)

    monkeypatch.setattr(rows, "current_by_name", late)
    new_drafts = [
        *drafts(ada, ["Other."]),
        *drafts(ada, ["Limit 300."], external_id="limit"),
    ]
    saved = records.keep_all(new_drafts, provenance=PROVENANCE, by=ada)
    assert [action for _, action in saved] == [Action.CREATED, Action.UPDATED]
    assert saved[1][0].id == first.id
    assert Record.objects.filter(content="Other.").count() == 1


# ── All of it, or why not ────────────────────────────────────────────────────
def test_a_crash_leaves_nothing_half_written(
    ada: Actor, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = JournalEntry.objects.count()

    def crash(*_: Any) -> None:
        raise RuntimeError

    monkeypatch.setattr(chain, "link", crash)
    with pytest.raises(RuntimeError):
        records.keep_all(drafts(ada, facts(4)), provenance=PROVENANCE, by=ada)
    assert (JournalEntry.objects.count(), Record.objects.count()) == (before, 0)


def test_every_draft_is_judged_and_each_fault_is_told_in_its_place(ada: Actor) -> None:
    new_drafts = drafts(ada, ["Fine.", ATTACK, " ", "x" * 70_000, "Good."])
    results = records.prepare_all(new_drafts, provenance=PROVENANCE, by=ada)
    kinds = [type(result).__name__ for result in results]
    assert kinds == ["Draft", "HeldForReview", "Invalid", "TooLarge", "Draft"]
    assert HeldFile.objects.count() == 1
    with pytest.raises(HeldForReview):
        records.all_or_nothing(results)
    assert Record.objects.count() == 0


def test_who_may_not_write_writes_nothing(world: World) -> None:
    lena = records.owner_for(world.actor("lena"))
    foreign = [Draft(content="Fine.", owner=lena)]
    ada = world.actor("ada")
    [fault] = records.prepare_all(foreign, provenance=PROVENANCE, by=ada)
    assert isinstance(fault, errors.NotFound)
    with pytest.raises(errors.NotFound):
        records.keep_all(foreign, provenance=PROVENANCE, by=ada)
    assert records.keep_all([], provenance=PROVENANCE, by=ada) == []


def test_an_ingest_with_a_held_statement_keeps_none_of_it(
    world: World, ada: Actor
) -> None:
    memory_provider = provider(ada)
    with pytest.raises(errors.AppError) as caught:
        memory_provider.batch_ingest(
            [
                types.TextIngest(content="The kiln was booked today.", scope=SCOPE),
                types.VerbatimIngest(content=ATTACK, scope=SCOPE),
            ]
        )
    assert caught.value.problem_code == "held"
    assert (Record.objects.count(), HeldFile.objects.count()) == (0, 1)


def test_a_person_who_must_not_come_back_refuses_the_whole_batch(
    ada: Actor, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Strict(subject_linker.NoSubjects):
        def gate(self, workspace_id: str) -> subject_linker.Gate:  # noqa: ARG002
            def refuse(texts: Any, _subjects: Any) -> None:
                if any("number 2" in text for text in texts):
                    raise errors.Conflict(code="subject_suppressed")

            return refuse

    monkeypatch.setattr(subject_linker._port, "implementation", Strict())
    with pytest.raises(errors.Conflict):
        records.keep_all(drafts(ada, facts(4)), provenance=PROVENANCE, by=ada)
    assert Record.objects.count() == 0


# ── What one request says twice ──────────────────────────────────────────────
def test_what_is_said_twice_in_a_request_is_kept_once(ada: Actor) -> None:
    memory_provider = provider(ada)
    text = "The kiln in Porto was booked."
    wide = types.TextIngest(content=text, scope=SCOPE)
    deep = SCOPE.model_copy(update={"thread": "t1"})
    results = memory_provider.batch_ingest(
        [types.TextIngest(content=text, scope=deep), wide, wide]
    )
    [record_id] = results[0].created
    assert [(r.created, r.unchanged) for r in results[1:]] == [([], [record_id])] * 2
    [repeat] = memory_provider.batch_ingest([wide])
    assert repeat.unchanged == [record_id]
    # What another thread says is not there to be found in this one.
    other = types.TextIngest(
        content=text, scope=SCOPE.model_copy(update={"thread": "t2"})
    )
    assert len(memory_provider.ingest(other).created) == 1


def test_an_external_id_is_the_users_within_a_request_too(ada: Actor) -> None:
    memory_provider = provider(ada)

    def request(text: str, thread: str) -> types.VerbatimIngest:
        scope = SCOPE.model_copy(update={"thread": thread})
        return types.VerbatimIngest(
            content=text, scope=scope, metadata={"externalId": "limit"}
        )

    first, second = memory_provider.batch_ingest(
        [request("200.", "t1"), request("300.", "t2")]
    )
    assert first.created == second.updated
    [row] = Record.objects.all()
    assert (row.content, row.scope_thread, row.version) == ("300.", "t1", 2)
    assert memory_provider.batch_ingest([]) == []
