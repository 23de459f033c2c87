"""The audit log of a period as a sealed file, which anybody can check.

The seal proves that the file has every line that the log had when it was made, in their
order and unchanged. That no row was deleted from the database before is not proved by
one file; ``rows_before`` and ``rows`` of several files have to add up. The journal,
which is a chain of its own, has the hash of every file's last line.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from tempfile import SpooledTemporaryFile
from typing import IO, Any, Final

from django.db.models import QuerySet
from django.utils import timezone

from gdpr.certificates import document
from gdpr.certificates import keys as signing_keys
from gdpr.models import GdprAction
from gdpr.reports import masking, seal
from gdpr.reports.periods import Period
from memory.journal import append as journal
from memory.models import ChainHead, ids
from memory.rules.entries import NewEntry
from memory.rules.permissions import Actor

CONTENT_TYPE: Final = "application/x-ndjson"
IN_MEMORY: Final = 4 * 1024 * 1024
FIELDS: Final = (
    "id", "subject_ref", "case_ref", "actor_id", "actor_label", "action", "status",
    "scope", "reason", "error", "initiated_at", "completed_at",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class AuditExport:
    """A finished file: its id, its lines without the manifest, and its bytes, open."""

    id: str
    lines: int
    file: IO[bytes]

    @property
    def name(self) -> str:
        return f"audit-log-{self.id}.jsonl"


def _rows(workspace_id: str, start: datetime, end: datetime) -> QuerySet[GdprAction]:
    rows = GdprAction.objects.filter(
        workspace_id=workspace_id, initiated_at__gte=start, initiated_at__lt=end
    )
    return rows.order_by("initiated_at", "pk")


def _values(row: GdprAction, masked: Any) -> dict[str, Any]:
    values = {name: getattr(row, name) for name in FIELDS}
    for name in ("initiated_at", "completed_at"):
        values[name] = journal.stamp(values[name]) if values[name] else None
    for name in ("reason", "error", "actor_label"):
        values[name] = masked.mask(values[name], masking.MARK)
    values["scope"] = masked.mask_json(values["scope"], masking.MARK)
    return values


def make(actor: Actor, period: Period) -> AuditExport:
    """Write the file, signed with the key of certificates; the journal records it."""
    actor.require("gdpr.read")
    key, private = signing_keys.current()
    export_id, chain = ids.make("ae"), seal.Chain()
    file: IO[bytes] = SpooledTemporaryFile(max_size=IN_MEMORY)  # noqa: SIM115
    masked = masking.masker(actor.workspace_id)
    # Rows that begin while the file is written belong to the next one.
    end = min(period.end, timezone.now())
    rows = _rows(actor.workspace_id, period.start, end)
    for row in rows.iterator(chunk_size=500):
        file.write(chain.line(_values(row, masked)))
    content = _manifest(actor, (period.start, end), chain, export_id)
    _record(actor, content, key.key_id)
    file.write(document.sign(content, private).encode() + b"\n")
    file.seek(0)
    return AuditExport(export_id, chain.number, file)


def _manifest(
    actor: Actor,
    bounds: tuple[datetime, datetime],
    chain: seal.Chain,
    export_id: str,
) -> dict[str, Any]:
    start, end = bounds
    rows = GdprAction.objects.filter(workspace_id=actor.workspace_id)
    head = ChainHead.objects.filter(pk=actor.workspace_id).first()
    return {
        "format": seal.FORMAT,
        "id": export_id,
        "workspace_id": actor.workspace_id,
        "since": journal.stamp(start),
        "until": journal.stamp(end),
        "made_at": journal.stamp(timezone.now()),
        "lines": chain.number,
        "last_line": chain.last,
        # Rows of the log outside of the period, when the file was made.
        "rows_before": rows.filter(initiated_at__lt=start).count(),
        "rows_after": rows.filter(initiated_at__gte=end).count(),
        "journal_seq": head.seq if head else 0,
        "journal_hash": head.entry_hash if head else "",
    }


def _record(actor: Actor, content: dict[str, Any], key_id: str) -> None:
    names = ("id", "since", "until", "lines", "last_line")
    new = NewEntry(
        entry_type="gdpr.actions_exported",
        summary=f"The audit log was exported: {content['lines']} lines",
        payload={name: content[name] for name in names} | {"key_id": key_id},
    )
    journal.write([new], by=actor)
