"""Suggested aliases: addresses near a person's name that are not registered as theirs.

An erasure finds a person by their aliases; an unregistered address would stay. So
addresses that writers give together with a person, or that are near the name in a text,
are suggested, and somebody decides whether they are the person's. Nothing is stored
before the decision, and then only a keyed digest of what is not theirs.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final

from django.db import transaction
from django.utils.translation import gettext

from gdpr import suppression
from gdpr.data_map import registry, row_text
from gdpr.data_map.base import SAMPLE_CHARS, Fate, Person, RowMatch
from gdpr.linking import JOURNAL
from gdpr.matching import patterns, proximity
from gdpr.matching.matcher import Matcher, Sign
from gdpr.matching.proximity import Address, Nearness
from gdpr.models import Alias, AliasKind, Dismissal, Subject
from gdpr.subjects import registry as subjects
from gdpr.subjects.registry import NewAlias
from memory.models import SubjectMention
from memory.rules import errors
from memory.rules.permissions import Actor

# Places with free text; the others are derived from these or hold no sentences.
PLACES: Final = (
    "journal", "archive", "records", "held", "files", "proposals", "recall_checks",
)  # fmt: skip
MAX_NEIGHBOURS: Final = 20
SAMPLES: Final = 3
REPEATED: Final = 2
# Fields of an exported row that hold no free text.
_NON_TEXT_FIELDS: Final = frozenset(
    "place id ts seq entry_type severity priority archived_at updated_at tier"
    " actor_type actor_id crew_id agent_id".split()
)


@dataclass(frozen=True, slots=True)
class Neighbour:
    """A suggested address: in how many rows it is near the person, and why it counts.

    ``key`` is its keyed digest, which a plan stores instead of the address.
    """

    kind: str
    value: str
    key: str
    rows: int
    why: str
    samples: list[str]

    @property
    def label(self) -> str:
        return str(AliasKind(self.kind).label)


@dataclass(slots=True)
class _Sighting:
    """The occurrences of one address."""

    kind: str
    value: str
    mentions: int = 0
    counts: dict[Nearness, int] = field(default_factory=dict)
    samples: list[str] = field(default_factory=list)
    rows: set[tuple[str, str]] = field(default_factory=set)

    def count(self, minimum: Nearness) -> int:
        return sum(
            number for nearness, number in self.counts.items() if nearness >= minimum
        )


class _Sightings:
    """The addresses near one person."""

    def __init__(self, person: Person) -> None:
        self._person = person
        self._matcher = person.matcher.for_redaction()
        self._unregistered: dict[str, bool] = {}
        self._by_mention: dict[str, list[_Sighting]] = {}
        self.sights: dict[tuple[str, str], _Sighting] = {}

    def _is_unregistered(self, value: str) -> bool:
        """Whether an address is no alias of anybody."""
        if value not in self._unregistered:
            own, other_people = self._person.matcher, self._person.others_matcher
            sign = max(own.sign_of_value(value), other_people.sign_of_value(value))
            self._unregistered[value] = sign is Sign.NONE
        return self._unregistered[value]

    def _sight(self, kind: str, value: str) -> _Sighting:
        key = (kind, patterns.folded(kind, value))
        return self.sights.setdefault(key, _Sighting(kind, value))

    def add_mention(self, row_id: str, value: str) -> None:
        """Count a name that a writer gave together with the person's."""
        kind = proximity.kind_of(value) or "name"
        if not self._is_unregistered(value):
            return
        sight = self._sight(kind, value)
        sight.mentions += 1
        sight.rows.add((JOURNAL, row_id))
        self._by_mention.setdefault(row_id, []).append(sight)

    def read(self, place: str, row_id: str, text: str) -> None:
        """Count every address in a row about the person."""
        if place == JOURNAL:
            for sight in self._by_mention.get(row_id, ()):
                if len(sight.samples) < SAMPLES:
                    sight.samples.append(self._masked(text[:SAMPLE_CHARS]))
        addresses = (
            proximity.addresses(text) if proximity.may_hold_address(text) else []
        )
        if not any(self._is_unregistered(address.value) for address in addresses):
            return
        spans = self._matcher.spans(text)
        distances = proximity.nearness(text, spans, addresses, row_text.SEAM)
        best: dict[tuple[str, str], tuple[Nearness, Address]] = {}
        for address, nearness in distances.items():
            key = (address.kind, patterns.folded(address.kind, address.value))
            if (
                self._is_unregistered(address.value)
                and nearness >= best.get(key, (nearness, address))[0]
            ):
                best[key] = (nearness, address)
        for nearness, address in best.values():
            # A file is about many people: far apart means nothing there.
            if nearness > Nearness.FAR or place != "files":
                sight = self._sight(address.kind, address.value)
                sight.counts[nearness] = sight.counts.get(nearness, 0) + 1
                sight.rows.add((place, row_id))
                if len(sight.samples) < SAMPLES:
                    sight.samples.append(self._sample(text, address))

    def _sample(self, text: str, address: Address) -> str:
        margin = max(0, SAMPLE_CHARS - len(address.value)) // 2
        return self._masked(text[max(0, address.start - margin) : address.end + margin])

    def _masked(self, cut_text: str) -> str:
        masked = self._person.others_matcher.mask(
            cut_text.replace(row_text.SEAM, " · "), row_text.OTHERS_MARK
        )
        return " ".join(masked.split())


# ── Reading ──────────────────────────────────────────────────────────────────
def _texts(person: Person, place: str, ids: list[str]) -> Iterator[tuple[str, str]]:
    unmasked = replace(person, others_matcher=Matcher([]))
    rows = [RowMatch(row_id, Fate.KEEP, "") for row_id in ids]
    for row in registry.by_name(place).export(unmasked, rows):
        texts = (row_text.plain(v) for k, v in row.items() if k not in _NON_TEXT_FIELDS)
        yield str(row["id"]), row_text.join_texts(texts)


def _mentions(person: Person, ids: list[str]) -> Iterator[tuple[str, str]]:
    rows = SubjectMention.objects.filter(workspace_id=person.workspace_id)
    for part in row_text.batches(ids):
        mentions = rows.filter(entry_id__in=part).order_by("entry_id", "pk")
        yield from mentions.values_list("entry_id", "alias")


def _reason(sight: _Sighting, *, is_alike: bool) -> str:
    """Return why an address is suggested; empty when it is not."""
    if proximity.is_role(sight.kind, sight.value) and not is_alike:
        return ""
    # Names of two people are often given together.
    if sight.mentions and (is_alike or sight.kind != "name"):
        return gettext("Writers name it together with this person.")
    if sight.kind == "name":
        return ""
    if sight.count(Nearness.TOUCHING):
        return gettext("It is directly beside a name of theirs.")
    if sight.count(Nearness.CLOSE) >= REPEATED:
        return gettext("It is near a name of theirs repeatedly.")
    if is_alike:
        return gettext("It looks like their name, in rows about them.")
    return ""


def neighbours_of(person: Person, rows: Mapping[str, Iterable[str]]) -> list[Neighbour]:
    """Return the addresses near a person that nobody decided on, the likeliest first.

    ``rows`` is place → ids of rows about the person.
    """
    sightings = _Sightings(person)
    for place in PLACES:
        ids = list(rows.get(place, ()))
        if place == JOURNAL:
            for row_id, alias in _mentions(person, ids):
                sightings.add_mention(row_id, alias)
        for row_id, text in _texts(person, place, ids) if ids else ():
            sightings.read(place, row_id, text)
    own = proximity.own_words(person.matcher.names_known)
    dismissed = _dismissed(person.workspace_id, person.subject_id)
    ranked: list[tuple[tuple[Any, ...], Neighbour]] = []
    for sight in sightings.sights.values():
        is_alike = proximity.is_alike(sight.kind, sight.value, own)
        reason = _reason(sight, is_alike=is_alike)
        key = suppression.dismissal_digest(person.workspace_id, sight.kind, sight.value)
        if reason and key not in dismissed:
            rank = (not is_alike, -len(sight.rows), sight.kind, sight.value)
            count, samples = len(sight.rows), sight.samples
            neighbour = Neighbour(sight.kind, sight.value, key, count, reason, samples)
            ranked.append((rank, neighbour))
    return [neighbour for _, neighbour in sorted(ranked, key=lambda pair: pair[0])][
        :MAX_NEIGHBOURS
    ]


# ── Deciding ─────────────────────────────────────────────────────────────────
def _dismissed(workspace_id: str, subject_id: str) -> frozenset[str]:
    rows = Dismissal.objects.filter(workspace_id=workspace_id, subject_id=subject_id)
    return frozenset(rows.values_list("digest", flat=True))


def dismiss(subject_id: str, alias: NewAlias, *, by: Actor) -> Dismissal:
    """Record that an address is not this person's; safe to repeat."""
    by.require("gdpr.manage")
    with transaction.atomic():
        subject = subjects.locked_subject(by.workspace_id, subject_id)
        value = subjects.clean_text(alias.value, subjects.VALUE_CHARS, "value")
        folded = patterns.folded(alias.kind, value)
        if not folded:
            raise subjects.field_error(
                gettext("This is no address."), "bad_alias", "value"
            )
        if subject.aliases.filter(kind=alias.kind, folded=folded).exists():
            detail = gettext("It is an alias of theirs; remove it there.")
            raise errors.Conflict(detail, code="alias_known")
        dismissal, new = Dismissal.objects.get_or_create(
            workspace_id=by.workspace_id,
            subject=subject,
            digest=suppression.dismissal_digest(by.workspace_id, alias.kind, value),
            defaults={"decided_by": by.label},
        )
        if new:
            subjects.record("beside_dismissed", subject, by, kind=alias.kind)
    return dismissal


# ── In a plan ────────────────────────────────────────────────────────────────
def count_undecided(subject: Subject | None, plan: Mapping[str, Any]) -> int:
    """Return how many of a plan's addresses are not decided on."""
    keys = {str(entry.get("key")) for entry in plan.get("beside", ())}
    if subject is None or not keys:
        return 0
    workspace_id = subject.workspace_id
    names = Alias.names(workspace_id, subject_id=subject.pk)
    alias_digests = {
        suppression.dismissal_digest(workspace_id, name.kind, name.value)
        for name in names
    }
    return len(keys - alias_digests - _dismissed(workspace_id, subject.pk))
