"""Records: saved, revised, superseded, forgotten; the journal tells the same."""

from __future__ import annotations

from typing import Any

import pytest
from django.db import IntegrityError, transaction
from django.utils import timezone

from episodic.index import sweep as index
from memory import records
from memory.files.quarantine import HeldForReview, WriteRefused
from memory.journal import queries, verify
from memory.journal.queries import JournalFilter
from memory.models import HeldFile, JournalEntry, Record, RecordEntry
from memory.ports.ranker import Question, ranker
from memory.records import Action, Amendment, Criteria, Provenance, drafts
from memory.records.drafts import Draft, Scope
from memory.review import decide as review
from memory.review.decide import Decision
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


def recalled(by: Actor, words: str) -> list[str]:
    question = Question(query=words, limit=50, entry_types=records.TYPES)
    return [hit.entry.summary for hit in ranker().recall(question, by=by)]


# ── Saving ───────────────────────────────────────────────────────────────────
def test_a_record_is_found_the_moment_it_is_saved(ada: Actor) -> None:
    row = save(ada, "Norrbotten picks up pallets until 15:00.")
    [hit] = records.search("when are pallets picked up", Criteria(), by=ada).hits
    assert hit.record.id == row.id
    assert (hit.record.provenance, hit.record.status) == (PROVENANCE, "current")


def test_the_journal_tells_of_it_and_the_chain_holds(ada: Actor, world: World) -> None:
    row = save(ada, metadata={"colour": "red"}, confidence=0.4)
    entry = JournalEntry.objects.get(pk=row.current_entry_id)
    assert (entry.entry_type, entry.agent_id) == ("memory.recorded", ada.id)
    assert entry.refs["metadata"] == {"colour": "red"}
    assert entry.refs["confidence"] == 0.4
    assert row.created_at == entry.recorded_at
    assert verify.verify(ada.workspace_id, by=world.actor("owner")).ok


def test_provenance_in_the_payload_is_only_metadata(ada: Actor) -> None:
    row = save(ada, metadata={"provenance": "operator_curated"})
    assert row.provenance == Provenance.AGENT_EXTRACTED


def test_the_scope_map_is_kept_whole(ada: Actor) -> None:
    scope_map = {"user_id": "u1", "workspace_id": "w", "region": "eu"}
    row = save(ada, scope=Scope.of(scope_map))
    row.refresh_from_db()
    assert records.scope_of(row).as_map() == {
        "user": "u1",
        "workspace_id": "w",
        "region": "eu",
    }
    assert records.scope_of(row).key == row.scope_key


@pytest.mark.parametrize(
    "fields",
    [
        {"content": " \n"},
        {"content": "a\x00b"},
        {"content": "x" * 70_000},
        {"confidence": 1.1},
        {"confidence": float("nan")},
        {"kind": ""},
        {"kind": "x" * 41},
        {"session_id": "x" * 257},
        {"external_id": "x" * 201},
        {"metadata": {"a": float("inf")}},
        {"metadata": {"a\x00": 1}},
        {"metadata": {"a": "x" * 33_000}},
        {"scope": Scope(user="x" * 257)},
        {"scope": Scope(extra={"no space": "x"})},
        {"scope": Scope(extra={"user": "twice"})},
        {"scope": Scope(extra={f"k{n}": "x" for n in range(17)})},
        {"expires_at": timezone.now().replace(tzinfo=None)},
        {"subjects": ("",)},
    ],
)
def test_what_cannot_be_a_record_is_refused_whole(
    ada: Actor, fields: dict[str, Any]
) -> None:
    before = JournalEntry.objects.count()
    with pytest.raises((errors.Invalid, errors.TooLarge)):
        save(ada, **fields)
    assert (JournalEntry.objects.count(), Record.objects.count()) == (before, 0)


def test_what_the_scanner_holds_is_no_record_until_a_person_says_so(ada: Actor) -> None:
    with pytest.raises(HeldForReview):
        save(ada, ATTACK)
    with pytest.raises(WriteRefused):
        save(ada, "fine", metadata={"note": ATTACK})
    assert not records.page(Criteria(), by=ada).rows
    assert not records.search("instructions", Criteria(), by=ada).hits


def test_a_released_text_is_the_next_version_of_its_external_id(
    ada: Actor, world: World
) -> None:
    first = save(ada, external_id="limit")
    with pytest.raises(HeldForReview) as caught:
        save(ada, ATTACK, external_id="limit", metadata={"n": 1})
    held_file = HeldFile.objects.get(pk=caught.value.fields["held_id"])
    operator = world.actor("operator")
    decision = Decision.RELEASE
    review.decide(
        held_file, decision, version=held_file.version, reason="a test", by=operator
    )
    first.refresh_from_db()
    assert (first.version, first.content, first.metadata) == (2, ATTACK, {"n": 1})
    assert first.provenance == PROVENANCE
    [hit] = records.search("instructions", Criteria(), by=ada).hits
    assert hit.record.id == first.id


@pytest.mark.parametrize("actor", ["viewer", "compliance", "reader"])
def test_who_may_not_write(world: World, actor: str) -> None:
    with pytest.raises(errors.Forbidden):
        save(world.actor(actor))


def test_only_the_lead_writes_for_the_crew(world: World) -> None:
    ada, lena = world.actor("ada"), world.actor("lena")
    with pytest.raises(errors.Forbidden):
        save(ada, owner=records.owner_for(ada, is_shared=True))
    row = save(lena, owner=records.owner_for(lena, is_shared=True))
    assert [r.id for r in records.page(Criteria(), by=ada).rows] == [row.id]
    assert not records.page(Criteria(), by=world.actor("bob")).rows


def test_a_person_cannot_write_into_another_workspace(world: World) -> None:
    foreign_owner = records.owner_for(world.actor("olga"))
    with pytest.raises(errors.NotFound):
        save(world.actor("operator"), owner=foreign_owner)


# ── The same thing twice ─────────────────────────────────────────────────────
def test_what_says_nearly_the_same_is_told_and_not_in_the_way(ada: Actor) -> None:
    first = save(ada, "Refunds above 200 dollars need a supervisor to agree.")
    save(ada, "The parcel leaves on Monday.")
    content = "Refunds above 200 dollars need a supervisor to agree now."
    saved = records.save(draft(ada, content), provenance=PROVENANCE, by=ada)
    assert saved.action is Action.CREATED
    assert [similar.record_id for similar in saved.alike] == [first.id]
    assert 0.85 <= saved.alike[0].similarity <= 1


def test_another_scope_says_nothing_of_what_it_holds(ada: Actor) -> None:
    save(ada, scope=Scope(user="u1"))
    saved = records.save(
        draft(ada, scope=Scope(user="u2")), provenance=PROVENANCE, by=ada
    )
    assert saved.alike == []


def test_meaning_finds_what_words_do_not(ada: Actor, minilm: Any) -> None:
    first = save(ada, "The customer prefers to be contacted by e-mail.")
    index.sweep()
    words = "Customers of this kind like e-mail contact: the customer prefers e-mail."
    saved = records.save(draft(ada, words), provenance=PROVENANCE, by=ada)
    if saved.alike:
        assert saved.alike[0].record_id == first.id
    [hit, *_] = records.search("how to reach the client", Criteria(), by=ada).hits
    assert hit.similarity is not None


# ── External ids ─────────────────────────────────────────────────────────────
def test_an_external_id_is_one_record_with_versions(ada: Actor) -> None:
    first = save(ada, external_id="limit")
    for content, action in (("Refunds end at $200.", Action.UNCHANGED),
                            ("Refunds end at $300.", Action.UPDATED)):  # fmt: skip
        new_draft = draft(ada, content, external_id="limit")
        saved = records.save(new_draft, provenance=PROVENANCE, by=ada)
        assert (saved.record.id, saved.action) == (first.id, action)
    assert saved.record.version == 2
    assert saved.record.created_at == first.created_at
    assert [v.content for v in records.history(first.id, owner=None, by=ada)] == [
        "Refunds end at $200.",
        "Refunds end at $300.",
    ]


def test_an_external_id_belongs_to_its_scope(ada: Actor) -> None:
    first = save(ada, external_id="limit", scope=Scope(user="u1"))
    second = save(ada, external_id="limit", scope=Scope(user="u2"))
    assert first.id != second.id
    owner = records.owner_for(ada)
    record = records.by_external("limit", owner=owner, scope=Scope(user="u2"), by=ada)
    assert record is not None
    assert record.id == second.id
    assert records.by_external("limit", owner=owner, scope=Scope(), by=ada) is None


def test_a_database_does_not_take_an_external_id_twice(ada: Actor) -> None:
    save(ada, external_id="limit")
    with pytest.raises(IntegrityError), transaction.atomic():
        records.insert(draft(ada, external_id="limit"), provenance=PROVENANCE, by=ada)


def test_a_workspaces_own_external_id_is_one_too(world: World) -> None:
    operator = world.actor("operator")
    save(operator, external_id="house", owner=None)
    saved = records.save(
        draft(operator, "New.", external_id="house", owner=None),
        provenance=Provenance.OPERATOR_CURATED,
        by=operator,
    )
    assert saved.action is Action.UPDATED
    with pytest.raises(IntegrityError), transaction.atomic():
        new_draft = draft(operator, external_id="house", owner=None)
        records.insert(new_draft, provenance=PROVENANCE, by=operator)


# ── Revising ─────────────────────────────────────────────────────────────────
def test_an_older_version_leaves_recall_and_search_and_stays_in_history(
    ada: Actor,
) -> None:
    row = save(ada, "The courier is Zeppelin Freight.")
    change = Amendment(content="The courier is Norrbotten Freight.", kind="fact")
    records.amend(row, change, provenance=PROVENANCE, reason="new contract", by=ada)
    index.sweep()
    assert records.search("zeppelin", Criteria(), min_score=0.5, by=ada).hits == []
    assert not [s for s in recalled(ada, "zeppelin courier") if "Zeppelin" in s]
    first, second = records.history(row.id, owner=None, by=ada)
    assert (first.event, second.event) == ("created", "updated")
    assert (first.content, second.parent_id) == (
        "The courier is Zeppelin Freight.",
        first.id,
    )
    assert (second.reason, second.kind, first.kind) == (
        "new contract",
        "fact",
        "statement",
    )
    old = RecordEntry.objects.get(record=row, version=1).entry
    assert old.retired_at is not None


def test_a_change_of_nothing_is_no_version(ada: Actor) -> None:
    row = save(ada)
    amendment = Amendment(content=row.content, confidence=1.0)
    assert records.amend(row, amendment, provenance=PROVENANCE, by=ada).version == 1


def test_a_stale_edit_is_refused(world: World, ada: Actor) -> None:
    row, operator = save(ada), world.actor("operator")
    records.amend(row, Amendment(content="Second."), provenance=PROVENANCE, by=ada)
    with pytest.raises(errors.Conflict) as caught:
        records.amend(
            row,
            Amendment(content="Third."),
            provenance=PROVENANCE,
            expected=1,
            by=operator,
        )
    assert caught.value.problem_code == "stale_version"


def test_a_persons_edit_is_curated_and_keeps_who_it_is_about(
    world: World, ada: Actor
) -> None:
    row = save(ada, subjects=("jan@example.com",), scope=Scope(user="u7"))
    amended = records.amend(
        row,
        Amendment(content="Refunds end at $300."),
        provenance=Provenance.OPERATOR_CURATED,
        by=world.actor("operator"),
    )
    assert amended.provenance == Provenance.OPERATOR_CURATED
    assert set(records.subjects_of(amended)) == {"jan@example.com", "u7"}
    filters = JournalFilter(subject="u7")
    assert queries.count(world.actor("owner"), filters) == 2


def test_a_held_edit_leaves_the_record_as_it_was(ada: Actor) -> None:
    row = save(ada)
    with pytest.raises(HeldForReview):
        records.amend(row, Amendment(content=ATTACK), provenance=PROVENANCE, by=ada)
    row.refresh_from_db()
    assert (row.version, row.content) == (1, "Refunds end at $200.")


# ── Superseding ──────────────────────────────────────────────────────────────
def test_a_successor_takes_the_place_of_many(ada: Actor) -> None:
    first, second = save(ada, "Refunds end at $100."), save(ada, "Refunds end at $150.")
    saved = records.supersede(
        [first, second], draft(ada), provenance=PROVENANCE, reason="one rule", by=ada
    )
    assert [r.id for r in records.page(Criteria(), by=ada).rows] == [saved.record.id]
    first.refresh_from_db()
    assert (first.status, first.superseded_by_id) == ("superseded", saved.record.id)
    last = records.history(first.id, owner=None, by=ada)[-1]
    assert (last.event, last.reason, last.other_id) == (
        "superseded",
        "one rule",
        saved.record.id,
    )
    assert {r.id for r in records.sources(saved.record)} == {first.id, second.id}


def test_what_is_not_current_cannot_be_superseded_again(ada: Actor) -> None:
    row = save(ada)
    records.supersede([row], draft(ada, "New."), provenance=PROVENANCE, by=ada)
    before = Record.objects.count()
    with pytest.raises(errors.Conflict):
        records.supersede([row], draft(ada, "Newer."), provenance=PROVENANCE, by=ada)
    assert Record.objects.count() == before


def test_a_successor_may_take_the_external_id_along(ada: Actor) -> None:
    row = save(ada, external_id="limit")
    new_draft = draft(ada, "New.", external_id="limit")
    saved = records.supersede([row], new_draft, provenance=PROVENANCE, by=ada)
    owner = records.owner_for(ada)
    record = records.by_external("limit", owner=owner, scope=Scope(), by=ada)
    assert record is not None
    assert record.id == saved.record.id


def test_of_two_changes_at_once_none_is_lost(
    world: World, ada: Actor, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another writer comes between the reading of a record and its lock."""
    row, gate, operator = save(ada, "One."), drafts.gate, world.actor("operator")
    texts = iter(["Two."])

    def overtaken(*args: Any, **kwargs: Any) -> Draft:
        admitted = gate(*args, **kwargs)
        for text in texts:
            change = Amendment(content=f"One. {text}")
            records.amend(row, change, provenance=PROVENANCE, by=operator)
        return admitted

    monkeypatch.setattr(drafts, "gate", overtaken)
    revised = records.revise(
        row, lambda now: f"{now} Three.", provenance=PROVENANCE, by=ada
    )
    assert revised.content == "One. Two. Three."
    assert revised.version == 3


def test_a_version_that_was_overtaken_before_the_lock_is_stale(
    world: World, ada: Actor, monkeypatch: pytest.MonkeyPatch
) -> None:
    row, gate, operator = save(ada, "One."), drafts.gate, world.actor("operator")
    texts = iter(["Theirs."])

    def overtaken(*args: Any, **kwargs: Any) -> Draft:
        admitted = gate(*args, **kwargs)
        for text in texts:
            change = Amendment(content=text)
            records.amend(row, change, provenance=PROVENANCE, by=operator)
        return admitted

    monkeypatch.setattr(drafts, "gate", overtaken)
    amendment = Amendment(content="Mine.")
    with pytest.raises(errors.Conflict) as caught:
        records.amend(row, amendment, provenance=PROVENANCE, expected=1, by=ada)
    assert caught.value.problem_code == "stale_version"
    row.refresh_from_db()
    assert (row.content, row.version) == ("Theirs.", 2)
