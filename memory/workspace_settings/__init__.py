"""The settings of a workspace: declared once, validated, stored, journaled.

To add one, declare it: ``NAME = declare(Setting(...))`` in ``table`` here, or in the
package that owns it, and read it with ``value(workspace_id, NAME)``. The API, the page
and the journal follow from the declaration.
"""

from memory.rules.settings import BadValue, Change, Kind, Setting
from memory.workspace_settings.catalogue import declare, declared, named
from memory.workspace_settings.changes import change
from memory.workspace_settings.values import (
    Page,
    State,
    listed,
    secret,
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
    "change",
    "declare",
    "declared",
    "listed",
    "named",
    "secret",
    "states",
    "value",
    "values",
]
