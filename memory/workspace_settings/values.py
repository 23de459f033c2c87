"""Reading settings: single values for services, all of them for an admin."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from copy import copy
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final, TypeVar, cast

import structlog
from django.db import connection

from memory.installation import encryption, keys
from memory.models import WorkspaceSetting
from memory.rules.permissions import Actor
from memory.rules.settings import BadValue, Setting
from memory.workspace_settings.catalogue import declared

T = TypeVar("T")
READ: Final = "settings.read"
PURPOSE: Final = "crewship.settings.seal"
SAMPLE: Final = 20
# Plain SQL: every recall reads a setting, nearly always one that was never changed, and
# building the ORM's query takes ten times as long.
_HAS_ROW: Final = (
    "SELECT 1 FROM workspace_settings WHERE workspace_id = %s AND name = %s AND is_set"
)
log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class State:
    """A setting as an admin sees it.

    ``value`` of a secret is None; ``is_set`` says whether it is set. Who changed it and
    when stays after a reset to the default.
    """

    setting: Setting[Any]
    value: Any
    is_set: bool
    changed_at: datetime | None
    changed_by: str


@dataclass(frozen=True, slots=True)
class Page:
    """Every setting of a workspace; ``version`` rises with each change of any."""

    version: int
    states: list[State]

    def __getitem__(self, name: str) -> State:
        return next(state for state in self.states if state.setting.name == name)


def bound_to(workspace_id: str, name: str) -> str:
    """Return the context that the seal of a secret setting is bound to."""
    return f"{workspace_id}:{name}"


def effective(setting: Setting[T], row: WorkspaceSetting | None) -> T:
    """Return the effective value: the stored one, else the default.

    A stored value that is no longer valid counts as the default, or as itself where the
    setting keeps unknown values.
    """
    if row is None or not row.is_set:
        return copy(setting.default)
    try:
        stored: T = setting.load(row.value)
    except BadValue:
        if setting.keeps_unknown:
            return cast("T", row.value)
        log.warning("setting_unreadable", setting=setting.name)
        return copy(setting.default)
    return stored


def value(workspace_id: str, setting: Setting[T]) -> T:
    """Return the effective value of a setting in a workspace."""
    with connection.cursor() as cursor:
        cursor.execute(_HAS_ROW, [workspace_id, setting.name])
        if cursor.fetchone() is None:
            return effective(setting, None)
    rows = WorkspaceSetting.objects.filter(workspace_id=workspace_id, name=setting.name)
    return effective(setting, rows.first())


def values(workspace_id: str, settings: Iterable[Setting[Any]]) -> Mapping[str, Any]:
    """Return the values of several settings by name, with one query."""
    rows = rows_of(workspace_id)
    return {
        setting.name: effective(setting, rows.get(setting.name)) for setting in settings
    }


def rows_of(workspace_id: str) -> dict[str, WorkspaceSetting]:
    """Return the stored rows by name; settings that were never set have none."""
    rows = WorkspaceSetting.objects.filter(workspace_id=workspace_id)
    return {row.name: row for row in rows}


def secret(workspace_id: str, setting: Setting[str]) -> str:
    """Return a secret in plain text, "" when it is not set.

    Raise ``encryption.Broken`` when it was sealed with another key.
    """
    rows = WorkspaceSetting.objects.filter(workspace_id=workspace_id, name=setting.name)
    row = rows.first()
    if row is None or not row.is_set:
        return ""
    return encryption.unseal(
        row.sealed, purpose=PURPOSE, bound_to=bound_to(workspace_id, setting.name)
    )


def key_opens(key: str) -> bool | None:
    """Whether a key opens the sealed settings; None when there are none."""
    rows = list(WorkspaceSetting.objects.exclude(sealed="")[:SAMPLE])
    if not rows:
        return None
    return any(
        encryption.opens(
            key,
            row.sealed,
            purpose=PURPOSE,
            bound_to=bound_to(row.workspace_id, row.name),
        )
        for row in rows
    )


def install() -> None:
    """Register the check of the encryption key; called at start-up."""
    keys.register_witness("gateway", key_opens)


def state(setting: Setting[Any], row: WorkspaceSetting | None) -> State:
    """Return a setting with who changed it and when."""
    current = None if setting.is_secret else effective(setting, row)
    if row is None:
        return State(setting, current, is_set=False, changed_at=None, changed_by="")
    return State(setting, current, row.is_set, row.changed_at, row.changed_by)


def states(workspace_id: str, settings: Iterable[Setting[Any]]) -> dict[str, State]:
    """Return several settings by name; the caller has checked the permission."""
    rows = rows_of(workspace_id)
    return {
        setting.name: state(setting, rows.get(setting.name)) for setting in settings
    }


def settings_page(by: Actor) -> Page:
    """Return every setting of the actor's workspace, for an admin."""
    by.require(READ)
    rows = rows_of(by.workspace_id)
    states = [state(setting, rows.get(setting.name)) for setting in declared()]
    return Page(sum(row.version for row in rows.values()), states)
