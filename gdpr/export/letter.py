"""The letter of an access bundle: who answers, why, how long, from where, with whom.

What Article 15(1) and (2) ask for beside the data itself, from the record of processing
and the rows of the bundle, in the language that is active.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from django.utils.translation import gettext

from gdpr.export import sources
from gdpr.export.bundle import Collection, Place
from gdpr.export.readable.values import Wording
from gdpr.export.sources import Source
from gdpr.models import CaseKind, Subject
from gdpr.processing import record as processing
from gdpr.processing import safeguards
from gdpr.processing.controller import Controller
from gdpr.processing.record import CONFIRMED, Activity
from gdpr.processing.safeguards import Recipient
from gdpr.recipients import listing
from memory.rules.permissions import system


@dataclass(frozen=True, slots=True)
class Use:
    """Why and how long the rows of one place are stored, and where they came from."""

    place: Place
    activity: Activity
    sources: list[Source]
    recipients: list[Recipient]

    @property
    def is_confirmed(self) -> bool:
        """Whether the controller confirmed purpose and legal basis."""
        return self.activity.state == CONFIRMED


@dataclass(frozen=True, slots=True, kw_only=True)
class Disclosed:
    """Whom something went to; ``doubt`` says why that is not certain."""

    name: str
    receives: str
    doubt: str
    count: int
    first_at: datetime | None
    last_at: datetime | None


@dataclass(frozen=True, slots=True)
class Letter:
    """What the first pages of a bundle say; ``received_at`` is None without a request.

    ``places`` are those with rows, ``empty`` the titles of those without.
    """

    controller: Controller
    written_at: datetime | None
    received_at: datetime | None
    request_kind: str
    places: list[Place]
    empty: list[str]
    uses: list[Use]
    sources: list[Source]
    recipients: list[Recipient] = field(default_factory=list)
    disclosures: list[Disclosed] = field(default_factory=list)

    @property
    def left_out(self) -> int:
        """How many rows may be about somebody else and were left out."""
        return sum(place.left_out for place in (use.place for use in self.uses))


def disclosures(collection: Collection, wording: Wording) -> list[Disclosed]:
    """Return whom something about the person went to, surely or possibly."""
    workspace_id = collection.workspace["id"]
    rows = Subject.objects.filter(workspace_id=workspace_id)
    subject = rows.filter(pk=collection.subject["id"]).first()
    if subject is None:
        return []
    by = system(workspace_id, "gdpr")
    return [
        Disclosed(
            name=row.name or str(row.kind.label),
            receives=row.receives,
            doubt=row.doubt_words,
            count=row.count,
            first_at=row.first_at.astimezone(wording.zone) if row.first_at else None,
            last_at=row.last_at.astimezone(wording.zone) if row.last_at else None,
        )
        for row in listing.disclosed_to(subject, by)
    ]


def recipients(workspace_id: str, places: Sequence[str]) -> list[Recipient]:
    """Return whom data of these places goes to, by the settings in force."""
    return [
        row
        for row in safeguards.recipients(workspace_id)
        if set(places) & set(row.places)
    ]


def of(collection: Collection, wording: Wording) -> Letter:
    """Return the letter of a bundle."""
    workspace_id = collection.workspace["id"]
    record = processing.of(system(workspace_id, "gdpr"))
    activities = {row.place: row for row in record.activities}
    places = [place for place in collection.places if place.rows]
    receivers = recipients(workspace_id, [place.name for place in places])
    kind = collection.case.get("kind", "")
    return Letter(
        controller=record.controller,
        written_at=wording.local(collection.exported_at),
        received_at=wording.local(collection.case.get("received_at")),
        request_kind=str(CaseKind(kind).label) if kind else "",
        places=places,
        empty=[gettext(row.title) for row in collection.places if not row.rows],
        uses=[
            _use(place, activities[place.name], receivers, wording) for place in places
        ],
        sources=sources.of_all(collection, wording),
        recipients=receivers,
        disclosures=disclosures(collection, wording),
    )


def _use(
    place: Place, activity: Activity, receivers: list[Recipient], wording: Wording
) -> Use:
    own: list[Any] = [row for row in receivers if place.name in row.places]
    return Use(place, activity, sources.of(place, wording), own)
