"""A place in this package that an upper one fills at start-up."""

from __future__ import annotations

from typing import Generic, TypeVar

T = TypeVar("T")


class Port(Generic[T]):
    """Holds what was registered; until then, the default."""

    def __init__(self, default: T) -> None:
        self.implementation = default
