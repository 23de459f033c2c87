"""What the journal of every workspace says of backups and restores."""

from __future__ import annotations

from typing import Any, Final

from memory.journal import append as journal
from memory.models import Workspace
from memory.rules.entries import BACKUP_MADE, NewEntry, Severity
from memory.rules.permissions import system

MADE: Final = BACKUP_MADE
RESTORED: Final = "installation.restored"
MOVED: Final = "installation.moved"
_SUMMARIES: Final = {
    MADE: "A backup of the installation was made",
    RESTORED: "The installation was restored from a backup",
    MOVED: "The installation was moved to another database",
}


def everywhere(entry_type: str, facts: dict[str, Any], actor: str) -> None:
    """Append an entry to every workspace's journal."""
    is_notice = entry_type == MADE
    for workspace_id in Workspace.objects.order_by("number").values_list(
        "pk", flat=True
    ):
        new = NewEntry(
            entry_type=entry_type,
            severity=Severity.NOTICE if is_notice else Severity.WARN,
            summary=_SUMMARIES[entry_type],
            payload=facts,
        )
        journal.write([new], by=system(workspace_id, actor))
