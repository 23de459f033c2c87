"""Records and time: what expired, what held then, what a version said."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from typing import Any

import pytest
from django.utils import timezone

from episodic.index import sweep as index
from memory import records
from memory.journal import erasure, visibility
from memory.models import Record, RecordEntry
from memory.ports.ranker import Question, ranker
from memory.records import Amendment, Criteria, Provenance
from memory.records.drafts import Draft
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


def amend(row: Record, by: Actor, content: str) -> Record:
    change = Amendment(content=content)
    return records.amend(row, change, provenance=PROVENANCE, by=by)


def recalled(by: Actor, words: str) -> list[str]:
    question = Question(query=words, limit=50, entry_types=records.TYPES)
    return [hit.entry.summary for hit in ranker().recall(question, by=by)]


# ── Time ─────────────────────────────────────────────────────────────────────
def test_what_expired_is_not_there(ada: Actor, world: World) -> None:
    row = save(ada, expires_at=timezone.now() + timedelta(hours=1))
    Record.objects.filter(pk=row.pk).update(expires_at=timezone.now())
    assert records.page(Criteria(), by=ada).rows == []
    assert records.count(Criteria(expired=None), by=ada) == 0
    assert records.search("refunds", Criteria(), by=ada).hits == []
    with pytest.raises(errors.NotFound):
        records.get(row.id, owner=None, by=ada)
    people = records.page(Criteria(expired=True), by=world.actor("viewer"))
    assert [record.id for record in people.rows] == [row.id]


def test_what_expired_leaves_the_journals_recall(ada: Actor) -> None:
    row = save(ada, "The courier is Zeppelin Freight.")
    index.sweep()
    assert recalled(ada, "zeppelin courier")
    Record.objects.filter(pk=row.pk).update(expires_at=timezone.now())
    assert (records.retire_expired(), records.retire_expired()) == (1, 0)
    assert recalled(ada, "zeppelin courier") == []


class Clock:
    """A clock that the test sets: ``step`` advances it by an hour."""

    def __init__(self) -> None:
        start = timezone.now() - timedelta(days=2)
        self.hours = [start + timedelta(hours=n) for n in range(24)]
        self.at = 0

    def now(self) -> datetime:
        return self.hours[self.at]

    def step(self) -> None:
        self.at += 1


@pytest.fixture
def clock(ada: Actor, monkeypatch: pytest.MonkeyPatch) -> Clock:
    new_clock = Clock()
    monkeypatch.setattr(timezone, "now", new_clock.now)
    return new_clock


def test_then_is_what_held_then(ada: Actor, clock: Clock) -> None:
    hours = clock.hours
    row = save(ada, "The courier is Zeppelin.", confidence=0.3, metadata={"v": 1})
    clock.step()
    change = Amendment(
        content="The courier is Norrbotten.", confidence=0.9, metadata={"v": 2}
    )
    records.amend(row, change, provenance=PROVENANCE, by=ada)
    clock.step()
    records.supersede([row], draft(ada, "No courier."), provenance=PROVENANCE, by=ada)
    half = timedelta(minutes=30)

    def contents(hour: int, **criteria_fields: Any) -> list[str]:
        criteria = Criteria(as_of=hours[hour] + half, **criteria_fields)
        by_list = [record.content for record in records.page(criteria, by=ada).rows]
        hits = records.search("courier", criteria, by=ada).hits
        assert sorted(by_list) == sorted(hit.record.content for hit in hits)
        assert len(by_list) == records.count(criteria, by=ada)
        return by_list

    assert records.page(Criteria(as_of=hours[0] - half), by=ada).rows == []
    assert contents(0) == ["The courier is Zeppelin."]
    assert contents(1) == ["The courier is Norrbotten."]
    assert contents(2) == ["No courier."]
    assert contents(0, min_confidence=0.5) == []
    leaf = {"field": "metadata.v", "op": "eq", "value": 2}
    assert contents(1, filter=leaf) == ["The courier is Norrbotten."]
    assert contents(0, filter=leaf) == []
    # The exact moment belongs to what was written in it.
    assert [r.content for r in records.page(Criteria(as_of=hours[1]), by=ada).rows] == [
        "The courier is Norrbotten."
    ]


def test_what_was_forgotten_since_was_never_there(ada: Actor, clock: Clock) -> None:
    row = save(ada)
    clock.step()
    clock.step()
    records.forget(row, by=ada)
    criteria = Criteria(as_of=clock.hours[1])
    assert records.page(criteria, by=ada).rows == []
    assert records.search("refunds", criteria, by=ada).hits == []


# ── History ──────────────────────────────────────────────────────────────────
def version_facts(row: Record, by: Actor) -> list[tuple[str, dict[str, Any], str]]:
    """Return the words, the metadata and the reason of every version."""
    versions = records.history(row.id, owner=None, by=by)
    return [(version.content, version.metadata, version.reason) for version in versions]


def revised(by: Actor) -> Record:
    row = save(by, "The courier is Zeppelin.", metadata={"m": "zeppelin"})
    change = Amendment(content="The courier is Norrbotten.", metadata={"m": "n"})
    return records.amend(row, change, provenance=PROVENANCE, reason="new", by=by)


NOW = ("The courier is Norrbotten.", {"m": "n"}, "new")
BLANK: tuple[str, dict[str, Any], str] = ("", {}, "")


@pytest.mark.parametrize("take", [visibility.restrict, erasure.erase])
def test_an_older_version_that_is_taken_away_has_no_words(
    ada: Actor, world: World, take: Callable[[str, Sequence[str]], int]
) -> None:
    row = revised(ada)
    old = RecordEntry.objects.get(record=row, version=1)
    take(ada.workspace_id, [old.entry_id])
    for by in (ada, world.actor("viewer")):
        assert version_facts(row, by) == [BLANK, NOW]
    assert [version.content for version in records.versions(row)] == ["", NOW[0]]


def test_an_end_does_not_repeat_what_is_restricted(ada: Actor) -> None:
    row = save(ada, "Zeppelin.", metadata={"m": "zeppelin"})
    entry_id = str(row.current_entry_id)
    new = draft(ada, "New.")
    records.supersede([row], new, provenance=PROVENANCE, reason="why", by=ada)
    visibility.restrict(ada.workspace_id, [entry_id])
    assert version_facts(row, ada) == [BLANK, ("", {}, "why")]
    visibility.lift(ada.workspace_id, [entry_id])
    words = ("Zeppelin.", {"m": "zeppelin"})
    assert version_facts(row, ada) == [(*words, ""), (*words, "why")]


def test_an_agent_is_not_told_what_the_scanner_would_hold_now(
    ada: Actor, world: World
) -> None:
    new_draft = draft(ada, ATTACK, metadata={"m": 1})
    row = records.insert(new_draft, provenance=PROVENANCE, by=ada)
    records.amend(
        row,
        Amendment(content="Cleaned."),
        provenance=Provenance.OPERATOR_CURATED,
        by=world.actor("operator"),
    )
    assert version_facts(row, ada) == [BLANK, ("Cleaned.", {"m": 1}, "")]
    [first, _] = version_facts(row, world.actor("viewer"))
    assert first == (ATTACK, {"m": 1}, "")


def test_an_agent_that_keeps_an_id_does_not_read_what_expired(
    ada: Actor, world: World
) -> None:
    row = save(ada, expires_at=timezone.now() + timedelta(hours=1))
    assert len(version_facts(row, ada)) == 1
    Record.objects.filter(pk=row.pk).update(expires_at=timezone.now())
    with pytest.raises(errors.NotFound):
        records.history(row.id, owner=None, by=ada)
    assert version_facts(row, world.actor("viewer"))[0][0] == row.content


# ── Fields of then ───────────────────────────────────────────────────────────
def test_an_author_is_named_while_a_member(world: World, ada: Actor) -> None:
    row = save(ada)
    operator, owner = world.actor("operator"), world.actor("owner")
    amend(row, operator, "Corrected.")
    first, second = records.history(row.id, owner=None, by=owner)
    assert records.authors([first, second], by=owner) == {
        first.entry_id: "ada",
        second.entry_id: "operator@acme.example",
    }
    assert records.authors([first, second], by=world.actor("stranger")) == {
        first.entry_id: ada.id,
        second.entry_id: "a former member",
    }
    assert (first.parent_id, second.parent_id) == (None, first.id)
    assert (first.number, first.valid_to) == (1, second.created_at)


def test_then_a_record_matches_by_its_fields_of_then(
    ada: Actor, monkeypatch: pytest.MonkeyPatch
) -> None:
    start = timezone.now() - timedelta(days=2)
    hours = [start + timedelta(hours=n) for n in range(4)]
    monkeypatch.setattr(timezone, "now", lambda: hours[0])
    row = save(ada, "Red TEA.", kind="fact", confidence=0.5, expires_at=hours[2])
    monkeypatch.setattr(timezone, "now", lambda: hours[1])
    change = Amendment(content="Milk.", kind="rule", confidence=0.9, expires_at=None)
    curated = Provenance.OPERATOR_CURATED
    records.amend(row, change, provenance=curated, by=ada)

    def then(moment: Any, **fields: Any) -> list[str]:
        criteria = Criteria(as_of=moment, **fields)
        return [record.content for record in records.page(criteria, by=ada).rows]

    early = hours[0] + timedelta(minutes=30)
    assert then(early, kinds=("fact",)) == ["Red TEA."]
    assert then(early, kinds=("rule",)) == []
    assert then(early, provenances=(PROVENANCE,)) == ["Red TEA."]
    assert then(early, provenances=(curated,)) == []
    assert then(early, text="red tea") == ["Red TEA."]
    assert then(early, text="milk") == []
    assert then(early, min_confidence=0.5) == ["Red TEA."]
    assert then(early, min_confidence=0.6) == []
    late = hours[3]
    assert then(late, kinds=("rule",), provenances=(curated,)) == ["Milk."]
    assert then(late, text="tea") == []


def test_then_a_record_that_expires_is_there_until_its_moment(
    ada: Actor, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Entries keep milliseconds.
    start = timezone.now().replace(microsecond=0) - timedelta(days=2)
    due = start + timedelta(hours=1)
    monkeypatch.setattr(timezone, "now", lambda: start)
    save(ada, "Brief.", expires_at=due)

    def then(moment: Any) -> list[str]:
        page = records.page(Criteria(as_of=moment), by=ada)
        return [record.content for record in page.rows]

    assert then(due - timedelta(milliseconds=1)) == ["Brief."]
    assert then(due) == []


def test_then_a_record_is_as_it_was_and_not_how_it_ended(
    ada: Actor, monkeypatch: pytest.MonkeyPatch
) -> None:
    hours = [timezone.now() - timedelta(days=2, hours=-n) for n in range(3)]
    monkeypatch.setattr(timezone, "now", lambda: hours[0])
    row = save(ada, "One.")
    monkeypatch.setattr(timezone, "now", lambda: hours[1])
    amend(row, ada, "Two.")
    monkeypatch.setattr(timezone, "now", lambda: hours[2])
    records.supersede([row], draft(ada, "Three."), provenance=PROVENANCE, by=ada)
    first = RecordEntry.objects.get(record=row, version=1).entry
    page = records.page(Criteria(as_of=hours[0]), by=ada)
    [then] = page.rows
    assert (then.content, then.version, then.status) == ("One.", 1, "current")
    assert (then.superseded_by_id, then.current_entry) == (None, first)
    assert then.updated_at == first.ts


@pytest.mark.parametrize("take", [visibility.restrict, erasure.erase])
def test_then_is_without_what_was_taken_away_since(
    ada: Actor, monkeypatch: pytest.MonkeyPatch, take: Any
) -> None:
    hours = [timezone.now() - timedelta(days=2, hours=-n) for n in range(2)]
    monkeypatch.setattr(timezone, "now", lambda: hours[0])
    row = save(ada, "One.")
    monkeypatch.setattr(timezone, "now", lambda: hours[1])
    amend(row, ada, "Two.")
    criteria = Criteria(as_of=hours[0])
    assert len(records.page(criteria, by=ada).rows) == 1
    first = RecordEntry.objects.get(record=row, version=1)
    take(ada.workspace_id, [first.entry_id])
    assert records.page(criteria, by=ada).rows == []
    assert records.count(criteria, by=ada) == 0
