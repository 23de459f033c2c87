"""The records of erasures where machines share no disk: in a table, and in every file.

Each machine's file is a copy that outlives the database. A process that looks whether
erasures wait first brings table and file to the same records: what a restored database
lacks comes back from any machine's file, and a new machine's file from the table. Both
are chains of their own, so that records may stand in another order in each.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

import structlog
from django.db import transaction
from django.db.models import OuterRef, Subquery

from gdpr.erasure import tombstones
from gdpr.erasure.tombstones import Damaged, Record
from gdpr.models import ErasureLine
from memory.installation import bodies
from memory.installation import identity as installation
from memory.models import Workspace
from memory.stored_files import trees
from memory.stored_files.store import Busy

log = structlog.get_logger(__name__)
# What changes with every change to a workspace's records, in table and file.
Signature = tuple[object, ...]


@dataclass(slots=True)
class _State:
    """What this process last brought to the same records, and what is damaged."""

    compared: dict[str, Signature] = field(default_factory=dict)
    faults: dict[str, str] = field(default_factory=dict)


_state = _State()
_lock = threading.Lock()


def forget() -> None:
    """Forget what was compared; the next look compares again."""
    global _state
    with _lock:
        _state = _State()


# ── The table ────────────────────────────────────────────────────────────────
def _lines(workspace_id: str) -> list[bytes]:
    rows = ErasureLine.objects.filter(workspace_id=workspace_id).order_by("number")
    return [line.encode() for line in rows.values_list("line", flat=True)]


def _store(workspace_id: str, lines: Iterable[str], after: int) -> None:
    ErasureLine.objects.bulk_create(
        ErasureLine(workspace_id=workspace_id, number=number, line=line)
        for number, line in enumerate(lines, start=after + 1)
    )


def _table_signatures(**conditions: str) -> dict[str, Signature]:
    """Return the number and key of each last line: two look-ups in an index each."""
    lines = ErasureLine.objects.filter(workspace_id=OuterRef("pk"))
    last = lines.order_by("-number")
    homes = Workspace.objects.filter(**conditions).order_by()
    rows = homes.values_list(
        "pk", Subquery(last.values("number")[:1]), Subquery(last.values("pk")[:1])
    )
    return {home: (number, key) for home, number, key in rows if number}


# ── Comparing ────────────────────────────────────────────────────────────────
def signatures() -> dict[str, Signature]:
    """Return workspace id → what changes with every change to its records."""
    files: dict[str, Signature] = {**tombstones.signatures()}
    if not bodies.in_database():
        return files
    table = _table_signatures()
    return {home: (files.get(home), table.get(home)) for home in {*files, *table}}


def end(workspace_id: str) -> str:
    """Return what stands for all records: the same on every machine, "" for none."""
    if not bodies.in_database():
        return tombstones.end(workspace_id)
    rows = ErasureLine.objects.filter(workspace_id=workspace_id).order_by("-number")
    line = rows.values_list("line", flat=True).first()
    return tombstones.mac_of(line.encode()) if line else ""


def fault(workspace_id: str) -> str:
    """Return why a workspace's table and file could not be compared, or ""."""
    return _state.faults.get(workspace_id, "")


def mirror() -> int:
    """Bring table and file to the same records; return in how many workspaces.

    A workspace that another process is writing to waits for the next look.
    """
    if not bodies.in_database() or installation.problem() is not None:
        return 0
    states = signatures()
    homes_to_merge = [
        home for home, state in states.items() if _state.compared.get(home) != state
    ]
    homes = Workspace.objects.filter(pk__in=homes_to_merge).values_list("pk", flat=True)
    return sum(_mirror(home) for home in homes)


def _mirror(workspace_id: str) -> bool:
    try:
        with trees.locks().locked(f"erasures:{workspace_id}", 0):
            is_changed = _merge(workspace_id)
            # While nobody adds to the table: what is added later is another state.
            file = tombstones.signatures().get(workspace_id)
            table = _table_signatures(pk=workspace_id).get(workspace_id)
    except Busy:
        return False
    except OSError as error:
        # A full disk: what this machine's file has is compared all the same.
        log.warning("erasure_records_not_copied", error=type(error).__name__)
        return False
    except Damaged as error:
        _state.faults[workspace_id] = str(error)
        return False
    _state.compared[workspace_id] = (file, table)
    _state.faults.pop(workspace_id, None)
    return is_changed


def mirror_one(workspace_id: str) -> bool:
    """Bring a workspace's table and file to the same records; raise Damaged."""
    if not Workspace.objects.filter(pk=workspace_id).exists():
        return False
    with trees.locks().locked(f"erasures:{workspace_id}"):
        return _merge(workspace_id)


def _merge(workspace_id: str) -> bool:
    """Add to each side what only the other has; the caller holds the lock."""
    stored, before = _lines(workspace_id), tombstones.lines(workspace_id)
    if stored == before:
        return False
    table, mac = tombstones.checked_chain(stored)
    tombstones.add(workspace_id, table)
    identities = {tombstones.identity(record) for record in table}
    absent = [
        record
        for record in tombstones.read(workspace_id)
        if tombstones.identity(record) not in identities
    ]
    signed = tombstones.signed(absent, mac, len(table))
    _store(workspace_id, (line.decode() for _, line in signed), len(table))
    return True


# ── Writing ──────────────────────────────────────────────────────────────────
def announce(record: Record) -> Record:
    """Append a record to this machine's file, synced, and to the table.

    The caller may not erase anything before this returns.
    """
    if not bodies.in_database():
        return tombstones.announce(record)
    with trees.locks().locked(f"erasures:{record.workspace_id}"):
        _merge(record.workspace_id)
        numbered = tombstones.announce(record)
        _merge(record.workspace_id)
    return numbered


def dump() -> dict[str, list[str]]:
    """Return workspace id → the lines of all records, for a backup; raise Damaged."""
    mirror()
    copies = {}
    for workspace_id in tombstones.workspaces():
        tombstones.read(workspace_id)
        copies[workspace_id] = [x.decode() for x in tombstones.lines(workspace_id)]
    return copies


def merge(copies: Mapping[str, Iterable[str]]) -> int:
    """Add the records of a dump that are not here yet; return how many.

    Raises Damaged, and adds nothing, where a line is not signed with the journal key.
    """
    chains = {
        workspace_id: tombstones.checked_chain([line.encode() for line in lines])[0]
        for workspace_id, lines in copies.items()
    }
    count = 0
    for workspace_id, records in chains.items():
        with trees.locks().locked(f"erasures:{workspace_id}"):
            count += tombstones.add(workspace_id, records)
    forget()
    mirror()
    return count


def sign_again() -> int:
    """Sign every record anew, because the key it was signed with is lost."""
    count = tombstones.sign_again()
    if not bodies.in_database():
        return count
    homes = ErasureLine.objects.order_by().values_list("workspace_id", flat=True)
    with transaction.atomic():
        for workspace_id in homes.distinct():
            lines = tombstones.resigned(_lines(workspace_id))
            ErasureLine.objects.filter(workspace_id=workspace_id).delete()
            _store(workspace_id, lines, 0)
    forget()
    return count
