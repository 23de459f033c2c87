"""Requests that people sent by the form and have not confirmed yet."""

from __future__ import annotations

from django.db import models
from django.utils import timezone

from gdpr.models.cases import CaseKind
from memory.models import Workspace, ids


def _request_id() -> str:
    return ids.make("ask")


class IntakeRequest(models.Model):
    """A request that waits for its link to be opened; gone once a case is open.

    ``digest`` is of the link's token. Nobody sees a request before its address is
    proven: it is no case, and it is deleted after two days.
    """

    id = models.CharField(primary_key=True, max_length=32, default=_request_id)
    workspace = models.ForeignKey(Workspace, models.CASCADE)
    kind = models.CharField(max_length=13, choices=CaseKind.choices)
    email = models.CharField(max_length=254)
    name = models.CharField(max_length=120, blank=True)
    text = models.TextField(blank=True)
    correction = models.JSONField(default=dict, blank=True)
    digest = models.CharField(max_length=64, unique=True)
    asked_at = models.DateTimeField(default=timezone.now)

    class Meta:
        db_table = "gdpr_intake_requests"
        ordering = ("asked_at", "id")

    def __str__(self) -> str:
        return f"{self.id} {self.kind}"
