"""Another CREWSHIP_SECRET_KEY where keys are sealed under it."""

from __future__ import annotations

from django.db import transaction

from memory.installation import bodies, keys, sealed_keys
from memory.installation import identity as installation
from memory.journal import append as journal
from memory.models import Installation, Workspace
from memory.rules import errors
from memory.rules.entries import NewEntry, Severity
from memory.rules.permissions import system


def change_secret(former: str) -> int:
    """Seal every key under the present secret and record it; return how many.

    ``former`` is the one that they are sealed under: raises sealed_keys.Broken where it
    is not. Recorded in every workspace's journal.
    """
    row = Installation.objects.first()
    if row is None or not bodies.in_database():
        raise errors.Conflict("No key is sealed in this database.")
    with transaction.atomic():
        count = sealed_keys.reseal(former)
        keys.load_missing()
        keys.record_secret(row.installation_id)
        installation.forget()
        new = NewEntry(
            entry_type="installation.secret_changed",
            severity=Severity.NOTICE,
            summary="The installation's keys are sealed under another secret",
            payload={"keys": count},
        )
        for workspace_id in Workspace.objects.values_list("pk", flat=True):
            journal.write([new], by=system(workspace_id, "reseal_keys"))
    return count
