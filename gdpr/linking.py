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
class Known:
    """The people of a workspace, as of a stamp."""

    stamp: str
    everybody: Matcher
    restricted: Matcher
    barred: frozenset[str]
    by_alias: dict[tuple[str, str], frozenset[str]]
    suppressed: tuple[suppression.Digest, ...]

    def named(self, subject: str) -> frozenset[str]:
        """Return the subjects whom a writer's name for a person means."""
        keys = [(kind, patterns.folded(kind, subject)) for kind in _KINDS]
        found = [self.by_alias.get(key, frozenset()) for key in keys]
        return frozenset().union(*found)


_cache: OrderedDict[str, Known] = OrderedDict()
_lock = threading.Lock()


def forget() -> int:
    """Drop the names that this process holds; return of how many workspaces."""
    with _lock:
        held = len(_cache)
        _cache.clear()
    return held


def _read(workspace_id: str, stamp: str) -> Known:
    rows = Alias.objects.filter(workspace_id=workspace_id).order_by("pk")
    names = [Name(*row) for row in rows.values_list("subject_id", "kind", "value")]
    limited = Subject.objects.filter(workspace_id=workspace_id, merged_into=None)
    limited = limited.exclude(restricted_at=None)
    barred = frozenset(limited.values_list("pk", flat=True))
    by_alias: dict[tuple[str, str], set[str]] = {}
    for name in names:
        key = (name.kind, patterns.folded(name.kind, name.value))
        by_alias.setdefault(key, set()).add(name.subject_id)
    return Known(
        stamp=stamp,
        everybody=Matcher(names),
        restricted=Matcher([name for name in names if name.subject_id in barred]),
        barred=barred,
        by_alias={key: frozenset(ids) for key, ids in by_alias.items()},
        suppressed=tuple(suppression.active(workspace_id)),
    )


def known(workspace_id: str) -> Known | None:
    """Return the people of a workspace; None when there never were any."""
    stamp = cache_version.current(workspace_id)
    if stamp is None:
        return None
    with _lock:
        found = _cache.get(workspace_id)
        if found is not None and found.stamp == stamp:
            _cache.move_to_end(workspace_id)
            return found
    found = _read(workspace_id, stamp)
    with _lock:
        _cache[workspace_id] = found
        _cache.move_to_end(workspace_id)
        while len(_cache) > _WORKSPACES:
            _cache.popitem(last=False)
    return found


class Linker:
    """The port of the ground floor, filled."""

    def gate(self, workspace_id: str) -> Gate | None:
        """Refuse texts about people who must not come back, if there are any."""
        everybody = known(workspace_id)
        if everybody is None or not everybody.suppressed:
            return None
        return partial(suppression.refuse, workspace_id, everybody.suppressed)

    def note(self, workspace_id: str, place: str, rows: Sequence[Written]) -> None:
        """Link rows to the people they name; what is about a restricted one rests."""
        everybody = known(workspace_id)
        if everybody is None and not any(row.subjects for row in rows):
            return
        links: list[SubjectLink] = []
        strangers: list[UnknownName] = []
        for row in rows:
            about, unknown = _about(everybody, row)
            links += [
                SubjectLink(
                    workspace_id=workspace_id,
                    subject_id=subject_id,
                    place=place,
                    row_id=row.row_id,
                    via=via,
                )
                for subject_id, via in sorted(about.items())
            ]
            strangers += _strangers(workspace_id, place, row, unknown)
        SubjectLink.objects.bulk_create(links, ignore_conflicts=True)
        UnknownName.objects.bulk_create(strangers, ignore_conflicts=True)
        if everybody is not None and place == JOURNAL:
            withhold(workspace_id, everybody, links)

    def mask(self, workspace_id: str, text: str) -> str:
        """Return a text without restricted people."""
        everybody = known(workspace_id)
        if everybody is None or not everybody.barred:
            return text
        return everybody.restricted.mask(text, subject_linker.RESTRICTED)


def _about(
    everybody: Known | None, row: Written
) -> tuple[dict[str, Via], tuple[str, ...]]:
    """Return whom a row names and how, and the names that are nobody's yet."""
    if everybody is None:
        return {}, row.subjects
    found: dict[str, Via] = {}
    unknown: list[str] = []
    for text in filter(everybody.everybody.may, row.texts):
        spoken = name_fields.spoken(text)
        # A doubtful word makes no link: a plan finds it, and a person decides.
        found |= dict.fromkeys(everybody.everybody.sure(spoken), Via.MATCHED)
    for subject in row.subjects:
        named = everybody.named(subject)
        found |= dict.fromkeys(named, Via.NAMED)
        if not named:
            unknown.append(subject)
    return found, tuple(unknown)


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
        for digest in {suppression.unknown(workspace_id, one) for one in unknown}
    ]


def withhold(workspace_id: str, everybody: Known, links: Iterable[SubjectLink]) -> None:
    """Keep entries about restricted people out of use."""
    ids = {link.row_id for link in links if link.subject_id in everybody.barred}
    if ids:
        visibility.restrict(workspace_id, sorted(ids))
