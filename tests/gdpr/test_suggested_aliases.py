"""Suggested aliases: which addresses are suggested, and how they are decided on."""

from __future__ import annotations

import pytest

from gdpr.cases import dry_run, leases
from gdpr.matching import proximity
from gdpr.models import CasePlan, Dismissal, Subject
from gdpr.subjects import merge, profile, suggested_aliases
from gdpr.subjects import registry as subjects
from gdpr.subjects.registry import NewAlias
from gdpr.subjects.suggested_aliases import Neighbour
from memory.journal import append as journal
from memory.rules import errors
from memory.rules.entries import NewEntry
from tests.gdpr import kit
from tests.gdpr import requests as make
from tests.world import World

pytestmark = pytest.mark.django_db
NAME = "Maria Kowalska"
OTHER = "m.k.private@home.example"


def maria(world: World) -> Subject:
    names = [NewAlias("name", NAME), NewAlias("email", "maria@shop.example")]
    return subjects.create(NAME, names, by=world.actor("compliance"))


def neighbours(world: World, subject: Subject) -> list[Neighbour]:
    return profile.of(subject.pk, by=world.actor("compliance")).beside


def values(world: World, subject: Subject) -> list[tuple[str, str, int]]:
    return [
        (neighbour.kind, neighbour.value, neighbour.rows)
        for neighbour in neighbours(world, subject)
    ]


def entry_about(world: World, text: str, *people: str) -> None:
    new = NewEntry(entry_type="peer.conversation", summary=text, subjects=people)
    journal.write([new], by=world.system())


@pytest.mark.parametrize(
    ("texts", "expected"),
    [
        (["Maria Kowalska <anka77@home.example> wrote"], "anka77@home.example"),
        (["Maria Kowalska (call +49 170 1234567) waits"], "+49 170 1234567"),
        (["Maria Kowalska, @anka77, is back"], "@anka77"),
        (["anka77@home.example is Maria Kowalska's"], "anka77@home.example"),
        # Some words away: suggested only when it is repeated.
        (["Maria Kowalska wants it sent to anka77@home.example"] * 2, "anka77@home."),
        # Anywhere in a row about her, when it looks like her.
        (["Maria Kowalska " + "x " * 60 + "kowalska.m@home.example"], "kowalska.m@"),
    ],
)
def test_an_address_beside_a_name_is_seen(
    world: World, texts: list[str], expected: str
) -> None:
    neighbour = maria(world)
    for text in texts:
        world.entry(text)
    (subject,) = values(world, neighbour)
    assert (subject[1].startswith(expected), subject[2]) == (True, len(texts))


@pytest.mark.parametrize(
    "text",
    [
        "Maria Kowalska wants it sent to anka77@home.example",
        "Maria Kowalska " + "x " * 60 + "anka77@home.example",
        "Maria Kowalska wrote to support@shop.example",
        "Maria Kowalska <maria@shop.example>",
        # What follows her own address is Jan's.
        "Maria Kowalska <maria@shop.example> and jan@home.example",
        "Maria Kowalska met @everyone on 01.02.2024 10:30",
        "Maria Kowalska: order 1234567890",
        "Maria Kowalska <bert@example.com>",
    ],
)
def test_what_is_hers_or_likely_somebody_elses_is_not(world: World, text: str) -> None:
    subject = maria(world)
    subjects.create(
        "Bert", [NewAlias("email", "bert@example.com")], by=world.actor("compliance")
    )
    world.entry(text)
    assert values(world, subject) == []


def test_what_a_writer_names_together_is_seen(world: World) -> None:
    subject = maria(world)
    for _ in range(3):
        entry_about(world, "A refund", "maria@shop.example", OTHER)
    entry_about(world, "A call", "maria@shop.example", "Jan Nowak", "cust-4711")
    entry_about(world, "Somebody else", OTHER)
    assert values(world, subject) == [("email", OTHER, 3), ("user_id", "cust-4711", 1)]
    assert neighbours(world, subject)[1].samples == ["A call"]


def test_payloads_and_records_are_read_too(world: World) -> None:
    neighbour = maria(world)
    world.entry("A form", payload={"name": NAME, "email": "anka@one.example"})
    world.record("Maria Kowalska's other address is anka@two.example")
    assert {subject[1] for subject in values(world, neighbour)} >= {
        "anka@one.example",
        "anka@two.example",
    }


def test_samples_show_the_address_and_mask_others(world: World) -> None:
    neighbour = maria(world)
    subjects.create(
        "Jan", [NewAlias("name", "Jan Nowak")], by=world.actor("compliance")
    )
    world.entry("Jan Nowak: Maria Kowalska <anka77@home.example> wrote")
    (subject,) = neighbours(world, neighbour)
    (sample,) = subject.samples
    assert "anka77@home.example" in sample
    assert "Jan Nowak" not in sample


def test_adding_one_takes_it_from_the_list_and_finds_its_rows(world: World) -> None:
    unlinked = maria(world)
    entry_about(world, "A refund", "maria@shop.example", OTHER)
    subject = world.entry(f"Parcel for {OTHER}")
    by = world.actor("compliance")
    subjects.add_alias(unlinked.pk, NewAlias("email", OTHER), by=by)
    assert values(world, unlinked) == []
    assert subject.id in kit.fates("journal", unlinked)


def test_dismissing_one_is_remembered_without_its_words(world: World) -> None:
    entries, by = maria(world), world.actor("compliance")
    entry_about(world, "A refund", "maria@shop.example", OTHER)
    for _ in range(2):
        suggested_aliases.dismiss(entries.pk, NewAlias("email", OTHER.upper()), by=by)
    assert values(world, entries) == []
    row = Dismissal.objects.get()
    assert (row.decided_by, OTHER in row.digest) == (by.label, False)
    entry = make.entries(world, "gdpr.subject_beside_dismissed")
    assert [subject.payload["kind"] for subject in entry] == ["email"]
    assert OTHER not in entry[0].payload_text + entry[0].summary


def test_only_what_is_no_alias_can_be_dismissed(world: World) -> None:
    subject, by = maria(world), world.actor("compliance")
    with pytest.raises(errors.Conflict) as refusal:
        suggested_aliases.dismiss(
            subject.pk, NewAlias("email", "maria@shop.example"), by=by
        )
    assert refusal.value.problem_code == "alias_known"
    with pytest.raises(errors.Invalid):
        suggested_aliases.dismiss(subject.pk, NewAlias("email", "  "), by=by)
    with pytest.raises(errors.NotFound):
        suggested_aliases.dismiss(
            subject.pk, NewAlias("email", OTHER), by=world.actor("stranger")
        )
    with pytest.raises(errors.Forbidden):
        suggested_aliases.dismiss(
            subject.pk, NewAlias("email", OTHER), by=world.actor("operator")
        )


def test_a_plan_counts_what_is_undecided_and_holds_no_word_of_it(world: World) -> None:
    subject, by = maria(world), world.actor("compliance")
    entry_about(world, "A refund", "maria@shop.example", OTHER)
    world.entry("Maria Kowalska <anka77@home.example> wrote")
    case = make.opened(world, subject=subject)
    plan = dry_run.make(case, by=by)
    addresses = str(plan.body["beside"])
    assert (len(plan.body["beside"]), OTHER in addresses) == (2, False)
    assert suggested_aliases.count_undecided(subject, plan.body) == 2
    suggested_aliases.dismiss(subject.pk, NewAlias("email", OTHER), by=by)
    assert suggested_aliases.count_undecided(subject, plan.body) == 1
    # A decision that changes no row leaves the plan valid.
    dry_run.require_current(case, plan.plan_hash)
    subjects.add_alias(subject.pk, NewAlias("email", "anka77@home.example"), by=by)
    assert suggested_aliases.count_undecided(subject, plan.body) == 0
    leases.erase_texts(case)
    assert CasePlan.objects.get(pk=plan.pk).body["beside"] == []


def test_two_that_are_one_keep_what_was_decided(world: World) -> None:
    by = world.actor("compliance")
    first = maria(world)
    two = subjects.create("M.", [NewAlias("handle", "@mk")], by=by)
    for subject in (first, two):
        suggested_aliases.dismiss(subject.pk, NewAlias("email", OTHER), by=by)
    suggested_aliases.dismiss(first.pk, NewAlias("phone", "+49 170 1234567"), by=by)
    merge.merge(first.pk, two.pk, by=by)
    assert set(Dismissal.objects.values_list("subject_id", flat=True)) == {two.pk}
    assert Dismissal.objects.count() == 2


@pytest.mark.parametrize(
    ("value", "kind"),
    [
        ("m.k@home.example", "email"),
        ("@anka", "handle"),
        ("+49 170 1234567", "phone"),
        ("cust-4711", "user_id"),
        ("Maria Kowalska", ""),
        ("maria", ""),
    ],
)
def test_what_a_writer_calls_somebody_has_a_kind(value: str, kind: str) -> None:
    assert proximity.kind_of(value) == kind
