"""Reading published files: lines, JSON lines, and texts that were taken apart."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final

from crewship_memory.bench.sets import SetError

MARKS: Final = re.compile(r"\{[a-z]+\}|<[a-z]+>")
BEFORE: Final = re.compile(
    r" (?=[.,;:!?)\]]|n't\b|'(?:s|re|ve|ll|d|m)\b)", re.IGNORECASE
)
AFTER: Final = re.compile(r"(?<=[(\[]) ")
JOINED: Final = re.compile(r"\b([Cc]an|[Gg]on|[Gg]ot|[Ww]an) (not|na|ta)\b")
SPACES: Final = re.compile(r"\s+")


def plain(text: str) -> str:
    """Return a tokenised text as it is written: “do n't know .” is “don't know.”."""
    text = SPACES.sub(" ", MARKS.sub(" ", text)).strip()
    return JOINED.sub(r"\1\2", AFTER.sub("", BEFORE.sub("", text)))


def matching_files(folder: Path, pattern: str) -> list[Path]:
    """Return the files of a name pattern in a folder; raise SetError without any."""
    files = sorted(folder.glob(pattern))
    if not files:
        raise SetError(f"{folder}: no file {pattern} here")
    return files


def lines(path: Path) -> list[str]:
    return path.read_text("utf-8", errors="replace").splitlines()
