"""Removing deleted text from SQLite's files, without blocking writers for long.

``secure_delete`` overwrites deleted rows with zeros, but four places keep words: the
segments of the word indexes, the write-ahead log, the unused bytes of pages whose rows
moved, and rows deleted before the setting was on. Merge, checkpoint, ``sqlite_gaps``
and, once in a database's life, VACUUM clear these.
"""

from __future__ import annotations

import json
import shutil
import sqlite3
import tempfile
import time
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

from django.db import OperationalError, connection
from django.utils.translation import gettext_noop

from gdpr.data_map.base import Trace
from gdpr.verification import byte_search, file_scan, sqlite_gaps
from gdpr.verification.report import Beat, no_beat
from memory.jobs import housekeeping

# PRAGMA user_version of a database in which every deletion used secure_delete.
CLEAN_VERSION: Final = 5_201
PAGES: Final = 250
MIN_PAGES: Final = 50
MAX_PAGES: Final = 1_000
# How long a step of the merge may block writers.
LOCK_SECONDS: Final = 0.08
PAUSE: Final = 0.01
MAX_PAUSE_SECONDS: Final = 0.3
MAX_STEPS: Final = 20_000
LOCK_MS: Final = 200
TRIES: Final = 40
WAIT: Final = 0.25
# A larger database is not copied in memory while it is rewritten.
MEMORY_BYTES: Final = 256 * 1024 * 1024
ZEROED: Final = gettext_noop(
    "unused bytes of pages overwritten (pages of tables: {count}, indexes built again:"
    " {indexes})"
)
REWRITTEN: Final = gettext_noop(
    "VACUUM: the whole database was rewritten, because bytes of erased rows were found"
    " in it; writers waited meanwhile"
)
NO_SPACE: Final = gettext_noop(
    "Bytes of erased rows are in the database's file, and the disk is too full to"
    " rewrite it: {need} MB have to be free in the database's folder and in the folder"
    " for temporary files. Make room and run the case again."
)
IN_USE: Final = gettext_noop(
    "Bytes of erased rows are in the database's file, which could not be rewritten,"
    " because somebody else kept writing to it. Run the case again at a quieter time."
)


def _scalar(sql: str) -> Any:
    with connection.cursor() as cursor:
        cursor.execute(sql)
        row = cursor.fetchone()
    return row[0] if row else None


# ── The word indexes ─────────────────────────────────────────────────────────
def _merge(name: str, beat: Beat) -> None:
    """Merge a word index to one segment, in short steps.

    A merge that reaches the oldest segment drops deleted rows' words. Writers get the
    lock between two steps.
    """
    sql = f"INSERT INTO {name}({name}, rank) VALUES ('merge', %s)"  # noqa: S608
    pages = PAGES
    for step in range(MAX_STEPS):
        started = time.monotonic()
        with connection.cursor() as cursor:
            before = _changes(cursor)
            cursor.execute(sql, [pages if step else -pages])
            is_merged = _changes(cursor) - before < 2
        seconds = time.monotonic() - started
        if is_merged:
            # Rows added meanwhile are in new segments without erased words:
            # rewriting them all again would only block writers.
            if step * LOCK_SECONDS < MAX_PAUSE_SECONDS:
                with connection.cursor() as cursor:
                    cursor.execute(f"INSERT INTO {name}({name}) VALUES ('optimize')")  # noqa: S608
            return
        beat()
        # Waiting writers poll, so the lock stays free as long as it was held.
        time.sleep(min(max(seconds, PAUSE), MAX_PAUSE_SECONDS))
        pages = max(MIN_PAGES, min(int(pages * LOCK_SECONDS / seconds), MAX_PAGES))
    message = f"The word index {name} does not come to an end."
    raise OperationalError(message)


def _changes(cursor: Any) -> int:
    cursor.execute("SELECT total_changes()")
    return int(cursor.fetchone()[0])


# ── The log ──────────────────────────────────────────────────────────────────
@contextmanager
def _patience(milliseconds: int) -> Iterator[None]:
    """Set ``busy_timeout`` for the block: writers are blocked as long as we wait."""
    before = int(_scalar("PRAGMA busy_timeout") or 0)
    _scalar(f"PRAGMA busy_timeout = {int(milliseconds)}")
    try:
        yield
    finally:
        _scalar(f"PRAGMA busy_timeout = {before}")


def checkpoint(beat: Beat = no_beat) -> list[int]:
    """Move the log into the database; return (busy, pages in it, pages moved).

    An earlier reader prevents truncation (busy = 1). After ``TRIES`` the caller has to
    report that the log was not emptied.
    """
    row = [1, -1, -1]
    with _patience(LOCK_MS):
        for attempt in range(TRIES):
            # Most of the work, without blocking anybody.
            _row("PRAGMA wal_checkpoint(PASSIVE)")
            row = _row("PRAGMA wal_checkpoint(TRUNCATE)")
            if row[0] == 0:
                break
            beat()
            if attempt + 1 < TRIES:
                time.sleep(WAIT)
    return row


def _row(sql: str) -> list[int]:
    try:
        with connection.cursor() as cursor:
            cursor.execute(sql)
            return [int(value) for value in cursor.fetchone()]
    except OperationalError:
        return [1, -1, -1]


# ── Full rewrite ─────────────────────────────────────────────────────────────
def rewrite_once() -> bool:
    """Rewrite the database once, unless it is marked as clean; return whether.

    A deletion without ``secure_delete`` leaves bytes that no later write removes.
    """
    if int(_scalar("PRAGMA user_version") or 0) == CLEAN_VERSION:
        return False
    with connection.cursor() as cursor:
        cursor.execute("VACUUM")
    mark_clean()
    return True


def mark_clean() -> None:
    """Mark the database as clean from now on."""
    _scalar(f"PRAGMA user_version = {CLEAN_VERSION}")


def has_samples() -> bool:
    """Whether the planner stores values of rows, which only ANALYZE replaces."""
    return bool(_scalar("SELECT 1 FROM sqlite_master WHERE name = 'sqlite_stat4'"))


def clean(
    beat: Beat = no_beat, names: Iterable[str] = (), tokens: Iterable[bytes] = ()
) -> tuple[list[int], list[str]]:
    """Do all cleaning; return the checkpoint's answer and the methods used.

    ``names`` and ``tokens`` tell which pages' unused bytes have to be overwritten.
    """
    if int(_scalar("PRAGMA secure_delete") or 0) != 1:
        message = "PRAGMA secure_delete is off on this connection."
        raise OperationalError(message)
    methods = [gettext_noop("secure_delete asserted")]
    if rewrite_once():
        methods.append(gettext_noop("VACUUM, for what was deleted before"))
    for name in housekeeping.INDEXES:
        _merge(name, beat)
    methods.append(gettext_noop("word indexes merged and optimized"))
    if has_samples():
        with connection.cursor() as cursor:
            cursor.execute("ANALYZE")
        methods.append("ANALYZE")
    row, zeroed = clean_pages(beat, names, tokens)
    methods += zeroed
    methods.append(gettext_noop("wal_checkpoint(TRUNCATE), answer checked"))
    return row, methods


def clean_pages(
    beat: Beat, names: Iterable[str], tokens: Iterable[bytes], *, thorough: bool = False
) -> tuple[list[int], list[str]]:
    """Overwrite unused bytes of pages; return the checkpoint's answer and the methods.

    A ``thorough`` one also builds every index again that may keep a word of a row:
    others keep the names of people only.
    """
    row = checkpoint(beat)
    name_shapes = set[bytes]().union(*map(byte_search.of_alias, names))
    patterns = byte_search.of_tokens(_unlisted(tokens)) | name_shapes
    in_indexes = patterns if thorough else name_shapes
    zeroed = sqlite_gaps.zero(patterns, in_indexes, beat)
    if not zeroed:
        return row, []
    counts = {"count": zeroed.pages, "indexes": len(zeroed.indexes)}
    return checkpoint(beat), [ZEROED.format(**counts)]


def _unlisted(tokens: Iterable[bytes]) -> set[bytes]:
    """Return the strings without words of rows that stay, by the word indexes."""
    tokens = set(tokens)
    words = {w: token for token in tokens if (w := byte_search.as_word(token))}
    stems = byte_search.stemmed(words)
    terms_by_index = listed_terms(set[str]().union(*stems.values()))
    terms = {term for entries in terms_by_index.values() for _, term in entries}
    return tokens - {words[w] for w in words.keys() & stems.keys() if stems[w] <= terms}


# ── The last resort ──────────────────────────────────────────────────────────
def lies_in_database(traces: Iterable[Trace]) -> bool:
    """Whether the byte search found something in a file of the database."""
    name = Path(str(connection.settings_dict["NAME"])).name
    names = {name + ending for ending in file_scan.DATABASE_SUFFIXES}
    return any(t.place == "files" and Path(t.where).name in names for t in traces)


def rewrite() -> str:
    """Rewrite the whole database; return why that was impossible, or an empty text.

    Writers wait until it is done: the caller announces it.
    """
    size = int(_scalar("PRAGMA page_count")) * int(_scalar("PRAGMA page_size"))
    in_memory = size <= MEMORY_BYTES
    folders = [Path(str(connection.settings_dict["NAME"])).resolve().parent]
    folders += [] if in_memory else [Path(tempfile.gettempdir())]
    # The log takes the new pages; so does a temporary file, maybe on the same disk.
    need = size * len(folders)
    no_space = NO_SPACE.format(need=need // 1_000_000 + 1)
    if any(shutil.disk_usage(folder).free < need for folder in folders):
        return no_space
    before = int(_scalar("PRAGMA temp_store") or 0)
    try:
        if not in_memory:
            _scalar("PRAGMA temp_store = FILE")
        with connection.cursor() as cursor:
            cursor.execute("VACUUM")
    except OperationalError as error:
        code = getattr(error.__cause__, "sqlite_errorcode", 0)
        if code == sqlite3.SQLITE_FULL:
            return no_space
        if code in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
            return IN_USE
        raise
    finally:
        _scalar(f"PRAGMA temp_store = {before}")
    return ""


# ── Term lists ───────────────────────────────────────────────────────────────
_STALE_SQL: Final = {
    "journal_fts": "SELECT c.docid IS NULL OR c.erased_at IS NOT NULL AS gone"
    " FROM temp.journal_fts_words v LEFT JOIN journal_entries c ON c.docid = v.doc",
    "chunks_fts": "SELECT c.id IS NULL AS gone"
    " FROM temp.chunks_fts_words v LEFT JOIN memory_chunks c ON c.id = v.doc",
}
# A term in more rows than these says nothing about one person.
MAX_TERM_ROWS: Final = 200
MAX_TERMS: Final = 1_000


def vocabulary() -> Iterator[tuple[str, str, int]]:
    """Yield (index, term, number of rows) of every term of the word indexes."""
    for name in housekeeping.INDEXES:
        with _term_table(name, "row") as cursor:
            cursor.execute(f"SELECT term, doc FROM temp.{name}_words")  # noqa: S608
            while rows := cursor.fetchmany(10_000):
                for term, count in rows:
                    yield name, str(term), int(count)


@contextmanager
def _term_table(name: str, kind: str) -> Iterator[Any]:
    """Yield a cursor while an index's term list exists as ``temp.<name>_words``."""
    with connection.cursor() as cursor:
        cursor.execute(
            f"CREATE VIRTUAL TABLE IF NOT EXISTS temp.{name}_words"
            f" USING fts5vocab(main, {name}, {kind})"
        )
        try:
            yield cursor
        finally:
            cursor.execute(f"DROP TABLE temp.{name}_words")


def listed_terms(terms: set[str]) -> dict[str, list[tuple[int, str]]]:
    """Return index → (number of rows, term) of those terms that it contains.

    Each term is looked up: reading the whole list takes many times as long.
    """
    terms_by_index: dict[str, list[tuple[int, str]]] = {}
    terms_json = json.dumps(sorted(terms))
    for name in housekeeping.INDEXES:
        with _term_table(name, "row") as cursor:
            cursor.execute(
                f"SELECT v.doc, v.term FROM json_each(%s) t"  # noqa: S608
                f" CROSS JOIN temp.{name}_words v ON v.term = t.value",
                [terms_json],
            )
            terms_by_index[name] = [
                (int(count), str(term)) for count, term in cursor.fetchall()
            ]
    return terms_by_index


def stale(terms_by_index: dict[str, list[tuple[int, str]]]) -> dict[str, int]:
    """Return index → how many of the terms belong to a row that is erased."""
    counts: Counter[str] = Counter()
    for name, entries in terms_by_index.items():
        rare_terms = sorted(entry for entry in entries if entry[0] <= MAX_TERM_ROWS)[
            :MAX_TERMS
        ]
        if not rare_terms:
            continue
        rows = f"{_STALE_SQL[name]} WHERE v.term = %s LIMIT {MAX_TERM_ROWS}"
        with _term_table(name, "instance") as cursor:
            for _, term in rare_terms:
                cursor.execute(f"SELECT max(gone) FROM ({rows})", [term])  # noqa: S608
                counts[name] += bool(cursor.fetchone()[0])
    return {name: count for name, count in counts.items() if count}
