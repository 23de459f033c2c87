"""A restricted person's data is kept but not used, until the restriction ends."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.utils import timezone

from episodic.index import sweep as index
from episodic.recall import search as recall
from episodic.recall.request import Request
from gdpr.models import Lifting, Subject
from gdpr.subjects import backfill, consents, merge, profile, restriction
from gdpr.subjects import registry as subjects
from gdpr.subjects.registry import NewAlias
from memory.files import import_export, tools
from memory.journal import append as journal
from memory.journal import compaction, queries
from memory.journal.queries import JournalFilter
from memory.models import ArchivedEntry, JournalEntry
from memory.rules import errors
from memory.rules.entries import NewEntry
from tests.gdpr import kit
from tests.world import World

pytestmark = pytest.mark.django_db
MAIL = "maria@example.org"


@pytest.fixture
def maria(world: World) -> Subject:
    names = [NewAlias("email", MAIL)]
    return subjects.create("Maria", names, by=world.actor("compliance"))


def recalled(world: World) -> set[str]:
    request = Request(query="refund denied", k=50)
    return {hit.entry.id for hit in recall.search(request, by=world.actor("ada")).hits}


def test_what_is_and_what_will_be_written_rests(world: World, maria: Subject) -> None:
    by = world.actor("compliance")
    before = world.indexed(f"Refund denied to {MAIL}")
    other = world.indexed("Refund denied to somebody")
    assert restriction.restrict(maria, by=by) == 1
    after = world.indexed(f"Refund denied again to {MAIL}")
    assert recalled(world) == {other.id}
    assert maria.restricted_at is not None
    assert restriction.restrict(maria, by=by) == 2
    assert restriction.lift(maria, "Settled", by=by) == 2
    index.sweep()
    assert recalled(world) == {before.id, other.id, after.id}


def test_what_is_about_another_person_stays_in_use(
    world: World, maria: Subject
) -> None:
    by = world.actor("compliance")
    subjects.create("Jan", [NewAlias("email", "jan@example.org")], by=by)
    world.indexed(f"Refund denied to {MAIL}")
    row = world.indexed("Refund denied to jan@example.org")
    assert restriction.restrict(maria, by=by) == 1
    assert recalled(world) == {row.id}


@pytest.mark.parametrize(
    ("role", "refusal"),
    [("operator", errors.Forbidden), ("stranger", errors.NotFound)],
)
def test_who_may_not_restrict_may_not_lift_either(
    world: World, maria: Subject, role: str, refusal: type[errors.AppError]
) -> None:
    restriction.restrict(maria, by=world.actor("compliance"))
    with pytest.raises(refusal):
        restriction.lift(maria, "x", by=world.actor(role))
    with pytest.raises(refusal):
        restriction.restrict(maria, by=world.actor(role))
    maria.refresh_from_db()
    assert maria.restricted_at is not None
    assert not Lifting.objects.exists()


def test_what_was_written_before_anybody_knew_rests_too(world: World) -> None:
    row = world.indexed(f"Refund denied to {MAIL}")
    by = world.actor("compliance")
    late = subjects.create("Maria", [NewAlias("email", MAIL)], by=by)
    assert restriction.restrict(late, by=by) == 1
    assert recalled(world) == set()
    assert JournalEntry.objects.get(pk=row.pk).summary == row.summary


def test_an_entry_about_two_comes_back_with_the_second(
    world: World, maria: Subject
) -> None:
    by = world.actor("compliance")
    jan = subjects.create("Jan", [NewAlias("email", "jan@example.org")], by=by)
    row = world.indexed(f"Refund denied to {MAIL} and jan@example.org")
    restriction.restrict(maria, by=by)
    restriction.restrict(jan, by=by)
    assert restriction.lift(maria, "Settled", by=by) == 0
    assert recalled(world) == set()
    assert restriction.lift(jan, "Settled", by=by) == 1
    assert recalled(world) == {row.id}


def test_files_are_masked_for_agents(world: World, maria: Subject) -> None:
    ada = world.actor("ada")
    text = f"Tea for {MAIL}, always tea."
    arguments = {"tier": "AGENT", "content": text, "mode": "append"}
    tools.call("memory.write", arguments, by=ada)

    def read() -> str:
        return str(tools.call("memory.read", {"tier": "AGENT"}, by=ada))

    assert MAIL in read()
    restriction.restrict(maria, by=world.actor("compliance"))
    assert MAIL not in read()
    assert "[restricted], always tea." in read()
    hits = str(tools.call("memory.search", {"q": "tea always"}, by=ada))
    assert "[restricted]" in hits
    assert MAIL not in hits


def test_only_officers_restrict_and_lifting_needs_a_reason(
    world: World, maria: Subject
) -> None:
    for role in ("ada", "operator", "viewer"):
        with pytest.raises(errors.Forbidden):
            restriction.restrict(maria, by=world.actor(role))
    with pytest.raises(errors.NotFound):
        restriction.restrict(maria, by=world.actor("stranger"))
    with pytest.raises(errors.Invalid):
        restriction.lift(maria, " ", by=world.actor("compliance"))


def test_a_bundle_of_files_leaves_a_restricted_person_out(
    world: World, maria: Subject
) -> None:
    subjects.add_alias(
        maria.id, NewAlias("name", "Maria Keller"), by=world.actor("compliance")
    )
    ada, bundle = world.actor("ada"), import_export.Scope(world.acme)
    for arguments in (
        {"tier": "AGENT", "content": f"{MAIL} likes tea.", "mode": "append"},
        {
            "tier": "peers",
            "key": "maria-keller",
            "content": "A card.",
            "mode": "append",
        },
    ):
        assert tools.call("memory.write", arguments, by=ada).ok
    before = import_export.export(bundle, by=world.actor("owner"))
    assert {file.label for file in before} == {"AGENT.md", "peers/maria-keller.md"}
    restriction.restrict(maria, by=world.actor("compliance"))
    (exported,) = import_export.export(bundle, by=world.actor("owner"))
    assert exported.text == "[restricted] likes tea."


def test_why_a_restriction_ended_has_a_place_of_its_own(
    world: World, maria: Subject
) -> None:
    by = world.actor("compliance")
    consents.note(maria.id, "given", "on the phone", by=by)
    for reason in ("Complaint settled with jan@example.org", "Again"):
        maria.refresh_from_db()
        restriction.restrict(maria, by=by)
        restriction.lift(maria, reason, by=by)
    maria.refresh_from_db()
    assert maria.consent_note == "on the phone"
    liftings = profile.as_json(profile.of(maria.id, by=by))["restrictions_lifted"]
    assert [lifting["reason"] for lifting in liftings] == [
        "Again", "Complaint settled with jan@example.org",
    ]  # fmt: skip
    assert {lifting["lifted_by"] for lifting in liftings} == {by.label}
    assert all(lifting["lifted_at"] >= lifting["restricted_at"] for lifting in liftings)
    with pytest.raises(errors.TooLarge):
        restriction.lift(maria, "x" * 2_001, by=by)
    # The reason is erased with the person.
    kit.erase("decisions", maria)
    assert profile.of(maria.id, by=by).liftings == []


def test_why_somebody_elses_restriction_ended_is_masked(
    world: World, maria: Subject
) -> None:
    by = world.actor("compliance")
    jan = subjects.create("Jan", [NewAlias("email", "jan@example.org")], by=by)
    restriction.restrict(jan, by=by)
    restriction.lift(jan, f"{MAIL} asked for it", by=by)
    kit.erase("decisions", maria)
    assert profile.of(jan.id, by=by).liftings[0].reason == "[erased] asked for it"


def archived(world: World, *texts: str) -> list[ArchivedEntry]:
    at = timezone.now() - timedelta(days=60)
    news = [
        NewEntry(entry_type="llm.call", summary=text, ts=at)
        for text in (*texts, *["Nothing of note"] * 10)
    ]
    journal.write(news, by=world.system())
    assert compaction.run(world.acme.id).archived == len(news)
    entry = ArchivedEntry.objects.filter(workspace=world.acme)
    return [entry.get(summary=text) for text in texts]


def visible_ids(world: World, role: str) -> set[str]:
    filters = JournalFilter(include_archive=True, entry_type=("llm.call",))
    return {row.id for row in queries.archived(world.actor(role), filters)}


def test_what_was_archived_before_rests_too(world: World, maria: Subject) -> None:
    by = world.actor("compliance")
    jan = subjects.create("Jan", [NewAlias("email", "jan@example.org")], by=by)
    own_entry, shared_entry = archived(
        world, f"Asked {MAIL}", f"Asked {MAIL}, jan@example.org"
    )
    all_ids = visible_ids(world, "operator")
    assert {own_entry.id, shared_entry.id} < all_ids
    restriction.restrict(maria, by=by)
    for role in ("operator", "viewer"):
        assert visible_ids(world, role) == all_ids - {own_entry.id, shared_entry.id}
    assert visible_ids(world, "compliance") == all_ids
    filters = JournalFilter(include_archive=True, q=MAIL)
    assert queries.count(world.actor("operator"), filters) == 0
    assert queries.count(by, filters) > 0
    # The other person's restriction goes on.
    restriction.restrict(jan, by=by)
    restriction.lift(maria, "Settled", by=by)
    assert visible_ids(world, "operator") == all_ids - {shared_entry.id}
    restriction.lift(jan, "Settled", by=by)
    assert visible_ids(world, "operator") == all_ids


def test_a_name_added_later_reaches_the_archive(world: World, maria: Subject) -> None:
    by = world.actor("compliance")
    (row,) = archived(world, "Asked anka77@home.example")
    restriction.restrict(maria, by=by)
    assert row.id in visible_ids(world, "operator")
    subjects.add_alias(maria.id, NewAlias("email", "anka77@home.example"), by=by)
    backfill.sweep()
    assert row.id not in visible_ids(world, "operator")


def test_two_that_are_one_rest_together(world: World, maria: Subject) -> None:
    by = world.actor("compliance")
    other = subjects.create("M.", [NewAlias("email", "anka77@home.example")], by=by)
    row = world.indexed("Refund denied to anka77@home.example")
    restriction.restrict(maria, by=by)
    merge.merge(other.id, maria.id, by=by)
    assert row.id not in recalled(world), "at once, not with the next sweep"
    backfill.sweep()
    assert row.id not in recalled(world)
