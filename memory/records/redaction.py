"""Which records are safe for a model: clean by the scanner, or cleared by a person."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from itertools import islice
from typing import Final

from django.db.models import QuerySet

from memory import scanner
from memory.files import clearances
from memory.models import Clearance, Cleared, HeldRecord, HeldState, Record
from memory.scanner import Verdict
from memory.stored_files.store import digest

# Texts read per query, of those that were not scanned yet.
PART: Final = 250


def _scan(text: str) -> Verdict:
    return scanner.scan(text, source="prompt")


class _Verdicts:
    """Cache of the scanner's verdicts by the text's digest."""

    def __init__(self, size: int = 65_536) -> None:
        self._known: dict[str, bool] = {}
        self._size = size
        self._lock = threading.Lock()

    def get(self, sha256: str) -> bool | None:
        """Return whether a text of this digest is held; None when not scanned yet."""
        return self._known.get(sha256)

    def is_held(self, text: str) -> bool:
        sha256 = digest(text.encode())
        verdict = self.get(sha256)
        if verdict is not None:
            return verdict
        is_held = _scan(text).is_held
        with self._lock:
            self._known[sha256] = is_held
            while len(self._known) > self._size:
                # The oldest verdict; its text is scanned again when needed.
                del self._known[next(iter(self._known))]
        return is_held


_verdicts = _Verdicts()


def is_safe(record: Record) -> bool:
    """Whether a model may see a record: it is clean, or a person cleared it."""
    return may_show(record, record.content)


def may_show(record: Record, text: str) -> bool:
    """Whether a model may see a present or former content of a record."""
    if not _verdicts.is_held(text):
        return True
    if _is_allowed(record.workspace_id, text):
        return True
    rows = HeldRecord.objects.filter(record=record, workspace_id=record.workspace_id)
    return rows.filter(
        held__state=HeldState.RELEASED, held__sha256=digest(text.encode())
    ).exists()


def _is_allowed(workspace_id: str, text: str) -> bool:
    return clearances.is_cleared(workspace_id, text) or clearances.passes_without(
        workspace_id, text, _scan
    )


# ── Many records ─────────────────────────────────────────────────────────────
def unsafe_ids(rows: QuerySet[Record], limit: int) -> set[str]:
    """Return the ids of unsafe rows among the first ``limit``.

    Of texts scanned before, which are nearly all, only the digests are read.
    """
    ids: set[str] = set()
    digests = rows.order_by().values_list("pk", "sha256")[:limit].iterator()
    # The stored digest selects the texts to read; the verdict is on the text itself.
    candidates = (key for key, sha256 in digests if _verdicts.get(sha256) is not False)
    while part := list(islice(candidates, PART)):
        records = Record.objects.filter(pk__in=part)
        texts = records.only("id", "workspace_id", "content")
        ids |= _without_clearance(
            [row for row in texts if _verdicts.is_held(row.content)]
        )
    return ids


def _is_cleared(record: Record) -> bool:
    """Whether a record whose fingerprint is cleared is so with all its characters."""
    return not scanner.has_unseen(record.content) or clearances.is_cleared(
        record.workspace_id, record.content
    )


def _without_clearance(records: Sequence[Record]) -> set[str]:
    """Return the ids of those suspicious records that no person cleared."""
    if not records:
        return set()
    workspace_id, ids = records[0].workspace_id, [row.id for row in records]
    prints = {row.id: scanner.fingerprint(row.content) for row in records}
    cleared = Clearance.objects.filter(
        workspace_id=workspace_id,
        kind=Cleared.TEXT,
        allows_all=True,
        fingerprint__in=set(prints.values()),
    )
    cleared_prints = set(cleared.values_list("fingerprint", flat=True))
    released = HeldRecord.objects.filter(
        workspace_id=workspace_id, record_id__in=ids, held__state=HeldState.RELEASED
    )
    released_texts = set(released.values_list("record_id", "held__sha256"))
    unsafe = [
        row
        for row in records
        if not (prints[row.id] in cleared_prints and _is_cleared(row))
        and (row.id, digest(row.content.encode())) not in released_texts
    ]
    if unsafe and clearances.has_approved(workspace_id):
        unsafe = [row for row in unsafe if not _is_allowed(workspace_id, row.content)]
    return {row.id for row in unsafe}
