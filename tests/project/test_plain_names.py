"""The script that counts past verbs and pronouns standing as names finds them all."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.project.source import ROOT

SCRIPT = ROOT / ".ci" / "plain_names.py"

PLANTED = '''
import json as found, csv as table
"""told"""
asked = {"told": 1}

def kept(told, /, row, *said, wanted=None, **gone):
    text = [one.given for one in told if (made := one)]
    with open(text) as _left, open(text) as file:
        for seen, (index, *theirs) in text:
            inner = lambda mine: mine.told
    try:
        call(given=1)
    except ValueError as chosen:
        pass
    match text:
        case {"a": shown, **others} | [shown, *others]:
            pass
        case drawn:
            pass

class NotedMessage:
    held: int
    created_at: int
    held_id: int
    last_used: int

    async def found_one(self):
        def told2(): ...
'''

OFFENCES = """
<module> found
<module> asked
<module> kept
kept told
kept said
kept wanted
kept gone
kept one
kept made
kept _left
kept seen
kept theirs
kept mine
kept chosen
kept others
kept shown
kept shown
kept others
kept drawn
NotedMessage held
NotedMessage found_one
NotedMessage.found_one told2
"""

WORDS = """
# past verbs
found
told  # a comment
asked kept said wanted gone made left seen given chosen shown drawn held
# pronouns
one theirs mine others
"""


def run(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run the folder's copy of the script."""
    command = [sys.executable, ".ci/plain_names.py", *arguments]
    return subprocess.run(
        command, cwd=folder, capture_output=True, text=True, check=False
    )


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """Return a checkout with two planted files and a list of its own."""
    (tmp_path / ".ci").mkdir()
    script = tmp_path / ".ci" / "plain_names.py"
    script.write_text(SCRIPT.read_text(encoding="utf-8"), encoding="utf-8")
    lines = [line for line in WORDS.splitlines() if line.startswith("#")]
    words = [w for line in WORDS.splitlines() for w in line.partition("#")[0].split()]
    script.with_suffix(".txt").write_text("\n".join(lines + words), encoding="utf-8")
    for path in ("memory/planted.py", "memory/migrations/a.py", "tests/test_a.py"):
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text("rows = 1\n", encoding="utf-8")
    (tmp_path / "memory/planted.py").write_text(PLANTED, encoding="utf-8")
    (tmp_path / "memory/migrations/a.py").write_text("told = 1\n", encoding="utf-8")
    for command in (["git", "init", "-q"], ["git", "add", "."]):
        subprocess.run(command, cwd=tmp_path, check=True, capture_output=True)
    return tmp_path


def test_every_way_of_binding_is_seen_and_nothing_else(project: Path) -> None:
    lines = run(project, "--list", "--area", "source").stdout.splitlines()
    offences = [line.split("  ")[1:] for line in lines if line]
    assert [" ".join(offence) for offence in offences] == OFFENCES.split("\n")[1:-1]
    assert lines[0] == "memory/planted.py:2  <module>  found"


def test_pinned_names_are_allowed_where_they_are_pinned(project: Path) -> None:
    with (project / ".ci/plain_names.txt").open("a", encoding="utf-8") as file:
        file.write("\nallow: held  # the API\nallow argument: told  # Django\n")
        file.write("allow: asked  # a field, not a name of the module\n")
    output = run(project, "--list").stdout
    assert "NotedMessage  held\n" not in output
    assert "kept  told\n" not in output
    assert "<module>  asked\n" in output


def test_an_exception_needs_its_reason(project: Path) -> None:
    with (project / ".ci/plain_names.txt").open("a", encoding="utf-8") as file:
        file.write("\nallow: held\n")
    assert "allow: name  # reason" in run(project).stderr


def test_the_limit_decides_the_exit_status_by_area(project: Path) -> None:
    process = run(project, "--limit", "5")
    assert process.returncode == 1
    assert "source: 33 bound names, 22 plain-word offences, 666.7 per 1,000" in (
        process.stdout
    )
    assert (
        "tests: 1 bound names, 0 plain-word offences, 0.0 per 1,000" in process.stdout
    )
    assert run(project, "--area", "tests", "--limit", "5").returncode == 0
    assert run(project, "--area", "all", "--limit", "5").returncode == 1
    assert run(project, "--area", "source", "--limit", "700").returncode == 0


def test_offences_are_counted_by_file(project: Path) -> None:
    assert "22 memory/planted.py" in run(project, "--by-file").stdout
