"""Notices to recipients: after the run, at least once, by each way, never to a name."""

from __future__ import annotations

import json
import socket
from datetime import timedelta
from typing import Any

import pytest
import time_machine
from django.core import mail as outbox
from django.utils import timezone
from pytest_django import Settings

from gdpr.models import (
    Case,
    CaseKind,
    CaseState,
    GdprAction,
    NoticeState,
    Recipient,
)
from gdpr.processing import controller
from gdpr.recipients import actions, contacts, notices, sending
from memory import webhooks
from memory.accounts import mail
from memory.models import JournalEntry, WebhookDelivery
from memory.providers import base
from memory.rules import errors
from tests.gdpr import recipients as make
from tests.gdpr.erasing import MAIL, NAME
from tests.memory.test_webhooks import PUBLIC, Receiver, name_server
from tests.world import World

pytestmark = pytest.mark.django_db
COMMITTED = pytest.mark.django_db(transaction=True)


@pytest.fixture(autouse=True)
def _names(monkeypatch: pytest.MonkeyPatch) -> None:
    """Resolve every name to a public address; a test may change it."""
    monkeypatch.setattr(socket, "getaddrinfo", name_server(PUBLIC))


# ── Webhooks ─────────────────────────────────────────────────────────────────
@pytest.mark.parametrize(
    ("kind", "event"),
    [
        (CaseKind.ERASURE, "gdpr.erasure_notice"),
        (CaseKind.RECTIFICATION, "gdpr.rectification_notice"),
        (CaseKind.RESTRICTION, "gdpr.restriction_notice"),
        (CaseKind.OBJECTION, "gdpr.restriction_notice"),
    ],
)
def test_a_webhook_gets_a_signed_event_with_ids_and_no_name(
    world: World, kind: CaseKind, event: str
) -> None:
    case, row = make.webhook_case(world, kind)
    receiver = Receiver()
    make.sweep()
    webhooks.deliver_due(transport=receiver.transport)
    (request,) = receiver.got
    text = request.content.decode()
    body = json.loads(text)
    hook = WebhookDelivery.objects.select_related("webhook").get().webhook
    signature = request.headers["X-Crewship-Signature"]
    assert webhooks.verify(hook.secret, signature, text)
    assert body["event"] == request.headers["X-Crewship-Event"] == event
    assert body["payload"] == notices.payload(row)
    assert body["payload"]["entries"] == row.evidence["entries"]
    assert body["payload"]["notice_id"] == row.pk
    assert "Maria" not in text
    assert MAIL not in text
    make.sweep()
    row = make.fresh(row)
    assert (row.state, row.notified_by) == (NoticeState.DELIVERED, "gdpr")
    entry = JournalEntry.objects.get(entry_type="gdpr.recipient_notified")
    assert entry.payload["recipient_id"] == row.pk
    assert GdprAction.objects.filter(action="notify", case_ref=case.pk).count() == 1


def test_a_receiver_that_redirects_inwards_or_fails_gets_it_again(
    world: World,
) -> None:
    _, row = make.webhook_case(world)
    receiver = Receiver(302, 500)
    make.sweep()
    webhooks.deliver_due(transport=receiver.transport)
    make.sweep()
    assert make.fresh(row).state == NoticeState.QUEUED
    assert "redirects are not followed" in make.fresh(row).last_error
    for _ in range(webhooks.MAX_ATTEMPTS):
        WebhookDelivery.objects.update(next_attempt_at=timezone.now())
        failing = Receiver(500)
        webhooks.deliver_due(transport=failing.transport)
    assert make.sweep()["failed"] == 1
    row = make.fresh(row)
    assert (row.state, row.last_error) == (NoticeState.FAILED, "Answered 500.")
    assert JournalEntry.objects.filter(entry_type="gdpr.notice_failed").exists()
    # Not lost: an officer sends it again, under the same id.
    actions.notify(row, by=world.actor("compliance"))
    make.sweep()
    second_receiver = Receiver()
    WebhookDelivery.objects.filter(status="failed").delete()
    webhooks.deliver_due(transport=second_receiver.transport)
    assert json.loads(second_receiver.got[0].content)["payload"]["notice_id"] == row.pk
    make.sweep()
    assert make.fresh(row).state == NoticeState.DELIVERED


def test_a_receiver_on_a_private_address_gets_nothing(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    _, row = make.webhook_case(world)
    monkeypatch.setattr(socket, "getaddrinfo", name_server("127.0.0.1"))
    receiver = Receiver()
    make.sweep()
    webhooks.deliver_due(transport=receiver.transport)
    make.sweep()
    assert receiver.got == []
    assert "may not reach" in make.fresh(row).last_error


def test_a_webhook_that_is_gone_leaves_the_notice_to_people(world: World) -> None:
    _, row = make.webhook_case(world)
    webhooks.remove(webhooks.all_webhooks(world.actor("owner"))[0], by=_owner(world))
    make.sweep()
    row = make.fresh(row)
    assert (row.state, row.last_error) == (NoticeState.TO_NOTIFY, sending.NO_WAY)
    with pytest.raises(errors.Conflict) as error:
        actions.notify(row, by=world.actor("compliance"))
    assert error.value.problem_code == "no_address"


def test_a_webhook_removed_while_the_message_waits_is_a_failure(world: World) -> None:
    _, row = make.webhook_case(world)
    make.sweep()
    webhooks.remove(webhooks.all_webhooks(_owner(world))[0], by=_owner(world))
    assert make.sweep()["failed"] == 1
    assert make.fresh(row).last_error == sending.NO_WEBHOOK


def test_a_paused_webhook_is_told_by_hand(world: World) -> None:
    _, row = make.webhook_case(world)
    make.sweep()
    hook = webhooks.all_webhooks(_owner(world))[0]
    webhooks.switch(hook, active=False, by=_owner(world))
    webhooks.deliver_due(transport=Receiver().transport)
    make.sweep()
    assert make.fresh(row).state == NoticeState.QUEUED
    actions.notify_by_hand(make.fresh(row), by=world.actor("compliance"))
    make.sweep()
    assert make.fresh(row).way == "hand"


def _owner(world: World) -> Any:
    return world.actor("owner")


# ── The remote provider ──────────────────────────────────────────────────────
def test_a_remote_provider_is_asked_to_forget_the_identifiers(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    row, provider = make.with_provider(world, monkeypatch)
    make.sweep()
    (request,) = provider.requests
    assert (request.workspace_id, request.data_subject_id) == (world.acme.id, MAIL)
    row = make.fresh(row)
    assert (row.state, row.way, row.removed) == (NoticeState.DELIVERED, "forget", 2)
    assert row.sealed == ""


def test_a_provider_that_hangs_is_asked_again_later_and_then_left_to_people(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    slow = base.UpstreamTimeout(verb="forget", seconds=10)
    row, provider = make.with_provider(
        world, monkeypatch, *[slow] * sending.MAX_ATTEMPTS
    )
    assert make.sweep()["retried"] == 1
    row = make.fresh(row)
    assert (row.state, row.attempts) == (NoticeState.QUEUED, 1)
    assert "time-out" in row.last_error
    assert row.sealed
    for _ in range(sending.MAX_ATTEMPTS - 1):
        make.due_now(row)
        make.sweep()
    row = make.fresh(row)
    assert (row.state, row.attempts) == (NoticeState.FAILED, sending.MAX_ATTEMPTS)
    actions.notify(row, by=world.actor("compliance"))
    make.sweep()
    assert make.fresh(row).state == NoticeState.DELIVERED
    assert len(provider.requests) == 1


def test_a_provider_that_cannot_forget_by_person_is_left_to_people_at_once(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    row, _ = make.with_provider(world, monkeypatch, base.UnsupportedSelector())
    assert make.sweep()["failed"] == 1
    assert make.fresh(row).attempts == 1


def test_another_address_of_the_provider_gets_no_identifier(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    row, provider = make.with_provider(world, monkeypatch)
    Recipient.objects.filter(pk=row.pk).update(name="former.example")
    make.sweep()
    assert provider.requests == []
    assert make.fresh(row).last_error == sending.OTHER_PROVIDER


def test_identifiers_are_kept_no_longer_than_the_certificate_says(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    slow = base.UpstreamTimeout(verb="forget", seconds=10)
    row, provider = make.with_provider(world, monkeypatch, *[slow] * 3)
    make.sweep()
    later = timezone.now() + timedelta(days=sending.SEALED_DAYS, minutes=1)
    with time_machine.travel(later, tick=False):
        Recipient.objects.update(next_attempt_at=later + timedelta(hours=1))
        make.sweep()
        assert make.fresh(row).sealed == ""
        make.due_now(row)
        make.sweep()
    row = make.fresh(row)
    assert (row.state, row.last_error) == (NoticeState.FAILED, sending.EXPIRED)
    assert provider.requests == []


def test_identifiers_go_although_the_case_never_ends(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    row, _ = make.with_provider(world, monkeypatch)
    Case.objects.update(state=CaseState.PARTIAL, closed_at=None)
    later = timezone.now() + timedelta(days=sending.SEALED_DAYS, minutes=1)
    with time_machine.travel(later, tick=False):
        make.sweep()
    row = make.fresh(row)
    assert (row.state, row.sealed) == (NoticeState.WAITING, "")


def test_a_letter_follows_the_call_and_the_call_is_not_repeated_for_it(
    world: World, monkeypatch: pytest.MonkeyPatch, settings: Settings
) -> None:
    settings.MAIL_SERVER = True
    row, provider = make.with_provider(world, monkeypatch)
    contacts.put(row.name, "dpo@memory.example", by=world.actor("compliance"))
    with monkeypatch.context() as patch:
        patch.setattr(mail, "send", make.refuse)
        make.sweep()
    row = make.fresh(row)
    assert (row.state, row.removed, row.sealed) == (NoticeState.QUEUED, 2, "")
    make.due_now(row)
    make.sweep()
    assert make.fresh(row).state == NoticeState.DELIVERED
    assert len(provider.requests) == 1
    assert [message.to for message in outbox.outbox] == [["dpo@memory.example"]]


# ── Mail ─────────────────────────────────────────────────────────────────────
def test_a_letter_says_what_identifies_the_data_and_names_nobody(
    world: World, settings: Settings
) -> None:
    settings.MAIL_SERVER = True
    row = make.mail_recipient(world, received="Customer 4711")
    make.sweep()
    (message,) = outbox.outbox
    assert message.to == ["dpo@print.example"]
    assert message.extra_headers["X-Crewship-Notice"] == row.pk
    text = f"{message.subject} {message.body}"
    assert "Customer 4711" in text
    assert row.pk in text
    assert row.case_id in text
    for name in (NAME, MAIL, "Lopez"):
        assert name not in text
    assert make.fresh(row).state == NoticeState.NOTIFIED


def test_without_a_mail_server_people_send_it(world: World, settings: Settings) -> None:
    settings.MAIL_SERVER = False
    row = make.mail_recipient(world)
    make.sweep()
    row = make.fresh(row)
    assert (row.state, row.last_error) == (NoticeState.TO_NOTIFY, sending.NO_WAY)
    text = actions.download(row, "en", by=world.actor("compliance"))
    assert row.pk in text


def test_a_mail_server_that_is_down_is_visible_and_the_notice_is_not_lost(
    world: World, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.MAIL_SERVER = True
    row = make.mail_recipient(world)
    with monkeypatch.context() as patch:
        patch.setattr(mail, "send", make.refuse)
        make.sweep()
    row = make.fresh(row)
    assert row.last_error == "The mail did not go out: ConnectionRefusedError"
    assert row.next_attempt_at is not None
    assert row.next_attempt_at > timezone.now()
    assert make.sweep()["sent"] == 0
    make.due_now(row)
    assert make.sweep()["sent"] == 1


def test_a_mail_that_nobody_took_is_no_notice(
    world: World, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.MAIL_SERVER = True
    first = make.mail_recipient(world)
    second = make.by_hand(world, first.case, name="Cloud", email="dpo@cloud.example")

    def broken(_kind: str, messages: list[Any]) -> int:
        if messages[0].to == ["dpo@print.example"]:
            raise UnicodeEncodeError("ascii", "ü", 0, 1, "no mail can have it")
        return 0

    monkeypatch.setattr(mail, "send", broken)
    assert make.sweep()["retried"] == 2
    errors_seen = [make.fresh(row).last_error for row in (first, second)]
    assert errors_seen == [
        "The mail did not go out: UnicodeEncodeError",
        sending.NO_WAY,
    ]


def test_a_mail_says_its_language_and_where_to_answer(
    world: World, settings: Settings
) -> None:
    settings.MAIL_SERVER = True
    values = {"controller_contact": "privacy@fairlead.example"}
    controller.change(values, by=world.actor("owner"))
    make.mail_recipient(world, "de")
    make.sweep()
    (message,) = outbox.outbox
    assert message.reply_to == ["privacy@fairlead.example"]
    assert message.message()["Content-Language"] == "de"
