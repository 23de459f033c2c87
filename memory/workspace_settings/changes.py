"""Changing settings: all of a request or none, recorded in the journal."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from typing import Any, Final

from django.db import transaction
from django.utils import timezone
from django.utils.translation import gettext

from memory.installation import encryption
from memory.journal import append as journal
from memory.models import Workspace, WorkspaceSetting
from memory.rules import errors
from memory.rules.permissions import Actor
from memory.rules.settings import BadValue, Change, Setting
from memory.workspace_settings import catalogue, values

SET: Final = "set"
NOT_SET: Final = "not set"


def _fault(name: str, code: str, message: str) -> dict[str, str]:
    return {"field": name[:80], "code": code, "message": message}


def _clean(values_in: Mapping[str, Any]) -> dict[str, Any]:
    """Return the values as they are stored, None for the default; or raise Invalid."""
    settings = {setting.name: setting for setting in catalogue.declared()}
    cleaned: dict[str, Any] = {}
    faults = []
    for name, value in values_in.items():
        if name not in settings:
            faults.append(_fault(name, "unknown_setting", gettext("is not a setting")))
            continue
        try:
            cleaned[name] = None if value is None else settings[name].clean(value)
        except BadValue as error:
            faults.append(_fault(name, "bad_setting", str(error)))
    if faults:
        first = faults[0]
        detail = gettext("{field} {fault}.").format(
            field=first["field"], fault=first["message"]
        )
        raise errors.Invalid(detail, code=first["code"], errors=faults)
    return cleaned


def _add_resets(
    new_values: dict[str, Any], rows: Mapping[str, WorkspaceSetting]
) -> None:
    """Add the settings that a change of another one resets to their defaults."""
    for name in list(new_values):
        setting = catalogue.by_name(name)
        value = setting.default if new_values[name] is None else new_values[name]
        if value == values.effective(setting, rows.get(name)):
            continue
        for other in setting.resets:
            row = rows.get(other)
            if row is not None and row.is_set:
                new_values.setdefault(other, None)


def _set_value(
    row: WorkspaceSetting, setting: Setting[Any], value: Any, reason: str
) -> Change | None:
    """Set a row's value; return the change, None when nothing changes."""
    is_set = value is not None
    if setting.is_secret:
        before = SET if row.is_set else NOT_SET
        if not is_set and not row.is_set:
            return None
        context = values.bound_to(row.workspace_id, setting.name)
        row.is_set, row.sealed = is_set, ""
        if is_set:
            row.sealed = encryption.seal(
                value, purpose=values.PURPOSE, bound_to=context
            )
        return Change(setting, before, SET if is_set else NOT_SET)
    before = values.effective(setting, row)
    if row.is_set == is_set and (not is_set or row.value == value):
        return None
    row.is_set, row.value = is_set, value
    after = value if is_set else setting.default
    if before != after and after in setting.reason_for and not reason:
        detail = gettext(
            "“{setting}” is switched off on the page that has it, or with the call of"
            " that page, because it needs a reason."
        ).format(setting=gettext(setting.label))
        raise errors.Invalid(detail, code="reason_required", setting=setting.name)
    return Change(setting, before, after, reason)


def _apply(
    new_values: Mapping[str, Any],
    rows: Mapping[str, WorkspaceSetting],
    reason: str,
    by: Actor,
) -> list[Change]:
    """Write the rows that change, and run the follow-up of each change."""
    changes = []
    for name, value in new_values.items():
        setting = catalogue.by_name(name)
        row = rows.get(name) or WorkspaceSetting(
            workspace_id=by.workspace_id, name=name, is_set=False
        )
        change = _set_value(row, setting, value, reason)
        if change is None:
            continue
        row.version += 1
        row.changed_at, row.changed_by = timezone.now(), by.label
        row.save()
        if setting.follow and change.before != change.after:
            setting.follow(change.before, change.after, by)
        changes.append(change)
    return changes


def _record(changes: list[Change], by: Actor) -> None:
    by_render: dict[Any, list[Change]] = defaultdict(list)
    for change in changes:
        by_render[change.setting.journal].append(change)
    new = [entry for render, part in by_render.items() for entry in render(part)]
    if new:
        journal.write(new, by=by)


def change(
    new_values: Mapping[str, Any],
    *,
    by: Actor,
    version: int | None = None,
    reason: str = "",
) -> list[Change]:
    """Set several settings, None for the default; return what changed.

    With a ``version``, a change made since that version was read is a Conflict. The
    caller has checked the ``reason``, which some settings need.
    """
    by.require("settings.manage")
    cleaned = _clean(new_values)
    for name in cleaned:
        by.require(catalogue.by_name(name).may)
    with transaction.atomic():
        Workspace.objects.select_for_update(no_key=True).get(pk=by.workspace_id)
        rows = values.rows_of(by.workspace_id)
        current = sum(row.version for row in rows.values())
        if version is not None and version != current:
            detail = gettext(
                "Somebody changed the settings meanwhile; read them again."
            )
            raise errors.Conflict(detail, code="settings_changed", version=current)
        _add_resets(cleaned, rows)
        changes = _apply(cleaned, rows, reason, by)
        _record(changes, by)
    return changes
