"""Forget records: erase the content from the record and from all its entries.

What stays is that there was a record, when it was forgotten, by whom and why. The
journal's chain still verifies; recall, search and history have nothing to show, and the
external id can be used again.
"""

from __future__ import annotations

from typing import Final

from django.db import transaction
from django.db.models import QuerySet
from django.utils import timezone

from memory.files.paths import Owner
from memory.journal import erasure, visibility
from memory.models import Record, RecordEntry, RecordEvent, RecordStatus
from memory.ports import legal_holds
from memory.records import chain
from memory.records.access import equal, in_scope, matching, owner_of, permit, reach
from memory.records.reading import facts
from memory.records.types import Criteria, Match
from memory.rules import entries, errors, filters, tokenizer
from memory.rules.permissions import Actor, AgentRole
from memory.rules.translation import gettext

REASON_CHARS: Final = 1_000
BATCH: Final = 200


def check_reason(reason: str) -> None:
    """Raise Invalid when a reason cannot be kept."""
    if len(reason) > REASON_CHARS or not entries.is_storable(reason):
        message = gettext("A reason is {limit} characters at most.")
        raise errors.Invalid(message.format(limit=REASON_CHARS), code="bad_reason")


def forget(record: Record, *, reason: str = "", by: Actor) -> bool:
    """Forget a record, with a journal entry; False when it was forgotten already.

    Raises Conflict ``on_hold`` when a legal hold keeps one of its entries.
    """
    permit(owner_of(record), record.workspace_id, by)
    check_reason(reason)
    return _forget(record, reason, by)


def _forget(record: Record, reason: str, by: Actor) -> bool:
    """Empty a row and erase its entries."""
    workspace_id = record.workspace_id
    with transaction.atomic():
        rows = Record.objects.select_for_update().filter(pk=record.pk)
        live = rows.filter(workspace_id=workspace_id).first()
        if live is None or live.status == RecordStatus.FORGOTTEN:
            return False
        entry_ids = chain.content_entry_ids(workspace_id, [live.id])
        legal_holds.require_no_hold(workspace_id, entry_ids, legal_holds.RECORDS)
        live.version += 1
        live.status = RecordStatus.FORGOTTEN
        live.content, live.sha256, live.metadata = "", "", {}
        live.external_id, live.turn_range, live.session_id = "", None, ""
        live.current_entry = chain.extend(
            live, RecordEvent.INVALIDATED, by=by, reason=reason
        )
        live.updated_at = timezone.now()
        live.save()
        erasure.erase(workspace_id, entry_ids)
    return True


# ── Many ─────────────────────────────────────────────────────────────────────
def _check_criteria(criteria: Criteria, by: Actor) -> None:
    """Raise Invalid for ``as_of``, and for a person's criteria without any scope."""
    if criteria.as_of is not None:
        detail = "What held then cannot be forgotten: leave as_of out."
        raise errors.Invalid(detail, code="bad_as_of")
    has_name = criteria.owner or criteria.crew_id or criteria.agent_id or criteria.under
    is_empty = criteria.scope.is_empty and not criteria.session_id and not has_name
    if is_empty and not by.is_agent and criteria.match is not Match.EXACT:
        detail = "Name whose records to forget: an owner, a scope or a session."
        raise errors.Invalid(detail, code="too_wide")


def _writable(rows: QuerySet[Record], by: Actor) -> QuerySet[Record]:
    """Return the rows an actor may forget; of agents only a lead its crew's."""
    rows = rows.exclude(status=RecordStatus.FORGOTTEN)
    if by.is_agent and by.agent_role is not AgentRole.LEAD:
        return rows.filter(agent_id=by.id)
    return rows


def _matching_ids(criteria: Criteria, by: Actor) -> list[str]:
    """Return the ids of the matching records, also of expired and superseded ones.

    Forgetting a scope must not leave its old contents.
    """
    rows = matching(in_scope(criteria, by=by), criteria)
    holds = filters.read(criteria.filter)
    rows = _writable(rows, by).select_related(None).order_by("id")
    if holds is None:
        return list(rows.values_list("pk", flat=True))
    return [row.id for row in rows.iterator(BATCH) if holds(facts(row))]


def forget_scope(criteria: Criteria, *, reason: str = "", by: Actor) -> int:
    """Forget every record that matches the criteria; return how many.

    A person has to give a scope: empty criteria would forget a whole workspace. Raises
    Conflict ``on_hold``, and forgets nothing, when a legal hold keeps any of them.
    """
    by.require("records.write")
    check_reason(reason)
    _check_criteria(criteria, by)
    ids = _matching_ids(criteria, by)
    workspace_id, count = by.workspace_id, 0
    # In batches, so that appends wait only briefly; each batch is final.
    parts = [ids[start : start + BATCH] for start in range(0, len(ids), BATCH)]
    for part in parts:
        entry_ids = chain.content_entry_ids(workspace_id, part)
        legal_holds.require_no_hold(workspace_id, entry_ids, legal_holds.RECORDS)
    for part in parts:
        rows = Record.objects.select_related("crew__workspace", "agent").filter(
            equal("workspace_id", workspace_id, by_id=True), pk__in=part
        )
        with transaction.atomic():
            count += sum(forget(row, reason=reason, by=by) for row in rows)
    return count


def forget_subject(alias: str, *, owner: Owner | None, by: Actor) -> int:
    """Forget every record of an owner that names a person, atomically; return how many.

    An agent forgets what it may write; people the records of the owner, whoever wrote
    them, and without an owner the workspace's.
    """
    by.require("provider.forget_subject")
    mentions = RecordEntry.objects.filter(
        workspace_id=by.workspace_id,
        entry__mentions__workspace_id=by.workspace_id,
        entry__mentions__folded=tokenizer.fold(alias),
    )
    rows = reach(owner, by=by).filter(pk__in=mentions.values("record_id"))
    with transaction.atomic():
        return sum(_forget(row, "", by) for row in list(_writable(rows, by)))


# ── Expiry ───────────────────────────────────────────────────────────────────
def retire_expired(limit: int = 1_000) -> int:
    """Retire the entries of expired records in all workspaces; return how many.

    The records stay visible to people, who may set another expiry. Idempotent.
    """
    rows = RecordEntry.objects.filter(
        record__status=RecordStatus.CURRENT,
        record__expires_at__lte=timezone.now(),
        entry__retired_at=None,
        entry__erased_at=None,
    ).values_list("workspace_id", "entry_id")
    by_workspace: dict[str, list[str]] = {}
    for workspace_id, entry_id in rows[:limit]:
        by_workspace.setdefault(workspace_id, []).append(entry_id)
    return sum(
        visibility.retire(workspace, ids) for workspace, ids in by_workspace.items()
    )
