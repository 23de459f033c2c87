"""The report of a search for remaining matches: counts and places, without texts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import islice
from typing import Any, Final

from gdpr.data_map.base import Trace

# Called now and then during long work; it may raise to stop it.
Beat = Callable[[], None]


def no_beat() -> None:
    return None


# Traces of a report; and those that a person may be asked to decide on.
MAX_TRACES: Final = 100
MAX_ROWS: Final = 10_000


@dataclass(slots=True)
class Report:
    """How much was searched for, in how much data, and what was found.

    ``shared`` counts strings that rows which stay contain too: finding one in a file
    proves nothing. ``files`` and ``bytes`` were read by the search of bytes, ``tables``
    and ``rows`` by the second matcher. ``checkpoint`` is SQLite's answer (busy, pages
    in the log, pages moved), None elsewhere. ``skipped`` files are read in another way;
    ``not_read`` counts files by why their content was not searched in full.
    """

    searches: int = 0
    as_words: int = 0
    in_fields: int = 0
    patterns: int = 0
    shared: int = 0
    files: int = 0
    bytes: int = 0
    tables: int = 0
    rows: int = 0
    unpacked: int = 0
    skipped: int = 0
    not_read: Counter[str] = field(default_factory=Counter)
    traces: list[Trace] = field(default_factory=list)
    checkpoint: list[int] | None = None
    methods: list[str] = field(default_factory=list)
    remains: list[str] = field(default_factory=list)
    todo: list[str] = field(default_factory=list)

    @property
    def is_clean(self) -> bool:
        return not self.traces and not self.todo

    def rows_of(self, description: str) -> dict[str, list[str]]:
        """Return place → where the traces of one kind are, at most ``MAX_ROWS``."""
        places: dict[str, list[str]] = {}
        traces = (row for row in self.traces if row.description == description)
        for trace in islice(traces, MAX_ROWS):
            places.setdefault(trace.place, []).append(trace.where)
        return places

    def as_json(self) -> dict[str, Any]:
        """Return the report as JSON for the certificate; traces contain no text."""
        return {
            "searches": self.searches,
            "identifiers": {
                "sought_as_words": self.as_words,
                "sought_in_links_and_fields": self.in_fields,
            },
            "sought": self.patterns,
            "shared": self.shared,
            "files": self.files,
            "bytes_searched": self.bytes,
            "tables": self.tables,
            "rows": self.rows,
            "files_unpacked": self.unpacked,
            "files_skipped": self.skipped,
            "files_not_read": dict(self.not_read),
            "found": len(self.traces),
            "traces": [
                {"place": trace.place, "where": trace.where, "what": trace.description}
                for trace in self.traces[:MAX_TRACES]
            ],
            "checkpoint": self.checkpoint,
            "methods": self.methods,
            "remains": self.remains,
            "todo": self.todo,
        }
