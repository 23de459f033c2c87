"""People are registered, found by any alias, merged; the journal holds no name."""

from __future__ import annotations

import pytest

from gdpr.models import ActionKind, Case, GdprAction, Hold, Subject, SubjectLink
from gdpr.subjects import consents, merge, profile
from gdpr.subjects import registry as subjects
from gdpr.subjects.registry import NewAlias
from memory.models import JournalEntry
from memory.rules import errors
from tests.gdpr import requests as make
from tests.world import World

pytestmark = pytest.mark.django_db
MAIL = NewAlias("email", "maria@example.org")


def register(world: World, *aliases: NewAlias, name: str = "Maria") -> Subject:
    return subjects.create(name, aliases, by=world.actor("compliance"))


@pytest.mark.parametrize(
    ("kind", "value", "text"),
    [
        ("email", "Maria@Example.org", " MARIA@example.ORG"),
        ("phone", "+49 170 1234567", "+49-170-123 4567"),
        ("handle", "@mkeller", "MKeller"),
        ("name", "María Keller", "maria  keller"),
        ("user_id", "U_42", "u_42"),
    ],
)
def test_a_person_is_found_by_an_alias_as_anybody_writes_it(
    world: World, kind: str, value: str, text: str
) -> None:
    person = register(world, NewAlias(kind, value))
    by = world.actor("compliance")
    assert subjects.find(text, by=by).id == person.id
    assert subjects.find(person.id, by=by).id == person.id
    with pytest.raises(errors.NotFound):
        subjects.find(text, by=world.actor("stranger"))
    with pytest.raises(errors.Forbidden):
        subjects.find(text, by=world.actor("operator"))


@pytest.mark.parametrize(
    ("kind", "value"),
    [
        ("email", "not an address"),
        ("email", "@"),
        ("phone", "12345"),
        ("phone", "letters"),
        ("handle", "@"),
        ("name", "-"),
        ("name", "x"),
        ("pattern", "*"),
        ("pattern", "a*"),
        ("pattern", "ab*cd*ef*gh*ij*kl"),
        ("user_id", "  "),
        ("nickname", "maria"),
        ("name", "x\x00y"),
    ],
)
def test_what_could_not_be_found_is_no_alias(
    world: World, kind: str, value: str
) -> None:
    with pytest.raises(errors.Invalid):
        register(world, NewAlias(kind, value))
    assert not Subject.objects.exists()


def test_one_address_has_one_owner_and_a_name_may_have_two(world: World) -> None:
    first = register(world, MAIL, NewAlias("name", "Maria Keller"))
    with pytest.raises(errors.Conflict) as taken_error:
        register(world, NewAlias("email", "MARIA@example.org"))
    assert taken_error.value.problem_code == "alias_taken"
    assert taken_error.value.fields["subjects"] == [first.id]
    second = register(world, NewAlias("name", "maria keller"))
    with pytest.raises(errors.Conflict) as ambiguous:
        subjects.find("Maria Keller", by=world.actor("compliance"))
    assert ambiguous.value.problem_code == "ambiguous_subject"
    assert ambiguous.value.fields["subjects"] == sorted([first.id, second.id])


def test_merging_moves_everything(world: World) -> None:
    by = world.actor("compliance")
    old, new = register(world, MAIL), register(world, NewAlias("user_id", "u_42"))
    case = make.opened(world, subject=old)
    Hold.objects.create(
        workspace=world.acme, subject=old, reason="Audit", owner="x",
        review_at=case.due_at, placed_by="x",
    )  # fmt: skip
    shared_entry = world.entry("u_42 is maria@example.org")
    row = world.entry("from maria@example.org")
    consents.note(old.id, "withdrawn", opted_out=True, by=by)
    survivor = merge.merge(old.id, new.id, by=by)
    assert {alias.kind for alias in survivor.aliases.all()} == {"email", "user_id"}
    links = SubjectLink.objects.filter(place="journal").values_list(
        "subject_id", "row_id"
    )
    assert sorted(links) == sorted([(new.id, shared_entry.id), (new.id, row.id)])
    assert Case.objects.get(pk=case.pk).subject_ref == new.id
    assert Hold.objects.get().subject_id == new.id
    assert (survivor.consent, survivor.opted_out_at is not None) == ("withdrawn", True)
    assert subjects.find("maria@example.org", by=by).id == new.id
    with pytest.raises(errors.Conflict):
        subjects.add_alias(old.id, NewAlias("user_id", "u_43"), by=by)
    with pytest.raises(errors.Invalid):
        merge.merge(new.id, new.id, by=by)


def test_no_name_is_written_down_beside_the_register(world: World) -> None:
    by = world.actor("compliance")
    person = register(world, MAIL)
    alias = subjects.add_alias(person.id, NewAlias("name", "Maria Keller"), by=by)
    consents.note(person.id, "given", "Maria said so", by=by)
    subjects.remove_alias(person.id, alias.pk, by=by)
    rows = JournalEntry.objects.filter(entry_type__startswith="gdpr.")
    assert rows.count() == 4
    journal_text = " ".join(
        row.summary + row.payload_text + row.refs_text for row in rows
    )
    assert "maria" not in journal_text.lower().replace(person.id, "")


def test_the_portrait_counts_and_shows(world: World) -> None:
    by = world.actor("compliance")
    world.entry("Refund for maria@example.org")
    world.entry("Refund for maria@example.org and jan@example.org")
    person = register(world, MAIL)
    register(world, NewAlias("email", "jan@example.org"), name="Jan")
    case = make.opened(world, subject=person)
    data = profile.as_json(profile.of(person.id, by=by))
    places = {place["name"]: place for place in data["holders"]}
    assert (places["journal"]["count"], places["journal"]["shared"]) == (2, 1)
    assert places["journal"]["newest"] >= places["journal"]["oldest"]
    assert "jan@" not in " ".join(places["journal"]["samples"])
    assert data["cases"] == [case.id]
    assert {event["kind"] for event in data["timeline"]} >= {"subject", "alias", "case"}


def test_the_api_makes_finds_changes_and_pages(world: World) -> None:
    api = world.api("compliance")
    answer = api.post(
        "/gdpr/subjects",
        {"display_name": "Maria", "aliases": [{"kind": "email", "value": MAIL.value}]},
    )
    assert (answer.status, answer.data["rows"] >= 0) == (201, True)
    person = answer.data["id"]
    for number in range(3):
        register(world, NewAlias("user_id", f"u_{number}"), name="")
    page = api.get("/gdpr/subjects", {"limit": 3}).data
    rest = api.get("/gdpr/subjects", {"limit": 3, "cursor": page["next_cursor"]}).data
    ids = [item["id"] for item in page["items"] + rest["items"]]
    assert (len(set(ids)), rest["next_cursor"]) == (4, None)
    looks = GdprAction.objects.filter(action=ActionKind.VIEW)
    assert set(looks.values_list("subject_ref", flat=True)) == set(ids)
    items = api.get("/gdpr/subjects", {"q": "MARIA@"}).data["items"]
    assert [item["id"] for item in items] == [person]
    consent = {"consent": "withdrawn", "opted_out": True}
    assert api.post(f"/gdpr/subjects/{person}/consent", consent).data["opted_out_at"]
    suppressions = api.get("/gdpr/suppressions").data["items"]
    assert [item["kind"] for item in suppressions] == ["email"]
    assert MAIL.value not in api.get("/gdpr/suppressions").body.decode()
    wrong = {"kind": "email", "value": "nobody"}
    bad = api.post(f"/gdpr/subjects/{person}/aliases", wrong)
    assert (bad.status, bad.code) == (422, "bad_alias")
