"""What reviewers' decisions teach: labels of texts, and changes proposed from them.

A label goes with its held text, and so does a proposal that is about one.
"""

from __future__ import annotations

from django.db import models
from django.utils import timezone
from django.utils.translation import gettext_noop

from memory.models import ids
from memory.models.files import HeldFile
from memory.models.tenancy import Workspace


def _proposal_id() -> str:
    return ids.make("sp")


class Label(models.TextChoices):
    """What a decision says of a held text."""

    ATTACK = "attack"
    HONEST = "honest"


class ReviewLabel(models.Model):
    """The decision about a held text as a labelled row; the text stays where it is.

    ``rules`` are those that matched when it was held, each once, with its highest
    weight and its mode. ``writer`` is whose hand the text was judged as: own, teammate,
    user, operator or unknown.
    """

    id = models.BigAutoField(primary_key=True)
    workspace = models.ForeignKey(Workspace, models.CASCADE, db_index=False)
    held = models.ForeignKey(HeldFile, models.CASCADE, related_name="labels")
    label = models.CharField(max_length=8, choices=Label.choices)
    decision = models.CharField(max_length=20)
    rules = models.JSONField(default=list)
    score = models.FloatField()
    rules_version = models.CharField(max_length=64)
    tier = models.CharField(max_length=8)
    origin = models.CharField(max_length=16)
    writer = models.CharField(max_length=8)
    decided_by = models.CharField(max_length=254)
    decided_at = models.DateTimeField(default=timezone.now)

    class Meta:
        db_table = "review_labels"
        constraints = (
            models.UniqueConstraint(
                fields=["workspace", "held"], name="review_label_once"
            ),
        )
        indexes = (
            models.Index(fields=["workspace", "-decided_at"], name="review_labels_new"),
        )

    def __str__(self) -> str:
        return f"{self.held_id} {self.label}"


class ProposalKind(models.TextChoices):
    """What a proposal would change."""

    WEIGHT = "weight"
    MODE = "mode"
    TEXT = "text"
    PASSAGE = "passage"


class LearningState(models.TextChoices):
    """What became of a proposal; pages show it in the reader's language."""

    PENDING = gettext_noop("pending")
    APPROVED = gettext_noop("approved")
    DECLINED = gettext_noop("declined")


class ScannerProposal(models.Model):
    """A change of the scanner that decisions speak for; it waits for a person.

    ``subject`` is a rule's id, or the fingerprint of a text or passage that would be
    allowed and of which ``held`` is an example: once per workspace, so that the same
    is proposed in one row only. ``version`` is the optimistic lock. ``decisions`` is
    the number of decisions it rests on; a declined proposal waits for more of them.
    With ``is_guarded`` texts with hidden text or secrets would pass.
    """

    id = models.CharField(primary_key=True, max_length=32, default=_proposal_id)
    workspace = models.ForeignKey(Workspace, models.CASCADE, db_index=False)
    kind = models.CharField(max_length=8, choices=ProposalKind.choices)
    subject = models.CharField(max_length=80)
    held = models.ForeignKey(
        HeldFile, models.CASCADE, null=True, blank=True, related_name="proposals"
    )
    before = models.CharField(max_length=8)
    after = models.CharField(max_length=8)
    is_guarded = models.BooleanField(default=False)
    decisions = models.PositiveIntegerField()
    evidence = models.JSONField(default=dict)
    state = models.CharField(
        max_length=8, choices=LearningState.choices, default=LearningState.PENDING
    )
    version = models.PositiveIntegerField(default=1)
    proposed_at = models.DateTimeField(default=timezone.now)
    decided_by = models.CharField(max_length=254, blank=True)
    decided_at = models.DateTimeField(null=True, blank=True)
    reason = models.TextField(blank=True)

    class Meta:
        db_table = "scanner_proposals"
        constraints = (
            models.UniqueConstraint(
                fields=["workspace", "kind", "subject"], name="scanner_proposal_once"
            ),
        )

    def __str__(self) -> str:
        return f"{self.kind} {self.subject}: {self.state}"

    @property
    def is_pending(self) -> bool:
        """Whether it waits for a person."""
        return self.state == LearningState.PENDING
