"""Removing deleted text from SQLite's files, without blocking writers for long.

``secure_delete`` overwrites deleted rows with zeros, but three places keep words: the
segments of the word indexes, the write-ahead log, and rows deleted before the setting
was on. Merge, checkpoint and, once in a database's life, VACUUM clear these.
"""

from __future__ import annotations

import json
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final

from django.db import OperationalError, connection
from django.utils.translation import gettext_noop

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


def clean(beat: Beat = no_beat) -> tuple[list[int], list[str]]:
    """Do all cleaning; return the checkpoint's answer and the methods used."""
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
    row = checkpoint(beat)
    methods.append(gettext_noop("wal_checkpoint(TRUNCATE), answer checked"))
    return row, methods


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
