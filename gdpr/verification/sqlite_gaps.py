"""Zeroing the unused bytes of SQLite's pages, in short transactions.

In a table a row of the page is made so long that it fills the page's free bytes, with
zeros, and gets its value back in the same transaction: SQLite overwrites a row that
shrinks. No other connection sees that, and the page keeps its rows. An index is built
again. Where neither is possible the bytes stay, and the search finds them.
"""

from __future__ import annotations

import json
import re
import time
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import structlog
from django.db import DatabaseError, connection, transaction

from gdpr.verification import file_scan, sqlite_pages
from gdpr.verification.byte_search import Finder
from gdpr.verification.report import Beat, no_beat
from gdpr.verification.sqlite_pages import LEAF_TABLE, Cell, Page, varint_size

# Pages without a match that are cleaned too: a search for samples may miss a part.
MAX_OTHER_PAGES: Final = 5_000
BATCH: Final = 50
MIN_BATCH: Final = 10
MAX_BATCH: Final = 500
LOCK_SECONDS: Final = 0.08
PAUSE: Final = 0.005
MAX_PAUSE_SECONDS: Final = 0.3
# More than the sizes in front of a longer value take.
HEADS: Final = 16
KEPT: Final = "temp.erasure_values"
_WORD: Final = re.compile(r"\w+")
log = structlog.get_logger(__name__)


@dataclass(slots=True)
class Zeroed:
    """How many pages of tables were cleaned, and which indexes were built again."""

    pages: int = 0
    indexes: list[str] = field(default_factory=list)

    def __bool__(self) -> bool:
        return bool(self.pages or self.indexes)


def zero(
    patterns: Iterable[bytes], index_patterns: Iterable[bytes], beat: Beat = no_beat
) -> Zeroed:
    """Zero unused bytes in which patterns are, and a number of others.

    To be called after a checkpoint: it reads the file without the log. An index holds
    the same keys as its neighbours, so it is searched for ``index_patterns`` only.
    """
    survey, names = _survey(Finder({*patterns, *index_patterns}))
    in_index = Finder(index_patterns)
    pages: dict[str, list[Page]] = defaultdict(list)
    indexes: set[str] = set()
    for number, page in sorted(survey.dirty.items()):
        if (name := names.get(number)) is None:
            continue
        if page.kind == LEAF_TABLE:
            pages[name].append(page)
        elif name.endswith("_fts_idx") or in_index.find(page.unused):
            indexes.add(name)
    result = Zeroed()
    for name, table_pages in pages.items():
        result.pages += _fill_pages(name, table_pages, beat)
    for name in sorted(indexes):
        if _rebuild(name):
            result.indexes.append(name)
        beat()
    return result


def _survey(finder: Finder) -> tuple[sqlite_pages.Survey, dict[int, str]]:
    """Read the database file; return its pages and the b-tree of each."""
    path = Path(str(connection.settings_dict["NAME"]))
    with connection.cursor() as cursor:
        size = int(cursor.execute("PRAGMA page_size").fetchone()[0])
        cursor.execute("SELECT rootpage, name FROM sqlite_master WHERE rootpage > 0")
        roots = {int(page): str(name) for page, name in cursor.fetchall()}
    survey = sqlite_pages.survey(
        file_scan.pieces(path, 0), size, finder.find, MAX_OTHER_PAGES
    )
    return survey, sqlite_pages.owners(survey, roots)


# ── Indexes ──────────────────────────────────────────────────────────────────
def _rebuild(name: str) -> bool:
    """Build an index again; return whether that was possible.

    A table without rowids is an index too: only those of the word indexes are.
    """
    quoted = connection.ops.quote_name(name)
    try:
        with transaction.atomic(), connection.cursor() as cursor:
            if not name.endswith("_fts_idx"):
                cursor.execute(f"REINDEX {quoted}")
                return True
            # Without a condition, DELETE empties the pages and zeroes them.
            cursor.execute(f"CREATE TEMP TABLE erasure_index AS SELECT * FROM {quoted}")  # noqa: S608
            cursor.execute(f"DELETE FROM {quoted}")  # noqa: S608
            cursor.execute(
                f"INSERT INTO {quoted} SELECT * FROM temp.erasure_index"  # noqa: S608
            )
            cursor.execute("DROP TABLE temp.erasure_index")
    except DatabaseError:
        log.warning("gdpr_index_not_rebuilt", index=name)
        return False
    return True


# ── Tables ───────────────────────────────────────────────────────────────────
def _fill_pages(table: str, pages: Sequence[Page], beat: Beat) -> int:
    """Zero the unused bytes of pages of a table; return how many there were."""
    column = _column(table)
    if column is None:
        return 0
    count, size = 0, BATCH
    while count < len(pages):
        batch = pages[count : count + size]
        started = time.monotonic()
        try:
            with transaction.atomic(), connection.cursor() as cursor:
                _fill(cursor, table, column, batch)
        except DatabaseError:
            log.warning("gdpr_pages_not_zeroed", table=table)
            return count
        seconds = time.monotonic() - started
        count += len(batch)
        beat()
        # Waiting writers poll, so the lock stays free as long as it was held.
        time.sleep(min(max(seconds, PAUSE), MAX_PAUSE_SECONDS))
        fitting = int(size * LOCK_SECONDS / max(seconds, 0.001))
        size = max(MIN_BATCH, min(fitting, 2 * size, MAX_BATCH))
    return count


def _fill(cursor: Any, table: str, column: str, pages: Sequence[Page]) -> None:
    """Lengthen a row of each page over its free bytes, and put its value back."""
    rows: dict[int, tuple[Cell, Page]] = {}
    for page in pages:
        if (cell := _shortest(page)) is not None:
            rows[cell.rowid] = (cell, page)
    name, value = map(connection.ops.quote_name, (table, column))
    cursor.execute(
        f"CREATE TEMP TABLE IF NOT EXISTS {KEPT.partition('.')[2]}"
        " (id INTEGER PRIMARY KEY, value)"
    )
    cursor.execute(
        f"INSERT INTO {KEPT} SELECT rowid, {value} FROM {name}"  # noqa: S608
        " WHERE rowid IN (SELECT value FROM json_each(%s))",
        [json.dumps(list(rows))],
    )
    cursor.execute(
        "SELECT id, typeof(value), length(CAST(value AS BLOB))"  # noqa: S608
        f" FROM {KEPT}"
    )
    lengths = [
        (length, rowid)
        for rowid, kind, content in cursor.fetchall()
        if kind in ("text", "blob", "null")
        and (length := _length(*rows[rowid], content)) is not None
    ]
    cursor.executemany(
        f"UPDATE {name} SET {value} = zeroblob(%s) WHERE rowid = %s",  # noqa: S608
        lengths,
    )
    cursor.execute(
        f"UPDATE {name} SET {value} ="  # noqa: S608
        f" (SELECT value FROM {KEPT} k WHERE k.id = {name}.rowid)"
        f" WHERE rowid IN (SELECT id FROM {KEPT})"
    )
    cursor.execute(f"DELETE FROM {KEPT}")  # noqa: S608


def _shortest(page: Page) -> Cell | None:
    """Return the row of a page that takes the fewest bytes of it."""
    try:
        rows = list(page.rows())
    except IndexError:
        return None
    return min(rows, key=lambda cell: _size(cell, len(page.data)), default=None)


def _local(payload: int, page_size: int) -> int:
    """Return how many bytes of a record are in its page; the rest is elsewhere."""
    most, least = page_size - 35, (page_size - 12) * 32 // 255 - 23
    if payload <= most:
        return payload
    part = least + (payload - least) % (page_size - 4)
    return part if part <= most else least


def _size(cell: Cell, page_size: int) -> int:
    """Return how many bytes of a page a row takes."""
    local = _local(cell.payload, page_size)
    heads = varint_size(cell.payload) + varint_size(cell.rowid % (1 << 64))
    return heads + local + (4 if local < cell.payload else 0)


def _length(cell: Cell, page: Page, content: int | None) -> int | None:
    """Return the length of a value with which its row fills the page."""
    size, before = len(page.data), content or 0
    room = page.free_bytes()
    local, most = _local(cell.payload, size), size - 35
    longer = min(room, most - local)
    elsewhere = 0
    if cell.payload > most and local == _local(most + 1, size):
        # The next byte in this page comes after another full page elsewhere.
        elsewhere = (local - cell.payload) % (size - 4)
    head = varint_size(12 + 2 * before) if before else 1
    for shorter in range(min(longer, HEADS)):
        length = before + elsewhere + longer - shorter
        payload = cell.payload - before - head + length + varint_size(12 + 2 * length)
        # A record that is too long would be moved elsewhere, but for a small part.
        is_here = _local(payload, size) >= local + longer - HEADS
        if is_here and _size(Cell(cell.rowid, payload), size) <= (
            _size(cell, size) + room
        ):
            return length
    return None


# ── Which column can be lengthened ───────────────────────────────────────────
def _column(table: str) -> str | None:
    """Return a column of texts or bytes on which nothing depends, None without one."""
    columns = connection.ops.quote_name(table)
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT type, sql FROM sqlite_master WHERE tbl_name = %s AND sql <> ''",
            [table],
        )
        statements = cursor.fetchall()
        cursor.execute(f"PRAGMA table_xinfo({columns})")
        rows = cursor.fetchall()
        bound = {row[1] for row in rows if row[5] or row[6]}
        cursor.execute(f"PRAGMA foreign_key_list({columns})")
        bound |= {row[3] for row in cursor.fetchall()}
        cursor.execute(f"PRAGMA index_list({columns})")
        for index in [row[1] for row in cursor.fetchall()]:
            cursor.execute(f"PRAGMA index_info({connection.ops.quote_name(index)})")
            bound |= {row[2] for row in cursor.fetchall()}
    for kind, sql in statements:
        bound |= set(_conditions(kind, sql, [row[1] for row in rows]))
    free = [row for row in rows if row[1] not in bound and _is_text(row[2])]
    # A short value is quicker to put back.
    free.sort(key=lambda row: (not row[2].upper().startswith("VARCHAR"), row[0]))
    return str(free[0][1]) if free else None


def _is_text(kind: str) -> bool:
    return kind.upper().startswith(("VARCHAR", "TEXT", "CHAR", "BLOB"))


def _conditions(kind: str, sql: str, columns: Sequence[str]) -> Iterator[str]:
    """Yield the columns that a trigger, an index or a condition depends on."""
    if kind == "trigger":
        head = re.split(r"\bBEGIN\b", sql, maxsplit=1, flags=re.IGNORECASE)[0]
        update = re.search(r"\bUPDATE\b(\s+OF\b)?", head, re.IGNORECASE)
        if update is None:
            return
        parts = [head] if update[1] else [" ".join(columns)]
    elif kind == "table":
        parts = list(_parenthesised(sql))
    else:
        parts = [sql]
    words = {word for part in parts for word in _WORD.findall(part)}
    yield from words.intersection(columns)


def _parenthesised(sql: str) -> Iterator[str]:
    """Yield what stands in parentheses after CHECK and AS."""
    for match in re.finditer(r"\b(CHECK|AS)\s*\(", sql, re.IGNORECASE):
        depth, at = 1, match.end()
        while depth and at < len(sql):
            depth += {"(": 1, ")": -1}.get(sql[at], 0)
            at += 1
        yield sql[match.end() : at]
