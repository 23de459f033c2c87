"""The journal: entries, and the subjects that their writers mentioned.

An erased entry keeps its place in the chain without its text. Entries that record a
priority are never emptied, only masked: the chain verifies priorities against them.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Final

from django.db import connection, transaction
from django.db.models import QuerySet
from django.utils.translation import gettext_noop

from gdpr import cache_version
from gdpr.data_map import entry_text, row_text
from gdpr.data_map.base import Fate, Holder, Person, RowMatch, Trace
from gdpr.matching.matcher import Sign
from memory.journal import append as journal
from memory.journal import erasure
from memory.journal.erasure import Remains
from memory.models import JournalEntry, SubjectMention
from memory.rules import hashing

PLACE: Final = "journal"
# Types that are masked, not emptied: the chain's verification reads their text.
MASKED_TYPES: Final = ("memory.priority_changed",)
_ID_COLUMNS: Final = ("mission_id", "trace_id", "span_id")
ACTOR: Final = "actor"
WHO_ACTED: Final = gettext_noop(
    "The audit trail says who acted; it is kept to account for access."
)
# A plan shows a few samples; locating each name in a text is slow.
SAMPLES: Final = 20
MAX_READINGS: Final = 4


def mentions(person: Person) -> tuple[frozenset[str], frozenset[str]]:
    """Return ids of entries that mention the person, and of those with others too.

    Each distinct alias is matched once.
    """
    rows = SubjectMention.objects.filter(workspace_id=person.workspace_id)
    aliases = rows.order_by().values_list("alias", flat=True).distinct()
    classify = person.matcher.sign_of_value
    own_aliases = [
        alias for alias in aliases.iterator() if classify(alias) is Sign.SURE
    ]
    entry_ids: set[str] = set()
    for part in row_text.batches(own_aliases):
        entry_ids |= set(rows.filter(alias__in=part).values_list("entry_id", flat=True))
    shared_ids: set[str] = set()
    own = set(own_aliases)
    for part in row_text.batches(sorted(entry_ids)):
        pairs = rows.filter(entry_id__in=part).values_list("entry_id", "alias")
        shared_ids |= {entry_id for entry_id, alias in pairs if alias not in own}
    return frozenset(entry_ids), frozenset(shared_ids)


# ── Cached readings ──────────────────────────────────────────────────────────
@dataclass(slots=True)
class _Reading:
    """How far this process read a journal for a person, and the matching ids."""

    upto: int = 0
    last: str = ""
    ids: set[str] = field(default_factory=set)

    def holds(self, workspace_id: str) -> bool:
        """Whether it is still the journal that was read: not restored or truncated."""
        return bool(self.last) and _id_of(workspace_id, self.upto) == self.last


def _id_of(workspace_id: str, seq: int) -> str:
    rows = JournalEntry.objects.filter(workspace_id=workspace_id, seq=seq)
    return rows.values_list("pk", flat=True).first() or ""


_readings: OrderedDict[str, _Reading] = OrderedDict()
_lock = threading.Lock()


def _cache_key(person: Person, stamp: str | None) -> str:
    """Return a digest of everything that an earlier reading depends on."""
    names = [(name.kind, name.value) for name in person.matcher.names_known]
    scope = (connection.settings_dict["NAME"], person.workspace_id, person.subject_id)
    return hashing.keyed_digest(journal.key(), repr((scope, stamp, names)))


def keep_reading(person: Person, before: str | None, after: str | None) -> None:
    """Keep a reading valid under a new cache stamp: its names did not change."""
    with _lock:
        reading = _readings.pop(_cache_key(person, before), None) if before else None
        if reading is not None:
            _readings[_cache_key(person, after)] = reading


def candidates(person: Person) -> list[str]:
    """Return the ids of entries whose text named the person when they were read.

    The text of an entry never grows, so only entries appended since the last reading
    are read; the caller checks the present text.
    """
    key = _cache_key(person, cache_version.current(person.workspace_id))
    with _lock:
        before = _readings.pop(key, None)
    reading = _Reading()
    if before is not None and before.holds(person.workspace_id):
        reading = _Reading(before.upto, before.last, set(before.ids))
    for upto, rows in entry_text.naming(person, reading.upto):
        reading.ids.update(row.id for row in rows)
        reading.upto = upto
    reading.last = _id_of(person.workspace_id, reading.upto)
    with _lock:
        _readings[key] = reading
        while len(_readings) > MAX_READINGS:
            _readings.popitem(last=False)
    return sorted(reading.ids)


def acting_ids(person: Person, entries: QuerySet[Any]) -> Iterator[str]:
    """Yield the person's user ids under which some entries were written."""
    own_entries = entries.filter(workspace_id=person.workspace_id)
    for name in person.matcher.names_known:
        if name.kind == "user_id" and own_entries.filter(actor_id=name.value).exists():
            yield name.value


class Journal(Holder):
    """Journal entries with their mentions."""

    name, title = PLACE, gettext_noop("Journal entries")
    tables = ("memory.JournalEntry", "memory.SubjectMention")

    # ── Finding ──────────────────────────────────────────────────────────────
    def find(self, person: Person) -> Iterator[RowMatch]:
        """Yield every entry that is linked, mentions the person or names them."""
        mentioned_ids, shared_ids = mentions(person)
        ids = person.linked(PLACE).union(mentioned_ids, person.once_matched(PLACE))
        ids = ids.union(candidates(person))
        found_ids: set[str] = set()
        follow: set[str] = set()
        for part in row_text.batches(sorted(ids)):
            times = _times(person.workspace_id, part)
            for row in entry_text.of(person.workspace_id, part):
                text = row.text
                if row.id in mentioned_ids:
                    sign = person.matcher.judge(text, linked=True)
                else:
                    sign = person.sign(PLACE, row.id, text)
                if sign is Sign.NONE:
                    continue
                found_ids.add(row.id)
                is_doubtful = sign is not Sign.SURE
                if person.is_about(PLACE, row.id, doubtful=is_doubtful):
                    follow.add(row.id)
                fate, reason = self._fate(
                    person, row, text, is_shared=row.id in shared_ids
                )
                with_sample = is_doubtful or len(found_ids) <= SAMPLES
                yield RowMatch(
                    row.id, fate, reason,
                    sample=row_text.sample(person, text) if with_sample else "",
                    at=times.get(row.id),
                    doubtful=is_doubtful,
                    form=person.matcher.form(text) if is_doubtful else "",
                )  # fmt: skip
        # A link may lead to an entry that compaction moved to the archive.
        for entry_id in person.linked(PLACE) - found_ids:
            if person.is_about(PLACE, entry_id, doubtful=False):
                follow.add(entry_id)
        person.memo[PLACE] = frozenset(follow)
        if next(self.kept_texts(person), None):
            yield RowMatch(ACTOR, Fate.KEEP, WHO_ACTED)

    def _fate(
        self, person: Person, row: entry_text.Row, text: str, *, is_shared: bool
    ) -> tuple[Fate, str]:
        if row.entry_type in MASKED_TYPES:
            reason = gettext_noop(
                "The chain verifies a priority against it: the name is masked."
            )
            return Fate.REDACT, reason
        if is_shared or person.fate(PLACE, row.id, text) is Fate.REDACT:
            return Fate.REDACT, gettext_noop(
                "It names somebody else too: the person is masked."
            )
        reason = gettext_noop(
            "It names nobody else: its text is erased, its place in the chain stays."
        )
        return Fate.DELETE, reason

    def kept_texts(self, person: Person) -> Iterator[str]:
        """Yield user ids under which the person acted: the audit trail keeps them."""
        return acting_ids(person, JournalEntry.objects.all())

    # ── Reading ──────────────────────────────────────────────────────────────
    def export(
        self, person: Person, rows: Iterable[RowMatch]
    ) -> Iterator[dict[str, Any]]:
        for part in row_text.batches([match.row_id for match in rows]):
            live = JournalEntry.objects.filter(
                workspace_id=person.workspace_id, pk__in=part, erased_at=None
            )
            for row in live.order_by("seq"):
                yield {"place": PLACE, **_as_json(row, person)}

    def tokens(self, person: Person, row_ids: Sequence[str]) -> Iterator[bytes]:
        for row in entry_text.of(person.workspace_id, row_ids):
            yield from row_text.rare(row.text)

    # ── Erasing ──────────────────────────────────────────────────────────────
    def erase(self, person: Person, row_ids: Sequence[str]) -> int:
        ids = [row_id for row_id in row_ids if row_id != ACTOR]
        return erasure.erase(person.workspace_id, ids)

    def redact(self, person: Person, row_ids: Sequence[str]) -> int:
        """Mask the person in entries that name others too; return how many."""
        with transaction.atomic():
            live = JournalEntry.objects.select_for_update(of=("self",)).filter(
                pk__in=row_ids, erased_at=None
            )
            rows = erasure.of(live, person.workspace_id).order_by("pk")
            remains = {row.id: _remains(row, person) for row in rows}
            count = erasure.redact(person.workspace_id, remains)
            mentions_here = SubjectMention.objects.filter(
                workspace_id=person.workspace_id, entry_id__in=list(remains)
            )
            classify = person.matcher.sign_of_value
            mention_ids = [
                m.pk for m in mentions_here if classify(m.alias) is not Sign.NONE
            ]
            mentions_here.filter(pk__in=mention_ids).delete()
        return count

    # ── Verifying ────────────────────────────────────────────────────────────
    def verify(self, person: Person) -> Iterator[Trace]:
        """Search every entry and mention again, and the state of every linked entry."""
        for _, rows in entry_text.naming(person):
            for row in rows:
                yield Trace(PLACE, row.id, gettext_noop("entry"))
        for entry_id in sorted(mentions(person)[0]):
            yield Trace(PLACE, entry_id, gettext_noop("mention"))
        for part in row_text.batches(sorted(person.linked(PLACE))):
            live = JournalEntry.objects.filter(
                erased_at=None, redacted_at=None, pk__in=part
            )
            untouched = erasure.of(live, person.workspace_id)
            ids = list(untouched.values_list("pk", flat=True))
            for entry_id in _to_change(person, ids):
                yield Trace(PLACE, entry_id, gettext_noop("linked entry"))


def _to_change(person: Person, ids: Sequence[str]) -> Iterator[str]:
    """Yield the linked entries that a run has to change: all, unless it corrects."""
    if person.matcher.former_name_sign is not Sign.NONE:
        yield from ids
        return
    for row in entry_text.of(person.workspace_id, ids):
        if person.sign(PLACE, row.id, row.text) is not Sign.NONE:
            yield row.id


def _times(workspace_id: str, ids: Sequence[str]) -> dict[str, datetime]:
    rows = erasure.of(JournalEntry.objects.filter(pk__in=ids), workspace_id)
    return dict(rows.values_list("pk", "ts"))


def _remains(row: JournalEntry, person: Person) -> Remains:
    matcher = person.matcher.for_redaction()
    columns: Mapping[str, str | None] = {
        name: row_text.masked(matcher, getattr(row, name) or "") or None
        for name in _ID_COLUMNS
    }
    return Remains(
        summary=matcher.mask(row.summary, row_text.ERASED),
        payload=row_text.masked(matcher, row.payload),
        refs=row_text.masked(matcher, row.refs),
        columns=columns,
    )


def _as_json(row: JournalEntry, person: Person) -> dict[str, Any]:
    texts = {
        "summary": row.summary,
        "payload": row.payload,
        "refs": row.refs,
        **{name: getattr(row, name) for name in _ID_COLUMNS},
    }
    return {
        "id": row.id,
        "seq": row.seq,
        "ts": journal.stamp(row.ts),
        "entry_type": row.entry_type,
        "severity": row.severity,
        "priority": row.priority,
        "actor_type": row.actor_type,
        "actor_id": row.actor_id,
        "crew_id": row.crew_id,
        "agent_id": row.agent_id,
        **{
            name: row_text.without_others(person, value)
            for name, value in texts.items()
        },
    }


def entries_naming(person: Person) -> frozenset[str]:
    """Return the entries that name the person, reading the journal at most once."""
    if PLACE not in person.memo:
        for _ in Journal().find(person):
            pass
    return person.memo[PLACE]
