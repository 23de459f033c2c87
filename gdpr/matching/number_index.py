"""Telephone numbers of people, looked up by their last digits."""

from __future__ import annotations

import re
from collections.abc import Iterator

from gdpr.matching import phones
from gdpr.matching.masking import Name


class NumberIndex:
    """The numbers of some people; false when there are none."""

    def __init__(self) -> None:
        self._by_tail: dict[str, list[tuple[phones.Number, Name]]] = {}
        self.tail_patterns: list[re.Pattern[str]] = []

    def __bool__(self) -> bool:
        return bool(self._by_tail)

    def add(self, name: Name) -> None:
        """Add a number that is long enough to be one."""
        line = phones.alias(name.value)
        if len(line.digits) < phones.MIN_DIGITS:
            return
        if line.tail not in self._by_tail:
            self.tail_patterns.append(phones.tail_pattern(line.tail))
        self._by_tail.setdefault(line.tail, []).append((line, name))

    def of_line(self, line: phones.Number) -> Iterator[Name]:
        """Yield the names whose number reaches a line."""
        for number, name in self._by_tail.get(line.tail, ()):
            if number.is_same_line(line):
                yield name

    def inside(self, folded: str) -> Iterator[tuple[int, int, Name]]:
        """Yield where a folded text has a number, and whose it is."""
        for start, end, line in phones.candidates(folded) if self._by_tail else ():
            for name in self.of_line(line):
                yield start, end, name
