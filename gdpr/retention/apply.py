"""The nightly run of retention: erase what the active rules say is due.

Texts are erased as in an erasure: an entry keeps its place in the chain, a record its
row. No search for what is left follows, and no certificate.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Sequence
from datetime import datetime
from typing import Final

from django.db import transaction
from django.db.models import F
from django.utils import timezone

from gdpr.models import RetentionRule, SubjectLink
from gdpr.retention import selection
from gdpr.retention.selection import Row
from gdpr.subjects import backfill
from memory.jobs import time_box
from memory.journal import append as journal
from memory.journal import archive_erasure
from memory.journal import erasure as journal_erasure
from memory.models import JournalEntry, Record, Workspace
from memory.records import erasure as records_erasure
from memory.rules import errors
from memory.rules.entries import NewEntry
from memory.rules.permissions import Actor, system

# How long waiting writers get the lock after a batch, at most.
MAX_PAUSE_SECONDS: Final = 0.3


def _erase_records(workspace_id: str, ids: Sequence[str], by: Actor) -> int:
    count = 0
    rows = Record.objects.select_related("crew__workspace", "agent")
    for record in rows.filter(workspace_id=workspace_id, pk__in=ids):
        try:
            count += records_erasure.forget(record, reason="Retention", by=by)
        except errors.Conflict:
            # A hold was placed since the batch was judged: the record stays.
            continue
    return count


def _erase(place: str, rows: Sequence[Row], by: Actor) -> int:
    """Erase rows of one place; return how many had any text."""
    workspace_id, ids = by.workspace_id, [row.id for row in rows]
    if place == "records":
        return _erase_records(workspace_id, ids, by)
    SubjectLink.objects.filter(
        workspace_id=workspace_id, place=place, row_id__in=ids
    ).delete()
    if place == "archive":
        return archive_erasure.empty_archived(workspace_id, ids)
    return journal_erasure.erase(workspace_id, ids)


def _batch(
    rule: RetentionRule, place: str, rows: Sequence[Row], by: Actor
) -> tuple[int, Counter[str]]:
    """Erase the due rows of a batch in one transaction, with their count.

    A hold, a restriction or a request is placed before it or after it, never between
    the decision and the erasure: both lock the workspace's row or the entries.
    """
    with transaction.atomic():
        Workspace.objects.select_for_update(no_key=True).get(pk=by.workspace_id)
        ids = [row.id for row in rows]
        entries = JournalEntry.objects.select_for_update().filter(pk__in=ids)
        list(entries.order_by("pk").values_list("pk", flat=True))
        due, stays = selection.split(by.workspace_id, rows)
        erased = _erase(place, due, by) if due else 0
        rules = RetentionRule.objects.filter(pk=rule.pk)
        rules.update(unreported=F("unreported") + erased)
    return erased, stays


def _run(rule: RetentionRule, at: datetime, by: Actor) -> tuple[int, Counter[str]]:
    """Erase what one rule says is due; return how many rows, and why others stay."""
    erased, stays = 0, Counter[str]()
    live = RetentionRule.objects.filter(pk=rule.pk, active=True, days=rule.days)
    for source in selection.sources(rule, selection.cutoff(rule, at)):
        for rows in selection.batches(source):
            # It may be switched off, or get another age, while it runs.
            if not live.exists() or time_box.is_ending():
                return erased, stays
            started = time.monotonic()
            count, kept_counts = _batch(rule, source.place, rows, by)
            erased += count
            stays.update(kept_counts)
            time.sleep(min(time.monotonic() - started, MAX_PAUSE_SECONDS))
    return erased, stays


def _record(rule: RetentionRule, stays: Counter[str], by: Actor) -> None:
    """Note in the journal what was erased since the last note."""
    live = RetentionRule.objects.select_for_update().filter(pk=rule.pk).first()
    if live is None or not live.unreported:
        return
    new = NewEntry(
        entry_type="gdpr.retention_applied",
        summary=f"Retention rule {rule.pk} erased {live.unreported} rows",
        payload={
            "rule_id": rule.pk,
            "place": rule.place,
            "kind": rule.kind,
            "days": rule.days,
            "erased": live.unreported,
            "kept": dict(stays),
        },
    )
    journal.write([new], by=by)
    live.unreported = 0
    live.save(update_fields=["unreported"])


def run(workspace_id: str, *, at: datetime | None = None) -> dict[str, int]:
    """Carry out every active rule of a workspace; return rule id → rows erased."""
    by, moment = system(workspace_id, "retention"), at or timezone.now()
    erased_by_rule: dict[str, int] = {}
    for alias in selection.unsearched_aliases(workspace_id):
        backfill.sweep_alias(alias)
    rules = RetentionRule.objects.filter(workspace_id=workspace_id, active=True)
    for rule in rules:
        if time_box.is_ending():
            break
        erased, stays = _run(rule, moment, by)
        with transaction.atomic():
            rows = RetentionRule.objects.filter(pk=rule.pk)
            rows.update(last_run_at=moment, erased=erased, kept=sum(stays.values()))
            _record(rule, stays, by)
        erased_by_rule[rule.pk] = erased
    return erased_by_rule
