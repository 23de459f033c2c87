"""Letters and addresses through an erasure, an export and a rectification."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.urls import reverse
from django.utils import timezone

from gdpr import audit_log, erasure, lost_keys
from gdpr.cases import correspondence, dry_run
from gdpr.cases import workflow as cases
from gdpr.certificates import issue as certificates
from gdpr.data_map import letters as letter_place
from gdpr.data_map import registry
from gdpr.data_map.base import Fate
from gdpr.export import make as export
from gdpr.letters import drafts, retention, sending, templates
from gdpr.models import (
    ActionKind,
    Case,
    CaseKind,
    Correspondence,
    Letter,
    LetterTemplate,
    Subject,
)
from gdpr.verification import second_search
from tests.gdpr import erasing, kit, letter_kit
from tests.gdpr.certified import content_of
from tests.gdpr.erasing import MAIL, NAME
from tests.web.test_privacy_pages import text
from tests.world import World

pytestmark = pytest.mark.django_db(transaction=True)


def answered(world: World, person: Subject) -> tuple[Case, Letter]:
    """Return an open erasure whose receipt was announced by post."""
    case = letter_kit.addressed(
        world, erasing.opened(world, person), name=NAME, email=MAIL
    )
    letter = letter_kit.letter(world, case)
    return case, sending.by_post(letter, by=world.actor("compliance"))


def test_an_erasure_keeps_what_was_sent_and_says_so(shared_world: World) -> None:
    world, by = shared_world, shared_world.actor("compliance")
    case, letter = answered(world, erasing.maria(world))
    actions_letter = letter_kit.letter(world, case, repeat=True)
    assert letter.keep_until is not None
    sentence = letter_place.PROOF.format(day=letter.keep_until)

    plan = dry_run.make(case, by=by)
    [place] = [row for row in plan.body["holders"] if row["name"] == "letters"]
    assert (place["delete"], place["keep"]) == (1, 2)
    assert sentence in place["why"]

    started = erasing.started(world, Case.objects.get(pk=case.pk))
    erasure.run(started.workspace_id, started.pk)
    closed_case = Case.objects.get(pk=case.pk)
    assert closed_case.state == "complete", erasing.failure_text(closed_case)
    content = content_of(certificates.of_case(by, closed_case))
    reasons = {line["sentence"]: line["rows"] for line in content["kept"]["rows"]}
    assert reasons == {sentence: 1, letter_place.ADDRESS: 1}
    assert content["verdict"] == "complete_except"
    assert not Letter.objects.filter(pk=actions_letter.pk).exists()
    assert NAME in Letter.objects.get(pk=letter.pk).opened()["body"]

    page = text(world.page("compliance").get(reverse("privacy:case", args=[case.pk])))
    for words in (
        letter_place.ADDRESS,
        "proof that it was answered",
        'band idle">Kept',
    ):
        assert words in page

    # Nothing but the sealed address knows the person any more, and it can be answered.
    draft = drafts.make(closed_case, "done", "en", by=by, site="https://memory.example")
    assert draft.body.startswith(f"Dear {NAME},")
    for words in (
        content["id"],
        certificates.check_code(by, certificates.of_case(by, closed_case)),
        "https://memory.example/certificates/check/",
        "proof that it was answered",
    ):
        assert words in draft.body
    german = drafts.make(closed_case, "done", "de", by=by)
    assert "Folgendes bleibt" in german.body


def test_a_certificate_counts_letters_and_addresses_newer_than_the_plan(
    shared_world: World,
) -> None:
    world, by = shared_world, shared_world.actor("compliance")
    case = erasing.opened(world, erasing.maria(world))
    plan = dry_run.make(case, by=by)
    letter_kit.addressed(world, case, name=NAME, email=MAIL)
    letter = sending.by_post(letter_kit.letter(world, case), by=by)
    fresh = Case.objects.get(pk=case.pk)
    phrase = cases.phrase(fresh, plan.plan_hash)
    started = erasure.start(fresh, plan.plan_hash, phrase, by=by)
    erasure.run(started.workspace_id, started.pk)
    content = content_of(certificates.of_case(by, Case.objects.get(pk=case.pk)))
    reasons = {line["sentence"]: line["rows"] for line in content["kept"]["rows"]}
    sentence = letter_place.PROOF.format(day=letter.keep_until)
    assert reasons == {sentence: 1, letter_place.ADDRESS: 1}
    assert content["holders"]["letters"]["kept"] == 2
    assert content["verdict"] == "complete_except"


def test_the_address_ends_by_itself(shared_world: World) -> None:
    world, by = shared_world, shared_world.actor("compliance")
    case, _ = answered(world, erasing.maria(world))
    erasure.run(case.workspace_id, erasing.started(world, case).pk)
    closed_case = Case.objects.get(pk=case.pk)
    assert correspondence.of(closed_case) is not None
    sending.by_post(letter_kit.letter(world, closed_case, "done"), by=by)
    retention.run(world.acme.id)
    assert correspondence.of(closed_case) is None
    assert Letter.objects.count() == 2
    retention.run(world.acme.id, timezone.now() + timedelta(days=1_096))
    assert not Letter.objects.exists()


def test_letters_of_somebody_else_stay_and_are_not_opened(shared_world: World) -> None:
    world, by = shared_world, shared_world.actor("compliance")
    otto, maria = erasing.otto(world), erasing.maria(world)
    case = letter_kit.addressed(world, erasing.opened(world, otto))
    letter = letter_kit.letter(world, case, body=f"{NAME} will answer you.")
    done = erasing.erased(world, maria)
    assert NAME in Letter.objects.get(pk=letter.pk).opened()["body"]
    content = content_of(certificates.of_case(by, done))
    not_searched = [line["sentence"] for line in content["not_searched"]]
    assert second_search.SEALED in not_searched
    assert Correspondence.objects.filter(case=case).exists()


def test_what_letters_to_others_say_is_not_searched_and_that_is_said(
    shared_world: World,
) -> None:
    world, maria = shared_world, erasing.maria(shared_world)
    case = letter_kit.addressed(world, erasing.opened(world, erasing.otto(world)))
    letter = letter_kit.letter(world, case, body=f"{NAME} was no part of it")
    closed_case = erasing.erased(world, maria)
    by = world.actor("compliance")
    content = content_of(certificates.of_case(by, closed_case))
    sentences = [line["sentence"] for line in content["not_searched"]]
    assert registry.OUT_OF_REACH["letters"] in sentences
    assert NAME in Letter.objects.get(pk=letter.pk).opened()["body"]


def test_who_wrote_a_letter_is_masked(world: World) -> None:
    case = letter_kit.addressed(world, erasing.opened(world, erasing.otto(world)))
    sending.by_post(letter_kit.letter(world, case), by=world.actor("compliance"))
    officer = kit.subject(world, {"email": world.people["compliance"].email})
    assert set(kit.erase("letters", officer).values()) == {Fate.REDACT}
    assert kit.traces(officer, "letters") == []
    letter = Letter.objects.get()
    assert letter.kept_by == "[erased]"
    assert letter.opened()["body"]


def test_a_text_that_names_the_person_is_masked(world: World) -> None:
    where = templates.place("received", "", "en")
    body = f"{kit.ANNA['name']} will answer you"
    templates.save(where, "Hello", body, 0, by=world.actor("compliance"))
    anna = kit.subject(world)
    assert list(kit.erase("letter_templates", anna).values()) == [Fate.REDACT]
    assert LetterTemplate.objects.get().body == "[erased] will answer you"


def test_an_access_export_has_the_letters(world: World) -> None:
    case, letter = answered(world, erasing.maria(world))
    by = world.actor("compliance")
    assert case.subject is not None
    action = audit_log.begin(case.subject_ref, ActionKind.EXPORT, by=by)
    rows = export.collect(case.subject, action).document()["places"]["letters"]
    by_id = {row["id"]: row for row in rows}
    assert NAME in by_id[letter.id]["body"]
    assert by_id[f"correspondence:{case.id}"]["email"] == MAIL


def test_a_rectification_leaves_letters_as_they_went(world: World) -> None:
    person = erasing.maria(world)
    _, letter = answered(world, person)
    unsent_letter = letter_kit.letter(
        world, erasing.opened(world, person, CaseKind.ACCESS)
    )
    correction = {"wrong": "Antrag", "right": "Gesuch"}
    case = erasing.opened(world, person, CaseKind.RECTIFICATION, correction=correction)
    results = {result.name: result.rows for result in dry_run.look(case).results}
    assert "letters" not in results
    assert Letter.objects.filter(pk__in=[letter.pk, unsent_letter.pk]).count() == 2


def test_a_letter_does_not_make_a_plan_stale(world: World) -> None:
    case, by = erasing.opened(world, erasing.maria(world)), world.actor("compliance")
    plan = dry_run.make(case, by=by)
    sending.by_post(letter_kit.letter(world, case), by=by)
    dry_run.require_current(Case.objects.get(pk=case.pk), plan.plan_hash)


def test_giving_up_the_key_says_what_is_lost(world: World) -> None:
    answered(world, erasing.maria(world))
    assert "2 letters and addresses no longer open." in lost_keys.losses({"journal"})
