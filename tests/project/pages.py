"""The Markdown pages of the project, for tests that compare them with the code."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from tests.project import source

PAGES: Final = (
    *sorted(source.name(path) for path in source.ROOT.glob("*.md")),
    *sorted(source.name(path) for app in source.APPS
            for path in (source.ROOT / app).glob("*.md")),
)  # fmt: skip
OPERATING: Final = "crewship_memory/OPERATING.md"
_FENCE: Final = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


@dataclass(frozen=True)
class Block:
    """One fenced block: the page and the language it is in, and its text."""

    page: str
    language: str
    text: str

    @property
    def first_line(self) -> str:
        return self.text.partition("\n")[0]


def path(page: str) -> Path:
    return source.ROOT / page


def text(page: str) -> str:
    return path(page).read_text(encoding="utf-8")


def prose(page: str) -> str:
    """Return a page without its fenced blocks."""
    return _FENCE.sub("", text(page))


def blocks(page: str) -> list[Block]:
    return [Block(page, *match) for match in _FENCE.findall(text(page))]


def rows(page: str, header: str) -> Iterator[list[str]]:
    """Yield the cells of a table's rows; ``header`` is the first cell of its head."""
    for table in prose(page).split("\n\n"):
        lines = table.strip().splitlines()
        if lines and lines[0].startswith(f"| {header} |"):
            for line in lines[2:]:
                yield [c.strip() for c in re.split(r"(?<!\\)\|", line)[1:-1]]


def codes(markdown: str) -> list[str]:
    """Return what stands in backticks."""
    return re.findall(r"`([^`\n]+)`", markdown)


def anchors(page: str) -> set[str]:
    """Return the anchors of a page's headings, as GitHub makes them."""
    headings = re.findall(r"^#+ (.+)$", prose(page), re.MULTILINE)
    return {
        re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-")
        for heading in headings
    }
