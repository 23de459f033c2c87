"""Files and keys that are in the database, where the installation is scaled out."""

from __future__ import annotations

from django.db import models
from django.utils import timezone

from memory.models.tenancy import Workspace


class StoredFile(models.Model):
    """One file of one tree: its bytes under its path, whose segments ``/`` parts."""

    id = models.BigAutoField(primary_key=True)
    workspace = models.ForeignKey(Workspace, models.CASCADE, db_index=False)
    tree = models.CharField(max_length=16)
    path = models.CharField(max_length=600)
    body = models.BinaryField()
    size = models.PositiveBigIntegerField()
    sha256 = models.CharField(max_length=64)
    written_at = models.DateTimeField(default=timezone.now)

    class Meta:
        db_table = "stored_files"
        constraints = (
            models.UniqueConstraint(
                fields=["workspace", "tree", "path"], name="stored_file_once"
            ),
        )

    def __str__(self) -> str:
        return f"{self.tree} {self.pk}"


class SealedKey(models.Model):
    """A key of the installation, encrypted under CREWSHIP_SECRET_KEY."""

    name = models.CharField(primary_key=True, max_length=80)
    sealed = models.TextField()
    sealed_at = models.DateTimeField(default=timezone.now)

    class Meta:
        db_table = "sealed_keys"

    def __str__(self) -> str:
        return self.name
