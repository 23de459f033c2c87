"""What .editorconfig asks of an editor is how the files are."""

from __future__ import annotations

import configparser
from collections.abc import Iterator
from fnmatch import fnmatch
from pathlib import Path
from typing import Final

from tests.project import source

FOLDERS: Final = (*source.APPS, "templates", "static", "tests", ".ci", ".github")
NOT_TEXT: Final = {".onnx", ".png", ".bin", ".mo", ".pyc"}
AT_THE_TOP: Final = (
    "*.md",
    "*.py",
    "*.toml",
    "*.txt",
    "*.yaml",
    ".*ignore",
    ".editorconfig",
)


def rules() -> dict[str, dict[str, str]]:
    """Return what each pattern of .editorconfig asks for; `root` stands before them."""
    parser = configparser.ConfigParser(delimiters=("=",), interpolation=None)
    text = (source.ROOT / ".editorconfig").read_text(encoding="utf-8")
    parser.read_string(f"[first]\n{text}")
    return {name: dict(parser[name]) for name in parser.sections()[1:]}


def wishes(path: Path, sections: dict[str, dict[str, str]]) -> dict[str, str]:
    """Return what is asked of one file: of two rules the later one counts."""
    wish: dict[str, str] = {}
    for pattern, rule in sections.items():
        if fnmatch(path.name if "/" not in pattern else str(path), pattern):
            wish |= rule
    return wish


def files() -> Iterator[Path]:
    """Yield every text file that is kept."""
    for pattern in AT_THE_TOP:
        yield from source.ROOT.glob(pattern)
    for folder in FOLDERS:
        for path in (source.ROOT / folder).rglob("*"):
            if path.is_file() and path.suffix not in NOT_TEXT:
                yield path


def faults(path: Path, wish: dict[str, str]) -> list[str]:
    """Return what a file does otherwise."""
    text = path.read_bytes().decode(wish["charset"])
    lines = text.split("\n")
    tabs = any(line.startswith("\t") for line in lines)
    ends = text.endswith("\n") or not text
    trailing = any(line != line.rstrip(" \t") for line in lines)
    return [
        name
        for name, is_broken in {
            "end_of_line": "\r" in text,
            "trim_trailing_whitespace": trailing,
            "indent_style": tabs and wish["indent_style"] == "space",
            "insert_final_newline": not ends and wish["insert_final_newline"] == "true",
        }.items()
        if is_broken
    ]


def test_every_file_is_as_an_editor_would_leave_it() -> None:
    sections = rules()
    broken = {
        source.name(path): fault
        for path in files()
        if (fault := faults(path, wishes(path.relative_to(source.ROOT), sections)))
    }
    assert broken == {}


def test_a_fault_is_noticed(tmp_path: Path) -> None:
    file = tmp_path / "any.py"
    file.write_bytes(b"if x:\n\ty = 1 \nz = 2\r\nz")
    wish = wishes(Path("any.py"), rules())
    assert wish["indent_size"] == "4"
    assert set(faults(file, wish)) == {
        *("end_of_line", "trim_trailing_whitespace"),
        *("indent_style", "insert_final_newline"),
    }
