"""Sending letters: once, by mail or post, one or many, and faulty servers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import timedelta
from smtplib import SMTPServerDisconnected
from typing import Any

import pytest
from django.core import mail as django_mail
from django.core.mail.backends.base import BaseEmailBackend
from django.utils import timezone

from gdpr.letters import bulk, sending
from gdpr.models import (
    ActionKind,
    GdprAction,
    Letter,
)
from gdpr.processing import controller
from memory.accounts import mail
from memory.rules import errors
from memory.rules.bulk import Pick
from tests.gdpr import letter_kit
from tests.gdpr import requests as make
from tests.gdpr.letter_kit import EMAIL, PERSON, answering
from tests.world import World

SENT = "gdpr.letter_sent"
pytestmark = pytest.mark.django_db


@pytest.fixture
def server(settings: Any) -> None:
    """Let mails go out."""
    settings.MAIL_SERVER = True


# ── Sending ──────────────────────────────────────────────────────────────────
@pytest.mark.usefixtures("server")
def test_a_letter_is_mailed_once(world: World) -> None:
    case = letter_kit.addressed(world, make.opened(world))
    letter, by = letter_kit.letter(world, case), world.actor("compliance")
    row = sending.by_mail(letter, by=by)
    [message] = django_mail.outbox
    assert message.to == [EMAIL]
    assert PERSON in str(message.body)
    assert (row.way, row.sent_by) == ("mail", by.label)
    assert row.opened()["to"] == EMAIL
    with pytest.raises(errors.Conflict) as raised:
        sending.by_mail(letter, by=by)
    assert raised.value.problem_code == "letter_sent"
    assert len(django_mail.outbox) == 1
    action = GdprAction.objects.get(action=ActionKind.ANSWER)
    assert action.scope == {"letter": row.id, "occasion": "received", "way": "mail"}


@pytest.mark.usefixtures("server")
def test_the_second_of_two_that_send_at_once_sends_nothing(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    case = letter_kit.addressed(world, make.opened(world))
    letter, by = letter_kit.letter(world, case), world.actor("compliance")
    refusals = []

    def slow(_kind: str, messages: list[Any]) -> int:
        other = Letter.objects.get(pk=letter.pk)
        for act in (sending.by_mail, sending.by_post):
            with pytest.raises(errors.Conflict) as raised:
                act(other, by=by)
            refusals.append(raised.value.problem_code)
        return len(messages)

    monkeypatch.setattr(mail, "send", slow)
    sending.by_mail(letter, by=by)
    assert refusals == ["letter_is_sent_now"] * 2


@pytest.mark.usefixtures("server")
def test_a_mail_server_that_refuses_gives_the_letter_back(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    case = letter_kit.addressed(world, make.opened(world))
    letter, by = letter_kit.letter(world, case), world.actor("compliance")

    def down(*_: object) -> int:
        raise ConnectionRefusedError

    with monkeypatch.context() as patch:
        patch.setattr(mail, "send", down)
        with pytest.raises(errors.Unavailable) as raised:
            sending.by_mail(letter, by=by)
    assert raised.value.problem_code == "mail_not_sent"
    assert sending.by_mail(letter, by=by).sent_at is not None


@pytest.mark.usefixtures("server")
def test_a_mail_that_left_is_on_record_although_its_letter_was_erased(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    case = letter_kit.addressed(world, make.opened(world))
    letter, by = letter_kit.letter(world, case), world.actor("compliance")

    def erased_meanwhile(_kind: str, messages: list[Any]) -> int:
        Letter.objects.all().delete()
        return len(messages)

    monkeypatch.setattr(mail, "send", erased_meanwhile)
    sending.by_mail(letter, by=by)
    assert not Letter.objects.exists()
    assert GdprAction.objects.filter(action=ActionKind.ANSWER).count() == 1
    assert len(make.entries(world, SENT)) == 1


@pytest.mark.usefixtures("server")
def test_after_a_crash_a_person_decides(world: World) -> None:
    case = letter_kit.addressed(world, make.opened(world))
    letter, by = letter_kit.letter(world, case), world.actor("compliance")
    crashed_at = timezone.now() - sending.CLAIM - timedelta(seconds=1)
    Letter.objects.filter(pk=letter.pk).update(claimed_at=crashed_at)
    assert sending.is_unclear(Letter.objects.get(pk=letter.pk))
    with pytest.raises(errors.Conflict) as raised:
        sending.by_mail(letter, by=by)
    assert raised.value.problem_code == "letter_unclear"
    assert django_mail.outbox == []
    sending.by_mail(letter, by=by, repeat=True)
    assert len(django_mail.outbox) == 1


class Backend(BaseEmailBackend):
    """A mail server that takes a mail and then fails as the test says."""

    fault: Exception | None = None
    fault_at_end: Exception | None = None

    def send_messages(self, email_messages: Sequence[Any]) -> int:
        if self.fault:
            raise self.fault
        return len(email_messages)

    def close(self) -> None:
        if self.fault_at_end:
            raise self.fault_at_end


@pytest.mark.usefixtures("server")
@pytest.mark.parametrize(
    "fault", [TimeoutError("no answer"), SMTPServerDisconnected("closed")]
)
def test_a_server_that_stops_answering_leaves_it_to_a_person(
    world: World, monkeypatch: pytest.MonkeyPatch, fault: Exception
) -> None:
    case = letter_kit.addressed(world, make.opened(world))
    letter, by = letter_kit.letter(world, case), world.actor("compliance")
    monkeypatch.setattr(Backend, "fault", fault)
    monkeypatch.setattr(django_mail, "get_connection", Backend)
    with pytest.raises(errors.Unavailable) as raised:
        sending.by_mail(letter, by=by)
    assert raised.value.problem_code == "mail_unclear"
    assert Letter.objects.get(pk=letter.pk).claimed_at is not None
    with pytest.raises(errors.Conflict):
        sending.by_mail(letter, by=by)


@pytest.mark.usefixtures("server")
def test_a_fault_after_the_server_took_it_is_no_second_mail(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    case = letter_kit.addressed(world, make.opened(world))
    letter, by = letter_kit.letter(world, case), world.actor("compliance")
    monkeypatch.setattr(Backend, "fault_at_end", TimeoutError("no goodbye"))
    monkeypatch.setattr(django_mail, "get_connection", Backend)
    assert sending.by_mail(letter, by=by).sent_at is not None


@pytest.mark.usefixtures("server")
@pytest.mark.parametrize("way", [sending.by_mail, sending.by_post])
def test_a_letter_with_an_open_placeholder_goes_out_neither_way(
    world: World, way: Callable[..., Letter]
) -> None:
    case = letter_kit.addressed(world, make.opened(world))
    body = "We extend it.\n\n[controller]\n[controller_contact] [sic]"
    letter = letter_kit.letter(world, case, body=body)
    with pytest.raises(errors.Conflict) as raised:
        way(letter, by=world.actor("compliance"))
    assert raised.value.problem_code == "letter_unfilled"
    assert "[controller], [controller_contact] in it" in raised.value.detail
    row = Letter.objects.get(pk=letter.pk)
    assert (row.sent_at, row.claimed_at, django_mail.outbox) == (None, None, [])


@pytest.mark.usefixtures("server")
@pytest.mark.parametrize(
    ("contact", "reply_to"),
    [("privacy@fairlead.example", ["privacy@fairlead.example"]), ("Quay 1", [])],
)
def test_a_mail_says_its_language_and_where_to_answer(
    world: World, contact: str, reply_to: list[str]
) -> None:
    case = letter_kit.addressed(world, make.opened(world))
    letter = letter_kit.letter(world, case)
    values = {"controller_contact": contact}
    controller.change(values, by=world.actor("owner"))
    sending.by_mail(letter, by=world.actor("compliance"))
    [message] = django_mail.outbox
    assert message.reply_to == reply_to
    assert message.message()["Content-Language"] == "de"


@pytest.mark.usefixtures("server")
def test_without_an_address_nothing_is_mailed(world: World) -> None:
    letter = letter_kit.letter(world, make.opened(world))
    with pytest.raises(errors.Conflict) as raised:
        sending.by_mail(letter, by=world.actor("compliance"))
    assert raised.value.problem_code == "no_email"


def test_without_a_mail_server_it_is_said(world: World) -> None:
    letter = letter_kit.letter(world, letter_kit.addressed(world, make.opened(world)))
    with pytest.raises(errors.Conflict) as raised:
        sending.by_mail(letter, by=world.actor("compliance"))
    assert raised.value.problem_code == "no_mail_server"


# ── Many at once ─────────────────────────────────────────────────────────────
@pytest.mark.usefixtures("server")
def test_many_are_told_that_their_request_arrived(world: World) -> None:
    by = world.actor("compliance")
    reachable = letter_kit.addressed(world, make.opened(world))
    unreachable = make.opened(world)
    stranger = make.opened(world, "stranger")
    picks = [Pick(case.id) for case in (reachable, unreachable, stranger)]
    assert [item.code for item in bulk.announce(by, picks[:1])] == ["values_missing"]
    answering(world)
    items = bulk.announce(by, picks)
    assert [item.state for item in items] == [
        bulk.MAILED_STATE,
        bulk.UNSENT_STATE,
        None,
    ]
    assert [message.to for message in django_mail.outbox] == [[EMAIL]]
    repetition = bulk.announce(by, picks[:2])
    assert [item.code for item in repetition] == ["letter_sent", None]
    assert len(django_mail.outbox) == 1
    # What was kept for want of an address goes out once there is one.
    letter_kit.addressed(world, unreachable)
    assert bulk.announce(by, picks[1:2])[0].state == bulk.MAILED_STATE
    assert unreachable.letters.count() == 1


@pytest.mark.usefixtures("server")
def test_a_mail_server_that_is_down_is_tried_once_for_many(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    answering(world)
    by, attempts = world.actor("compliance"), []
    cases = [letter_kit.addressed(world, make.opened(world)) for _ in range(3)]

    def down(*_: object) -> int:
        attempts.append(1)
        raise ConnectionRefusedError

    with monkeypatch.context() as patch:
        patch.setattr(mail, "send", down)
        items = bulk.announce(by, [Pick(case.id) for case in cases])
    assert [item.code for item in items] == ["mail_not_sent"] * 3
    assert len(attempts) == 1
    items = bulk.announce(by, [Pick(case.id) for case in cases])
    assert [item.state for item in items] == [bulk.MAILED_STATE] * 3
    assert Letter.objects.count() == 3
