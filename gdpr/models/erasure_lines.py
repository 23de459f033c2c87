"""The erasures file of a workspace, where machines share no disk."""

from __future__ import annotations

from django.db import models

from memory.models import Workspace


class ErasureLine(models.Model):
    """One line, as it stands in a file: ids and keyed digests, never a name.

    Each machine copies the lines into a file of its own: a database that was restored
    from a backup lacks the last ones, and gets them back from there.
    """

    id = models.BigAutoField(primary_key=True)
    workspace = models.ForeignKey(Workspace, models.CASCADE, db_index=False)
    number = models.PositiveIntegerField()
    line = models.TextField()

    class Meta:
        db_table = "gdpr_erasure_lines"
        constraints = (
            models.UniqueConstraint(
                fields=["workspace", "number"], name="erasure_line_once"
            ),
        )

    def __str__(self) -> str:
        return f"{self.workspace_id} {self.number}"
