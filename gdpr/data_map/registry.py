"""All holders, in the order of erasure, and tables and files that name nobody.

A test lists every table of every installed app and every folder below the data folder:
each belongs to a holder, or is listed here with the reason why it can name nobody.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from django.utils.translation import gettext_noop

from gdpr.data_map import declared_tables, letters, logins, requests
from gdpr.data_map.archive import Archive
from gdpr.data_map.base import Holder, Person
from gdpr.data_map.index import MapPoints, Relations, Vectors, WordIndex
from gdpr.data_map.journal import Journal
from gdpr.data_map.memory_files import NAMED_KEY, MemoryFiles
from gdpr.data_map.orphan_files import OrphanFiles
from gdpr.data_map.process import Caches, Logs
from gdpr.data_map.quarantine import QUARANTINE
from gdpr.data_map.recall_log import RECALL_LOG
from gdpr.data_map.recipients import RECIPIENTS
from gdpr.matching import patterns
from gdpr.matching.matcher import Matcher, Name
from gdpr.models import Alias, Subject, SubjectLink, Via

# Rows made from an entry are erased before the entry, so that a resumed run still finds
# them by it; requests come last, because the run depends on them.
ALL: Final[tuple[Holder, ...]] = (
    requests.Exports(),
    declared_tables.IDEMPOTENCY,
    declared_tables.DELIVERIES,
    declared_tables.RECALL_CHECKS,
    RECALL_LOG,
    declared_tables.PROPOSALS,
    declared_tables.HEALTH,
    declared_tables.IMPORTS,
    declared_tables.RETENTION,
    declared_tables.INTAKE,
    declared_tables.JOBS,
    declared_tables.PROVIDERS,
    declared_tables.FILTERS,
    declared_tables.GATEWAY,
    declared_tables.WEBHOOKS,
    declared_tables.KEYS,
    declared_tables.TENANCY,
    declared_tables.ADMIN_LOG,
    logins.Sessions(),
    logins.LOGINS,
    declared_tables.RECORDS,
    MemoryFiles(),
    # After the files: looking at them holds what was changed on the disk.
    QUARANTINE,
    OrphanFiles(),
    declared_tables.PRIORITIES,
    Archive(),
    Journal(),
    Vectors(),
    Relations(),
    MapPoints(),
    WordIndex(),
    Caches(),
    Logs(),
    letters.TEMPLATES,
    letters.LETTERS,
    requests.DECISIONS,
    RECIPIENTS,
    requests.CASES,
    requests.Subjects(),
)

KNOWN_HARMLESS: Final[dict[str, str]] = {
    "account.EmailConfirmation": "A key and a date; the address is the account's.",
    "auth.Group": "Groups are not used here; the table comes with the framework.",
    "auth.Group_permissions": "Pairs of numbers.",
    "auth.Permission": "The framework's own names of permissions.",
    "contenttypes.ContentType": "The names of our tables.",
    "memory.User_groups": "Pairs of numbers; groups are not used here.",
    "memory.User_user_permissions": "Pairs of numbers; roles decide here.",
    "mfa.Authenticator": "Secrets of a second factor, sealed or random.",
    "memory.ChainHead": "The chain's last number, hash and signature.",
    "memory.ChainCheckpoint": "Numbers and hashes of entries that left, signed.",
    "memory.ChainSegment": "Numbers and hashes of where a chain has a new key.",
    "memory.Installation": "A random id and a date.",
    "memory.KeyFingerprint": "Digests that tell keys apart.",
    "memory.SealedKey": "Secrets of this installation, encrypted: random bytes.",
    "memory.RecordEntry": "Which entry says what of a record: ids and dates.",
    "memory.WorkerProcess": "Random names of processes, digests of machines' names.",
    "memory.WordChange": "Numbers of entries that changed, and how.",
    "memory.LastVisit": "When an account was last here: ids and times, no text.",
    "memory.GatewayPending": "A keyed digest of a conversation's id.",
    "episodic.ConsolidationMark": "How far a crew was read: numbers and entry ids.",
    "episodic.EmbeddingChange": "Ids of entries whose vector changed.",
    "episodic.IndexState": "How far a journal was read.",
    "episodic.NudgeSent": "A keyed digest of a session's id, an agent and a date.",
    "gdpr.CalendarFeed": "A digest of a secret address, whose it is, and since when.",
    "gdpr.ErasureLine": "What was erased, by ids and keyed digests, for each machine.",
    "gdpr.ErasureMark": "A MAC that says how far the erasures file is known.",
    "gdpr.ForgetOrder": "Which workspace's memories go, and when that was said.",
    "gdpr.LiveProcess": "Random names of processes, and when they were seen.",
    "gdpr.PeopleStamp": "A random word that says that names changed.",
    "gdpr.UnknownName": "A keyed digest of a name, and the id of a row.",
    "gdpr.SigningKey": "Public keys.",
}

# Names directly below the data folder that no holder searches as files.
HARMLESS_FILES: Final[dict[str, str]] = {
    "crewship.sqlite3": "The database itself: its tables are the holders' above.",
    "crewship.sqlite3-wal": "The database's log; the search after a run reads it.",
    "crewship.sqlite3-shm": "The index of the database's log: page numbers.",
    "crewship.sqlite3-journal": "The database's old-style log; unused in WAL mode.",
    "keys": "Secrets of this installation: random bytes.",
    "static": "Files of the program itself.",
    "erasures": "What was erased, by ids and keyed digests: it has to outlive it.",
    "up.lock": "An empty file that keeps a second server away.",
    "unknown-proxy.seen": "An empty file: a request came through an unnamed proxy.",
}

# What an erasure cannot reach, for the certificate and the plan.
OUT_OF_REACH: Final[dict[str, str]] = {
    "backups": gettext_noop(
        "Backups made before the erasure keep what they hold until they expire; after a"
        " restore the erasures are applied again before the server reports ready."
    ),
    "bundles": gettext_noop(
        "Bundles of memory files that somebody downloaded, and bundles made for other"
        " people, in which names known then are masked."
    ),
    "letters": gettext_noop(
        "Letters about requests of other people, and where these go: sealed, and not"
        " opened for the search."
    ),
    "webhooks": gettext_noop(
        "Messages that were delivered: their receivers keep what they keep."
    ),
    "providers": gettext_noop(
        "What a remote memory provider or gateway was told, and keeps."
    ),
    "mail": gettext_noop(
        "Messages sent by mail, such as invitations and reminders: their receivers keep"
        " what they keep."
    ),
    "standard_error": gettext_noop(
        "Log lines on standard error: who collects them keeps what they keep."
    ),
}


def by_name(name: str) -> Holder:
    """Return a holder by its name; KeyError for an unknown one."""
    return {holder.name: holder for holder in ALL}[name]


# ── The person to search for ─────────────────────────────────────────────────
Places = dict[str, frozenset[str]]


def _links(workspace_id: str, subject_id: str) -> tuple[Places, Places, Places]:
    """Return place → row ids: linked by writers, matched by a search, shared.

    A shared row was linked to somebody else as well by its writer.
    """
    rows = SubjectLink.objects.filter(workspace_id=workspace_id)
    linked: dict[str, set[str]] = defaultdict(set)
    matched: dict[str, set[str]] = defaultdict(set)
    own_links = rows.filter(subject_id=subject_id)
    for place, row_id, via in own_links.values_list(
        "place", "row_id", "via"
    ).iterator():
        (linked if via == Via.NAMED else matched)[place].add(row_id)
        if place == "versions" and via == Via.NAMED:
            linked[NAMED_KEY].add(row_id)
    shared_rows: dict[str, set[str]] = defaultdict(set)
    other_links = rows.exclude(subject_id=subject_id).filter(via=Via.NAMED)
    for place, row_id in other_links.values_list("place", "row_id").iterator():
        if row_id in linked[place] or row_id in matched[place]:
            shared_rows[place].add(row_id)
    return _frozen(linked), _frozen(matched), _frozen(shared_rows)


def _frozen(sets: dict[str, set[str]]) -> dict[str, frozenset[str]]:
    return {place: frozenset(ids) for place, ids in sets.items() if ids}


def person(subject: Subject) -> Person:
    """Return the person to search for, built from a subject's names and links."""
    names = Alias.names(subject.workspace_id)
    own_names = [name for name in names if name.subject_id == subject.id]
    other_names = [name for name in names if name.subject_id != subject.id]
    links, matched, shared_rows = _links(subject.workspace_id, subject.id)
    return Person(
        workspace_id=subject.workspace_id,
        subject_id=subject.id,
        matcher=matcher_of(own_names, other_names),
        others_matcher=Matcher(other_names),
        links=links,
        shared=shared_rows,
        matched=matched,
    )


def matcher_of(own_names: Sequence[Name], other_names: Iterable[Name]) -> Matcher:
    """Return the matcher of names and of forms that may be theirs.

    A name shared with somebody else is doubtful.
    """
    own_folded = {
        patterns.folded("name", name.value) for name in own_names if name.kind == "name"
    }
    other_folded = {
        patterns.folded("name", name.value)
        for name in other_names
        if name.kind == "name"
    }
    return Matcher(own_names, frozenset(own_folded & other_folded), proposals=True)


def kept_names(person: Person) -> Iterator[Name]:
    """Yield the aliases that remain somewhere, because a row is kept for a reason.

    The byte search leaves them out.
    """
    kept_texts = [text for holder in ALL for text in holder.kept_texts(person)]
    for name in person.matcher.names_known:
        matcher = Matcher([name])
        if any(matcher.names(text) for text in kept_texts):
            yield name
