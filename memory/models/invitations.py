"""Pending memberships: people who were invited and have not accepted yet."""

from __future__ import annotations

from django.conf import settings
from django.db import models
from django.utils import timezone

from memory.models import ids
from memory.models.tenancy import Workspace
from memory.rules.permissions import PERSON_ROLES


class Invitation(models.Model):
    """A pending membership. It gives no access: it is not in the table of memberships.

    ``digest`` is the SHA-256 of the token in the invitation's link; empty when the
    link has ended. ``mailed`` says that the link was sent by e-mail, not shown.
    """

    id = models.CharField(primary_key=True, max_length=32, default=ids.invitation)
    workspace = models.ForeignKey(Workspace, models.CASCADE, related_name="invitations")
    email = models.EmailField()
    role = models.CharField(
        max_length=12, choices=[(r.value, r.value) for r in PERSON_ROLES]
    )
    invited_by = models.CharField(max_length=254)
    invited_by_id = models.CharField(max_length=128)
    created_at = models.DateTimeField(default=timezone.now)
    digest = models.CharField(max_length=64, blank=True)
    link_made_at = models.DateTimeField(null=True, blank=True)
    mailed = models.BooleanField(default=False)

    class Meta:
        db_table = "invitations"
        ordering = ("created_at",)
        constraints = (
            models.UniqueConstraint(
                fields=["workspace", "email"], name="one_invitation_per_address"
            ),
        )
        indexes = (
            models.Index(fields=["email"], name="invitation_email"),
            models.Index(fields=["digest"], name="invitation_digest"),
        )

    def __str__(self) -> str:
        return f"{self.email} · {self.role}"

    @property
    def link_works(self) -> bool:
        """Whether the link was neither withdrawn nor has expired."""
        if not self.digest or self.link_made_at is None:
            return False
        age = (timezone.now() - self.link_made_at).total_seconds()
        return age <= settings.PASSWORD_RESET_TIMEOUT
