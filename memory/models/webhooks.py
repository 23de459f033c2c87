"""Webhooks of a workspace, and the deliveries to them."""

from __future__ import annotations

import secrets
from typing import Final
from urllib.parse import urlsplit

from django.db import models
from django.utils import timezone

from memory.models import ids
from memory.models.tenancy import Workspace

HEALTH_BAND_CHANGED: Final = "memory.health_band_changed"


def webhook_id() -> str:
    return ids.make("wh")


def delivery_id() -> str:
    return ids.make("whd")


def default_events() -> list[str]:
    return [HEALTH_BAND_CHANGED]


def new_secret() -> str:
    """Return a new signing secret: 32 random bytes."""
    return secrets.token_urlsafe(32)


class DeliveryStatus(models.TextChoices):
    """The state of a delivery; a failed one is retried on request only."""

    PENDING = "pending"
    SENT = "sent"
    FAILED = "failed"


class Webhook(models.Model):
    """An address that receives events. The secret is stored, because it signs."""

    id = models.CharField(primary_key=True, max_length=32, default=webhook_id)
    workspace = models.ForeignKey(Workspace, models.CASCADE, related_name="webhooks")
    url = models.CharField(max_length=500)
    events = models.JSONField(default=default_events)
    secret = models.CharField(max_length=64, default=new_secret)
    active = models.BooleanField(default=True)
    created_at = models.DateTimeField(default=timezone.now)
    created_by = models.CharField(max_length=254)

    class Meta:
        db_table = "webhooks"
        ordering = ("created_at", "id")
        constraints = (
            models.UniqueConstraint(fields=["workspace", "url"], name="webhook_once"),
        )

    def __str__(self) -> str:
        return f"{self.id} to {self.host}"

    @property
    def host(self) -> str:
        """The host of the address; the rest may contain a secret."""
        return urlsplit(self.url).hostname or ""


class WebhookDelivery(models.Model):
    """One message to one webhook. ``attempts`` counts the claims: each is one try.

    ``next_attempt_at`` is also the end of a claim: a row whose sender crashed is
    due again then.
    """

    id = models.CharField(primary_key=True, max_length=32, default=delivery_id)
    workspace = models.ForeignKey(Workspace, models.CASCADE, db_index=False)
    webhook = models.ForeignKey(
        Webhook, models.CASCADE, related_name="deliveries", db_index=False
    )
    event = models.CharField(max_length=80)
    body = models.TextField()
    entry_id = models.CharField(max_length=32, blank=True)
    attempts = models.PositiveSmallIntegerField(default=0)
    status = models.CharField(
        max_length=8, choices=DeliveryStatus.choices, default=DeliveryStatus.PENDING
    )
    last_status = models.PositiveSmallIntegerField(null=True, blank=True)
    last_error = models.CharField(max_length=200, blank=True)
    next_attempt_at = models.DateTimeField(default=timezone.now)
    created_at = models.DateTimeField(default=timezone.now)
    sent_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        db_table = "webhook_deliveries"
        verbose_name_plural = "webhook deliveries"
        ordering = ("-created_at", "-id")
        indexes = (
            models.Index(fields=["status", "next_attempt_at"], name="delivery_due"),
            models.Index(fields=["webhook", "-created_at"], name="delivery_last"),
            models.Index(fields=["workspace"], name="delivery_workspace"),
        )

    def __str__(self) -> str:
        return f"{self.id} {self.event} {self.status}"
