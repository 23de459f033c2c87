"""The settings of a workspace: declared once, validated, stored, journaled.

To add one, declare it: ``NAME = declare(Setting(...))`` in ``declarations`` here, or in
the package that owns it, and read it with ``value(workspace_id, NAME)``. The API, the
page and the journal follow from the declaration.
"""

from memory.rules.settings import BadValue, Change, Kind, Setting
from memory.workspace_settings.catalogue import by_name, declare, declared
from memory.workspace_settings.changes import change
from memory.workspace_settings.values import (
    Page,
    State,
    secret,
    settings_page,
    states,
    value,
    values,
)

__all__ = [
    "BadValue",
    "Change",
    "Kind",
    "Page",
    "Setting",
    "State",
    "by_name",
    "change",
    "declare",
    "declared",
    "secret",
    "settings_page",
    "states",
    "value",
    "values",
]
