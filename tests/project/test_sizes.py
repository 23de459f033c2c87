"""Small by law: files and functions that a person can read in one go."""

from __future__ import annotations

import ast
from pathlib import Path

from tests.project import source

FILE, TEST_FILE, FUNCTION = 350, 500, 40


def lines(path: Path) -> int:
    """Count the lines of a file."""
    return len(path.read_text(encoding="utf-8").splitlines())


def functions(path: Path, tree: ast.Module) -> dict[str, int]:
    """Return name → lines of every function in a file."""
    return {
        f"{source.name(path)}:{node.name}": (node.end_lineno or 0) - node.lineno + 1
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    }


def test_no_source_file_is_longer_than_a_person_can_read() -> None:
    long = {source.name(p): lines(p) for p in source.sources() if lines(p) > FILE}
    assert long == {}


def test_no_test_file_is_either() -> None:
    long = {source.name(p): lines(p) for p in source.tests() if lines(p) > TEST_FILE}
    assert long == {}


def test_every_module_says_what_it_owns_and_no_function_is_longer_than_a_screen() -> (
    None
):
    long: dict[str, int] = {}
    silent: list[str] = []
    for path in source.sources():
        tree = ast.parse(path.read_text(encoding="utf-8"))
        long |= {
            n: size for n, size in functions(path, tree).items() if size > FUNCTION
        }
        if path.stat().st_size and ast.get_docstring(tree) is None:
            silent.append(source.name(path))
    assert (long, silent) == ({}, [])
