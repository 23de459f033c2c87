"""Builders of recipients: webhooks and their messages, a provider, complete cases."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from gdpr.cases import dry_run
from gdpr.models import Case, CaseKind, CaseState, Recipient, RecipientKind, Subject
from gdpr.recipients import actions, listing, sending
from gdpr.recipients.actions import NewRecipient
from memory import webhooks, workspace_settings
from memory.journal import append as journal
from memory.models import DeliveryStatus, Webhook, WebhookDelivery
from memory.models.webhooks import HEALTH_BAND_CHANGED
from memory.providers import base
from memory.providers import remote as remote_provider
from memory.rules import errors
from memory.rules.entries import NewEntry
from memory.rules.permissions import system
from tests.gdpr import erasing
from tests.world import World

HOST = "hooks.example"
URL = f"https://{HOST}/in?secret=1"
PROVIDER_URL = "https://memory.example"


def hook(world: World, url: str = URL, days: int = 0) -> Webhook:
    """Return a webhook that was added so many days ago."""
    row = Webhook.objects.create(
        workspace=world.acme,
        url=url,
        events=[HEALTH_BAND_CHANGED],
        created_by="owner@acme.example",
        created_at=timezone.now() - timedelta(days=days),
    )
    return Webhook.objects.get(pk=row.pk)


def message(
    row: Webhook, text: str, status: DeliveryStatus = DeliveryStatus.SENT
) -> WebhookDelivery:
    """Return a message about a text, tried once, with this result."""
    new = NewEntry(entry_type=HEALTH_BAND_CHANGED, summary=text)
    (entry,) = journal.write([new], by=system(row.workspace_id))
    webhooks.queue(entry)
    delivery = WebhookDelivery.objects.get(webhook=row, entry_id=entry.id)
    fields: dict[str, Any] = {"status": status, "attempts": 1}
    if status == DeliveryStatus.PENDING:
        fields["next_attempt_at"] = timezone.now() + timedelta(hours=1)
    WebhookDelivery.objects.filter(pk=delivery.pk).update(**fields)
    return WebhookDelivery.objects.get(pk=delivery.pk)


def remote(world: World) -> None:
    """Choose a remote provider for the workspace."""
    values = {"remote_provider_url": PROVIDER_URL, "provider": "remote"}
    workspace_settings.change(values, by=world.actor("owner"))
    workspace_settings.change(
        {"remote_provider_key": "k" * 20}, by=world.actor("owner")
    )


class FakeProvider:
    """A remote provider that notes what it was asked to forget, or fails."""

    def __init__(self, *faults: errors.AppError | None) -> None:
        self.faults = list(faults)
        self.requests: list[base.Forget] = []

    def forget(self, request: base.Forget) -> base.Forgotten:
        fault = self.faults.pop(0) if self.faults else None
        if fault is not None:
            raise fault
        self.requests.append(request)
        return base.Forgotten(2)


def at_end(
    world: World, person: Subject, kind: CaseKind = CaseKind.ERASURE
) -> tuple[Case, list[Recipient]]:
    """Run a case to its end; return it with its recipients."""
    case = erasing.erased(world, person, kind)
    assert case.state == "complete", erasing.failure_text(case)
    return case, of_case(case)


def complete(case: Case) -> Case:
    """Mark a case as complete, for tests of what comes afterwards."""
    fields = {"state": CaseState.COMPLETE, "closed_at": timezone.now()}
    Case.objects.filter(pk=case.pk).update(**fields)
    return Case.objects.get(pk=case.pk)


def of_case(case: Case) -> list[Recipient]:
    rows = Recipient.objects.select_related("case").filter(case=case)
    return list(rows.order_by("kind", "added_at", "pk"))


def by_hand(world: World, case: Case, **fields: Any) -> Recipient:
    fields.setdefault("name", "Print shop")
    new = NewRecipient(**fields)
    return actions.add(case, new, by=world.actor("compliance"))


def with_recipients(world: World, count: int) -> tuple[Case, list[Recipient]]:
    """Return a case, complete without a run, with recipients added by hand."""
    case = complete(erasing.opened(world, erasing.otto(world)))
    rows = [
        Recipient(
            workspace_id=case.workspace_id,
            case=case,
            kind=RecipientKind.OTHER,
            ref=f"r{number}",
            name=f"shop {number}",
            doubt="by_hand",
            added_by="test",
        )
        for number in range(count)
    ]
    Recipient.objects.bulk_create(rows)
    return case, of_case(case)


def fresh(row: Recipient) -> Recipient:
    return Recipient.objects.select_related("case").get(pk=row.pk)


def due_now(row: Recipient) -> Recipient:
    """Make a notice due that waits for its next attempt."""
    Recipient.objects.filter(pk=row.pk).update(next_attempt_at=timezone.now())
    return fresh(row)


def sweep() -> dict[str, int]:
    return sending.sweep()


def webhook_case(
    world: World, kind: CaseKind = CaseKind.ERASURE
) -> tuple[Case, Recipient]:
    """Return a complete case whose webhook took a message about the person."""
    maria, webhook = erasing.maria(world), hook(world)
    delivery = message(webhook, f"{erasing.NAME} is red")
    case = erasing.opened(world, maria, kind, **correction(kind))
    row = Recipient.objects.create(
        workspace_id=case.workspace_id, case=case, kind="webhook", ref=webhook.pk,
        name=HOST, count=1, added_by="gdpr",
        evidence={"entries": [delivery.entry_id], "messages": [delivery.pk]},
    )  # fmt: skip
    delivery.delete()
    return complete(case), row


def correction(kind: CaseKind) -> dict[str, Any]:
    if kind is not CaseKind.RECTIFICATION:
        return {}
    return {"correction": {"wrong": "Maria Lopez", "right": "Maria López"}}


def with_provider(
    world: World, monkeypatch: pytest.MonkeyPatch, *faults: errors.AppError
) -> tuple[Recipient, FakeProvider]:
    """Return the remote provider of a case whose run is over, and the fake of it."""
    remote(world)
    case = erasing.opened(world, erasing.maria(world))
    listing.store(case, dry_run.person_of(case), by=world.system())
    complete(case)
    provider = FakeProvider(*faults)
    monkeypatch.setattr(remote_provider, "make", lambda _: provider)
    row = Recipient.objects.select_related("case").get(case=case, kind="provider")
    return row, provider


def mail_recipient(world: World, language: str = "en", **fields: Any) -> Recipient:
    maria = erasing.maria(world)
    case = erasing.opened(world, maria)
    fields |= {"email": "dpo@print.example", "language": language}
    row = by_hand(world, case, **fields)
    complete(case)
    return fresh(row)


def refuse(*_: Any) -> int:
    raise ConnectionRefusedError
