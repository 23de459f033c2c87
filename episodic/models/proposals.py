"""The tables of consolidation: how far each crew was read, and what was proposed."""

from __future__ import annotations

import re
from datetime import timedelta
from typing import Final

from django.db import models
from django.db.models import Q
from django.utils import timezone
from django.utils.translation import gettext_noop

from memory.models import Crew, MemoryVersion, Workspace, ids

UNDO_DAYS: Final = 30
_CLAUSE: Final = re.compile(r"(?<=[.;!?])\s|\n")


def proposal_id() -> str:
    return ids.make("mp")


class ProposalState(models.TextChoices):
    """What became of a proposed rule; pages show it in the reader's language."""

    PENDING = gettext_noop("pending")
    APPROVED = gettext_noop("approved")
    REJECTED = gettext_noop("rejected")


class ConsolidationMark(models.Model):
    """How far a crew's journal was consolidated. ``seq`` is the last entry considered.

    ``waiting_pins`` are entries whose pin could not be written yet. ``lease_until`` is
    set while a run is under way; the lease of a run that dies expires.
    """

    crew = models.OneToOneField(
        Crew, models.CASCADE, primary_key=True, related_name="consolidation"
    )
    workspace = models.ForeignKey(Workspace, models.CASCADE)
    seq = models.BigIntegerField(default=0)
    runs = models.PositiveIntegerField(default=0)
    waiting_pins = models.JSONField(default=list, blank=True)
    last_run_at = models.DateTimeField(null=True, blank=True)
    lease_until = models.DateTimeField(null=True, blank=True)

    class Meta:
        db_table = "consolidation_marks"

    def __str__(self) -> str:
        return f"{self.crew_id} read to {self.seq}"


class ConsolidationProposal(models.Model):
    """A proposed rule, pending or decided.

    ``text`` is exactly what approving appends and ``content_hash`` its SHA-256;
    ``version`` is the optimistic lock. ``pattern_key`` is the normalised pattern, once
    per crew whatever the state, so that no rule is proposed twice. ``runs`` counts the
    consolidations that found the rule, ``last_found_at`` is the last of them.
    """

    id = models.CharField(primary_key=True, max_length=32, default=proposal_id)
    workspace = models.ForeignKey(Workspace, models.CASCADE, db_index=False)
    crew = models.ForeignKey(Crew, models.CASCADE, related_name="proposals")
    state = models.CharField(
        max_length=8, choices=ProposalState.choices, default=ProposalState.PENDING
    )
    version = models.PositiveIntegerField(default=1)
    pattern = models.TextField()
    pattern_key = models.CharField(max_length=64)
    action = models.TextField(blank=True)
    text = models.TextField()
    content_hash = models.CharField(max_length=64)
    confidence = models.FloatField()
    evidence = models.JSONField(default=list)
    signals = models.JSONField(default=dict)
    score = models.FloatField(default=0.0)
    summariser = models.CharField(max_length=120)
    runs = models.PositiveIntegerField(default=1)
    created_at = models.DateTimeField(default=timezone.now)
    last_found_at = models.DateTimeField(default=timezone.now)
    decided_at = models.DateTimeField(null=True, blank=True)
    decided_by = models.CharField(max_length=254, blank=True)
    reason = models.CharField(max_length=2000, blank=True)
    was_edited = models.BooleanField(default=False)
    learned_label = models.CharField(max_length=80, blank=True)
    learned_version = models.ForeignKey(
        MemoryVersion, models.SET_NULL, null=True, blank=True, related_name="+"
    )

    class Meta:
        db_table = "consolidation_proposals"
        ordering = ("-created_at", "-id")
        constraints = (
            models.UniqueConstraint(
                fields=["crew", "pattern_key"], name="proposal_pattern_once"
            ),
            models.CheckConstraint(
                condition=Q(confidence__gte=0) & Q(confidence__lte=1),
                name="proposal_confidence_in_unit",
            ),
        )
        indexes = (
            models.Index(
                fields=["workspace", "state", "-created_at", "-id"],
                name="proposal_queue",
            ),
        )

    def __str__(self) -> str:
        return f"{self.id} {self.state}"

    @property
    def is_pending(self) -> bool:
        return self.state == ProposalState.PENDING

    @property
    def title(self) -> str:
        """The first clause of the rule."""
        clause = _CLAUSE.split(self.pattern.strip(), maxsplit=1)[0].rstrip(".;")
        return clause if len(clause) <= 120 else f"{clause[:119].rstrip()}…"

    @property
    def is_undoable(self) -> bool:
        """Whether its decision is recent enough to be undone."""
        if self.is_pending or self.decided_at is None:
            return False
        return timezone.now() - self.decided_at <= timedelta(days=UNDO_DAYS)
