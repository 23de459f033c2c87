"""Which provider a workspace uses: one setting, changed by an admin, in the journal."""

from __future__ import annotations

from memory import workspace_settings
from memory.models import Workspace
from memory.providers import registry
from memory.rules.permissions import Actor
from memory.workspace_settings import declarations


def choose(workspace: Workspace, name: str, *, by: Actor) -> bool:
    """Let a workspace use another provider from now on; False when it did already.

    What the old one holds stays where it is: nothing is moved.
    """
    by.require("providers.manage", workspace.id)
    registry.entry(name)
    if workspace_settings.value(workspace.id, declarations.PROVIDER) == name:
        return False
    return bool(workspace_settings.change({declarations.PROVIDER.name: name}, by=by))
