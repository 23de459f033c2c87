"""Decisions on single rows of a plan: they are this person's, or they are kept."""

from __future__ import annotations

from django.db import models
from django.db.models import Q
from django.utils import timezone
from django.utils.translation import gettext_lazy

from gdpr.models.cases import Case
from memory.models import Workspace


class Verdict(models.TextChoices):
    """Whose a row is."""

    THEIRS = "theirs", gettext_lazy("This person’s")
    SPARED = "spared", gettext_lazy("Stays")


class Ground(models.TextChoices):
    """Why a row is kept, without naming anybody: the certificate counts them."""

    SOMEBODY_ELSE = "somebody_else", gettext_lazy("It is about somebody else")
    NO_PERSON = "no_person", gettext_lazy("The word means no person here")
    MUST_STAY = "must_stay", gettext_lazy("The law or a claim needs it")
    OTHER = "other", gettext_lazy("Another reason, in the case while it is open")


class RowVerdict(models.Model):
    """A decision on one row of a case's plan: an id, and a reason as free text.

    The reason is erased with the case's other texts.
    """

    id = models.BigAutoField(primary_key=True)
    workspace = models.ForeignKey(Workspace, models.CASCADE, db_index=False)
    case = models.ForeignKey(Case, models.CASCADE, related_name="verdicts")
    place = models.CharField(max_length=32)
    row_id = models.CharField(max_length=128)
    verdict = models.CharField(max_length=6, choices=Verdict.choices)
    ground = models.CharField(max_length=13, choices=Ground.choices, blank=True)
    reason = models.TextField(blank=True)
    decided_by = models.CharField(max_length=254)
    decided_at = models.DateTimeField(default=timezone.now)

    class Meta:
        db_table = "gdpr_row_verdicts"
        ordering = ("case", "place", "row_id")
        constraints = (
            models.UniqueConstraint(
                fields=["workspace", "case", "place", "row_id"], name="row_judged_once"
            ),
            models.CheckConstraint(
                condition=~Q(verdict="spared") | (~Q(ground="") & ~Q(reason="")),
                name="row_spared_has_reason",
            ),
        )

    def __str__(self) -> str:
        return f"{self.case_id} {self.place} {self.verdict}"
