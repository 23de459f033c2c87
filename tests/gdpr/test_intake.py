"""Requests by the public form and by a program: one case each, and no other trace."""

from __future__ import annotations

import re
from typing import Any

import pytest
from django.core import mail as django_mail
from django.test import Client

from gdpr.cases import correspondence, privacy_settings
from gdpr.cases.privacy_settings import Change
from gdpr.intake import form as intake
from gdpr.intake.receive import NewRequest, receive
from gdpr.models import Case, CaseEvent, CaseKind, IntakeRequest, Subject
from memory.accounts import mail
from memory.ports import serving
from memory.rules import errors
from tests import factories
from tests.gdpr import requests as make
from tests.world import World

pytestmark = pytest.mark.django_db
FORM = {"kind": "erasure", "email": "Mara@Example.org", "name": "Mara Holt"}
LINK = re.compile(r"http://testserver(/requests/confirm/\S+)")


@pytest.fixture
def opened(world: World, settings: Any) -> str:
    """Open the form of acme; return its address."""
    settings.MAIL_SERVER = True
    privacy_settings.change(Change(intake=True), by=world.actor("owner"))
    return f"/requests/{world.acme.slug}/"


def _shared_address(world: World) -> None:
    for _ in range(2):
        make.subject(world).aliases.create(
            workspace=world.acme, kind="email", value="both@example.org",
            folded="both@example.org", added_by="test",
        )  # fmt: skip


def link() -> str:
    match = LINK.search(str(django_mail.outbox[-1].body))
    assert match is not None
    return match[1]


def test_from_the_form_to_a_case(world: World, opened: str) -> None:
    person = Client()
    assert "Look into your mailbox" in person.post(opened, FORM).content.decode()
    assert not Case.objects.exists()
    confirm = link()
    # Opening the link, as a mail scanner does, sends nothing.
    assert "Send the request" in person.get(confirm).content.decode()
    assert not Case.objects.exists()
    case_page = person.post(confirm).content.decode()
    case = Case.objects.get(workspace=world.acme)
    assert case.pk in case_page
    assert (case.kind, case.opened_by) == ("erasure", "request form")
    assert case.requester == "Mara Holt <mara@example.org>"
    assert case.identity_at is None
    address = correspondence.of(case)
    assert address is not None
    assert (address.name, address.email) == ("Mara Holt", "mara@example.org")
    assert case.correspondence.source == "form"
    # Only the proven address is sought: a name is what anybody may type.
    aliases = case.subject.aliases.values_list("kind", "value") if case.subject else ()
    assert list(aliases) == [("email", "mara@example.org")]
    assert not IntakeRequest.objects.exists()
    assert person.post(confirm).status_code == 410


def test_the_answer_does_not_say_who_is_known(world: World, opened: str) -> None:
    subject = Subject.objects.create(workspace=world.acme, created_by="test")
    subject.aliases.create(
        workspace=world.acme, kind="email", value="known@example.org",
        folded="known@example.org", added_by="test",
    )  # fmt: skip
    pages = [
        Client().post(opened, {**FORM, "email": email}).content
        for email in ("known@example.org", "unknown@example.org", "known@example.org")
    ]
    panels = [re.findall(rb"<section.*?</section>", page, re.DOTALL) for page in pages]
    assert panels[0] == panels[1] == panels[2] != []
    # One mail to an address in ten minutes, whoever asks.
    assert len(django_mail.outbox) == 2


def test_the_same_request_again_is_noted_on_the_open_case(
    world: World, opened: str
) -> None:
    for text in ("Please", "Still waiting"):
        IntakeRequest.objects.all().delete()
        Client().post(opened, {**FORM, "text": text})
        Client().post(link())
    case = Case.objects.get(workspace=world.acme)
    notes = CaseEvent.objects.filter(case=case, kind="note")
    assert [note.text for note in notes] == ["Asked again: Still waiting"]


def test_another_kind_is_another_case(world: World) -> None:
    by = world.actor("compliance")
    first, second = (
        receive(NewRequest(kind=kind, email="mara@example.org"), by=by)
        for kind in (CaseKind.ACCESS, CaseKind.ERASURE)
    )
    assert first.is_new
    assert second.is_new
    assert first.case.subject_id == second.case.subject_id


@pytest.mark.parametrize("closed", ["off", "no mail", "no workspace"])
def test_a_closed_form_is_a_page_that_does_not_exist(
    world: World, opened: str, settings: Any, closed: str
) -> None:
    Client().post(opened, FORM)
    confirm = link()
    if closed == "off":
        privacy_settings.change(Change(intake=False), by=world.actor("owner"))
    elif closed == "no mail":
        settings.MAIL_SERVER = False
    else:
        opened, confirm = "/requests/nowhere/", "/requests/confirm/nothing/"
    assert Client().get(opened).status_code == 404
    assert Client().post(opened, FORM).status_code == 404
    assert Client().post(confirm).status_code == 410
    assert not Case.objects.exists()


def test_a_mail_that_does_not_go_out_keeps_nothing(
    opened: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> int:
        raise OSError

    monkeypatch.setattr(mail, "send", refuse)
    answer = Client().post(opened, FORM)
    assert answer.status_code == 503
    assert "did not go out" in answer.content.decode()
    assert not IntakeRequest.objects.exists()


def test_what_nobody_confirms_is_deleted(opened: str) -> None:
    Client().post(opened, FORM)
    confirm = link()
    IntakeRequest.objects.update(asked_at=factories.ago(3))
    assert Client().post(confirm).status_code == 410
    assert intake.forget_unconfirmed() == 1
    assert not IntakeRequest.objects.exists()


def test_of_too_many_waiting_requests_the_oldest_goes(
    opened: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(intake, "MAX_WAITING", 1)
    Client().post(opened, FORM)
    Client().post(opened, {**FORM, "email": "other@example.org"})
    assert IntakeRequest.objects.get().email == "other@example.org"


def test_the_same_kind_again_replaces_what_waits_and_is_shown(opened: str) -> None:
    """Somebody else may have typed the first: the link shows what would be sent."""
    for text in ("By a stranger", "By herself"):
        Client().post(opened, {**FORM, "text": text})
    assert len(django_mail.outbox) == 1
    page = Client().get(link()).content.decode()
    assert "By herself" in page
    assert "By a stranger" not in page
    assert "Erase my data" in page


def test_another_kind_has_a_mail_of_its_own(opened: str) -> None:
    for kind in ("access", "erasure"):
        Client().post(opened, {**FORM, "kind": kind})
    assert len(django_mail.outbox) == IntakeRequest.objects.count() == 2


def test_another_correction_is_noted_with_its_words(world: World) -> None:
    for right in ("Bergen", "Oslo"):
        body = {
            "kind": "rectification", "email": "mara@example.org",
            "correction": {"wrong": "lives in Rome", "right": right},
        }  # fmt: skip
        world.api("compliance").post("/gdpr/requests", body)
    case = Case.objects.get(workspace=world.acme)
    note = CaseEvent.objects.get(case=case, kind="note")
    assert "right: Oslo" in note.text


def test_a_proven_address_of_two_people_opens_a_case_with_a_note(
    world: World, opened: str
) -> None:
    _shared_address(world)
    Client().post(opened, {**FORM, "email": "both@example.org"})
    answer = Client().post(link())
    assert answer.status_code == 200
    assert "Several people" not in answer.content.decode()
    case = Case.objects.get(workspace=world.acme)
    assert "Several people" in CaseEvent.objects.get(case=case, kind="note").text


@pytest.mark.parametrize("way", ["form", "confirm"])
def test_a_workspace_that_is_not_served_takes_no_request(
    opened: str, monkeypatch: pytest.MonkeyPatch, way: str
) -> None:
    Client().post(opened, FORM)
    path = opened if way == "form" else link()

    def refuse(_workspace_id: str) -> None:
        raise errors.Unavailable("Erasures wait", code="erasures_waiting")

    monkeypatch.setattr(serving, "require", refuse)
    assert Client().post(path, FORM).status_code == 503
    assert not Case.objects.exists()


def test_a_correction_needs_both_halves(world: World, opened: str) -> None:
    wrong = {**FORM, "kind": "rectification", "wrong": "Holt"}
    assert Client().post(opened, wrong).status_code == 422
    Client().post(opened, {**wrong, "right": "Hold"})
    Client().post(link())
    case = Case.objects.get(workspace=world.acme)
    assert case.correction == {"wrong": "Holt", "right": "Hold"}


def test_a_program_forwards_a_request(world: World) -> None:
    body = {"kind": "access", "email": "mara@example.org", "ticket": "T-1"}
    first = world.api("compliance").post("/gdpr/requests", body)
    second_answer = world.api("compliance").post("/gdpr/requests", body)
    assert (first.status, second_answer.status) == (201, 200)
    assert first.data["case_id"] == second_answer.data["case_id"]
    assert (first.data["is_new"], second_answer.data["is_new"]) == (True, False)
    assert Case.objects.get(pk=first.data["case_id"]).ticket == "T-1"


def test_who_may_forward(world: World) -> None:
    new = NewRequest(kind=CaseKind.ACCESS, email="mara@example.org")
    for role in ("operator", "viewer", "ada"):
        with pytest.raises(errors.Forbidden):
            receive(new, by=world.actor(role))
    receive(new, by=world.actor("stranger"))
    assert not Case.objects.filter(workspace=world.acme).exists()


def test_an_address_of_two_people_is_refused(world: World) -> None:
    _shared_address(world)
    new = NewRequest(kind=CaseKind.ACCESS, email="both@example.org")
    with pytest.raises(errors.Conflict) as error:
        receive(new, by=world.actor("compliance"))
    assert error.value.problem_code == "ambiguous_subject"
