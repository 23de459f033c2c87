"""The table that says up to where the database knows the erasures file."""

from __future__ import annotations

from django.db import models

from memory.models import Workspace


class ErasureMark(models.Model):
    """The end of a workspace's erasures file when the database last knew all of it.

    ``end`` is the MAC of the file's last line. A database that was restored from an
    older backup has an older mark, or none: comparing two short strings shows it.
    ``restore`` changes with every erasure that is repeated after a restore, so that
    each process drops what it cached before.
    """

    workspace = models.OneToOneField(
        Workspace, models.CASCADE, primary_key=True, related_name="erasure_mark"
    )
    end = models.CharField(max_length=64, blank=True)
    restore = models.CharField(max_length=16, blank=True)

    class Meta:
        db_table = "gdpr_erasure_marks"

    def __str__(self) -> str:
        return f"{self.workspace_id}: {self.end[:12]}"
