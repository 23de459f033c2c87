"""The tables of the Memory Gateway: its users, and where turns are sent.

Served memories are stored in records; of a conversation that waits for its flush only a
keyed digest is stored.
"""

from __future__ import annotations

from django.db import models
from django.utils import timezone

from memory.models import ids
from memory.models.tenancy import Agent, Key, Workspace


def gateway_key_id() -> str:
    """Return a new id for a gateway user's key; it is not its secret."""
    return ids.make("gwk")


def setup_id() -> str:
    """Return a new id for a configuration of turns."""
    return ids.make("gws")


def no_scopes() -> list[str]:
    """Return the scopes of a configuration that searches nothing."""
    return []


class GatewayKey(Key):
    """Gives one user access at ``/gateway`` to one agent's memory.

    ``app_id`` and ``project_id`` limit where the key works; empty means anywhere.
    """

    id = models.CharField(primary_key=True, max_length=32, default=gateway_key_id)
    workspace = models.ForeignKey(
        Workspace, models.CASCADE, related_name="gateway_keys", db_index=False
    )
    agent = models.ForeignKey(Agent, models.CASCADE, related_name="gateway_keys")
    user_id = models.CharField(max_length=128)
    app_id = models.CharField(max_length=128, blank=True)
    project_id = models.CharField(max_length=128, blank=True)

    class Meta:
        db_table = "gateway_keys"
        ordering = ("-created_at",)
        indexes = (
            models.Index(fields=["workspace", "user_id"], name="gateway_key_user"),
        )

    @property
    def holder(self) -> str:
        """The user of the key."""
        return self.user_id


class GatewaySetup(models.Model):
    """The source of memory for the turns of a workspace, or of one agent.

    ``sealed_key`` opens only with this installation's key file and for this row.
    """

    id = models.CharField(primary_key=True, max_length=32, default=setup_id)
    workspace = models.ForeignKey(
        Workspace, models.CASCADE, related_name="gateway_setups", db_index=False
    )
    agent = models.ForeignKey(
        Agent, models.CASCADE, null=True, blank=True, related_name="gateway_setups"
    )
    mode = models.CharField(max_length=16)
    base_url = models.CharField(max_length=500, blank=True)
    user_id = models.CharField(max_length=128, blank=True)
    sealed_key = models.TextField(blank=True)
    app_id = models.CharField(max_length=128, blank=True)
    project_id = models.CharField(max_length=128, blank=True)
    scope = models.JSONField(default=no_scopes)
    top_k = models.PositiveSmallIntegerField(default=8)
    timeout_seconds = models.FloatField(default=10.0)
    updated_at = models.DateTimeField(default=timezone.now)
    updated_by = models.CharField(max_length=254)

    class Meta:
        db_table = "gateway_setups"
        ordering = ("workspace", "agent")
        constraints = (
            models.UniqueConstraint(
                fields=["workspace", "agent"],
                condition=models.Q(agent__isnull=False),
                name="gateway_setup_of_agent",
            ),
            models.UniqueConstraint(
                fields=["workspace"],
                condition=models.Q(agent__isnull=True),
                name="gateway_setup_of_workspace",
            ),
        )

    def __str__(self) -> str:
        return f"{self.id} {self.mode}"


class GatewayPending(models.Model):
    """A conversation that got messages since its last flush, as a keyed digest."""

    id = models.BigAutoField(primary_key=True)
    workspace = models.ForeignKey(Workspace, models.CASCADE, db_index=False)
    digest = models.CharField(max_length=64)
    since = models.DateTimeField(default=timezone.now)

    class Meta:
        db_table = "gateway_pending"
        verbose_name_plural = "gateway pending"
        constraints = (
            models.UniqueConstraint(
                fields=["workspace", "digest"], name="gateway_pending_once"
            ),
        )

    def __str__(self) -> str:
        return self.digest[:12]
