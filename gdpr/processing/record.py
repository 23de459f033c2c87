"""The record of processing activities (Article 30), drawn from the data map.

Every place of the data map is an activity. What is stored and of whom comes with the
place, how long and with whom from the settings in force; purpose and legal basis are
proposed until an officer confirms them, with their own words or these.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any, Final

from django.db import transaction
from django.utils import timezone
from django.utils.translation import gettext, gettext_noop

from gdpr.cases.transitions import clean_text
from gdpr.data_map import registry
from gdpr.data_map.base import Holder
from gdpr.models import ProcessingPurpose
from gdpr.processing import controller, place_defaults, safeguards
from gdpr.processing.controller import Controller
from gdpr.processing.safeguards import Recipient
from memory.journal import append as journal
from memory.rules import bulk, csv_lines, errors
from memory.rules.bulk import Item, Outcome, Pick
from memory.rules.entries import NewEntry, Severity
from memory.rules.permissions import Actor

CHARS: Final = 2_000
PROPOSED, CONFIRMED = "proposed", "confirmed"


@dataclass(frozen=True, slots=True, kw_only=True)
class Activity:
    """One place where personal data is processed; ``derived``: computed from others."""

    place: str
    title: str
    data: str
    people: str
    purpose: str
    legal_basis: str
    state: str
    confirmed_by: str
    confirmed_at: datetime | None
    recipients: list[str]
    retention: str
    derived: bool


@dataclass(frozen=True, slots=True)
class Record:
    """The record of a workspace."""

    controller: Controller
    activities: list[Activity]
    recipients: list[Recipient]
    safeguards: list[str]
    out_of_reach: list[str]

    @property
    def proposed(self) -> int:
        """How many activities nobody confirmed yet."""
        return sum(row.state == PROPOSED for row in self.activities)


def of(actor: Actor) -> Record:
    """Return the record as it is now, in the reader's language."""
    actor.require("gdpr.read")
    rows = ProcessingPurpose.objects.filter(workspace_id=actor.workspace_id)
    purposes = {row.place: row for row in rows}
    recipients = safeguards.recipients(actor.workspace_id)
    retention = safeguards.retention(actor.workspace_id)
    return Record(
        controller=controller.of(actor.workspace_id),
        activities=[
            _activity(holder, purposes.get(holder.name), recipients, retention)
            for holder in registry.ALL
        ],
        recipients=recipients,
        safeguards=safeguards.measures(actor.workspace_id),
        out_of_reach=[gettext(text) for text in registry.OUT_OF_REACH.values()],
    )


def _activity(
    holder: Holder,
    row: ProcessingPurpose | None,
    recipients: list[Recipient],
    retention: dict[str, str],
) -> Activity:
    proposal = place_defaults.of(holder.name)
    return Activity(
        place=holder.name,
        title=gettext(holder.title),
        data=gettext(proposal.data),
        people=gettext(proposal.people),
        purpose=row.purpose if row else gettext(proposal.purpose),
        legal_basis=row.legal_basis if row else gettext(proposal.basis),
        state=CONFIRMED if row else PROPOSED,
        confirmed_by=row.confirmed_by if row else "",
        confirmed_at=row.confirmed_at if row else None,
        recipients=[row.name for row in recipients if holder.name in row.places],
        retention=retention.get(holder.name, "") or safeguards.until_deleted(),
        derived=holder.derived,
    )


def confirm(actor: Actor, place: str, purpose: str, legal_basis: str) -> None:
    """Keep purpose and legal basis of a place; the journal has both wordings."""
    actor.require("gdpr.manage")
    if place not in {holder.name for holder in registry.ALL}:
        raise errors.NotFound
    now = {
        "purpose": clean_text(purpose, "purpose", CHARS),
        "legal_basis": clean_text(legal_basis, "legal_basis", CHARS),
    }
    with transaction.atomic():
        rows = ProcessingPurpose.objects.select_for_update()
        row = rows.filter(workspace_id=actor.workspace_id, place=place).first()
        was = {name: getattr(row, name) for name in now} if row else None
        ProcessingPurpose.objects.update_or_create(
            workspace_id=actor.workspace_id,
            place=place,
            defaults={**now, **_confirmation(actor)},
        )
        _note(actor, place, now, was)


def _confirmation(actor: Actor) -> dict[str, Any]:
    return {"confirmed_by": actor.label, "confirmed_at": timezone.now()}


def _note(
    actor: Actor, place: str, now: dict[str, str], was: dict[str, str] | None
) -> None:
    new = NewEntry(
        entry_type="gdpr.processing_confirmed",
        severity=Severity.NOTICE,
        summary=f"Record of processing: {place} confirmed",
        payload={"place": place, "now": now, "was": was},
    )
    journal.write([new], by=actor)


# ── Several at once ──────────────────────────────────────────────────────────
def wording(row: Activity) -> str:
    """Return a digest of what is proposed, which a confirmation of many names."""
    text = f"{row.purpose}\0{row.legal_basis}"
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def confirm_proposed(actor: Actor, picks: Sequence[Pick]) -> list[Item]:
    """Confirm proposed purposes as they were read, each by itself.

    What somebody confirmed since, with these or with other words, stays as it is.
    """
    actor.require("gdpr.manage")
    activities = {row.place: row for row in of(actor).activities}

    def act(row: Activity, pick: Pick) -> Outcome:
        if row.state != CONFIRMED and wording(row) != pick.version:
            detail = gettext("What is proposed changed since you read it.")
            raise errors.Conflict(detail, code="stale_version")
        now = {"purpose": row.purpose, "legal_basis": row.legal_basis}
        with transaction.atomic():
            _, is_new = ProcessingPurpose.objects.get_or_create(
                workspace_id=actor.workspace_id,
                place=row.place,
                defaults={**now, **_confirmation(actor)},
            )
            if not is_new:
                detail = gettext("It is confirmed already.")
                raise errors.Conflict(detail, code="already_confirmed")
            _note(actor, row.place, now, None)
        return Outcome(state=gettext_noop("confirmed"), version=pick.version)

    return bulk.run(picks, lambda _: activities, act, title=lambda row: row.title)


# ── As data ──────────────────────────────────────────────────────────────────
def as_json(record: Record) -> dict[str, Any]:
    """Return the record as JSON values."""
    activities = [asdict(row) for row in record.activities]
    for row in activities:
        at = row["confirmed_at"]
        row["confirmed_at"] = journal.stamp(at) if at else None
        row["confirmed_by"] = row["confirmed_by"] or None
    return {
        "controller": asdict(record.controller),
        "activities": activities,
        "recipients": [
            {"kind": item.kind, "name": item.name, "receives": item.receives}
            for item in record.recipients
        ],
        "safeguards": record.safeguards,
        "out_of_reach": record.out_of_reach,
    }


COLUMNS: Final = (
    "place", "title", "data", "people", "purpose", "legal_basis", "state",
    "confirmed_by", "confirmed_at", "recipients", "retention", "derived",
)  # fmt: skip


def csv(record: Record) -> Iterator[str]:
    """Return the activities as CSV; the controller and the measures are in the JSON."""
    activities = as_json(record)["activities"]
    cells = (
        [
            "; ".join(row[name]) if name == "recipients" else row[name]
            for name in COLUMNS
        ]
        for row in activities
    )
    return csv_lines.lines(COLUMNS, cells)
