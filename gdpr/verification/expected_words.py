"""The text of rows and known files that stay: its words are expected in the bytes.

A word of an erased row proves nothing when a row that stays has it too. So everything
readable is read once, in every workspace, and the words found there are dropped: any
remaining hit in the raw bytes is a trace.
"""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Iterable, Iterator
from contextlib import closing, suppress
from pathlib import Path
from typing import Final

from django.conf import settings
from django.db import connection, transaction
from django.db.models import Q

from gdpr.verification import file_scan, sqlite
from gdpr.verification.byte_search import Finder
from memory.fulltext import LEXEMES
from memory.models import MemoryFile, MemoryVersion, StoredFile
from memory.stored_files import trees

BUFFER: Final = 1024 * 1024
ROWS: Final = 2_000
ROWS_OF_FILES: Final = 50
# The shadow tables of a virtual table hold a word index, not readable text.
_SHADOWS: Final = re.compile(r"_fts(_(data|idx|docsize|config|content))?$")


def _join_texts(texts: Iterable[bytes]) -> Iterator[bytes]:
    """Yield texts joined to large pieces, separated by NUL."""
    pending: list[bytes] = []
    size = 0
    for text in texts:
        pending.append(text)
        size += len(text) + 1
        if size >= BUFFER:
            yield b"\x00".join(pending)
            pending, size = [], 0
    if pending:
        yield b"\x00".join(pending)


# ── Rows ─────────────────────────────────────────────────────────────────────
def _sqlite_tables(link: sqlite3.Connection) -> list[str]:
    rows = link.execute(
        "SELECT name FROM sqlite_master WHERE type = 'table'"
        " AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\'"
    )
    names = [row[0].decode() for row in rows]
    return [name for name in names if not _SHADOWS.search(name)]


def _columns(link: sqlite3.Connection, table: str) -> tuple[list[str], list[str]]:
    """Return a table's text columns and its byte columns.

    Numbers and moments name nobody.
    """
    texts: list[str] = []
    blobs: list[str] = []
    for row in link.execute(f'PRAGMA table_info("{table}")'):
        kind = row[2].decode().upper()
        if not kind.startswith(("INT", "BIGINT", "BOOL", "REAL")):
            (blobs if kind == "BLOB" else texts).append(row[1].decode())
    return texts, blobs


def _sqlite_texts() -> Iterator[bytes]:
    """Read every row on a separate read-only connection.

    Text before byte columns: vectors are most of a database, and are rarely needed.
    """
    path = Path(str(connection.settings_dict["NAME"])).resolve()
    with closing(sqlite3.connect(f"{path.as_uri()}?mode=ro", uri=True)) as link:
        link.text_factory = bytes
        kinds = {table: _columns(link, table) for table in _sqlite_tables(link)}
        for kind in range(2):
            for table, columns in kinds.items():
                if not columns[kind]:
                    continue
                parts = (f"coalesce(CAST(\"{n}\" AS BLOB), x'')" for n in columns[kind])
                row = " || char(0) || ".join(parts)
                # Short queries: a long read blocks the log's truncation.
                for (value,) in link.execute(f'SELECT {row} FROM "{table}"'):  # noqa: S608
                    yield value if isinstance(value, bytes) else bytes(value or b"")


# Partitions are read with their table. A vector's numbers are no words.
_POSTGRES_TABLES: Final = (
    "SELECT quote_ident(c.relname), string_agg(quote_ident(a.attname), ', ')"
    " FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid"
    " WHERE c.relkind IN ('r', 'p') AND NOT c.relispartition"
    " AND c.relnamespace = current_schema()::regnamespace"
    " AND a.attnum > 0 AND NOT a.attisdropped"
    " AND format_type(a.atttypid, NULL) <> 'halfvec' GROUP BY c.relname"
)


def _postgres_texts() -> Iterator[bytes]:
    with connection.cursor() as cursor:
        cursor.execute(_POSTGRES_TABLES)
        tables = cursor.fetchall()
    for table, columns in tables:
        with connection.chunked_cursor() as cursor:
            cursor.execute(f"SELECT ROW({columns})::text FROM {table}")  # noqa: S608
            while rows := cursor.fetchmany(ROWS):
                for (value,) in rows:
                    yield str(value or "").encode("utf-8", "surrogatepass")


def rows() -> Iterator[bytes]:
    """Yield the text of every row of every table, in large pieces."""
    lite = connection.vendor == "sqlite"
    return _join_texts(_sqlite_texts() if lite else _postgres_texts())


def terms() -> Iterator[bytes]:
    """Yield the terms of SQLite's word indexes: a stem need not occur in any text.

    Whether a term belongs to an erased row is checked elsewhere (``sqlite.stale``).
    """
    if connection.vendor == "sqlite":
        yield from _join_texts(term.encode() for _, term, _ in sqlite.vocabulary())


# The index of the journal's words holds stems that no row has as a column.
_WITH_STEM: Final = (
    "WITH hits AS MATERIALIZED (SELECT summary, body FROM journal_entries"  # noqa: S608
    f" WHERE ({LEXEMES}) @@ %s::tsquery) SELECT strip({LEXEMES})::text"
    " FROM hits LIMIT 1"
)
_ALL_STEMS: Final = f"SELECT strip({LEXEMES})::text FROM journal_entries"  # noqa: S608


def stem_patterns(finder: Finder) -> set[bytes]:
    """Return the patterns that occur in stems of PostgreSQL's journal.

    "harbouri" stands for "harboury" and occurs in no text: it is expected in what
    holds stems, and nowhere else.
    """
    is_server = connection.vendor == "postgresql" and len(finder)
    return _patterns_in(_stems(finder), finder) if is_server else set()


def _stems(finder: Finder) -> Iterator[bytes]:
    """Yield stems of entries with a pattern, then of all."""
    texts = (pattern.decode(errors="replace") for pattern in finder)
    with transaction.atomic(), connection.cursor() as cursor:
        # By the index, however many entries the planner expects.
        cursor.execute("SET LOCAL enable_seqscan = off")
        for word in sorted(text for text in texts if text.isalnum()):
            if word.encode() not in finder:
                continue
            cursor.execute(_WITH_STEM, [f"{word}:*"])
            yield from (text.encode() for (text,) in cursor.fetchall())
    with connection.chunked_cursor() as cursor:
        cursor.execute(_ALL_STEMS)
        while rows := cursor.fetchmany(ROWS):
            yield from _join_texts(text.encode() for (text,) in rows)


# ── Files ────────────────────────────────────────────────────────────────────
class KnownFiles:
    """The files that belong to a row, and those that come with the software."""

    def __init__(self) -> None:
        self._root = Path(settings.DATA_DIR)
        self._blobs = set(
            MemoryVersion.objects.exclude(sha256="")
            .values_list("workspace_id", "sha256")
            .distinct()
        )
        live = MemoryFile.objects.exclude(sha256="")
        self._paths = set(live.values_list("path", flat=True))

    def __call__(self, path: Path) -> bool:
        """Whether a file belongs to a row or the software."""
        if not path.is_relative_to(self._root):
            return False
        parts = path.relative_to(self._root).parts
        if parts[0] == "blobs" and len(parts) == 4:
            return (parts[1], parts[3]) in self._blobs
        if parts[0] == "files":
            return "/".join(parts[1:]) in self._paths
        return parts[0] == "static"


def files(known_files: KnownFiles, overlap: int) -> Iterator[bytes]:
    """Yield the content of known files in pieces."""
    for path in file_scan.files():
        if known_files(path):
            with suppress(OSError):
                yield from file_scan.pieces(path, overlap)


def bodies() -> Iterator[bytes]:
    """Yield the bytes of memory files and versions that are rows and belong to one.

    As text a row shows its bytes in hexadecimal digits, where no word is found.
    """
    versions = MemoryVersion.objects.exclude(sha256="")
    live = MemoryFile.objects.exclude(sha256="")
    rows = StoredFile.objects.filter(
        Q(tree=trees.BLOBS, sha256__in=versions.values("sha256"))
        | Q(tree=trees.FILES, path__in=live.values("path"))
    )
    for body in rows.values_list("body", flat=True).iterator(chunk_size=ROWS_OF_FILES):
        yield bytes(body)


def shared_patterns(finder: Finder, known_files: KnownFiles) -> set[bytes]:
    """Return the patterns that occur in what stays; each is dropped once found."""
    patterns: set[bytes] = set()
    # Cheap sources first: mostly no pattern is left for the rows.
    for source in (terms, lambda: files(known_files, finder.longest), bodies, rows):
        if len(finder):
            patterns |= _patterns_in(source(), finder)
    return patterns


def _patterns_in(source: Iterable[bytes], finder: Finder) -> set[bytes]:
    """Return the patterns in a source, read until all are found."""
    patterns: set[bytes] = set()
    for piece in source:
        hits = finder.find(piece)
        if hits:
            patterns |= hits
            finder.drop(hits)
            if not len(finder):
                break
    return patterns
