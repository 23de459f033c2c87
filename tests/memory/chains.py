"""The chain of acme: what verifying it finds, and ways to change it unseen."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from memory.journal import append as journal
from memory.journal import erasure
from memory.journal import verify as journal_verify
from memory.models import ChainCheckpoint, JournalEntry
from memory.rules import hashing
from tests.world import World


def verify(world: World) -> journal_verify.Report:
    """Walk the chain of acme."""
    return journal_verify.verify(world.acme.id, by=world.system())


def kinds(world: World) -> set[str]:
    """Return the kinds of breaks in the chain of acme."""
    return {fault.kind for fault in verify(world).breaks}


def tamper(row: JournalEntry, **fields: Any) -> None:
    """Change a row behind the journal's back."""
    JournalEntry.objects.filter(pk=row.pk).update(**fields)


def erase(row: JournalEntry) -> None:
    """Destroy content and salt, with a seal of the installation."""
    erasure.erase(row.workspace_id, [row.id])


def attest(world: World, rows: Iterable[JournalEntry], mac: str | None = None) -> None:
    """Sign that rows left on purpose, and let them go."""
    removed_rows = list(rows)
    pairs = [(row.seq, row.entry_hash) for row in removed_rows]
    signed = hashing.checkpoint_mac(journal.key(), world.acme.id, pairs)
    ChainCheckpoint.objects.create(
        workspace=world.acme, removed=pairs, mac=mac or signed
    )
    JournalEntry.objects.filter(pk__in=[row.pk for row in removed_rows]).delete()
