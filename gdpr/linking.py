"""Links writes to the people they name: the port ``memory.ports.subject_linker``.

Each process caches an index of a workspace's names. Every write reads one small row,
the stamp, to see whether the index is still valid. A workspace without people has no
stamp.
"""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Final

from gdpr import cache_version, suppression
from gdpr.matching import name_fields, patterns
from gdpr.matching.matcher import Matcher
from gdpr.models import Alias, Subject, SubjectLink, UnknownName, Via
from memory.journal import visibility
from memory.ports import subject_linker
from memory.ports.subject_linker import Gate, Names, TextRow

JOURNAL: Final = "journal"
# An append checks its texts before it waits for the journal. So long after the list of
# suppressed names changed, texts are checked again inside the transaction.
RECHECK_SECONDS: Final = 60.0
_WORKSPACES: Final = 64
_KINDS: Final = ("user_id", "email", "phone", "handle", "name")
# A link to store: subject id, place, row id, and how it was made (``Via``).
Link = tuple[str, str, str, str]


@dataclass(frozen=True, slots=True)
class PeopleIndex:
    """The people of a workspace and their names, as of a stamp."""

    stamp: str
    matcher: Matcher
    restricted: Matcher
    restricted_ids: frozenset[str]
    by_alias: dict[tuple[str, str], frozenset[str]]
    suppressed: tuple[suppression.Digest, ...]
    # When this process first read this list of suppressed names, by its own clock.
    suppressed_read_at: float = 0.0

    @property
    def was_just_suppressed(self) -> bool:
        """Whether an append that is under way may have seen an older list."""
        age = time.monotonic() - self.suppressed_read_at
        return bool(self.suppressed) and age < RECHECK_SECONDS

    def subject_ids(self, subject: str) -> frozenset[str]:
        """Return the ids of those who have a writer's name for a person as an alias."""
        keys = [(kind, patterns.folded(kind, subject)) for kind in _KINDS]
        id_sets = [self.by_alias.get(key, frozenset()) for key in keys]
        return frozenset().union(*id_sets)


_cache: OrderedDict[str, PeopleIndex] = OrderedDict()
_lock = threading.Lock()


def clear_cache() -> int:
    """Drop this process's indexes; return how many workspaces they were for."""
    with _lock:
        count = len(_cache)
        _cache.clear()
    return count


def _read(workspace_id: str, stamp: str) -> PeopleIndex:
    names = Alias.names(workspace_id)
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


def people_index(workspace_id: str) -> PeopleIndex | None:
    """Return the index of a workspace; None when nobody was ever registered."""
    stamp = cache_version.current(workspace_id)
    if stamp is None:
        return None
    with _lock:
        people = _cache.get(workspace_id)
        if people is not None and people.stamp == stamp:
            _cache.move_to_end(workspace_id)
            return people
    previous, people = people, _read(workspace_id, stamp)
    is_same = previous is not None and previous.suppressed == people.suppressed
    read_at = previous.suppressed_read_at if previous and is_same else time.monotonic()
    people = replace(people, suppressed_read_at=read_at)
    with _lock:
        _cache[workspace_id] = people
        _cache.move_to_end(workspace_id)
        while len(_cache) > _WORKSPACES:
            _cache.popitem(last=False)
    return people


def link(workspace_id: str, links: Iterable[Link]) -> None:
    """Store links between rows and people; existing ones stay."""
    SubjectLink.objects.bulk_create(
        [
            SubjectLink(
                workspace_id=workspace_id,
                subject_id=subject_id,
                place=place,
                row_id=row_id,
                via=via,
            )
            for subject_id, place, row_id, via in links
        ],
        ignore_conflicts=True,
        batch_size=500,
    )


class Linker:
    """Implements the port."""

    def gate(self, workspace_id: str) -> Gate | None:
        """Return a check that refuses texts about suppressed people; None for none."""
        people = people_index(workspace_id)
        if people is None or not people.suppressed:
            return None
        return partial(suppression.refuse, workspace_id, people.suppressed)

    def note(self, workspace_id: str, place: str, rows: Sequence[TextRow]) -> None:
        """Link rows to the people they name; restrict entries of restricted people.

        An entry that names somebody suppressed since it was checked is refused.
        """
        people = people_index(workspace_id)
        if people is None and not any(row.subjects for row in rows):
            return
        if people is not None and place == JOURNAL and people.was_just_suppressed:
            for row in rows:
                suppression.refuse(
                    workspace_id, people.suppressed, row.texts, row.subjects
                )
        links: list[Link] = []
        unknown_names: list[UnknownName] = []
        for row in rows:
            via_by_subject, unknown = _mentions_of(people, row)
            links += [
                (subject_id, place, row.row_id, via)
                for subject_id, via in sorted(via_by_subject.items())
            ]
            unknown_names += _unknown_names(workspace_id, place, row, unknown)
        link(workspace_id, links)
        UnknownName.objects.bulk_create(unknown_names, ignore_conflicts=True)
        if people is not None and place == JOURNAL:
            restricted = {row[2] for row in links if row[0] in people.restricted_ids}
            if restricted:
                visibility.restrict(workspace_id, sorted(restricted))

    def mask(self, workspace_id: str, text: str) -> str:
        """Return a text with the names of restricted people masked."""
        people = people_index(workspace_id)
        if people is None or not people.restricted_ids:
            return text
        return people.restricted.mask(text, subject_linker.RESTRICTED)

    def restricted(self, workspace_id: str) -> Names | None:
        """Return what says whether a text names a restricted person; None for none."""
        people = people_index(workspace_id)
        if people is None or not people.restricted_ids:
            return None
        matcher = people.restricted
        return lambda text: bool(matcher.names(text))


def _mentions_of(
    people: PeopleIndex | None, row: TextRow
) -> tuple[dict[str, Via], tuple[str, ...]]:
    """Return subject id → how a row names them, and the names that are unknown."""
    if people is None:
        return {}, row.subjects
    via_by_subject: dict[str, Via] = {}
    unknown: list[str] = []
    for text in filter(people.matcher.may, row.texts):
        readable = name_fields.json_as_text(text)
        # An unsure match makes no link: a plan lists it, and a person decides.
        via_by_subject |= dict.fromkeys(people.matcher.sure(readable), Via.MATCHED)
    for subject in row.subjects:
        subject_ids = people.subject_ids(subject)
        via_by_subject |= dict.fromkeys(subject_ids, Via.NAMED)
        if not subject_ids:
            unknown.append(subject)
    return via_by_subject, tuple(unknown)


def _unknown_names(
    workspace_id: str, place: str, row: TextRow, unknown: Iterable[str]
) -> list[UnknownName]:
    """Return a row with a keyed digest for each unknown name.

    None for the journal, which stores the names with the entry as its writer gave them.
    """
    if place == JOURNAL:
        return []
    return [
        UnknownName(
            workspace_id=workspace_id, digest=digest, place=place, row_id=row.row_id
        )
        for digest in {
            suppression.unknown_name_digest(workspace_id, name) for name in unknown
        }
    ]
