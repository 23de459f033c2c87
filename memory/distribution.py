"""Keys by workspace on PostgreSQL, and the plan that distributes the tables by it.

A partitioned table, and one that is distributed over several servers, can hold a unique
rule only when the column it is divided by is part of it. So on PostgreSQL the keys and
unique rules of a table that has a workspace begin with it, and so do the foreign keys
between two of them. Django still names a row by its id alone: an index on the id
answers that, and ids are random or from one sequence, so they do not repeat.

A few small tables stay as a copy on every server (``COPIED``), besides those that have
no workspace at all.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from graphlib import TopologicalSorter
from typing import Any, Final

from django.db import IntegrityError

COLUMN: Final = "workspace_id"
# The comment on a constraint that was changed, by which it is changed back.
MARK: Final = "keyed by workspace"
# Why each cannot be divided by workspace, although it has one.
COPIED: Final = {
    "agent_keys": "A request's key is looked up before its workspace is known.",
    "operator_keys": "A request's key is looked up before its workspace is known.",
    "gateway_keys": "A request's key is looked up before its workspace is known.",
    "gdpr_calendar_feeds": "Looked up by the digest of its link.",
    "gdpr_intake_requests": "Looked up by the digest of its link.",
    "invitations": "Looked up by the digest of its link, and by address.",
    "memberships": "A person's workspaces are looked up at once.",
    "crews": "Keys refer to their agent, and an agent to its crew.",
    "agents": "Keys refer to their agent.",
    "job_runs": "Jobs of the installation have no workspace.",
}
_NAMES: Final = (
    "ARRAY(SELECT a.attname::text"
    " FROM unnest({key}) WITH ORDINALITY AS k(number, place)"
    " JOIN pg_attribute a ON a.attrelid = {table} AND a.attnum = k.number"
    " ORDER BY k.place)"
)
_HERE: Final = (
    "t.relnamespace = current_schema()::regnamespace AND NOT t.relispartition"
)
_TABLES: Final = (
    "SELECT t.relname::text, EXISTS (SELECT 1 FROM pg_attribute a WHERE"  # noqa: S608
    f" a.attrelid = t.oid AND a.attname = '{COLUMN}' AND NOT a.attisdropped)"
    f" FROM pg_class t WHERE t.relkind IN ('r', 'p') AND {_HERE} ORDER BY 1"
)
_CONSTRAINTS: Final = (
    "SELECT t.relname::text, c.conname::text, c.contype::text,"  # noqa: S608
    f" {_NAMES.format(key='c.conkey', table='c.conrelid')},"
    " (SELECT relname::text FROM pg_class WHERE oid = c.confrelid),"
    f" {_NAMES.format(key='c.confkey', table='c.confrelid')},"
    f" coalesce(obj_description(c.oid, 'pg_constraint') = '{MARK}', false)"
    " FROM pg_constraint c JOIN pg_class t ON t.oid = c.conrelid"
    f" WHERE c.contype IN ('p', 'u', 'f') AND {_HERE} ORDER BY 1, 2"
)
_INDEXES: Final = (
    "SELECT t.relname::text, n.relname::text, i.indisunique,"  # noqa: S608
    f" {_NAMES.format(key='i.indkey::int2[]', table='i.indrelid')},"
    " i.indpred IS NOT NULL"
    " FROM pg_index i JOIN pg_class t ON t.oid = i.indrelid"
    f" JOIN pg_class n ON n.oid = i.indexrelid WHERE {_HERE} ORDER BY 1, 2"
)
_TRIGGERS: Final = (
    "SELECT t.relname::text, g.tgname::text, pg_get_triggerdef(g.oid)"  # noqa: S608
    " FROM pg_trigger g"
    f" JOIN pg_class t ON t.oid = g.tgrelid WHERE NOT g.tgisinternal AND {_HERE}"
    " ORDER BY 1, 2"
)


@dataclass(frozen=True, slots=True)
class Constraint:
    """A primary key (``p``), a unique rule (``u``) or a foreign key (``f``)."""

    table: str
    name: str
    kind: str
    columns: list[str]
    target: str | None
    target_columns: list[str]
    is_marked: bool

    @property
    def is_foreign(self) -> bool:
        """Whether it refers to another table."""
        return self.kind == "f"


@dataclass(frozen=True, slots=True)
class Index:
    """An index by its columns; an expression is no column."""

    table: str
    name: str
    is_unique: bool
    columns: list[str]
    is_partial: bool


def _fetch(cursor: Any, sql: str) -> list[tuple[Any, ...]]:
    cursor.execute(sql)
    return list(cursor.fetchall())


def _constraints(cursor: Any) -> list[Constraint]:
    return [Constraint(*row) for row in _fetch(cursor, _CONSTRAINTS)]


def _indexes(cursor: Any) -> list[Index]:
    return [Index(*row) for row in _fetch(cursor, _INDEXES)]


def divided(cursor: Any) -> list[str]:
    """Return the tables that are divided by workspace."""
    rows = _fetch(cursor, _TABLES)
    return [
        name for name, has_workspace in rows if has_workspace and name not in COPIED
    ]


def copied(cursor: Any) -> list[str]:
    """Return the tables that every server has a copy of."""
    rows = _fetch(cursor, _TABLES)
    return [name for name, has_workspace in rows if not has_workspace or name in COPIED]


# ── The keys ─────────────────────────────────────────────────────────────────
def rekey(cursor: Any) -> None:
    """Put the workspace first in every key of the tables that are divided by it.

    What follows the rule already is left alone. Names of constraints stay.
    """
    tables = set(divided(cursor))
    constraints = [
        constraint
        for constraint in _constraints(cursor)
        if constraint.table in tables and constraint.columns[:1] != [COLUMN]
    ]
    foreign = [c for c in constraints if c.is_foreign and c.target in tables]
    keys = [c for c in constraints if not c.is_foreign]
    _replace(cursor, foreign, keys, (COLUMN,))
    for constraint in (*keys, *foreign):
        cursor.execute(
            f'COMMENT ON CONSTRAINT "{constraint.name}" ON "{constraint.table}"'
            f" IS '{MARK}'"
        )
    _index_by_id(cursor, keys)


def rekey_back(cursor: Any) -> None:
    """Take the workspace out of the keys that ``rekey`` put it into."""
    marked = [
        replace(c, columns=c.columns[1:], target_columns=c.target_columns[1:])
        for c in _constraints(cursor)
        if c.is_marked
    ]
    foreign = [constraint for constraint in marked if constraint.is_foreign]
    keys = [constraint for constraint in marked if not constraint.is_foreign]
    _replace(cursor, foreign, keys, ())
    for key in keys:
        cursor.execute(f'DROP INDEX IF EXISTS "{_index_name(key)}"')


def _replace(
    cursor: Any,
    foreign: Sequence[Constraint],
    keys: Sequence[Constraint],
    first: tuple[str, ...],
) -> None:
    """Make constraints anew, with ``first`` before their columns on both sides."""
    for constraint in (*foreign, *keys):
        _alter(cursor, constraint.table, f'DROP CONSTRAINT "{constraint.name}"')
    for key in keys:
        word = "PRIMARY KEY" if key.kind == "p" else "UNIQUE"
        _add(cursor, key, f"{word} ({_list((*first, *key.columns))})")
    for constraint in foreign:
        _refer(cursor, constraint, first)


def _refer(cursor: Any, constraint: Constraint, first: tuple[str, ...]) -> None:
    """Add a foreign key; IntegrityError says where workspaces of rows disagree."""
    own = _list((*first, *constraint.columns))
    target = _list((*first, *constraint.target_columns))
    text = f'FOREIGN KEY ({own}) REFERENCES "{constraint.target}" ({target})'
    try:
        _add(cursor, constraint, f"{text} DEFERRABLE INITIALLY DEFERRED")
    except IntegrityError as error:
        message = (
            f"A row of {constraint.table} has another {COLUMN} than the row of"
            f" {constraint.target} that it refers to. Nothing was changed: correct the"
            f" row, then migrate again. {error}"
        )
        raise IntegrityError(message) from error


def _index_name(key: Constraint) -> str:
    return f"{key.name[:58]}_row"


def _index_by_id(cursor: Any, keys: Iterable[Constraint]) -> None:
    """Index the columns of former keys by which nothing can be looked up any more."""
    usable = {
        (index.table, index.columns[0])
        for index in _indexes(cursor)
        if index.columns and not index.is_partial
    }
    for key in keys:
        if (key.table, key.columns[0]) not in usable:
            columns, name = _list(key.columns), _index_name(key)
            cursor.execute(f'CREATE INDEX "{name}" ON "{key.table}" ({columns})')
            usable.add((key.table, key.columns[0]))


def _list(columns: Sequence[str]) -> str:
    return ", ".join(f'"{column}"' for column in columns)


def _alter(cursor: Any, table: str, change: str) -> None:
    cursor.execute(f'ALTER TABLE "{table}" {change}')


def _add(cursor: Any, constraint: Constraint, text: str) -> None:
    _alter(cursor, constraint.table, f'ADD CONSTRAINT "{constraint.name}" {text}')


# ── The rule ─────────────────────────────────────────────────────────────────
def faults(cursor: Any) -> list[str]:
    """Return what keeps the tables from being divided by workspace, in sentences."""
    tables, constraints = set(divided(cursor)), _constraints(cursor)
    names = {constraint.name for constraint in constraints}
    sentences = [
        f"{index.table}: the unique index {index.name} does not begin with {COLUMN}."
        for index in _indexes(cursor)
        if index.is_unique
        and index.table in tables
        and index.name not in names
        and index.columns[:1] != [COLUMN]
    ]
    keyed = {c.table for c in constraints if c.kind == "p"}
    sentences += [f"{name}: has no key." for name in sorted(tables - keyed)]
    for constraint in constraints:
        begins = constraint.columns[:1] == [COLUMN]
        if constraint.table not in tables:
            is_fault = constraint.is_foreign and constraint.target in tables
            text = "it is copied and refers to what is divided"
        elif constraint.is_foreign:
            is_fault = constraint.target in tables and not (
                begins and constraint.target_columns[:1] == [COLUMN]
            )
            text = f"the foreign key does not begin with {COLUMN} on both sides"
        else:
            is_fault, text = not begins, f"the key does not begin with {COLUMN}"
        if is_fault:
            sentences.append(f"{constraint.table}: {constraint.name}: {text}.")
    return sentences


# ── The plan ─────────────────────────────────────────────────────────────────
def plan(cursor: Any) -> list[str]:
    """Return the statements that distribute this database by workspace, with Citus.

    A table comes after those it refers to. Triggers go before, as a distributed table
    has none of its own, and are made on each shard at the end.
    """
    order, triggers = _ordered(cursor), _fetch(cursor, _TRIGGERS)
    tables = set(divided(cursor))
    names = [name for name in order if name not in tables]
    statements = [
        "CREATE EXTENSION IF NOT EXISTS citus;",
        *(f'DROP TRIGGER "{name}" ON "{table}";' for table, name, _ in triggers),
        *(f"SELECT create_reference_table('{name}');" for name in names),
    ]
    first = ""
    for name in order:
        if name in tables:
            beside = f", colocate_with => '{first}'" if first else ""
            statements.append(
                f"SELECT create_distributed_table('{name}', '{COLUMN}'{beside});"
            )
            first = first or name
    return statements + [_on_shards(table, text) for table, _, text in triggers]


def _ordered(cursor: Any) -> list[str]:
    """Return all tables, each after those that it refers to."""
    graph: dict[str, set[str]] = {name: set() for name, _ in _fetch(cursor, _TABLES)}
    for constraint in _constraints(cursor):
        if constraint.is_foreign and constraint.target != constraint.table:
            graph[constraint.table].add(str(constraint.target))
    return list(TopologicalSorter(graph).static_order())


def _on_shards(table: str, trigger: str) -> str:
    """Return the statement that makes a trigger on each shard of a table."""
    text = trigger.replace("%", "%%")
    for name in (f" ON public.{table} ", f" ON {table} "):
        text = text.replace(name, " ON %s ")
    return f"SELECT run_command_on_shards('{table}', $command${text}$command$);"
