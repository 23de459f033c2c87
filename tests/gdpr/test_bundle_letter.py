"""The letter of an access bundle: who, why, how long, from where, with whom."""

from __future__ import annotations

from typing import Any

import pytest

from gdpr.cases import dry_run, transitions
from gdpr.cases import workflow as cases
from gdpr.erasure import runner, start
from gdpr.export import gaps, pages
from gdpr.export import make as export
from gdpr.models import CaseKind, Subject
from gdpr.processing import controller
from gdpr.processing import record as processing
from memory.models import Webhook
from memory.rules import errors
from tests.gdpr import bundle_pages, erasing, kit
from tests.gdpr import requests as make
from tests.world import World

pytestmark = pytest.mark.django_db
STATED = {
    "controller": "Acme AG",
    "controller_contact": "privacy@acme.example",
    "dpo_contact": "Dora Pohl",
    "supervisory_authority": "Authority of Basel",
    "automated_decisions": "No agent decides alone.",
    "third_countries": "Nothing leaves.",
}


@pytest.fixture
def maria(world: World) -> Subject:
    """Return a person of whom an agent noted one thing."""
    person = erasing.maria(world)
    world.entry(f"{erasing.NAME} likes tea")
    return person


def state(world: World, **values: str) -> None:
    controller.change(STATED | values, by=world.actor("owner"))


def letter(world: World, person: Subject) -> str:
    return bundle_pages.plain(bundle_pages.made(world, person)["index.html"])


def why(world: World, person: Subject) -> str:
    return bundle_pages.plain(bundle_pages.made(world, person)["why.html"])


def test_it_is_from_the_controller_to_the_person(world: World, maria: Subject) -> None:
    state(world)
    page = letter(world, maria)
    assert f"Hello {erasing.NAME}," in page
    for value in STATED.values():
        assert value in page
    assert "has not entered" not in page


def test_it_says_what_nobody_stated(world: World, maria: Subject) -> None:
    page = letter(world, maria)
    assert "(the controller) has not entered both a name and an address here" in page
    assert "the controller has stated nothing about it" in page
    assert "the data protection authority where you live or work" in page


def test_it_says_when_a_person_asked(world: World, maria: Subject) -> None:
    case = erasing.opened(world, maria, CaseKind.ACCESS)
    collection = bundle_pages.collected(world, maria, case)
    page = bundle_pages.plain(dict(pages.files(collection, "en"))["index.html"])
    day = f"{case.received_at:%-d %B %Y}"
    assert f"On {day} your request was received (case {case.id})" in page
    assert "your request was received" not in letter(world, maria)


def test_a_person_of_nothing_reads_so(world: World) -> None:
    bundle = bundle_pages.made(world, kit.subject(world))
    page = bundle_pages.plain(bundle["index.html"])
    assert "nothing about you was found" in page
    assert "Journal entries" in page
    assert not [name for name in bundle if name.startswith(("places/", "days/"))]
    assert "Nothing about you has a day." in bundle_pages.plain(bundle["calendar.html"])


def test_it_names_who_wrote_it(world: World, maria: Subject) -> None:
    world.entry(f"{erasing.NAME} was here", by="lena")
    page = why(world, maria)
    assert "the agent ada of the crew support 1 entry" in page
    assert "the agent lena of the crew support 1 entry" in page


def test_a_purpose_is_marked_until_it_is_confirmed(
    world: World, maria: Subject
) -> None:
    by = world.actor("compliance")
    assert "the controller has not confirmed them yet" in why(world, maria)
    for holder in ("journal", "exports", "cases"):
        processing.confirm(by, holder, "To answer Maria", "Contract")
    page = why(world, maria)
    assert "To answer Maria" in page
    assert "the controller has not confirmed them yet" not in page


def test_it_lists_who_receives_data_of_these_places_only(
    world: World, maria: Subject
) -> None:
    assert "is passed on to nobody else" in why(world, maria)
    Webhook.objects.create(
        workspace=world.acme, url="https://hooks.example.com/x", created_by="test"
    )
    page = why(world, maria)
    assert "hooks.example.com: Events without texts" in page
    assert "hooks.example.com" not in why(world, kit.subject(world))


def test_it_lists_whom_something_went_to(world: World, maria: Subject) -> None:
    """An earlier bundle that was downloaded, and nobody for a person without one."""
    by = world.actor("compliance")
    assert "something about you went to these" not in why(world, maria)
    b"".join(export.read(export.make(export.request(maria, by=by)), by=by))
    page = why(world, maria)
    assert "Bundles that were downloaded: All data of the person" in page
    assert "Bundles that were downloaded" not in why(world, kit.subject(world))


def test_rows_that_are_in_doubt_are_counted_as_left_out(world: World) -> None:
    person = kit.subject(world, {"name": "Anna Kowalczyk"})
    world.entry("Anna Kowalczyk paid")
    world.entry("Mrs Kowalczyk called")
    assert "1 entry was left out" in letter(world, person)


# ── What officers are told before ────────────────────────────────────────────
def test_gaps_close_one_by_one(world: World) -> None:
    by = world.actor("compliance")
    facts = gaps.of(by)
    assert facts.controller
    assert facts.unconfirmed > 20
    state(world, third_countries="")
    facts = gaps.of(by)
    assert (facts.controller, facts.authority, facts.third_countries) == (
        False, False, True,
    )  # fmt: skip
    state(world)
    for row in processing.of(by).activities:
        processing.confirm(by, row.place, row.purpose, row.legal_basis)
    assert not gaps.of(by)


def test_gaps_are_for_officers(world: World) -> None:
    for role in ("operator", "viewer"):
        with pytest.raises(errors.Forbidden):
            gaps.of(world.actor(role))


def test_a_case_of_access_ends_with_this_letter(world: World, maria: Subject) -> None:
    by = world.actor("compliance")
    case = make.opened(world, subject=maria, kind="access")
    plan = dry_run.make(case, by=by)
    case = transitions.case(by, case.id)
    start(case, plan.plan_hash, cases.phrase(case, plan.plan_hash), by=by)
    runner.run(world.acme.id, case.id)
    row: Any = export.exports(by).get(case=case)
    assert row.state == "ready", row.error
