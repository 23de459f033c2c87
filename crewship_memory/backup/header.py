"""The first frame of a backup: what it is of, and what it holds."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from crewship_memory.backup.envelope import BadBackup
from crewship_memory.backup.tables import KINDS, Column, Table

FORMAT: Final = 1
_NAME: Final = re.compile(r"[a-z_][a-z0-9_]{0,62}")
_MOST: Final = 10_000
Migration = tuple[str, str]


@dataclass(frozen=True, slots=True)
class Header:
    """What a backup says of itself; every name in it has a plain form."""

    backup_id: str
    installation_id: str
    version: str
    engine: str
    made_at: str
    has_keys: bool
    keys: Mapping[str, Any]
    migrations: tuple[Migration, ...]
    tables: Mapping[str, Table]
    rows: Mapping[str, int]


def content(
    header: Header,
) -> dict[str, Any]:
    """Return a header as the content of its frame."""
    return {
        "format": FORMAT,
        "backup_id": header.backup_id,
        "installation_id": header.installation_id,
        "version": header.version,
        "engine": header.engine,
        "made_at": header.made_at,
        "has_keys": header.has_keys,
        "keys": dict(header.keys),
        "migrations": [list(step) for step in header.migrations],
        "tables": [
            {
                "name": table.name,
                "key": table.key,
                "columns": [[c.name, c.kind] for c in table.columns],
                "rows": header.rows[table.name],
            }
            for table in header.tables.values()
        ],
    }


def parsed(frame: Mapping[str, Any]) -> Header:
    """Return the header of a frame's content; raise BadBackup."""
    if frame.get("format") != FORMAT:
        raise BadBackup(
            reason=f"The backup has the format {frame.get('format')!r}, and this"
            f" version reads {FORMAT}: use the version that made it, or a newer one."
        )
    try:
        tables = [_table(row) for row in _bounded(frame["tables"])]
        rows = {str(row["name"]): int(row["rows"]) for row in frame["tables"]}
        return Header(
            backup_id=_word(frame["backup_id"]),
            installation_id=_word(frame["installation_id"]),
            version=str(frame["version"])[:40],
            engine=_word(frame["engine"]),
            made_at=str(frame["made_at"])[:40],
            has_keys=frame["has_keys"] is True,
            keys=dict(frame["keys"]),
            migrations=tuple(
                (_word(app), str(name)) for app, name in _bounded(frame["migrations"])
            ),
            tables={table.name: table for table in tables},
            rows=rows,
        )
    except (KeyError, TypeError, ValueError, IndexError):
        raise BadBackup(reason="The header of the backup is not readable.") from None


def _bounded(values: Any) -> list[Any]:
    if not isinstance(values, list) or len(values) > _MOST:
        raise ValueError
    return values


def _word(value: Any) -> str:
    if not isinstance(value, str) or not _NAME.fullmatch(value):
        raise ValueError
    return value


def _table(row: Mapping[str, Any]) -> Table:
    columns = tuple(
        Column(_word(name), _word(kind)) for name, kind in _bounded(row["columns"])
    )
    if not columns or any(column.kind not in KINDS for column in columns):
        raise ValueError
    return Table(_word(row["name"]), columns, _word(row["key"]))
