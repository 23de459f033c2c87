"""Which provider a workspace uses: one setting, changed by an admin, in the journal."""

from __future__ import annotations

from django.db import transaction

from memory import journal
from memory.models import Workspace
from memory.providers import registry
from memory.rules.actors import Actor
from memory.rules.entries import NewEntry, Severity


def choose(workspace: Workspace, name: str, *, by: Actor) -> bool:
    """Let a workspace use another provider from now on; False when it did already.

    What the old one holds stays where it is: nothing is moved.
    """
    by.require("providers.manage", workspace.id)
    registry.entry(name)
    with transaction.atomic():
        row = Workspace.objects.select_for_update().get(pk=workspace.pk)
        before = str(row.settings.get("provider") or registry.DEFAULT)
        if before == name:
            return False
        row.settings = {**row.settings, "provider": name}
        row.save(update_fields=["settings"])
        new = NewEntry(
            entry_type="provider.chosen",
            severity=Severity.NOTICE,
            summary=f"Provider {name} chosen, was {before}",
            payload={"provider": name, "previous": before},
        )
        journal.write([new], by=by)
    return True
