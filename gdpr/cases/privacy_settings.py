"""Privacy settings of a workspace: second person, identity, time zone, retention."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any, Final
from zoneinfo import ZoneInfo

from django.db import transaction
from django.utils.translation import gettext, gettext_noop

from gdpr import audit_log
from gdpr.cases import deadlines
from gdpr.cases.transitions import clean_text
from gdpr.models import OPEN, ActionKind, Case, GdprAction
from memory import workspace_settings
from memory.models import Workspace
from memory.rules import errors
from memory.rules.entries import NewEntry, Severity
from memory.rules.permissions import Actor
from memory.workspace_settings import BadValue, Kind, Setting
from memory.workspace_settings import Change as SettingChange

MAY: Final = "gdpr.settings"
GROUP: Final = gettext_noop("Personal data")
PAGE: Final = "privacy:settings"
USED_BY: Final = gettext_noop("Cases, from opening to the certificate.")
# Switched off only with a reason.
SAFEGUARDS: Final = ("two_person", "require_identity")
LONGEST_EXPORT_DAYS: Final = 90
LONGEST_BACKUP_DAYS: Final = 3_650
LONGEST_LETTER_DAYS: Final = 3_650


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """What to change; None leaves a setting as it is.

    Switching a safeguard off needs a ``reason``.
    """

    two_person: bool | None = None
    require_identity: bool | None = None
    allow_break_glass: bool | None = None
    time_zone: str | None = None
    export_days: int | None = None
    backup_days: int | None = None
    letter_days: int | None = None
    digest: bool | None = None
    intake: bool | None = None
    reason: str = ""

    def values(self) -> dict[str, Any]:
        values = asdict(self)
        del values["reason"]
        return {name: value for name, value in values.items() if value is not None}


@dataclass(frozen=True, slots=True, kw_only=True)
class SwitchedOff:
    """A safeguard that is off; who, when and why are empty where that is unknown."""

    name: str
    at: datetime | None = None
    by: str = ""
    reason: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class PrivacySettings:
    """A workspace's settings; ``updated_by`` is empty when all are defaults."""

    two_person: bool
    require_identity: bool
    allow_break_glass: bool
    time_zone: str
    export_days: int
    backup_days: int
    letter_days: int
    digest: bool
    intake: bool
    updated_at: datetime | None
    updated_by: str


# ── The settings ─────────────────────────────────────────────────────────────
def _entries(changes: Sequence[SettingChange]) -> Sequence[NewEntry]:
    """Return the journal entry of changed settings, with their old values."""
    new_values = {change.setting.name: change.after for change in changes}
    # Auditors look first for weaker checks on who may erase.
    off = [change for change in changes if change.after in change.setting.reason_for]
    weaker = bool(off) or new_values.get("allow_break_glass")
    return [
        NewEntry(
            entry_type="gdpr.settings_changed",
            severity=Severity.WARN if weaker else Severity.NOTICE,
            summary=f"Privacy settings changed: {', '.join(sorted(new_values))}",
            payload={
                "changed": new_values,
                "was": {change.setting.name: change.before for change in changes},
                **({"reason": off[0].reason} if off else {}),
            },
        )
    ]


def _known_zone(name: str) -> str:
    if deadlines.zone(name) is None:
        raise BadValue(gettext("must be the name of a time zone, like Europe/Berlin"))
    return name


def _move_deadlines(before: str, after: str, by: Actor) -> None:
    """Keep each deadline on the same calendar day in the new time zone."""
    old, new = _zone(before), _zone(after)
    rows = Case.objects.select_for_update(of=("self",))
    open_cases = list(rows.filter(workspace_id=by.workspace_id, state__in=OPEN))
    for case in open_cases:
        case.due_at = deadlines.same_day_in(case.due_at, old, new)
        if case.extended_until:
            case.extended_until = deadlines.same_day_in(case.extended_until, old, new)
    Case.objects.bulk_update(open_cases, ["due_at", "extended_until"], batch_size=200)


def _declare(
    name: str, label: str, help_: str, kind: Kind, **options: Any
) -> Setting[Any]:
    return workspace_settings.declare(
        Setting(
            name=name,
            group=GROUP,
            label=label,
            help=help_,
            readers=options.pop("readers", USED_BY),
            kind=kind,
            may=MAY,
            page=PAGE,
            journal=_entries,
            **options,
        )
    )


SETTINGS: Final = (
    _declare(
        "two_person", gettext_noop("A second person approves every plan"),
        gettext_noop("Whoever opened or planned a case cannot approve it."),
        Kind.SWITCH, default=True, reason_for=(False,),
    ),
    _declare(
        "allow_break_glass",
        gettext_noop("Go on without the second person, with a reason"),
        gettext_noop("Raises an alarm in the journal, and the certificate says so."),
        Kind.SWITCH, default=True,
    ),
    _declare(
        "require_identity",
        gettext_noop("Verify the person's identity before a plan is made"),
        gettext_noop(
            "A case is planned only after somebody noted how the identity was verified,"
            " or on what ground an erasure goes on without."
        ),
        Kind.SWITCH, default=True, reason_for=(False,),
    ),
    _declare(
        "digest", gettext_noop("Mail a digest of pressing cases once a day"),
        gettext_noop("To compliance officers and admins. It names no person."),
        Kind.SWITCH, default=True, readers=gettext_noop("The nightly digest."),
    ),
    _declare(
        "intake", gettext_noop("People may send requests by a form"),
        gettext_noop(
            "A public page of this workspace. A request becomes a case once its sender"
            " opened a mailed link. Needs a mail server."
        ),
        Kind.SWITCH, default=False, readers=gettext_noop("The public request form."),
    ),
    _declare(
        "time_zone", gettext_noop("Time zone"),
        gettext_noop("Deadlines follow its calendar."),
        Kind.TEXT, default="UTC", most=64, check=_known_zone, follow=_move_deadlines,
    ),
    _declare(
        "export_days", gettext_noop("Days an export is kept"),
        gettext_noop("A bundle made for an access request is deleted after them."),
        Kind.INTEGER, default=14, least=1, most=LONGEST_EXPORT_DAYS,
        unit=gettext_noop("days"), readers=gettext_noop("Access requests."),
    ),
    _declare(
        "backup_days", gettext_noop("Days until the last backup expires"),
        gettext_noop("Certificates name the day on which it does."),
        Kind.INTEGER, default=90, least=1, most=LONGEST_BACKUP_DAYS,
        unit=gettext_noop("days"), readers=gettext_noop("Certificates."),
    ),
    _declare(
        "letter_days", gettext_noop("Days a letter is kept after it was sent"),
        gettext_noop(
            "As proof that a request was answered. Holds for letters sent from now on."
        ),
        Kind.INTEGER, default=1_095, least=1, most=LONGEST_LETTER_DAYS,
        unit=gettext_noop("days"), readers=gettext_noop("Letters to people."),
    ),
)  # fmt: skip


def of(workspace_id: str) -> PrivacySettings:
    """Return a workspace's settings; defaults where none is set."""
    states = workspace_settings.states(workspace_id, SETTINGS)
    changed_states = [
        state for state in states.values() if state.changed_at is not None
    ]
    last = max(changed_states, key=lambda state: state.changed_at or 0, default=None)
    return PrivacySettings(
        **{name: state.value for name, state in states.items()},
        updated_at=last.changed_at if last else None,
        updated_by=last.changed_by if last else "",
    )


def _zone(name: str) -> ZoneInfo:
    return deadlines.zone(name) or ZoneInfo("UTC")


def zone(rules: PrivacySettings) -> ZoneInfo:
    """Return the workspace's time zone; UTC when its name is no longer known."""
    return _zone(rules.time_zone)


def _check(values: dict[str, Any]) -> None:
    if "time_zone" in values and deadlines.zone(values["time_zone"]) is None:
        detail = gettext("There is no such time zone; use a name like Europe/Berlin.")
        raise errors.Invalid(detail, code="bad_time_zone")
    for name, limit in (
        ("export_days", LONGEST_EXPORT_DAYS),
        ("backup_days", LONGEST_BACKUP_DAYS),
        ("letter_days", LONGEST_LETTER_DAYS),
    ):
        if not 1 <= values.get(name, 1) <= limit:
            detail = gettext("{setting} is 1 to {limit}.").format(
                setting=name, limit=limit
            )
            raise errors.Invalid(detail, code=f"bad_{name}")


def _off(new_values: dict[str, Any]) -> list[str]:
    """Return the safeguards among changed values that are switched off."""
    return [name for name in SAFEGUARDS if new_values.get(name) is False]


def _reason(request: Change, names: list[str]) -> str:
    """Return the reason for switching safeguards off, or raise Invalid."""
    if not names:
        return ""
    if not request.reason.strip():
        detail = gettext(
            "Say why: switching off the second person or the identity check needs a"
            " reason, which the audit log keeps."
        )
        raise errors.Invalid(detail, code="reason_required", settings=names)
    return clean_text(request.reason, "reason")


def change(request: Change, *, by: Actor) -> PrivacySettings:
    """Change settings and record them in the journal with their old values.

    When the time zone changes, deadlines stay on the same calendar day. A safeguard
    that is switched off has a row with the reason in the audit log.
    """
    by.require(MAY)
    requested = request.values()
    _check(requested)
    with transaction.atomic():
        Workspace.objects.select_for_update(no_key=True).get(pk=by.workspace_id)
        rules = of(by.workspace_id)
        new_values = {
            name: value
            for name, value in requested.items()
            if getattr(rules, name) != value
        }
        names = _off(new_values)
        reason = _reason(request, names)
        if new_values:
            workspace_settings.change(new_values, by=by, reason=reason)
        for name in names:
            audit_log.note(
                "",
                ActionKind.SETTINGS,
                by=by,
                reason=reason,
                scope={"setting": name, "value": False},
            )
    return of(by.workspace_id)


def switched_off(workspace_id: str) -> list[SwitchedOff]:
    """Return the safeguards that are off, with who switched them off, when and why."""
    rules = of(workspace_id)
    rows = GdprAction.objects.filter(
        workspace_id=workspace_id, action=ActionKind.SETTINGS
    ).order_by("-initiated_at")
    latest: dict[str, GdprAction] = {}
    for row in rows:
        latest.setdefault(str(row.scope.get("setting")), row)
    names = [name for name in SAFEGUARDS if not getattr(rules, name)]
    return [_switched_off(name, latest.get(name)) for name in names]


def _switched_off(name: str, row: GdprAction | None) -> SwitchedOff:
    if row is None:
        return SwitchedOff(name=name)
    return SwitchedOff(
        name=name, at=row.initiated_at, by=row.actor_label, reason=row.reason
    )
