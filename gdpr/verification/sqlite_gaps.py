"""Zeroing the unused bytes of SQLite's pages, in short transactions.

In a table a row of the page is made so long that it fills the page's free bytes, and
gets its value back in the same transaction: SQLite zeroes what a row leaves. No other
connection sees that, and the page keeps its rows. An index is built again. Where
neither is possible the bytes stay, and the search finds them.
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
MAX_OTHER_PAGES: Final = 2_000
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
    column = column_of(table)
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


def _fill(cursor: Any, table: str, column: Column, pages: Sequence[Page]) -> None:
    """Lengthen a row of each page over its free bytes, and put its value back."""
    rows: dict[int, tuple[Cell, Page]] = {}
    for page in pages:
        if (cell := _shortest(page)) is not None:
            rows[cell.rowid] = (cell, page)
    name, value = map(connection.ops.quote_name, (table, column.name))
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
        "SELECT id, CASE typeof(value) WHEN 'integer' THEN value"  # noqa: S608
        f" ELSE -length(CAST(value AS BLOB)) END, typeof(value) FROM {KEPT}"
    )
    fillers = [
        (column.filler(length), rowid)
        for rowid, number, kind in cursor.fetchall()
        if (length := _length(*rows[rowid], _stored(number, kind))) is not None
    ]
    cursor.executemany(
        f"UPDATE {name} SET {value} = %s WHERE rowid = %s",  # noqa: S608
        fillers,
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


def _stored(number: int | None, kind: str) -> int:
    """Return how many bytes a value takes; ``number`` is it, or its negative length."""
    if number is None or kind != "integer":
        return -(number or 0)
    if number in (0, 1):
        return 0
    bits = (number if number >= 0 else ~number).bit_length() + 1
    return next(size for size in (1, 2, 3, 4, 6, 8) if bits <= 8 * size)


def _local(payload: int, page_size: int) -> int:
    """Return how many bytes of a record are in its page; the rest is elsewhere."""
    upper, lower = page_size - 35, (page_size - 12) * 32 // 255 - 23
    if payload <= upper:
        return payload
    part = lower + (payload - lower) % (page_size - 4)
    return part if part <= upper else lower


def _size(cell: Cell, page_size: int) -> int:
    """Return how many bytes of a page a row takes."""
    local = _local(cell.payload, page_size)
    heads = varint_size(cell.payload) + varint_size(cell.rowid % (1 << 64))
    return heads + local + (4 if local < cell.payload else 0)


def _length(cell: Cell, page: Page, before: int) -> int | None:
    """Return the length of a value with which its row fills the page."""
    size = len(page.data)
    room = page.free_bytes()
    local, upper = _local(cell.payload, size), size - 35
    longer = min(room, upper - local)
    elsewhere = 0
    if cell.payload > upper and local == _local(upper + 1, size):
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
@dataclass(frozen=True, slots=True)
class Column:
    """A column on which nothing depends; one with a check holds ``is_json`` only."""

    name: str
    is_json: bool = False

    def filler(self, length: int) -> bytes | str:
        return "0".rjust(length) if self.is_json else bytes(length)


_JSON_CHECK: Final = re.compile(r"\(*JSON_VALID\(\"(\w+)\"\)", re.IGNORECASE)
# Bytes are larger than every number.
_NOT_NEGATIVE: Final = re.compile(r"\"\w+\" >= 0")


def column_of(table: str) -> Column | None:
    """Return a column of a table that can be lengthened, None without one."""
    name = connection.ops.quote_name(table)
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT type, sql FROM sqlite_master WHERE tbl_name = %s AND sql <> ''",
            [table],
        )
        statements = cursor.fetchall()
        cursor.execute(f"PRAGMA table_xinfo({name})")
        rows = cursor.fetchall()
        bound_columns = {row[1] for row in rows if row[5] or row[6]}
        cursor.execute(f"PRAGMA foreign_key_list({name})")
        bound_columns |= {row[3] for row in cursor.fetchall()}
        cursor.execute(f"PRAGMA index_list({name})")
        for index in [row[1] for row in cursor.fetchall()]:
            cursor.execute(f"PRAGMA index_info({connection.ops.quote_name(index)})")
            bound_columns |= {row[2] for row in cursor.fetchall()}
    jsons: set[str] = set()
    for kind, sql in statements:
        words, checked = _dependent(kind, sql, [row[1] for row in rows])
        bound_columns |= words
        jsons |= checked
    free = [
        row for row in rows if row[1] not in bound_columns and row[2].upper() != "REAL"
    ]
    # A text is no number that SQLite could store shorter, and a short one is quick.
    order = {"VARCHAR": 0, "TEXT": 1, "BLOB": 2}
    free.sort(key=lambda row: (row[1] in jsons, order.get(_kind(row[2]), 3), row[0]))
    return Column(free[0][1], free[0][1] in jsons) if free else None


def _kind(declared: str) -> str:
    return declared.upper().partition("(")[0]


def _dependent(
    kind: str, sql: str, columns: Sequence[str]
) -> tuple[set[str], set[str]]:
    """Return the columns on which a statement depends, and those that hold JSON."""
    jsons: set[str] = set()
    parts = [sql]
    if kind == "trigger":
        head = re.split(r"\bBEGIN\b", sql, maxsplit=1, flags=re.IGNORECASE)[0]
        update = re.search(r"\bUPDATE\b(\s+OF\b)?", head, re.IGNORECASE)
        if update is None:
            return set(), set()
        parts = [head] if update[1] else [" ".join(columns)]
    elif kind == "table":
        parts = []
        for part in _parenthesised(sql):
            if match := _JSON_CHECK.match(part):
                jsons.add(match[1])
            elif not _NOT_NEGATIVE.fullmatch(part):
                parts.append(part)
    words = {word for part in parts for word in _WORD.findall(part)}
    return words.intersection(columns), jsons


def _parenthesised(sql: str) -> Iterator[str]:
    """Yield what stands in parentheses after CHECK and AS."""
    for match in re.finditer(r"\b(CHECK|AS)\s*\(", sql, re.IGNORECASE):
        depth, at = 1, match.end()
        while depth and at < len(sql):
            depth += {"(": 1, ")": -1}.get(sql[at], 0)
            at += 1
        yield sql[match.end() : at - 1]
