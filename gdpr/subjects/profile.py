"""The profile of a person: where their data is stored, cases, holds and a timeline.

Counting reads the journal once: a second or two in a large workspace. The result is not
cached.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Final

from django.utils.translation import gettext, pgettext

from gdpr.data_map import registry
from gdpr.data_map.base import Fate, Person, RowMatch
from gdpr.models import Case, Hold, Lifting, Subject, SubjectLink
from gdpr.subjects import registry as subjects
from gdpr.subjects import suggested_aliases
from gdpr.subjects.suggested_aliases import Neighbour
from memory.journal import append as journal
from memory.rules.permissions import Actor
from memory.rules.translation import within_sentence

SAMPLES: Final = 3
MOMENTS: Final = 50


@dataclass(slots=True)
class Place:
    """One place where data is stored: its rows, and how many name others too."""

    name: str
    title: str
    derived: bool
    rows: int = 0
    shared: int = 0
    kept: int = 0
    doubtful: int = 0
    newest: datetime | None = None
    oldest: datetime | None = None
    samples: list[str] = field(default_factory=list)
    ids: list[str] = field(default_factory=list, repr=False)

    def add(self, row: RowMatch) -> None:
        self.rows += 1
        self.doubtful += row.doubtful
        if not row.doubtful:
            self.ids.append(row.row_id)
        self.shared += row.fate == Fate.REDACT
        self.kept += row.fate == Fate.KEEP
        if row.sample and len(self.samples) < SAMPLES:
            self.samples.append(row.sample)
        if row.at is not None:
            self.newest = max(self.newest or row.at, row.at)
            self.oldest = min(self.oldest or row.at, row.at)


@dataclass(frozen=True, slots=True)
class Moment:
    """A line of the timeline; ``ref`` is the id of a case or a hold."""

    at: datetime
    kind: str
    text: str
    ref: str = ""


@dataclass(frozen=True, slots=True)
class SubjectProfile:
    """Everything about one person; ``beside`` are suggested aliases to decide on."""

    subject: Subject
    places: list[Place]
    beside: list[Neighbour]
    liftings: list[Lifting]
    timeline: list[Moment]
    cases: list[Case]
    holds: list[Hold]
    links: int

    @property
    def rows(self) -> int:
        """How many rows there are, without those derived from other rows."""
        return sum(place.rows for place in self.places if not place.derived)


def places(person: Person) -> list[Place]:
    """Return the places that name a person, in the order of the registry."""
    result = []
    for holder in registry.ALL:
        place = Place(holder.name, holder.title, holder.derived)
        for row in holder.find(person):
            place.add(row)
        if place.rows:
            result.append(place)
    return result


def _moments(
    subject: Subject, cases: list[Case], holds: list[Hold], liftings: list[Lifting]
) -> Iterator[tuple[datetime | None, str, str, str]]:
    """Yield date, kind, text and id of what happened; without a date it did not."""
    choice = subject.get_consent_display()
    consent = gettext("Consent: {consent}").format(consent=choice)
    yield subject.created_at, "subject", gettext("Added to the register"), ""
    yield subject.consent_at, "consent", consent, ""
    yield subject.opted_out_at, "opt_out", gettext("Opted out"), ""
    yield subject.restricted_at, "restriction", gettext("Use restricted"), ""
    yield subject.erased_at, "erasure", gettext("Erased"), ""
    for alias in subject.aliases.all():
        text = gettext("{kind} added").format(kind=alias.get_kind_display())
        yield alias.added_at, "alias", text, ""
    for lifting in liftings:
        yield lifting.lifted_at, "restriction", gettext("Restriction lifted"), ""
    for case in cases:
        kind, state = case.get_kind_display(), case.get_state_display()
        text = gettext("{kind} requested").format(kind=kind)
        yield case.opened_at, "case", text, case.pk
        ending = pgettext("case", "{kind} {state}")
        ending = ending.format(kind=kind, state=within_sentence(state))
        yield case.closed_at, "case", ending, case.pk
    for hold in holds:
        yield hold.placed_at, "hold", gettext("Hold placed"), hold.pk
        yield hold.released_at, "hold", gettext("Hold released"), hold.pk


def of(subject_id: str, *, by: Actor) -> SubjectProfile:
    subject = subjects.get(by, subject_id)
    of_subject = {"workspace_id": subject.workspace_id, "subject_id": subject.pk}
    cases = list(Case.objects.filter(**of_subject).order_by("-opened_at"))
    holds = list(Hold.objects.filter(**of_subject))
    liftings = list(Lifting.objects.filter(**of_subject))
    timeline = [
        Moment(at, kind, text, ref)
        for at, kind, text, ref in _moments(subject, cases, holds, liftings)
        if at is not None
    ]
    timeline.sort(key=lambda moment: moment.at, reverse=True)
    person = registry.person(subject)
    where = places(person)
    return SubjectProfile(
        subject=subject,
        places=where,
        beside=suggested_aliases.neighbours_of(
            person, {place.name: place.ids for place in where}
        ),
        liftings=liftings,
        timeline=timeline[:MOMENTS],
        cases=cases,
        holds=holds,
        links=SubjectLink.objects.filter(**of_subject).count(),
    )


def _at(moment: datetime | None) -> str | None:
    return journal.stamp(moment) if moment else None


def summary(subject: Subject) -> dict[str, Any]:
    """Return a subject as JSON, without the rows about it."""
    return {
        "id": subject.pk,
        "display_name": subject.display_name,
        "aliases": [
            {
                "id": alias.pk,
                "kind": alias.kind,
                "value": alias.value,
                "added_at": journal.stamp(alias.added_at),
                "added_by": alias.added_by,
                "searched": alias.swept_at is not None,
                "common": alias.is_common,
            }
            for alias in subject.aliases.all()
        ],
        "consent": subject.consent,
        "consent_note": subject.consent_note,
        "consent_at": _at(subject.consent_at),
        "opted_out_at": _at(subject.opted_out_at),
        "restricted_at": _at(subject.restricted_at),
        "erased_at": _at(subject.erased_at),
        "merged_into": subject.merged_into_id,
        "created_at": journal.stamp(subject.created_at),
        "created_by": subject.created_by,
    }


def _neighbour(neighbour: Neighbour) -> dict[str, Any]:
    return {
        "kind": neighbour.kind,
        "value": neighbour.value,
        "count": neighbour.rows,
        "why": neighbour.why,
        "samples": neighbour.samples,
    }


def _lifting(lifting: Lifting) -> dict[str, Any]:
    return {
        "restricted_at": _at(lifting.restricted_at),
        "lifted_at": _at(lifting.lifted_at),
        "lifted_by": lifting.lifted_by or None,
        "reason": lifting.reason,
    }


def as_json(subject_profile: SubjectProfile) -> dict[str, Any]:
    return {
        **summary(subject_profile.subject),
        "rows": subject_profile.rows,
        "links": subject_profile.links,
        "holders": [
            {
                "name": place.name,
                "title": place.title,
                "derived": place.derived,
                "count": place.rows,
                "shared": place.shared,
                "kept": place.kept,
                "doubtful": place.doubtful,
                "newest": _at(place.newest),
                "oldest": _at(place.oldest),
                "samples": place.samples,
            }
            for place in subject_profile.places
        ],
        "beside": [_neighbour(entry) for entry in subject_profile.beside],
        "restrictions_lifted": [_lifting(entry) for entry in subject_profile.liftings],
        "timeline": [
            {
                "at": journal.stamp(entry.at),
                "kind": entry.kind,
                "text": entry.text,
                "ref": entry.ref or None,
            }
            for entry in subject_profile.timeline
        ],
        "cases": [case.pk for case in subject_profile.cases],
        "holds": [
            hold.pk for hold in subject_profile.holds if hold.released_at is None
        ],
    }
