"""Every writer links what it writes to the people it names."""

from __future__ import annotations

import json

import pytest
from django.db import connection, transaction
from django.test.utils import CaptureQueriesContext

from gdpr import cache_version, linking
from gdpr.models import Alias, PeopleStamp, Subject, SubjectLink, UnknownName, Via
from gdpr.subjects import backfill, restriction
from gdpr.subjects import registry as subjects
from gdpr.subjects.registry import NewAlias
from memory import journal_import, records
from memory.files import tools
from memory.files.writer import Request, write
from memory.journal import append as journal
from memory.models import HeldFile, MemoryVersion
from memory.records.drafts import Draft
from memory.rules import tiers
from memory.rules.entries import NewEntry
from memory.rules.tiers import WriteMode
from tests.world import ATTACK, World

pytestmark = pytest.mark.django_db
MAIL = "maria@example.org"


def person(world: World, *aliases: NewAlias) -> Subject:
    names = aliases or (NewAlias("email", MAIL), NewAlias("name", "Maria Keller"))
    return subjects.create("Maria Keller", names, by=world.actor("compliance"))


def linked(subject: Subject, place: str) -> dict[str, str]:
    rows = SubjectLink.objects.filter(subject=subject, place=place)
    return dict(rows.values_list("row_id", "via"))


def test_an_entry_is_linked_by_its_words_payload_and_subjects(world: World) -> None:
    maria = person(world)
    by_summary = world.entry("KELLER, Maria asked twice")
    by_payload = world.entry("x", payload={"who": ["mailto:MARIA@example.org"]})
    named_entry = world.entry("She asked again", subjects=(MAIL,))
    other = world.entry("Mariana Kellermann asked")
    row_ids = linked(maria, "journal")
    assert row_ids[by_summary.id] == row_ids[by_payload.id] == Via.MATCHED
    assert row_ids[named_entry.id] == Via.NAMED
    assert other.id not in row_ids


def test_files_held_texts_records_and_imports_are_linked(world: World) -> None:
    maria, ada = person(world), world.actor("ada")
    tools.call(
        "memory.write",
        {"tier": "AGENT", "content": "Ask Maria Keller.", "mode": "append"},
        by=ada,
    )
    version = MemoryVersion.objects.latest("written_at")
    assert linked(maria, "versions") == {version.id: Via.MATCHED}
    tools.call(
        "memory.write",
        {"tier": "AGENT", "content": f"{ATTACK} {MAIL}", "mode": "append"},
        by=ada,
    )
    held_file = HeldFile.objects.latest("received_at")
    assert linked(maria, "held") == {held_file.id: Via.MATCHED}
    before = len(linked(maria, "journal"))
    draft = Draft(content=f"Write to {MAIL}", owner=records.owner_for(ada))
    records.save(draft, provenance=records.Provenance.AGENT_EXTRACTED, by=ada)
    line = {"entry_type": "peer.note", "summary": f"from {MAIL}"}
    raw = json.dumps(line).encode()
    calls: list[str] = []
    report = journal_import.append(
        [journal_import.Line(1, len(raw), raw)],
        by=world.actor("owner"),
        on_refusal=lambda _n, text: calls.append(text),
    )
    assert (report.appended, calls) == (1, [])
    assert len(linked(maria, "journal")) == before + 2


def test_a_writer_may_name_people_in_a_file(world: World) -> None:
    maria, owner = person(world), records.owner_for(world.actor("ada"))
    assert owner is not None
    place = tiers.place("AGENT", None)
    request = Request(
        owner, place, "She likes tea.", WriteMode.APPEND, "tool",
        subjects=(MAIL, "@nobody_yet"),
    )  # fmt: skip
    version = write(request, by=world.actor("ada")).version
    assert linked(maria, "versions") == {version.id: Via.NAMED}
    # An unknown name is stored as a keyed hash, and linked when it is registered.
    assert UnknownName.objects.get().row_id == version.id
    late = person(world, NewAlias("handle", "nobody_yet"))
    assert linked(late, "versions") == {version.id: Via.NAMED}
    assert not UnknownName.objects.exists()


def test_a_model_may_say_whom_a_text_is_about(world: World) -> None:
    maria, ada = person(world), world.actor("ada")
    arguments = {
        "tier": "AGENT",
        "content": "Tea.",
        "mode": "append",
        "subjects": [MAIL],
    }
    assert tools.call("memory.write", arguments, by=ada).ok
    daily = {"entry": "She called.", "subjects": [MAIL]}
    assert tools.call("memory.append_daily", daily, by=ada).ok
    assert list(linked(maria, "versions").values()) == [Via.NAMED, Via.NAMED]
    wrong = tools.call("memory.append_daily", {**daily, "subjects": MAIL}, by=ada)
    assert wrong.ok is False


def test_a_full_file_comes_back_without_who_may_not_be_used(world: World) -> None:
    maria, ada = person(world), world.actor("ada")
    arguments = {"tier": "AGENT", "content": "Maria Keller: tea.", "mode": "append"}
    tools.call("memory.write", arguments, by=ada)
    restriction.restrict(maria, by=world.actor("compliance"))
    full = tools.call("memory.write", arguments | {"content": "x" * 4001}, by=ada)
    assert full.ok is False
    assert "Keller" not in json.dumps([full.content, full.metadata])
    assert "tea." in full.content


def test_a_name_added_later_is_searched_for(world: World) -> None:
    entry = world.entry("Call +49 170 1234567 back")
    named_entry = world.entry("Called back", subjects=("jan@example.com",))
    jan = person(world, NewAlias("email", "jan@example.com"))
    assert linked(jan, "journal") == {named_entry.id: Via.NAMED}
    subjects.add_alias(
        jan.id, NewAlias("phone", "0170 1234567"), by=world.actor("compliance")
    )
    assert Alias.objects.filter(swept_at=None).count() == 2
    assert backfill.sweep()["aliases"] == 2
    assert linked(jan, "journal") == {named_entry.id: Via.NAMED, entry.id: Via.MATCHED}
    assert backfill.sweep()["aliases"] == 0


def test_another_workspace_knows_nobody(world: World) -> None:
    maria = person(world)
    world.entry(f"from {MAIL}", by="olga")
    assert linked(maria, "journal") == {}
    assert linking.people_index(world.other.id) is None


def test_a_workspace_without_people_costs_one_look_each(world: World) -> None:
    ada = world.actor("ada")
    new = NewEntry(entry_type="peer.note", summary="Nothing about anybody")
    assert not PeopleStamp.objects.exists()
    with CaptureQueriesContext(
        connection,
    ) as queries:
        journal.append_batch([new] * 50, by=ada)
    looks = [q for q in queries.captured_queries if "gdpr_" in q["sql"]]
    assert len(looks) == 2


def test_names_are_fresh_in_every_process(world: World) -> None:
    maria = person(world)
    first = linking.people_index(world.acme.id)
    assert first is not None and first.matcher.names(MAIL) == {maria.id}
    assert linking.people_index(world.acme.id) is first
    # As in another process: only the stamp shows the change.
    Alias.objects.filter(kind="email").update(value="m@example.org")
    assert linking.people_index(world.acme.id) is first
    cache_version.bump(world.acme.id)
    second = linking.people_index(world.acme.id)
    assert second is not None and not second.matcher.names(MAIL)
    maria.aliases.all().delete()
    third = linking.people_index(world.acme.id)
    assert third is not None and not third.matcher.names_known
    assert linking.clear_cache() >= 1


def test_a_rolled_back_change_is_never_believed(world: World) -> None:
    person(world)
    with transaction.atomic():
        person(world, NewAlias("user_id", "u-4711"))
        people = linking.people_index(world.acme.id)
        assert people is not None and people.matcher.names("by u-4711")
        transaction.set_rollback(True)
    person(world, NewAlias("user_id", "u-4712"))
    people = linking.people_index(world.acme.id)
    assert people is not None and not people.matcher.names("by u-4711")
    assert people.matcher.names("by u-4712")


def test_what_is_refused_leaves_no_link(world: World) -> None:
    maria = person(world)
    restriction.restrict(maria, by=world.actor("compliance"))
    with pytest.raises(ZeroDivisionError), transaction.atomic():
        world.entry(f"from {MAIL}")
        raise ZeroDivisionError
    assert linked(maria, "journal") == {}
