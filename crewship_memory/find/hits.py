"""What the palette lists."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Hit:
    """One line: its title, what it is, and the address that opens it."""

    title: str
    detail: str
    url: str


@dataclass(frozen=True, slots=True)
class Group:
    """Lines of one kind."""

    title: str
    hits: list[Hit]
