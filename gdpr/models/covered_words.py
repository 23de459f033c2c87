"""Words in a bundle that may name somebody else, and what was decided about them."""

from __future__ import annotations

from django.db import models
from django.db.models import Q
from django.utils import timezone
from django.utils.translation import gettext_lazy

from gdpr.models.proofs import Export
from memory.models import Workspace


class WordVerdict(models.TextChoices):
    """What becomes of a word in the bundle."""

    COVER = "cover", gettext_lazy("Covered")
    LEAVE = "leave", gettext_lazy("Left readable")


class ExportWord(models.Model):
    """A word found in a bundle that waits; gone when the bundle is made or removed.

    ``sealed`` has the word and where it stands, encrypted with a key of this bundle:
    other people's names. ``digest`` is keyed; ``surely``: nobody has to decide.
    """

    id = models.BigAutoField(primary_key=True)
    workspace = models.ForeignKey(Workspace, models.CASCADE, db_index=False)
    export = models.ForeignKey(Export, models.CASCADE, related_name="words")
    digest = models.CharField(max_length=64)
    kind = models.CharField(max_length=7)
    surely = models.BooleanField()
    count = models.PositiveIntegerField()
    sealed = models.BinaryField()
    verdict = models.CharField(max_length=5, choices=WordVerdict.choices, blank=True)

    class Meta:
        db_table = "gdpr_export_words"
        ordering = ("surely", "kind", "-count", "id")
        constraints = (
            models.UniqueConstraint(
                fields=["workspace", "export", "digest"], name="export_word_once"
            ),
            models.CheckConstraint(
                condition=Q(verdict__in=["", *WordVerdict.values]),
                name="export_word_verdict_known",
            ),
        )

    def __str__(self) -> str:
        return f"{self.export_id} {self.kind} {self.verdict}"


class RememberedWord(models.Model):
    """What a workspace decided about a word, for its next bundles: a keyed digest."""

    id = models.BigAutoField(primary_key=True)
    workspace = models.ForeignKey(Workspace, models.CASCADE, db_index=False)
    digest = models.CharField(max_length=64)
    verdict = models.CharField(max_length=5, choices=WordVerdict.choices)
    decided_by = models.CharField(max_length=254)
    decided_at = models.DateTimeField(default=timezone.now)

    class Meta:
        db_table = "gdpr_remembered_words"
        constraints = (
            models.UniqueConstraint(
                fields=["workspace", "digest"], name="word_remembered_once"
            ),
        )

    def __str__(self) -> str:
        return f"{self.pk} {self.verdict}"
