"""A door parses, calls, presents: it never touches a table, and says what it is."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

from crewship_memory.api import api
from tests.house import source

DOORS = [path for path in source.sources() if "doors" in path.parts]
SHELLS = [
    path
    for path in source.sources()
    if path.name == "tasks.py" or {"management", "commands"} <= set(path.parts)
]
# Reading through a manager, writing a row, or the database itself.
TABLES = re.compile(r"\.objects\b|\.save\(|\.delete\(|\bbulk_create\(|django\.db\b")


def code(path: Path) -> str:
    """Return a file without its comments and texts."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            node.value = ""
    return ast.unparse(tree)


def test_there_are_doors() -> None:
    assert len(DOORS) > 8


@pytest.mark.parametrize("path", DOORS, ids=source.name)
def test_a_door_touches_no_table(path: Path) -> None:
    assert TABLES.findall(code(path)) == []


@pytest.mark.parametrize("path", SHELLS, ids=source.name)
def test_a_task_or_command_writes_no_row(path: Path) -> None:
    written = re.compile(r"\.save\(|\.delete\(|\.create\(|bulk_create\(")
    assert written.findall(code(path)) == []


def test_every_operation_has_a_name_of_its_own_and_a_sentence() -> None:
    names: list[str] = []
    for bound in api._get_bound_routers():
        for view in bound.path_operations.values():
            for operation in view.operations:
                where = f"{operation.view_func.__module__}.{operation.view_func.__name__}"
                assert operation.operation_id, where
                assert operation.view_func.__doc__, where
                names.append(operation.operation_id)
    assert len(names) == len(set(names)) > 10
