"""How a workspace handles requests: two people, identity, its calendar."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final
from zoneinfo import ZoneInfo

from django.db import transaction
from django.utils import timezone

from gdpr.models import OPEN, Case, PrivacySettings
from gdpr.rules import deadlines
from memory import journal
from memory.models import Workspace
from memory.rules import errors
from memory.rules.actors import Actor
from memory.rules.entries import NewEntry, Severity

LONGEST_EXPORT_DAYS: Final = 90
LONGEST_BACKUP_DAYS: Final = 3_650


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """What to change; None leaves a setting as it is."""

    two_person: bool | None = None
    require_identity: bool | None = None
    allow_break_glass: bool | None = None
    time_zone: str | None = None
    export_days: int | None = None
    backup_days: int | None = None
    digest: bool | None = None

    def given(self) -> dict[str, Any]:
        """Return the settings that are named, by name."""
        named = {name: getattr(self, name) for name in self.__slots__}
        return {name: value for name, value in named.items() if value is not None}


def of(workspace_id: str) -> PrivacySettings:
    """Return a workspace's settings; the defaults, unsaved, where nobody chose."""
    found = PrivacySettings.objects.filter(workspace_id=workspace_id).first()
    return found or PrivacySettings(workspace_id=workspace_id)


def zone(rules: PrivacySettings) -> ZoneInfo:
    """Return the zone whose calendar counts; UTC when its name is no longer known."""
    return deadlines.zone(rules.time_zone) or ZoneInfo("UTC")


def _check(wanted: dict[str, Any]) -> None:
    if "time_zone" in wanted and deadlines.zone(wanted["time_zone"]) is None:
        detail = "There is no such time zone; say it like Europe/Berlin."
        raise errors.Invalid(detail, code="bad_time_zone")
    for name, most in (
        ("export_days", LONGEST_EXPORT_DAYS),
        ("backup_days", LONGEST_BACKUP_DAYS),
    ):
        if not 1 <= wanted.get(name, 1) <= most:
            raise errors.Invalid(f"{name} is 1 to {most}.", code=f"bad_{name}")


def change(asked: Change, *, by: Actor) -> PrivacySettings:
    """Change settings and say so in the journal, with what was before.

    In another time zone a deadline stays on the calendar day that people were told.
    """
    by.require("gdpr.settings")
    wanted = asked.given()
    _check(wanted)
    with transaction.atomic():
        Workspace.objects.select_for_update().get(pk=by.workspace_id)
        rules = of(by.workspace_id)
        was = {name: getattr(rules, name) for name in wanted}
        changed = {name: value for name, value in wanted.items() if was[name] != value}
        if not changed:
            return rules
        before = zone(rules)
        for name, value in changed.items():
            setattr(rules, name, value)
        rules.updated_at, rules.updated_by = timezone.now(), by.label
        rules.save()
        if "time_zone" in changed:
            _move_deadlines(by.workspace_id, before, zone(rules))
        _record(changed, {name: was[name] for name in changed}, by)
    return rules


def _move_deadlines(workspace_id: str, before: ZoneInfo, after: ZoneInfo) -> None:
    rows = Case.objects.select_for_update(of=("self",))
    moved = list(rows.filter(workspace_id=workspace_id, state__in=OPEN))
    for case in moved:
        case.due_at = deadlines.moved(case.due_at, before, after)
        if case.extended_until:
            case.extended_until = deadlines.moved(case.extended_until, before, after)
    Case.objects.bulk_update(moved, ["due_at", "extended_until"], batch_size=200)


def _record(changed: dict[str, Any], was: dict[str, Any], by: Actor) -> None:
    # Fewer checks on who may erase is what an auditor looks for first.
    weaker = changed.get("two_person") is False or changed.get("allow_break_glass")
    new = NewEntry(
        entry_type="gdpr.settings_changed",
        severity=Severity.WARN if weaker else Severity.NOTICE,
        summary=f"Privacy settings changed: {', '.join(sorted(changed))}",
        payload={"changed": changed, "was": was},
    )
    journal.write([new], by=by)
