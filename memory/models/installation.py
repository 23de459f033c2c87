"""The installation of a database, its keys, and keys that were lost."""

from __future__ import annotations

from django.db import models
from django.utils import timezone

from memory.models import ids
from memory.models.tenancy import Workspace

ONLY = 1


def _installation_id() -> str:
    return ids.make("inst")


class Installation(models.Model):
    """The one row that names this installation; its data folder carries the name.

    ``bodies`` says where the bytes of files are: ``folder`` or ``database``.
    """

    number = models.PositiveSmallIntegerField(primary_key=True, default=ONLY)
    installation_id = models.CharField(max_length=40, default=_installation_id)
    created_at = models.DateTimeField(default=timezone.now)
    bodies = models.CharField(max_length=8, default="folder")

    class Meta:
        db_table = "installation"
        constraints = (
            models.CheckConstraint(
                condition=models.Q(number=ONLY), name="installation_is_one"
            ),
        )

    def __str__(self) -> str:
        return self.installation_id


class KeyFingerprint(models.Model):
    """A fingerprint of a key, which does not reveal it."""

    name = models.CharField(primary_key=True, max_length=20)
    fingerprint = models.CharField(max_length=64)
    recorded_at = models.DateTimeField(default=timezone.now)

    class Meta:
        db_table = "key_fingerprints"

    def __str__(self) -> str:
        return self.name


class ChainSegment(models.Model):
    """The place from which a chain has another key, because the last one was lost.

    Entries up to ``last_seq`` were chained with the lost key: what they say is still
    compared with their commitments, and the links between them with each other, but
    the hashes cannot be recomputed. ``mac`` signs the row with the new key.
    """

    id = models.BigAutoField(primary_key=True)
    workspace = models.ForeignKey(Workspace, models.CASCADE)
    last_seq = models.BigIntegerField()
    last_hash = models.CharField(max_length=64)
    started_at = models.DateTimeField(default=timezone.now)
    mac = models.CharField(max_length=64)

    class Meta:
        db_table = "journal_chain_segments"
        ordering = ("workspace", "last_seq", "id")

    def __str__(self) -> str:
        return f"{self.workspace_id} after {self.last_seq}"
