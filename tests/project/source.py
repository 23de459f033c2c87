"""The source files of the project, for tests that read instead of run."""

from __future__ import annotations

from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).resolve().parents[2]
APPS: Final = ("memory", "episodic", "gdpr", "crewship_memory")


def sources() -> list[Path]:
    """Return every file of the four floors that a person writes."""
    paths = [path for app in APPS for path in (ROOT / app).rglob("*.py")]
    return sorted(path for path in paths if "migrations" not in path.parts)


def tests() -> list[Path]:
    return sorted((ROOT / "tests").rglob("*.py"))


def name(path: Path) -> str:
    """Return a path as people write it."""
    return path.relative_to(ROOT).as_posix()
