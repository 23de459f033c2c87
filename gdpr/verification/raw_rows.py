"""Every row of every table as text, read with SQL and not through holders.

So that the second search of a verification does not rest on what the data map declares:
a table or a column that nobody declared is read as well.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from django.apps import apps
from django.db import connection, models

from gdpr.verification import raw_columns
from gdpr.verification.second_matcher import SEAM
from memory.models import User, Workspace

# Vectors, digests and random bytes hold no text; what is sealed does not open here.
NUMBERS: Final = frozenset(
    {"vector", "words", "points", "salt", "commitment", "prev_hash", "entry_hash"}
    | {
        "last_hash",
        "seal",
        "sealed",
        "mac",
        "sha256",
        "base_sha256",
        "content_hash",
        "digest",
    }
)
# Tables of the person that hold other people's names row by row: only theirs are read.
_OF_SUBJECT: Final = {"gdpr_aliases": "subject_id", "gdpr_subjects": "id"}
# Columns whose value says who, also without JSON around it.
_WHO_COLUMNS: Final = frozenset({"scope_user", "end_user", "user"})
# Columns with the row that a row belongs to.
_PARENTS: Final = ("entry_id", "file_id", "current_entry_id")
_SHADOW: Final = re.compile(r"_fts(_(data|idx|docsize|config|content))?$")
_DEPTH: Final = 3
_ID: Final = r"[\w\-]*"


@dataclass(frozen=True, slots=True)
class Row:
    """A row: its key, the rows it belongs to, and its columns as one text.

    ``facts`` are the columns that the program fills, as another text.
    """

    key: str
    parents: tuple[str, ...]
    text: str
    facts: str = ""


@dataclass(frozen=True, slots=True)
class Batch:
    """Rows of a table, column by column; ``row`` returns a single one."""

    keys: Sequence[str]
    parents: Sequence[Sequence[str]]
    texts: Sequence[str]
    facts: Sequence[str]

    def __len__(self) -> int:
        return len(self.texts)

    def row(self, at: int) -> Row:
        parents = tuple(column[at] for column in self.parents)
        return Row(self.keys[at], parents, self.texts[at], self.facts[at])


@dataclass(frozen=True, slots=True)
class RawTable:
    """A table of the database, with the columns to read.

    ``order`` are the columns that order the rows of a SQLite table without rowid.
    """

    name: str
    model: type[models.Model] | None
    key: str
    columns: tuple[str, ...]
    byte_columns: frozenset[str]
    parents: tuple[str, ...]
    order: tuple[str, ...] = ()


def _quoted(name: str | None) -> str:
    return str(connection.ops.quote_name(str(name)))


# ── Tables ───────────────────────────────────────────────────────────────────
def tables() -> list[RawTable]:
    """Return the tables with columns that can hold text."""
    by_name = {
        model._meta.db_table: model
        for model in apps.get_models(include_auto_created=True)
    }
    lite = connection.vendor == "sqlite"
    schema = _sqlite_schema() if lite else _postgres_schema()
    orders = _without_rowid() if lite else {}
    return [
        _table(
            name,
            by_name.get(name),
            columns,
            orders.get(name) or (("rowid",) if lite else ("ctid",)),
        )
        for name, columns in sorted(schema.items())
        if not _SHADOW.search(name)
    ]


def _table(
    name: str,
    model: type[models.Model] | None,
    columns: dict[str, str],
    order: tuple[str, ...],
) -> RawTable:
    texts = tuple(
        column
        for column, kind in columns.items()
        if column not in NUMBERS and _holds_text(kind)
    )
    key = order[0] if model is None else str(model._meta.pk.column)
    return RawTable(
        name,
        model,
        key,
        texts,
        frozenset(c for c in texts if columns[c].upper() in ("BLOB", "BYTEA")),
        tuple(column for column in _PARENTS if column in columns),
        () if order[0] in ("rowid", "ctid") else order,
    )


def _holds_text(kind: str) -> bool:
    """Whether a column of an SQL type can hold text; an unknown type can."""
    numbers = ("INT", "BIGINT", "SMALLINT", "BOOL", "REAL", "DOUBLE", "DATE", "TIME")
    return not kind.upper().startswith(numbers) and "vector" not in kind.lower()


def _sqlite_schema() -> dict[str, dict[str, str]]:
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT name FROM sqlite_master WHERE type = 'table'"
            " AND name NOT LIKE 'sqlite\\_%%' ESCAPE '\\'"
            " AND sql NOT LIKE 'CREATE VIRTUAL%%'",
            [],
        )
        names = [row[0] for row in cursor.fetchall()]
        schema = {}
        for name in names:
            cursor.execute(f"PRAGMA table_info({_quoted(name)})")
            schema[name] = {row[1]: row[2] for row in cursor.fetchall()}
    return schema


def _without_rowid() -> dict[str, tuple[str, ...]]:
    """Return the SQLite tables without rowid, with the columns of their key."""
    with connection.cursor() as cursor:
        cursor.execute("PRAGMA table_list")
        names = [row[1] for row in cursor.fetchall() if row[2] == "table" and row[4]]
        keys = {}
        for name in names:
            cursor.execute(f"PRAGMA table_info({_quoted(name)})")
            parts = sorted((row[5], row[1]) for row in cursor.fetchall() if row[5])
            keys[name] = tuple(column for _, column in parts)
    return keys


def _postgres_schema() -> dict[str, dict[str, str]]:
    schema: dict[str, dict[str, str]] = {}
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT c.table_name, c.column_name, c.udt_name"
            " FROM information_schema.columns c JOIN information_schema.tables t"
            " USING (table_schema, table_name)"
            " WHERE c.table_schema = current_schema() AND t.table_type = 'BASE TABLE'"
            # What a partition has is read with its table.
            " AND NOT (SELECT relispartition FROM pg_class"
            " WHERE oid = to_regclass(quote_ident(c.table_name)))"
            " ORDER BY c.ordinal_position"
        )
        for table, column, kind in cursor.fetchall():
            schema.setdefault(table, {})[column] = kind
    return schema


# ── Whose rows ───────────────────────────────────────────────────────────────
def _scope(model: type[models.Model] | None, workspace: str, depth: int = 0) -> str:
    """Return the SQL condition for rows of a workspace; empty when none can tell.

    A row without a workspace is of every workspace. ``workspace`` is a literal.
    """
    if model is None or depth == _DEPTH:
        return ""
    if model is Workspace:
        return f"id = {workspace}"
    if model is User:
        members = f"SELECT user_id FROM memberships WHERE workspace_id = {workspace}"  # noqa: S608
        return f"is_superuser OR id IN ({members})"
    fields = [field for field in model._meta.concrete_fields if field.is_relation]
    for field in fields:
        if field.column == "workspace_id":
            return f"workspace_id IS NULL OR workspace_id = {workspace}"
    for field in fields:
        parent = field.related_model
        if not isinstance(parent, type) or parent is model:
            continue
        condition = _scope(parent, workspace, depth + 1)
        if condition:
            column, meta = _quoted(field.column), parent._meta
            key, name = _quoted(meta.pk.column), _quoted(meta.db_table)
            rows = f"SELECT {key} FROM {name} WHERE {condition}"  # noqa: S608
            return f"{column} IS NULL OR {column} IN ({rows})"
    return ""


def _condition(table: RawTable, workspace_id: str, subject_id: str) -> str:
    condition = _scope(table.model, _literal(workspace_id))
    if table.model is None and "workspace_id" in table.columns:
        condition = f"workspace_id IS NULL OR workspace_id = {_literal(workspace_id)}"
    owner = _OF_SUBJECT.get(table.name)
    own = f"{_quoted(owner)} = {_literal(subject_id)}" if owner else ""
    return _and(condition, own)


def _and(*conditions: str) -> str:
    return " AND ".join(f"({part})" for part in conditions if part)


def _has_key(table: RawTable, keys: Sequence[str]) -> str:
    """Return the SQL condition for keys; one that is no id of ours is left out."""
    literals = [_literal(key) for key in keys if re.fullmatch(_ID, key)]
    return f"{_quoted(table.key)} IN ({', '.join(literals) or 'NULL'})"


def _literal(text: str) -> str:
    """Return an id as an SQL literal: ids are letters, digits and underscores."""
    if not re.fullmatch(_ID, text):
        message = "An id has other characters than letters, digits and dashes."
        raise ValueError(message)
    return f"'{text}'"


# ── Rows ─────────────────────────────────────────────────────────────────────
def _as_text(table: RawTable, column: str) -> str:
    """Return the SQL of a column as text; bytes as hexadecimal digits."""
    name, lite = _quoted(column), connection.vendor == "sqlite"
    if column in table.byte_columns:
        text = f"hex({name})" if lite else f"encode({name}, 'hex')"
    else:
        text = f"CAST({name} AS TEXT)"
    if column in _WHO_COLUMNS:
        text = f"'\"{column}\":\"' || {text} || '\"'"
    return f"coalesce({text}, '')"


def batches(
    table: RawTable,
    leave_out: frozenset[str],
    workspace_id: str,
    subject_id: str,
    facts: frozenset[str] = frozenset(),
    *,
    keys: Sequence[str] = (),
) -> Iterator[Batch]:
    """Yield a table's rows of a workspace, without the columns to leave out.

    With ``keys`` only the rows that have one of them.

    In short queries: a long read would keep SQLite's log from being truncated.
    """
    columns = [column for column in table.columns if column not in leave_out]
    if not columns:
        return
    names = [f"CAST({_quoted(name)} AS TEXT)" for name in (table.key, *table.parents)]
    values = [f"coalesce({name}, '')" for name in names]
    values.append(_joined(table, [name for name in columns if name not in facts]))
    values.append(_joined(table, [name for name in columns if name in facts]))
    condition = _condition(table, workspace_id, subject_id)
    if keys:
        condition = _and(condition, _has_key(table, keys))
    for keys, *parents, texts, fact_texts in raw_columns.read(
        table.name, table.order, values, condition
    ):
        yield Batch(keys, parents, texts, fact_texts)


def _joined(table: RawTable, columns: Sequence[str]) -> str:
    """Return the SQL of columns as one text."""
    texts = [_as_text(table, column) for column in columns]
    return f" || '{SEAM}' || ".join(texts) or "''"
