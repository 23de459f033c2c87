"""Acts on many records: expire and let hold again, which an undo reverses; forget.

An expiry hides a record from every agent and keeps it for people. Forgetting erases, so
it has no undo.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from functools import partial
from typing import Final

from django.db import transaction
from django.utils import timezone
from django.utils.dateparse import parse_datetime
from django.utils.translation import gettext, gettext_noop

from memory.journal import visibility
from memory.models import Record, RecordEntry, RecordStatus
from memory.records import chain, erasure, writing
from memory.records.access import is_expired, reach
from memory.rules import bulk, errors
from memory.rules.bulk import Item, Outcome, Pick
from memory.rules.permissions import Actor

TITLE_CHARS: Final = 120


def expire(actor: Actor, picks: Sequence[Pick], *, reason: str) -> list[Item]:
    """Let records expire now, so that no agent reads them."""
    actor.require("records.write")
    _check_reason(reason)
    now = timezone.now()

    def act(record: Record, pick: Pick) -> Outcome:
        if is_expired(record):
            raise errors.Conflict(
                gettext("It has expired already."), code="already_expired"
            )
        return _set_expiry(record, pick.number, now, reason, actor)

    return bulk.run(picks, partial(_records, actor), act, title=_title)


def unexpire(actor: Actor, picks: Sequence[Pick], *, reason: str) -> list[Item]:
    """Take the expiry off expired records, so that agents read them again."""
    actor.require("records.write")
    _check_reason(reason)

    def act(record: Record, pick: Pick) -> Outcome:
        if not is_expired(record):
            raise errors.Conflict(gettext("It has not expired."), code="not_expired")
        return _set_expiry(record, pick.number, None, reason, actor)

    return bulk.run(picks, partial(_records, actor), act, title=_title)


def undo_expiry(actor: Actor, picks: Sequence[Pick]) -> list[Item]:
    """Give records that did not change since the expiry of the version before."""
    actor.require("records.write")

    def act(record: Record, pick: Pick) -> Outcome:
        due = _former_expiry(record, pick.number)
        return _set_expiry(record, pick.number, due, "expiry undone", actor)

    return bulk.run(picks, partial(_records, actor), act, title=_title)


def forget(actor: Actor, picks: Sequence[Pick], *, reason: str) -> list[Item]:
    """Erase records for good, each in the version that was read."""
    actor.require("records.write")
    _check_reason(reason)

    def act(record: Record, pick: Pick) -> Outcome:
        with transaction.atomic():
            rows = Record.objects.select_for_update().filter(pk=record.pk)
            live = rows.get(workspace_id=actor.workspace_id)
            if live.status == RecordStatus.FORGOTTEN:
                raise errors.Conflict(
                    gettext("It is forgotten already."), code="not_current"
                )
            _require_version(live, pick.number)
            erasure.forget(record, reason=reason, by=actor)
        return Outcome(state=gettext_noop("forgotten"))

    # No title: the result must not show again what was erased.
    return bulk.run(picks, partial(_records, actor), act)


def forgettable(actor: Actor, picks: Sequence[Pick]) -> list[Record]:
    """Return the picked records that can be forgotten, in their order."""
    actor.require("records.write")
    rows = _records(actor, [pick.id for pick in picks[: bulk.LIMIT]])
    rows_in_order = [rows[pick.id] for pick in picks if pick.id in rows]
    return [row for row in rows_in_order if row.status != RecordStatus.FORGOTTEN]


def _check_reason(reason: str) -> None:
    if not reason.strip():
        detail = gettext("Give a reason; it stays in the history.")
        raise errors.Invalid(detail, code="reason_required")
    erasure.check_reason(reason)


def _records(actor: Actor, ids: list[str]) -> dict[str, Record]:
    return reach(None, by=actor, among=ids).in_bulk(ids)


def _title(record: Record) -> str:
    return record.content[:TITLE_CHARS]


def _require_version(record: Record, version: int) -> None:
    if record.version != version:
        detail = gettext("The record changed since you read it.")
        raise errors.Conflict(detail, code="stale_version", version=record.version)


def _set_expiry(
    record: Record, version: int, due: datetime | None, reason: str, by: Actor
) -> Outcome:
    """Save the next version with another expiry; its text was scanned when it came."""
    if record.status != RecordStatus.CURRENT:
        raise errors.Conflict(gettext("The record is not current."), code="not_current")
    _require_version(record, version)
    draft = replace(writing.draft_of(record, record.content), expires_at=due)
    with transaction.atomic():
        live = writing.replace_content(
            record, draft, expected=version, reason=reason, by=by
        )
        if live is None:
            detail = gettext("The record changed since you read it.")
            raise errors.Conflict(detail, code="stale_version")
        if not is_expired(live):
            return Outcome(state=gettext_noop("current"), version=live.version)
        # At once; the hourly job would leave it in recall until then.
        entry_ids = chain.content_entry_ids(live.workspace_id, [live.id])
        visibility.retire(live.workspace_id, entry_ids)
        return Outcome(state=gettext_noop("expired"), version=live.version)


def _former_expiry(record: Record, version: int) -> datetime | None:
    """Return the expiry of the version before, as its entry holds it."""
    links = RecordEntry.objects.filter(
        workspace_id=record.workspace_id, record=record, version=version - 1
    )
    link = links.select_related("entry").first()
    if link is None or "confidence" not in link.entry.refs:
        detail = gettext("The expiry before is not known any more.")
        raise errors.Conflict(detail, code="former_unknown")
    due = link.entry.refs.get("expires_at")
    return parse_datetime(due) if due else None
