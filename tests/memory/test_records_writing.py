"""Versions of records: their links, their people, and what a lost race leaves."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.db import IntegrityError, transaction
from django.utils import timezone

from memory import records
from memory.files.quarantine import HeldForReview
from memory.journal import erasure
from memory.models import HeldFile, JournalEntry, Record, RecordEntry
from memory.records import (
    KEEP,
    Action,
    Amendment,
    Criteria,
    Provenance,
    chain,
    drafts,
    rows,
    writing,
)
from memory.records.drafts import Draft, Scope
from memory.rules import errors
from memory.rules.permissions import Actor
from tests.world import ATTACK, World

PROVENANCE = Provenance.AGENT_EXTRACTED


@pytest.fixture
def ada(world: World) -> Actor:
    return world.actor("ada")


def draft(by: Actor, content: str = "Refunds end at $200.", **fields: Any) -> Draft:
    fields.setdefault("owner", records.owner_for(by))
    return Draft(content=content, **fields)


def save(by: Actor, content: str = "Refunds end at $200.", **fields: Any) -> Record:
    new_draft = draft(by, content, **fields)
    return records.save(new_draft, provenance=PROVENANCE, by=by).record


def amend(row: Record, by: Actor, content: str, **fields: Any) -> Record:
    change = Amendment(content=content, **fields)
    return records.amend(row, change, provenance=PROVENANCE, by=by)


# ── Links and entries ────────────────────────────────────────────────────────
def test_a_version_lasts_until_the_next_one(ada: Actor) -> None:
    row, other = save(ada, "One."), save(ada, "Other.")
    amend(row, ada, "Two.")
    states = RecordEntry.objects.filter(record=row).order_by("version")
    assert [link.entry.retired_at is None for link in states] == [False, True]
    new = draft(ada, "Three.")
    records.supersede([row], new, provenance=PROVENANCE, reason="why", by=ada)
    links = list(RecordEntry.objects.filter(record=row).order_by("version"))
    assert [link.version for link in links] == [1, 2, 3]
    assert [link.event for link in links] == ["created", "updated", "superseded"]
    first, second, end = links
    begun = [link.valid_from for link in links if link.valid_from is not None]
    assert begun == sorted(set(begun)) and len(begun) == 3
    assert (first.valid_to, second.valid_to) == (second.valid_from, end.valid_from)
    assert end.valid_to == end.valid_from
    assert {link.workspace_id for link in links} == {ada.workspace_id}
    assert RecordEntry.objects.get(record=other).valid_to is None
    retired = [link.entry.retired_at is not None for link in links]
    assert retired == [True, True, False]
    assert RecordEntry.objects.get(record=other).entry.retired_at is None


def test_an_entry_names_its_owner_and_repeats_no_words_at_an_end(
    world: World, ada: Actor
) -> None:
    by, due = world.actor("operator"), timezone.now() + timedelta(days=1)
    shared = records.owner_for(ada, is_shared=True)
    row = save(by, "Zeppelin.", owner=shared, kind="fact", expires_at=due)
    entry = JournalEntry.objects.get(pk=row.current_entry_id)
    assert (entry.crew_id, entry.agent_id) == (world.crews["support"].id, None)
    assert (entry.summary, entry.payload) == ("Zeppelin.", {})
    assert entry.refs["expires_at"].startswith(due.isoformat()[:19])
    facts = {"record_id": row.id, "version": 1, "kind": "fact", "episodic": True}
    assert facts.items() <= entry.refs.items()
    assert not {"metadata", "reason"} & entry.refs.keys()
    new = draft(by, "New.", owner=shared)
    saved = records.supersede([row], new, provenance=PROVENANCE, by=by)
    end = RecordEntry.objects.get(record=row, version=2).entry
    assert end.summary == f"A record was superseded ({row.id})"
    assert end.refs["superseded_by"] == saved.record.id
    assert (end.crew_id, end.agent_id) == (world.crews["support"].id, None)


def test_a_long_content_is_whole_in_its_entry(ada: Actor) -> None:
    for content in ("x" * 600, "x" * 601, " padded "):
        row = save(ada, content)
        entry = JournalEntry.objects.get(pk=row.current_entry_id)
        assert entry.summary == content.strip()[:600]
        whole = entry.summary == content
        assert entry.payload == ({} if whole else {"content": content})
        [version] = records.versions(row)
        assert version.content == content


def test_the_content_of_a_record_is_in_its_entries_that_are_not_erased(
    ada: Actor,
) -> None:
    row, other = save(ada, "One."), save(ada, "Other.")
    amend(row, ada, "Two.")
    ids = chain.content_entry_ids(ada.workspace_id, [row.id])
    assert len(ids) == 2
    assert str(other.current_entry_id) not in ids
    assert chain.content_entry_ids("another", [row.id]) == []
    first = RecordEntry.objects.get(record=row, version=1).entry_id
    erasure.erase(ada.workspace_id, [first])
    assert chain.content_entry_ids(ada.workspace_id, [row.id]) == [
        eid for eid in ids if eid != first
    ]


# ── Whom a version is about ──────────────────────────────────────────────────
def test_the_people_of_a_version_are_the_new_the_user_and_the_former(
    ada: Actor,
) -> None:
    row = save(ada, subjects=("a", "b"), scope=Scope(user="u1"))
    assert records.subjects_of(row) == ["a", "b", "u1"]
    row = amend(row, ada, "New.", subjects=("c", "b"))
    assert records.subjects_of(row) == ["c", "b", "u1", "a"]
    many = tuple(f"p{n}" for n in range(49))
    row = amend(row, ada, "Newer.", subjects=many)
    assert records.subjects_of(row) == [*many, "u1"]


# ── Lost races ───────────────────────────────────────────────────────────────
def test_a_record_that_keeps_changing_is_busy(
    world: World, ada: Actor, monkeypatch: pytest.MonkeyPatch
) -> None:
    operator, gate, count = world.actor("operator"), drafts.gate, [0]
    row = save(ada, external_id="limit")

    def overtaken(*args: Any, **kwargs: Any) -> Draft:
        if kwargs["by"] == ada:
            count[0] += 1
            amend(row, operator, f"Theirs {count[0]}.")
        return gate(*args, **kwargs)

    monkeypatch.setattr(writing, "TRIES", 3)
    monkeypatch.setattr(drafts, "gate", overtaken)
    with pytest.raises(errors.Conflict) as caught:
        amend(row, ada, "Mine.")
    assert (caught.value.problem_code, count[0]) == ("busy_record", 3)
    row.refresh_from_db()
    assert row.content == "Theirs 3."
    monkeypatch.setattr(writing, "replace_content", lambda *_, **__: None)
    new = draft(ada, "Mine.", external_id="limit")
    with pytest.raises(errors.Conflict) as caught:
        records.keep(new, provenance=PROVENANCE, by=ada)
    assert caught.value.problem_code == "busy_record"


def test_a_batch_that_loses_every_race_is_busy(
    ada: Actor, monkeypatch: pytest.MonkeyPatch
) -> None:
    save(ada, external_id="limit")
    count = [0]

    def blind(*_: Any) -> Any:
        count[0] += 1
        return {}

    monkeypatch.setattr(writing, "TRIES", 3)
    monkeypatch.setattr(rows, "current_by_name", blind)
    new = draft(ada, "Refunds end at $300.", external_id="limit")
    with pytest.raises(errors.Conflict) as caught:
        records.keep_all([new], provenance=PROVENANCE, by=ada)
    assert (caught.value.problem_code, count[0]) == ("busy_record", 3)

    def broken(*_: Any, **__: Any) -> Record:
        raise IntegrityError

    monkeypatch.setattr(rows, "store", broken)
    with pytest.raises(IntegrityError):
        records.keep_all([draft(ada, "No name.")], provenance=PROVENANCE, by=ada)


def test_a_batch_is_checked_when_it_is_saved_too(ada: Actor) -> None:
    for content in (" ", "x" * 70_000):
        new = [draft(ada, "Fine."), draft(ada, content)]
        with pytest.raises((errors.Invalid, errors.TooLarge)):
            records.keep_all(new, provenance=PROVENANCE, by=ada)
        with pytest.raises((errors.Invalid, errors.TooLarge)):
            records.insert(new[1], provenance=PROVENANCE, by=ada)
    assert not Record.objects.exists()


def test_what_cannot_be_a_record_is_no_case_either(ada: Actor) -> None:
    with pytest.raises(errors.Invalid):
        bad = draft(ada, ATTACK, confidence=1.5)
        records.prepare(bad, provenance=PROVENANCE, by=ada)
    assert not HeldFile.objects.exists()


def test_a_name_saved_meanwhile_is_revised_and_another_fault_is_raised(
    ada: Actor, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = save(ada, external_id="limit")
    look, answers = rows.current_by_name, iter([dict[Any, Any]()])

    def blind(*args: Any) -> Any:
        for answer in answers:
            return answer
        return look(*args)

    monkeypatch.setattr(rows, "current_by_name", blind)
    new = draft(ada, "Refunds end at $300.", external_id="limit")
    with transaction.atomic():
        row, action = records.keep(new, provenance=PROVENANCE, by=ada)
    assert (row.id, action, row.version) == (first.id, Action.UPDATED, 2)

    def broken(*_: Any, **__: Any) -> Record:
        raise IntegrityError

    monkeypatch.setattr(writing, "insert", broken)
    with pytest.raises(IntegrityError):
        records.keep(draft(ada, "No name."), provenance=PROVENANCE, by=ada)


def test_a_draft_takes_the_place_of_the_version_it_was_made_from_alone(
    ada: Actor,
) -> None:
    row = save(ada, "One.")
    new = records.draft_of(row, "Two.")
    assert records.replace_content(row, new, expected=2, by=ada) is None
    second = records.replace_content(row, new, expected=1, reason="why", by=ada)
    assert second is not None
    assert (second.content, second.version, second.provenance) == (
        "Two.", 2, PROVENANCE
    )  # fmt: skip
    second.refresh_from_db()
    assert second.current_entry is not None
    assert second.updated_at == second.current_entry.recorded_at
    assert records.versions(second)[-1].reason == "why"
    with pytest.raises(errors.Invalid):
        empty = records.draft_of(second, " ")
        records.replace_content(second, empty, expected=2, by=ada)
    for end in ("superseded", "forgotten"):
        Record.objects.filter(pk=row.pk).update(status=end)
        with pytest.raises(errors.NotFound):
            records.replace_content(second, new, expected=2, by=ada)


# ── Changing ─────────────────────────────────────────────────────────────────
def test_a_change_keeps_what_it_does_not_name(ada: Actor) -> None:
    due = timezone.now() + timedelta(days=1)
    fields: dict[str, Any] = {
        "kind": "fact",
        "metadata": {"a": 1},
        "confidence": 0.5,
        "session_id": "s1",
        "expires_at": due,
    }
    row = save(ada, **fields)

    def facts(record: Record) -> dict[str, Any]:
        record.refresh_from_db()
        return {name: getattr(record, name) for name in fields}

    row = amend(row, ada, "New.")
    assert facts(row) == fields
    change = Amendment(metadata={}, confidence=0.0, expires_at=None)
    assert change.kind is None and Amendment().expires_at is KEEP
    row = records.amend(row, change, provenance=PROVENANCE, by=ada)
    assert row.content == "New."
    assert facts(row) == fields | {
        "metadata": {}, "confidence": 0.0, "expires_at": None
    }  # fmt: skip


def test_a_change_of_what_is_gone_is_not_found(ada: Actor) -> None:
    row = save(ada)
    records.supersede([row], draft(ada, "New."), provenance=PROVENANCE, by=ada)
    with pytest.raises(errors.NotFound):
        amend(row, ada, "Newer.")


def test_a_change_is_checked_like_a_new_record(ada: Actor) -> None:
    row = save(ada)
    with pytest.raises(errors.Invalid):
        amend(row, ada, " ")
    with pytest.raises(errors.Invalid):
        amend(row, ada, row.content, confidence=1.5)
    row.refresh_from_db()
    assert row.version == 1


# ── Superseding ──────────────────────────────────────────────────────────────
def test_superseding_needs_records_and_is_one_act(world: World, ada: Actor) -> None:
    with pytest.raises(errors.Invalid) as caught:
        records.supersede([], draft(ada), provenance=PROVENANCE, by=ada)
    assert caught.value.problem_code == "no_sources"
    mine, gone = save(ada, "Mine."), save(ada, "Gone.")
    records.forget(gone, by=ada)
    with pytest.raises(errors.Conflict):
        sources = [mine, gone]
        records.supersede(sources, draft(ada), provenance=PROVENANCE, by=ada)
    with pytest.raises(HeldForReview):
        records.supersede([mine], draft(ada, ATTACK), provenance=PROVENANCE, by=ada)
    mine.refresh_from_db()
    assert (mine.status, mine.version) == ("current", 1)
    twice = [mine, Record.objects.get(pk=mine.pk)]
    saved = records.supersede(
        twice, draft(ada, "New."), provenance=PROVENANCE, reason="why", by=ada
    )
    assert saved.action is Action.CREATED
    assert saved.record.provenance == PROVENANCE
    mine.refresh_from_db()
    assert (mine.status, mine.version) == ("superseded", 2)
    assert records.versions(saved.record)[0].reason == "why"
    viewer = world.actor("viewer")
    [current] = records.page(Criteria(statuses=("superseded",)), by=viewer).rows
    assert current.superseded_by_id == saved.record.id
