"""Lines of an import that wait to be appended."""

from __future__ import annotations

from django.db import models
from django.utils import timezone

from memory.models.tenancy import Workspace


class ImportLine(models.Model):
    """One line of an uploaded file, as canonical JSON, until a job appends it.

    ``fault`` says why a line was refused when it was uploaded; its text is not kept.
    """

    id = models.BigAutoField(primary_key=True)
    workspace = models.ForeignKey(Workspace, models.CASCADE, db_index=False)
    import_id = models.CharField(max_length=32)
    number = models.PositiveIntegerField()
    line = models.TextField(blank=True)
    fault = models.CharField(max_length=300, blank=True)
    created_at = models.DateTimeField(default=timezone.now)

    class Meta:
        db_table = "journal_import_lines"
        constraints = (
            models.UniqueConstraint(
                fields=["workspace", "import_id", "number"], name="import_line_once"
            ),
        )

    def __str__(self) -> str:
        return f"{self.import_id} {self.number}"
