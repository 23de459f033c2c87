"""Read the demo's script from TOML files; the only module here that reads files."""

from __future__ import annotations

import tomllib
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from crewship_memory.demo import model

Table: TypeAlias = "dict[str, model.Json]"

FOLDER = Path(__file__).parent / "script"


@cache
def document(name: str) -> Table:
    """Return a parsed file; it is cached, so callers must not change it."""
    return tomllib.loads((FOLDER / name).read_text(encoding="utf-8"))


def thread_names() -> list[str]:
    """Return the names of the hand-written threads."""
    return sorted(f"threads/{path.name}" for path in FOLDER.glob("threads/*.toml"))


def tables(value: model.Json) -> list[Table]:
    """Return the tables in a list, leaving out anything else."""
    rows = value if isinstance(value, list) else []
    return [row for row in rows if isinstance(row, dict)]


def texts(value: model.Json) -> list[str]:
    """Return the strings in a list, leaving out anything else."""
    rows = value if isinstance(value, list) else []
    return [row for row in rows if isinstance(row, str)]


def text(row: Table, key: str) -> str:
    """Return a text that must be there."""
    return str(row[key])


def optional_text(row: Table, key: str) -> str | None:
    """Return a text, None when it is not there."""
    return str(row[key]) if key in row else None


def number(row: Table, key: str, default: float) -> float:
    """Return a number, the default when there is none."""
    value = row.get(key, default)
    return float(value) if isinstance(value, int | float) else default
