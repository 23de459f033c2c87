"""Conversations of records: their trace, whoever writes, and what came before what."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from memory import records
from memory.files.paths import Owner
from memory.files.quarantine import HeldForReview
from memory.journal import append as journal
from memory.journal import verify
from memory.models import HeldFile, HeldRecord, JournalEntry, Record
from memory.records import Amendment, Criteria, Provenance, sessions
from memory.records.drafts import Draft, Scope
from memory.records.sessions import SessionRow
from memory.review import decide as review
from memory.review.decide import Decision
from memory.rules.permissions import Actor
from tests.world import ATTACK, World

PROVENANCE = Provenance.AGENT_EXTRACTED
START = datetime(2026, 3, 1, tzinfo=UTC)


@pytest.fixture
def ada(world: World) -> Actor:
    return world.actor("ada")


def save(by: Actor, content: str = "Tea.", **fields: Any) -> Record:
    fields.setdefault("owner", records.owner_for(by))
    new = Draft(content=content, **fields)
    return records.save(new, provenance=PROVENANCE, by=by).record


def trace(record: Record) -> str | None:
    return JournalEntry.objects.get(pk=record.current_entry_id).trace_id


# ── Traces ───────────────────────────────────────────────────────────────────
def test_what_an_agent_shares_is_of_its_conversation(world: World) -> None:
    lena = world.actor("lena")
    own = save(lena, session_id="default")
    common = save(lena, owner=Owner(world.crews["support"]), session_id="default")
    assert trace(own) == trace(common) is not None
    admin, crew = world.actor("owner"), Owner(world.crews["support"])
    curated = save(admin, owner=crew, session_id="default")
    assert trace(curated) not in (None, trace(own))


def test_every_part_of_the_scope_and_the_session_make_a_conversation(
    ada: Actor,
) -> None:
    scopes = [
        Scope(),
        Scope(user="s"),
        Scope(agent="s"),
        Scope(namespace="s"),
        Scope(thread="s"),
        Scope(extra={"region": "s"}),
    ]
    named_rows = [save(ada, scope=scope, session_id="s") for scope in scopes]
    by_thread = save(ada, scope=Scope(thread="s"))
    traces = [trace(record) for record in (*named_rows, by_thread)]
    assert None not in traces
    assert len(set(traces)) == len(traces)


def test_without_the_key_of_the_installation_no_guess_can_be_checked(
    ada: Actor, monkeypatch: pytest.MonkeyPatch
) -> None:
    def of() -> str | None:
        owner = records.owner_for(ada)
        return sessions.trace_id(owner, Scope(user="harriet"), "s1", by=ada)

    before = of()
    monkeypatch.setattr(journal, "key", lambda: b"another key")
    assert before is not None
    assert of() not in (None, before)


@pytest.mark.parametrize("fields", [{"session_id": "s1"}, {"trace_id": "t_call"}])
def test_a_revision_stays_in_its_conversation(
    world: World, ada: Actor, fields: dict[str, str]
) -> None:
    row = save(ada, **fields)
    first = trace(row)
    change = Amendment(content="Green tea.")
    revised = records.amend(
        row, change, provenance=PROVENANCE, by=world.actor("operator")
    )
    assert trace(revised) == first is not None
    assert verify.verify(ada.workspace_id, by=world.actor("owner")).ok


def test_a_revision_said_in_another_conversation_is_of_that_one(ada: Actor) -> None:
    first = trace(save(ada, external_id="tea", session_id="s1"))
    second = trace(save(ada, "Green tea.", external_id="tea", session_id="s2"))
    other = trace(save(ada, "Milk.", session_id="s2"))
    assert second == other != first
    assert trace(save(ada, "Black tea.", external_id="tea")) is None


def test_an_end_is_no_part_of_a_conversation(ada: Actor) -> None:
    old, ended_record = save(ada, session_id="s1"), save(ada, "Milk.", session_id="s1")
    new = Draft(content="Oat milk.", owner=records.owner_for(ada), session_id="s1")
    records.supersede([old], new, provenance=PROVENANCE, by=ada)
    stored_rows = JournalEntry.objects.get(pk=ended_record.current_entry_id)
    records.forget(ended_record, by=ada)
    kinds = ("memory.superseded", "memory.forgotten")
    ends = JournalEntry.objects.filter(entry_type__in=kinds)
    assert [entry.trace_id for entry in ends] == [None, None]
    stored_rows.refresh_from_db()
    assert stored_rows.trace_id is None


@pytest.mark.parametrize("is_old_case", [False, True])
def test_a_released_text_is_of_the_conversation_it_was_said_in(
    world: World, is_old_case: bool
) -> None:
    lena = world.actor("lena")
    owner = Owner(world.crews["support"])
    turns = trace(save(lena, owner=owner, session_id="s1"))
    with pytest.raises(HeldForReview):
        save(lena, ATTACK, owner=owner, session_id="s1")
    if is_old_case:
        held_rows = HeldRecord.objects.get()
        del held_rows.draft["trace_id"]
        held_rows.save()
    case = HeldFile.objects.get()
    review.decide(
        case,
        Decision.RELEASE,
        version=case.version,
        reason="A quotation",
        by=world.actor("operator"),
    )
    released = Record.objects.get(content=ATTACK)
    assert (trace(released) == turns) is not is_old_case


def test_a_released_revision_stays_in_its_conversation(world: World) -> None:
    lena, operator = world.actor("lena"), world.actor("operator")
    row = save(lena, owner=Owner(world.crews["support"]), session_id="s1")
    turns = trace(row)
    change = Amendment(content=ATTACK)
    with pytest.raises(HeldForReview):
        records.amend(row, change, provenance=PROVENANCE, by=operator)
    case = HeldFile.objects.get()
    reason = "A quotation"
    review.decide(
        case, Decision.RELEASE, version=case.version, reason=reason, by=operator
    )
    released = Record.objects.get(content=ATTACK)
    assert (released.id, trace(released)) == (row.id, turns)


# ── The order of its records ─────────────────────────────────────────────────
def row(name: str, minute: int = 0, **fields: Any) -> SessionRow:
    columns: dict[str, Any] = {
        "crew_id": "crew", "agent_id": "ada", "scope_key": "k", "scope_user": "",
        "scope_thread": "", "session_id": "s1", "turn_range": None,
        "created_at": START + timedelta(minutes=minute), **fields,
    }  # fmt: skip
    return SessionRow(id=name, **columns)


def test_records_are_in_the_order_they_were_created_in() -> None:
    rows = [row("d", 4), row("b", 2), row("a", 1), row("c", 3)]
    assert sessions.conversations(rows) == [["a", "b", "c", "d"]]


def test_turns_say_the_order_where_every_record_has_one() -> None:
    rows = [
        row("a", 1, turn_range=[9, 9]),
        row("b", 2, turn_range=[3, 4]),
        row("c", 3, turn_range=[4]),
    ]
    assert sessions.conversations(rows) == [["b", "c", "a"]]
    assert sessions.conversations([*rows, row("d", 0)]) == [["d", "a", "b", "c"]]


@pytest.mark.parametrize(
    "other",
    [
        {"agent_id": "lena"},
        {"agent_id": None},
        {"crew_id": "billing"},
        {"scope_key": "k2"},
        {"scope_user": "mia"},
        {"scope_thread": "t"},
        {"session_id": "s2"},
    ],
)
def test_another_conversation_is_apart(other: dict[str, Any]) -> None:
    rows = [row("a", 1), row("b", 2, **other)]
    assert sessions.conversations(rows) == [["a"], ["b"]]


def test_without_a_session_or_thread_there_is_no_conversation() -> None:
    solo = [row("a", 1, session_id=""), row("b", 2, session_id="")]
    assert sessions.conversations(solo) == []
    assert sessions.conversations([]) == []
    in_thread = [part._replace(scope_thread="t") for part in solo]
    assert sessions.conversations(in_thread) == [["a", "b"]]


def test_a_session_is_searched_by_its_name_as_before(ada: Actor) -> None:
    row_of_session = save(ada, session_id="s1")
    save(ada, "Milk.", session_id="s2")
    page = records.page(Criteria(session_id="s1"), limit=9, by=ada)
    assert [results.id for results in page.rows] == [row_of_session.id]
