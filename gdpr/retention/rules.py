"""The rules of retention: added off, tried by a dry run, then switched on."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any, Final

from django.db import IntegrityError, transaction
from django.utils import timezone
from django.utils.translation import gettext

from gdpr.cases.transitions import clean_text
from gdpr.models import RetentionPlace, RetentionRule
from gdpr.retention import selection
from gdpr.retention.selection import DryRun
from memory.journal import append as journal
from memory.rules import errors
from memory.rules.entries import NewEntry, Severity
from memory.rules.permissions import Actor

MAY: Final = "gdpr.settings"
MAX_DAYS: Final = 36_500
MAX_RULES: Final = 200
REASON_CHARS: Final = 1_000
KIND_CHARS: Final = 80
_KIND: Final = re.compile(r"[^\s*]+(?:\.\*)?|\*")


@dataclass(frozen=True, slots=True, kw_only=True)
class NewRule:
    """A rule to add; ``reason`` is why the texts are no longer needed then."""

    place: str
    kind: str
    days: int
    reason: str


def all_of(actor: Actor) -> list[RetentionRule]:
    """Return the workspace's rules, by place and kind."""
    actor.require("gdpr.read")
    return list(RetentionRule.objects.filter(workspace_id=actor.workspace_id))


def get(actor: Actor, rule_id: str) -> RetentionRule:
    actor.require("gdpr.read")
    rows = RetentionRule.objects.filter(workspace_id=actor.workspace_id, pk=rule_id)
    rule = rows.first()
    if rule is None:
        raise errors.NotFound
    return rule


def _check(new: NewRule) -> None:
    if new.place not in RetentionPlace.values:
        detail = "place is journal or records."
        raise errors.Invalid(detail, code="bad_place")
    if len(new.kind) > KIND_CHARS or not _KIND.fullmatch(new.kind):
        detail = gettext(
            "A type is one word, such as exec.output_chunk; exec.* is every type that"
            " begins so, * is every type."
        )
        raise errors.Invalid(detail, code="bad_kind")
    if new.place == RetentionPlace.JOURNAL and selection.is_account(new.kind):
        detail = gettext(
            "Entries of this type account for who did what; no rule erases them."
        )
        raise errors.Invalid(detail, code="kept_type")
    if not 1 <= new.days <= MAX_DAYS:
        detail = gettext("The age is 1 to {limit} days.").format(limit=MAX_DAYS)
        raise errors.Invalid(detail, code="bad_days")


def add(new: NewRule, *, by: Actor) -> RetentionRule:
    """Add a rule, switched off; Conflict ``rule_exists`` for a second of one kind."""
    by.require(MAY)
    _check(new)
    reason = clean_text(new.reason, "reason", REASON_CHARS)
    rules = RetentionRule.objects.filter(workspace_id=by.workspace_id)
    if rules.count() >= MAX_RULES:
        raise errors.TooLarge(what="rules", limit=MAX_RULES, size=MAX_RULES + 1)
    try:
        with transaction.atomic():
            rule = RetentionRule.objects.create(
                workspace_id=by.workspace_id,
                place=new.place,
                kind=new.kind,
                days=new.days,
                reason=reason,
                changed_by=by.label,
            )
            _record("added", rule, by)
    except IntegrityError:
        detail = gettext("There is a rule for this type already: change that one.")
        raise errors.Conflict(detail, code="rule_exists") from None
    return rule


def dry_run(rule: RetentionRule, *, by: Actor) -> DryRun:
    """Return what a rule would erase now."""
    by.require("gdpr.read", rule.workspace_id)
    return selection.dry_run(rule)


def switch_on(rule: RetentionRule, due: int, *, by: Actor) -> RetentionRule:
    """Switch a rule on; ``due`` is the number of rows that the actor saw.

    Conflict ``more_rows_due`` when more are due by now, so that nobody switches on
    more than a dry run showed.
    """
    by.require(MAY, rule.workspace_id)
    count = selection.dry_run(rule).due
    if count > due:
        detail = gettext(
            "{count} rows are due by now, more than the dry run showed. Look again."
        )
        raise errors.Conflict(
            detail.format(count=count), code="more_rows_due", due=count
        )
    return _change(rule, {"active": True}, "switched_on", by)


def switch_off(rule: RetentionRule, *, by: Actor) -> RetentionRule:
    """Switch a rule off: from then on it erases nothing."""
    by.require(MAY, rule.workspace_id)
    return _change(rule, {"active": False}, "switched_off", by)


def change_days(rule: RetentionRule, days: int, *, by: Actor) -> RetentionRule:
    """Set another age. The rule is switched off: another age needs a dry run."""
    by.require(MAY, rule.workspace_id)
    _check(NewRule(place=rule.place, kind=rule.kind, days=days, reason=rule.reason))
    return _change(rule, {"days": days, "active": False}, "changed", by)


def change(
    rule: RetentionRule,
    *,
    days: int | None = None,
    active: bool | None = None,
    due: int = 0,
    by: Actor,
) -> RetentionRule:
    """Set another age, or switch a rule on or off, or both, or nothing of it."""
    if days is None and active is None:
        detail = "Say what to change: days or active."
        raise errors.Invalid(detail, code="nothing_to_change")
    with transaction.atomic():
        if days is not None:
            rule = change_days(rule, days, by=by)
        if active is True:
            rule = switch_on(rule, due, by=by)
        elif active is False:
            rule = switch_off(rule, by=by)
    return rule


def remove(rule: RetentionRule, *, by: Actor) -> None:
    by.require(MAY, rule.workspace_id)
    with transaction.atomic():
        rows = RetentionRule.objects.filter(workspace_id=by.workspace_id, pk=rule.pk)
        if not rows.delete()[0]:
            raise errors.NotFound
        _record("removed", rule, by)


def _change(
    rule: RetentionRule, values: dict[str, Any], verb: str, by: Actor
) -> RetentionRule:
    with transaction.atomic():
        rows = RetentionRule.objects.select_for_update()
        live = rows.filter(workspace_id=by.workspace_id, pk=rule.pk).first()
        if live is None:
            raise errors.NotFound
        # The dry run was made for this age: another one needs another dry run.
        if live.days != rule.days:
            detail = gettext("Somebody changed this rule meanwhile. Look again.")
            raise errors.Conflict(detail, code="rule_changed")
        for name, value in values.items():
            setattr(live, name, value)
        live.changed_by, live.changed_at = by.label, timezone.now()
        live.save()
        _record(verb, live, by)
    return live


def _record(verb: str, rule: RetentionRule, by: Actor) -> None:
    new = NewEntry(
        entry_type=f"gdpr.retention_{verb}",
        severity=Severity.WARN if verb == "switched_on" else Severity.NOTICE,
        summary=f"Retention rule {rule.pk} {verb.replace('_', ' ')}",
        payload={
            "rule_id": rule.pk,
            "place": rule.place,
            "kind": rule.kind,
            "days": rule.days,
            "active": rule.active,
        },
    )
    journal.write([new], by=by)
