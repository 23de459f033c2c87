"""A restricted person's data is kept and used by nobody, until it is lifted."""

from __future__ import annotations

import pytest

from episodic import index, recall
from episodic.recall import Request
from gdpr import restriction, subjects
from gdpr.models import Subject
from gdpr.subjects import NewAlias
from memory import portability, tools
from memory.models import JournalEntry
from memory.rules import errors
from tests.world import World

pytestmark = pytest.mark.django_db
MAIL = "maria@example.org"


@pytest.fixture
def maria(world: World) -> Subject:
    names = [NewAlias("email", MAIL)]
    return subjects.create("Maria", names, by=world.actor("compliance"))


def recalled(world: World) -> set[str]:
    request = Request(query="refund denied", k=50)
    return {hit.entry.id for hit in recall.ask(request, by=world.actor("ada")).hits}


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
    given = {"tier": "AGENT", "content": text, "mode": "append"}
    tools.call("memory.write", given, by=ada)

    def read() -> str:
        return str(tools.call("memory.read", {"tier": "AGENT"}, by=ada))

    assert MAIL in read()
    restriction.restrict(maria, by=world.actor("compliance"))
    assert MAIL not in read()
    assert "[restricted], always tea." in read()
    found = str(tools.call("memory.search", {"q": "tea always"}, by=ada))
    assert "[restricted]" in found
    assert MAIL not in found


def test_only_officers_restrict_and_lifting_needs_a_reason(
    world: World, maria: Subject
) -> None:
    for who in ("ada", "operator", "viewer"):
        with pytest.raises(errors.Forbidden):
            restriction.restrict(maria, by=world.actor(who))
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
    ada, whole = world.actor("ada"), portability.Scope(world.acme)
    for given in (
        {"tier": "AGENT", "content": f"{MAIL} likes tea.", "mode": "append"},
        {
            "tier": "peers",
            "key": "maria-keller",
            "content": "A card.",
            "mode": "append",
        },
    ):
        assert tools.call("memory.write", given, by=ada).ok
    before = portability.export(whole, by=world.actor("owner"))
    assert {one.label for one in before} == {"AGENT.md", "peers/maria-keller.md"}
    restriction.restrict(maria, by=world.actor("compliance"))
    (left,) = portability.export(whole, by=world.actor("owner"))
    assert left.text == "[restricted] likes tea."
