"""Addresses that stand beside a person and are not registered as theirs.

An erasure finds a person by their names; an address that nobody registered stays. So
what writers name together with a person, or set beside their name, is put before
people: theirs, or not. Nothing is kept of it until somebody decides, and then only a
keyed digest of what is not theirs.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final

from django.db import transaction

from gdpr import suppression
from gdpr.data_map import registry, row_text
from gdpr.data_map.base import SAMPLE_CHARS, Fate, Found, Person
from gdpr.linking import JOURNAL
from gdpr.matching import patterns, proximity
from gdpr.matching.matcher import Matcher, Name, Sign
from gdpr.matching.proximity import Address, Nearness
from gdpr.models import Alias, AliasKind, Dismissal, Subject
from gdpr.subjects import registry as subjects
from gdpr.subjects.registry import NewAlias
from memory.models import SubjectMention
from memory.rules import errors
from memory.rules.permissions import Actor

# Where people write; the other places follow these, or hold no sentence.
PLACES: Final = (
    "journal", "archive", "records", "held", "files", "proposals", "recall_checks",
)  # fmt: skip
MOST: Final = 20
SAMPLES: Final = 3
REPEATED: Final = 2
# Of a row as a holder exports it: what is no text of anybody's.
_FACTS: Final = frozenset(
    "place id ts seq entry_type severity priority archived_at updated_at tier"
    " actor_type actor_id crew_id agent_id".split()
)


@dataclass(frozen=True, slots=True)
class Neighbour:
    """One address: in how many rows it stands beside the person, and why it counts.

    ``key`` is its keyed digest, by which a plan knows it without its words.
    """

    kind: str
    value: str
    key: str
    rows: int
    why: str
    samples: list[str]

    @property
    def label(self) -> str:
        """The kind in words."""
        return str(AliasKind(self.kind).label)


@dataclass(slots=True)
class _Sight:
    """What was seen of one address."""

    kind: str
    value: str
    named: int = 0
    near: dict[Nearness, int] = field(default_factory=dict)
    samples: list[str] = field(default_factory=list)
    rows: set[tuple[str, str]] = field(default_factory=set)

    def count(self, least: Nearness) -> int:
        return sum(number for near, number in self.near.items() if near >= least)


class _Seen:
    """Everything that was seen beside one person."""

    def __init__(self, person: Person) -> None:
        self._person = person
        self._closer = person.matcher.for_redaction()
        self._nobody: dict[str, bool] = {}
        self._together: dict[str, list[_Sight]] = {}
        self.sights: dict[tuple[str, str], _Sight] = {}

    def _is_free(self, value: str) -> bool:
        """Whether an address is nobody's yet, as far as anybody told us."""
        if value not in self._nobody:
            mine, others = self._person.matcher, self._person.others
            known = max(mine.who(value), others.who(value))
            self._nobody[value] = known is Sign.NONE
        return self._nobody[value]

    def _sight(self, kind: str, value: str) -> _Sight:
        key = (kind, patterns.folded(kind, value))
        return self.sights.setdefault(key, _Sight(kind, value))

    def named(self, row_id: str, value: str) -> None:
        """Note a name that a writer gave together with the person's."""
        kind = proximity.kind_of(value) or "name"
        if not self._is_free(value):
            return
        sight = self._sight(kind, value)
        sight.named += 1
        sight.rows.add((JOURNAL, row_id))
        self._together.setdefault(row_id, []).append(sight)

    def read(self, place: str, row_id: str, text: str) -> None:
        """Note every address in a row about the person."""
        if place == JOURNAL:
            self._told(row_id, text)
        found = proximity.addresses(text) if proximity.may(text) else []
        if not any(self._is_free(one.value) for one in found):
            return
        spans = self._closer.spans(text)
        near = proximity.nearness(text, spans, found, row_text.SEAM)
        best: dict[tuple[str, str], tuple[Nearness, Address]] = {}
        for one, how in near.items():
            key = (one.kind, patterns.folded(one.kind, one.value))
            if self._is_free(one.value) and how >= best.get(key, (how, one))[0]:
                best[key] = (how, one)
        for how, one in best.values():
            # In a file whole lives stand side by side.
            if how > Nearness.FAR or place != "files":
                sight = self._sight(one.kind, one.value)
                sight.near[how] = sight.near.get(how, 0) + 1
                sight.rows.add((place, row_id))
                if len(sight.samples) < SAMPLES:
                    sight.samples.append(self._sample(text, one))

    def _told(self, row_id: str, text: str) -> None:
        """Keep what an entry says whose writer named somebody beside the person."""
        for sight in self._together.get(row_id, ()):
            if len(sight.samples) < SAMPLES:
                sight.samples.append(self._shown(text[:SAMPLE_CHARS]))

    def _sample(self, text: str, one: Address) -> str:
        room = max(0, SAMPLE_CHARS - len(one.value)) // 2
        return self._shown(text[max(0, one.start - room) : one.end + room])

    def _shown(self, cut: str) -> str:
        shown = self._person.others.mask(
            cut.replace(row_text.SEAM, " · "), row_text.OTHERS
        )
        return " ".join(shown.split())


# ── Reading ──────────────────────────────────────────────────────────────────
def _texts(person: Person, place: str, ids: list[str]) -> Iterator[tuple[str, str]]:
    alone = replace(person, others=Matcher([]))
    found = [Found(row_id, Fate.KEEP, "") for row_id in ids]
    for told in registry.named(place).export(alone, found):
        texts = (row_text.plain(v) for k, v in told.items() if k not in _FACTS)
        yield str(told["id"]), row_text.joined(texts)


def _mentions(person: Person, ids: list[str]) -> Iterator[tuple[str, str]]:
    rows = SubjectMention.objects.filter(workspace_id=person.workspace_id)
    for part in row_text.batches(ids):
        some = rows.filter(entry_id__in=part).order_by("entry_id", "pk")
        yield from some.values_list("entry_id", "alias")


def _why(sight: _Sight, *, alike: bool) -> str:
    """Return why an address is worth a question; empty when it is not."""
    if proximity.is_role(sight.kind, sight.value) and not alike:
        return ""
    # Two names of two people stand together all the time.
    if sight.named and (alike or sight.kind != "name"):
        return "Writers name it together with this person."
    if sight.kind == "name":
        return ""
    if sight.count(Nearness.TOUCHING):
        return "It stands right beside a name of theirs."
    if sight.count(Nearness.CLOSE) >= REPEATED:
        return "It stands near a name of theirs, again and again."
    return "It looks like their name, in rows about them." if alike else ""


def found(person: Person, rows: Mapping[str, Iterable[str]]) -> list[Neighbour]:
    """Return what stands beside a person in some rows and waits for a decision.

    ``rows`` is place → ids of rows about the person. The likeliest come first.
    """
    seen = _Seen(person)
    for place in PLACES:
        ids = list(rows.get(place, ()))
        if place == JOURNAL:
            for row_id, alias in _mentions(person, ids):
                seen.named(row_id, alias)
        for row_id, text in _texts(person, place, ids) if ids else ():
            seen.read(place, row_id, text)
    own = proximity.own_words(person.matcher.names_known)
    aside = _dismissed(person.workspace_id, person.subject_id)
    kept: list[tuple[tuple[Any, ...], Neighbour]] = []
    for sight in seen.sights.values():
        alike = proximity.is_alike(sight.kind, sight.value, own)
        why = _why(sight, alike=alike)
        key = digest(person.workspace_id, sight.kind, sight.value)
        if why and key not in aside:
            rank = (not alike, -len(sight.rows), sight.kind, sight.value)
            count, samples = len(sight.rows), sight.samples
            one = Neighbour(sight.kind, sight.value, key, count, why, samples)
            kept.append((rank, one))
    return [one for _, one in sorted(kept, key=lambda pair: pair[0])][:MOST]


# ── Deciding ─────────────────────────────────────────────────────────────────
def digest(workspace_id: str, kind: str, value: str) -> str:
    """Return the keyed digest by which an address is known without its words."""
    return suppression.aside(workspace_id, kind, value)


def _dismissed(workspace_id: str, subject_id: str) -> frozenset[str]:
    rows = Dismissal.objects.filter(workspace_id=workspace_id, subject_id=subject_id)
    return frozenset(rows.values_list("digest", flat=True))


def dismiss(subject_id: str, what: NewAlias, *, by: Actor) -> Dismissal:
    """Write down that an address is not this person's; safe to repeat."""
    by.require("gdpr.manage")
    with transaction.atomic():
        subject = subjects.alive(by.workspace_id, subject_id)
        value = subjects.text_of(what.value, subjects.VALUE_CHARS, "value")
        folded = patterns.folded(what.kind, value)
        if not folded:
            raise subjects.fault("This is no address.", "bad_alias", "value")
        if subject.aliases.filter(kind=what.kind, folded=folded).exists():
            detail = "It is an alias of theirs; remove it there."
            raise errors.Conflict(detail, code="alias_known")
        made, new = Dismissal.objects.get_or_create(
            workspace_id=by.workspace_id,
            subject=subject,
            digest=digest(by.workspace_id, what.kind, value),
            defaults={"decided_by": by.label},
        )
        if new:
            subjects.record("beside_dismissed", subject, by, kind=what.kind)
    return made


# ── In a plan ────────────────────────────────────────────────────────────────
def told(neighbours: Iterable[Neighbour]) -> list[dict[str, Any]]:
    """Return what a plan keeps: digests and numbers, no word."""
    return [{"kind": n.kind, "key": n.key, "rows": n.rows} for n in neighbours]


def undecided(subject: Subject | None, plan: Mapping[str, Any]) -> int:
    """Return how many of a plan's addresses nobody has decided on yet."""
    keys = {str(one.get("key")) for one in plan.get("beside", ())}
    if subject is None or not keys:
        return 0
    home = subject.workspace_id
    mine = Alias.objects.filter(workspace_id=home, subject_id=subject.pk)
    names = [Name(subject.pk, one.kind, one.value) for one in mine]
    theirs = {digest(home, one.kind, one.value) for one in names}
    return len(keys - theirs - _dismissed(home, subject.pk))
