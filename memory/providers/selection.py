"""Change the provider of a workspace: a setting, journaled, for admins."""

from __future__ import annotations

from memory import workspace_settings
from memory.models import Workspace
from memory.providers import registry
from memory.rules.permissions import Actor
from memory.workspace_settings import declarations


def choose(workspace: Workspace, name: str, *, by: Actor) -> bool:
    """Change the provider of a workspace; False when it is the present one.

    Nothing is moved: what the old provider stores stays there.
    """
    by.require("providers.manage", workspace.id)
    registry.entry(name)
    if workspace_settings.value(workspace.id, declarations.PROVIDER) == name:
        return False
    return bool(workspace_settings.change({declarations.PROVIDER.name: name}, by=by))
