"""Who is named in what is written: the port of ``memory.ports.subject_linker``, filled.

Each process keeps the names of a workspace ready to be looked for and asks one small
row, per write, whether they are still the same. A workspace without people has no such
row and costs that one look.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Final

from gdpr import cache_version, suppression
from gdpr.matching import name_fields, patterns
from gdpr.matching.matcher import Matcher, Name
from gdpr.models import Alias, Subject, SubjectLink, UnknownName, Via
from memory.journal import visibility
from memory.ports import subject_linker
from memory.ports.subject_linker import Gate, Written

JOURNAL: Final = "journal"
_WORKSPACES: Final = 64
_KINDS: Final = ("user_id", "email", "phone", "handle", "name")


@dataclass(frozen=True, slots=True)
class PeopleIndex:
    """The people of a workspace, as of a stamp."""

    stamp: str
    matcher: Matcher
    restricted: Matcher
    restricted_ids: frozenset[str]
    by_alias: dict[tuple[str, str], frozenset[str]]
    suppressed: tuple[suppression.Digest, ...]

    def subject_ids(self, subject: str) -> frozenset[str]:
        """Return the subjects whom a writer's name for a person means."""
        keys = [(kind, patterns.folded(kind, subject)) for kind in _KINDS]
        id_sets = [self.by_alias.get(key, frozenset()) for key in keys]
        return frozenset().union(*id_sets)


_cache: OrderedDict[str, PeopleIndex] = OrderedDict()
_lock = threading.Lock()


def forget() -> int:
    """Drop the names that this process holds; return of how many workspaces."""
    with _lock:
        count = len(_cache)
        _cache.clear()
    return count


def _read(workspace_id: str, stamp: str) -> PeopleIndex:
    rows = Alias.objects.filter(workspace_id=workspace_id).order_by("pk")
    names = [Name(*row) for row in rows.values_list("subject_id", "kind", "value")]
    limited = Subject.objects.filter(workspace_id=workspace_id, merged_into=None)
    limited = limited.exclude(restricted_at=None)
    restricted_ids = frozenset(limited.values_list("pk", flat=True))
    by_alias: dict[tuple[str, str], set[str]] = {}
    for name in names:
        key = (name.kind, patterns.folded(name.kind, name.value))
        by_alias.setdefault(key, set()).add(name.subject_id)
    return PeopleIndex(
        stamp=stamp,
        matcher=Matcher(names),
        restricted=Matcher(
            [name for name in names if name.subject_id in restricted_ids]
        ),
        restricted_ids=restricted_ids,
        by_alias={key: frozenset(ids) for key, ids in by_alias.items()},
        suppressed=tuple(suppression.active(workspace_id)),
    )


def known(workspace_id: str) -> PeopleIndex | None:
    """Return the people of a workspace; None when there never were any."""
    stamp = cache_version.current(workspace_id)
    if stamp is None:
        return None
    with _lock:
        people = _cache.get(workspace_id)
        if people is not None and people.stamp == stamp:
            _cache.move_to_end(workspace_id)
            return people
    people = _read(workspace_id, stamp)
    with _lock:
        _cache[workspace_id] = people
        _cache.move_to_end(workspace_id)
        while len(_cache) > _WORKSPACES:
            _cache.popitem(last=False)
    return people


class Linker:
    """The port of the ground floor, filled."""

    def gate(self, workspace_id: str) -> Gate | None:
        """Refuse texts about people who must not come back, if there are any."""
        people = known(workspace_id)
        if people is None or not people.suppressed:
            return None
        return partial(suppression.refuse, workspace_id, people.suppressed)

    def note(self, workspace_id: str, place: str, rows: Sequence[Written]) -> None:
        """Link rows to the people they name; what is about a restricted one rests."""
        people = known(workspace_id)
        if people is None and not any(row.subjects for row in rows):
            return
        links: list[SubjectLink] = []
        strangers: list[UnknownName] = []
        for row in rows:
            via_by_subject, unknown = _mentions_of(people, row)
            links += [
                SubjectLink(
                    workspace_id=workspace_id,
                    subject_id=subject_id,
                    place=place,
                    row_id=row.row_id,
                    via=via,
                )
                for subject_id, via in sorted(via_by_subject.items())
            ]
            strangers += _strangers(workspace_id, place, row, unknown)
        SubjectLink.objects.bulk_create(links, ignore_conflicts=True)
        UnknownName.objects.bulk_create(strangers, ignore_conflicts=True)
        if people is not None and place == JOURNAL:
            withhold(workspace_id, people, links)

    def mask(self, workspace_id: str, text: str) -> str:
        """Return a text without restricted people."""
        people = known(workspace_id)
        if people is None or not people.restricted_ids:
            return text
        return people.restricted.mask(text, subject_linker.RESTRICTED)


def _mentions_of(
    people: PeopleIndex | None, row: Written
) -> tuple[dict[str, Via], tuple[str, ...]]:
    """Return whom a row names and how, and the names that are nobody's yet."""
    if people is None:
        return {}, row.subjects
    via_by_subject: dict[str, Via] = {}
    unknown: list[str] = []
    for text in filter(people.matcher.may, row.texts):
        readable = name_fields.spoken(text)
        # A doubtful word makes no link: a plan finds it, and a person decides.
        via_by_subject |= dict.fromkeys(people.matcher.sure(readable), Via.MATCHED)
    for subject in row.subjects:
        subject_ids = people.subject_ids(subject)
        via_by_subject |= dict.fromkeys(subject_ids, Via.NAMED)
        if not subject_ids:
            unknown.append(subject)
    return via_by_subject, tuple(unknown)


def _strangers(
    workspace_id: str, place: str, row: Written, unknown: Iterable[str]
) -> list[UnknownName]:
    """Return what is kept of names that are nobody's yet.

    The journal keeps them beside the entry anyway, as its writer gave them.
    """
    if place == JOURNAL:
        return []
    return [
        UnknownName(
            workspace_id=workspace_id, digest=digest, place=place, row_id=row.row_id
        )
        for digest in {suppression.unknown(workspace_id, name) for name in unknown}
    ]


def withhold(
    workspace_id: str, people: PeopleIndex, links: Iterable[SubjectLink]
) -> None:
    """Keep entries about restricted people out of use."""
    ids = {link.row_id for link in links if link.subject_id in people.restricted_ids}
    if ids:
        visibility.restrict(workspace_id, sorted(ids))
