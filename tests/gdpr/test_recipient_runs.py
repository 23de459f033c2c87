"""Notices to recipients run by run: who sends, how often, and each by itself."""

from __future__ import annotations

import socket
import threading
from typing import Any

import pytest
import time_machine
from django.core import mail as outbox
from django.db import connections
from django.utils import timezone
from pytest_django import Settings

from gdpr.models import (
    Case,
    CaseState,
    GdprAction,
    NoticeState,
    Recipient,
)
from gdpr.recipients import actions, contacts, sending
from memory import webhooks
from memory.accounts import mail
from memory.jobs import registry as jobs
from memory.models import WebhookDelivery
from memory.ports import serving
from memory.providers import base
from memory.rules import errors
from tests.gdpr import recipients as make
from tests.memory.test_webhooks import PUBLIC, name_server
from tests.world import World

pytestmark = pytest.mark.django_db
COMMITTED = pytest.mark.django_db(transaction=True)


@pytest.fixture(autouse=True)
def _names(monkeypatch: pytest.MonkeyPatch) -> None:
    """Resolve every name to a public address; a test may change it."""
    monkeypatch.setattr(socket, "getaddrinfo", name_server(PUBLIC))


# ── When, and how often ──────────────────────────────────────────────────────
@pytest.mark.parametrize("state", [s for s in CaseState if s is not CaseState.COMPLETE])
def test_nothing_goes_out_before_the_run_is_complete(
    world: World, settings: Settings, state: CaseState
) -> None:
    settings.MAIL_SERVER = True
    row = make.mail_recipient(world)
    reason = "no" if state is CaseState.REFUSED else ""
    Case.objects.update(state=state, refusal_reason=reason)
    assert make.sweep()["released"] == 0
    assert make.fresh(row).state == NoticeState.WAITING
    assert outbox.outbox == []


def test_a_notice_that_an_officer_declined_does_not_go_out(
    world: World, settings: Settings
) -> None:
    settings.MAIL_SERVER = True
    row = make.mail_recipient(world)
    by = world.actor("compliance")
    actions.decline(row, "disproportionate", "A closed shop", by=by)
    make.sweep()
    assert outbox.outbox == []


def test_a_workspace_that_waits_for_its_erasures_sends_nothing(
    world: World, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.MAIL_SERVER = True
    row = make.mail_recipient(world)
    refusal = errors.Unavailable(reason="a restored backup")
    monkeypatch.setattr(serving, "refusal", lambda _: refusal)
    make.sweep()
    assert make.fresh(row).state == NoticeState.QUEUED
    assert outbox.outbox == []


def test_a_sender_that_died_is_followed_by_another_after_its_lease(
    world: World, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.MAIL_SERVER = True
    row = make.mail_recipient(world)
    with monkeypatch.context() as patch:
        patch.setattr(mail, "send", _killed)
        with pytest.raises(KeyboardInterrupt):
            make.sweep()
    assert make.sweep()["sent"] == 0
    with time_machine.travel(timezone.now() + sending.LEASE, tick=False):
        assert make.sweep()["sent"] == 1
    assert make.fresh(row).attempts == 2


def _killed(*_: Any) -> int:
    raise KeyboardInterrupt


@COMMITTED
def test_two_workers_at_once_send_it_once(
    world: World, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.MAIL_SERVER = True
    row = make.mail_recipient(world)
    sending.release(row)
    rows, barrier = [make.fresh(row), make.fresh(row)], threading.Barrier(2)
    outcomes: list[str] = []

    def work(own: Recipient) -> None:
        barrier.wait()
        try:
            outcomes.append(sending.send(own))
        finally:
            connections.close_all()

    threads = [threading.Thread(target=work, args=[own]) for own in rows]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(outcomes) == ["", "sent"]
    assert len(outbox.outbox) == 1


def test_a_thousand_recipients_are_notified_run_by_run(
    world: World, settings: Settings
) -> None:
    settings.MAIL_SERVER = True
    _, rows = make.with_recipients(world, 1_000)
    contacts.put("shop 7", "dpo@shop.example", by=world.actor("compliance"))
    runs = 0
    while Recipient.objects.filter(state=NoticeState.WAITING).exists():
        make.sweep()
        runs += 1
    assert runs == 1_000 // sending.RELEASED_AT_ONCE
    states = Recipient.objects.values_list("state", flat=True)
    assert sorted(states).count(NoticeState.TO_NOTIFY) == 999
    assert make.fresh(rows[7]).state == NoticeState.NOTIFIED


def test_the_job_says_what_it_gave_up(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    make.with_provider(world, monkeypatch, base.UnsupportedSelector())
    outcome = jobs.get("gdpr_recipients").act("")
    assert outcome.counts["failed"] == 1
    assert outcome.fault == "1 notices were given up"


# ── Each by itself ───────────────────────────────────────────────────────────
def _addressed(world: World, count: int) -> list[Recipient]:
    """Return recipients with an address each, released for sending."""
    _, rows = make.with_recipients(world, count)
    for row in rows:
        address = f"dpo@{row.ref}.example"
        contacts.put(row.name, address, by=world.actor("compliance"))
        sending.release(row)
    return [make.fresh(row) for row in rows]


def test_a_fault_of_one_leaves_the_others_as_they_are(
    world: World, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.MAIL_SERVER = True
    rows = _addressed(world, 3)
    before = rows[1].next_attempt_at

    def send(_: str, messages: Any) -> int:
        if messages[0].to == ["dpo@r1.example"]:
            raise ConnectionRefusedError
        return 1

    monkeypatch.setattr(mail, "send", send)
    assert make.sweep() == {"released": 0, "sent": 2, "retried": 1, "failed": 0}
    first, second, third = (make.fresh(row) for row in rows)
    states = [first.state, second.state, third.state]
    assert states == [NoticeState.NOTIFIED, NoticeState.QUEUED, NoticeState.NOTIFIED]
    assert [first.last_error, bool(second.last_error), third.last_error] == [
        "", True, "",
    ]  # fmt: skip
    assert second.next_attempt_at is not None
    assert before is not None
    assert second.next_attempt_at > before


def test_each_webhook_has_its_own_message_and_end(world: World) -> None:
    case, row = make.webhook_case(world)
    other = make.hook(world, "https://other.example/in")
    second = Recipient.objects.create(
        workspace_id=case.workspace_id, case=case, kind="webhook", ref=other.pk,
        name="other.example", doubt="expired", added_by="gdpr",
    )  # fmt: skip
    make.sweep()
    messages = WebhookDelivery.objects.values_list("webhook_id", "pk")
    ids = {row.ref: row.delivery_id for row in make.of_case(case)}
    assert ids == dict(messages)
    WebhookDelivery.objects.filter(webhook=other).update(status="failed")
    WebhookDelivery.objects.exclude(webhook=other).update(last_error="Answered 500.")
    make.sweep()
    assert make.fresh(second).state == NoticeState.FAILED
    assert make.fresh(second).last_error == sending.DIED
    row = make.fresh(row)
    assert (row.state, row.last_error) == (NoticeState.QUEUED, "Answered 500.")


@pytest.mark.parametrize("fault", [None, ConnectionRefusedError])
def test_what_an_officer_noted_meanwhile_stays(
    world: World,
    settings: Settings,
    monkeypatch: pytest.MonkeyPatch,
    fault: type[OSError] | None,
) -> None:
    settings.MAIL_SERVER = True
    (row,) = _addressed(world, 1)

    def send(*_: Any) -> int:
        actions.notify_by_hand(row, by=world.actor("compliance"))
        if fault is not None:
            raise fault
        return 1

    monkeypatch.setattr(mail, "send", send)
    make.sweep()
    row = make.fresh(row)
    assert (row.state, row.way, row.last_error) == (NoticeState.NOTIFIED, "hand", "")
    assert GdprAction.objects.filter(action="notify").count() == 1


def test_pauses_double(
    world: World, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.MAIL_SERVER = True
    (row,) = _addressed(world, 1)
    monkeypatch.setattr(mail, "send", make.refuse)
    minutes = []
    with time_machine.travel(timezone.now(), tick=False):
        for _ in range(4):
            make.due_now(row)
            make.sweep()
            due_at = make.fresh(row).next_attempt_at
            assert due_at is not None
            minutes.append((due_at - timezone.now()).total_seconds() / 60)
    assert minutes == [1, 2, 4, 8]


def test_a_sender_that_died_at_the_last_attempt_is_a_failure(
    world: World, settings: Settings
) -> None:
    settings.MAIL_SERVER = True
    (row,) = _addressed(world, 1)
    Recipient.objects.filter(pk=row.pk).update(attempts=sending.MAX_ATTEMPTS)
    assert make.sweep()["failed"] == 1
    assert make.fresh(row).last_error == sending.DIED
    assert outbox.outbox == []


def test_an_address_or_webhook_removed_before_the_job_runs_is_a_failure(
    world: World, settings: Settings
) -> None:
    settings.MAIL_SERVER = True
    (row,) = _addressed(world, 1)
    contact = contacts.of_name(world.acme.id, row.name)
    assert contact is not None
    contacts.remove(contact.pk, by=world.actor("compliance"))
    _, second = make.webhook_case(world)
    sending.release(second)
    webhooks.remove(
        webhooks.all_webhooks(world.actor("owner"))[0], by=world.actor("owner")
    )
    assert make.sweep()["failed"] == 2
    assert make.fresh(row).last_error == sending.NO_WAY
    assert make.fresh(second).last_error == sending.NO_WEBHOOK


def test_identifiers_of_another_key_are_left_to_people(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    row, provider = make.with_provider(world, monkeypatch)
    Recipient.objects.filter(pk=row.pk).update(sealed="v1.AAAA")
    assert make.sweep()["failed"] == 1
    assert make.fresh(row).last_error == sending.KEY_LOST
    assert provider.requests == []


def test_a_slow_receiver_leaves_the_rest_for_the_next_minute(
    world: World, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.MAIL_SERVER = True
    _addressed(world, 2)
    monkeypatch.setattr(sending, "BUDGET_SECONDS", -1.0)
    assert make.sweep()["sent"] == 0
