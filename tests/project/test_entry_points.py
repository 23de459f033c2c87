"""Routes and pages parse, call, present: no tables, and each operation has a name."""

from __future__ import annotations

import ast
from pathlib import Path

from crewship_memory.api import api
from tests.project import source

ROUTES = ("routes.py", "handlers.py")
ENTRY_POINTS = [
    path
    for path in source.sources()
    if {"api", "web"} & set(path.parts)
    or ("integrations" in path.parts and path.name in ROUTES)
]
SHELLS = [
    path
    for path in source.sources()
    if path.name == "tasks.py" or {"management", "commands"} <= set(path.parts)
]
WRITES = {"save", "delete", "create", "bulk_create", "bulk_update", "update_or_create"}


def imported(tree: ast.AST) -> set[str]:
    """Return the names that a file imports: a call through them is a service's."""
    imports = [n for n in ast.walk(tree) if isinstance(n, ast.Import | ast.ImportFrom)]
    return {alias.asname or alias.name for node in imports for alias in node.names}


def writes(path: Path) -> list[str]:
    """Return the calls in a file that write a row by themselves."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    # A router's ``delete`` declares an operation.
    services = imported(tree) | {"router"}
    return [
        ast.unparse(node.func)
        for node in ast.walk(tree)
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr in WRITES
        and not (
            isinstance(node.func.value, ast.Name) and node.func.value.id in services
        )
    ]


def tables(path: Path) -> list[str]:
    """Return where a file reaches for a table or the database itself."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    managers = [
        ast.unparse(node)
        for node in ast.walk(tree)
        if isinstance(node, ast.Attribute)
        and node.attr in ("objects", "_default_manager")
    ]
    modules = [
        str(node.module)
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and str(node.module).startswith("django.db")
    ]
    return managers + modules


def test_entry_points_of_each_package_are_known() -> None:
    folders = {path.relative_to(source.ROOT).parts[:2] for path in ENTRY_POINTS}
    expected = {
        (app, kind) for app in ("memory", "episodic", "gdpr") for kind in ("api", "web")
    }
    assert folders == expected | {("memory", "integrations")}


def test_an_entry_point_touches_no_table() -> None:
    calls_by_file = {
        source.name(path): tables(path) + writes(path) for path in ENTRY_POINTS
    }
    assert {name: calls for name, calls in calls_by_file.items() if calls} == {}


def test_a_task_or_command_writes_no_row() -> None:
    calls_by_file = {source.name(path): writes(path) for path in SHELLS}
    assert {name: calls for name, calls in calls_by_file.items() if calls} == {}


def test_every_operation_has_a_name_of_its_own_and_a_sentence() -> None:
    names: list[str] = []
    for router in api._get_bound_routers():
        for view in router.path_operations.values():
            for operation in view.operations:
                where = (
                    f"{operation.view_func.__module__}.{operation.view_func.__name__}"
                )
                assert operation.operation_id, where
                assert operation.view_func.__doc__, where
                names.append(operation.operation_id)
    assert len(names) == len(set(names)) > 10
