"""Caches in this process's memory, and log files.

Each process flushes its own caches; ``gdpr.erasure`` orders the others to do so.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from episodic.index import engine
from gdpr import linking
from gdpr.data_map.base import Fate, Person, RowMatch, Trace
from memory import fulltext


def drop_cached_texts(person: Person) -> int:
    """Drop cached queries that name the person, and all names; return how many."""
    fulltext.frequencies.clear()
    # The names of subjects are cached for linking; they are read again.
    linking.clear_cache()
    return engine.embedder().forget(lambda text: bool(person.matcher.names(text)))


class _WithoutRows:
    """The common part of holders without rows: nothing to export or redact."""

    name = ""
    derived = True
    tables: tuple[str, ...] = ()
    files: tuple[str, ...] = ()

    def export(
        self,
        person: Person,  # noqa: ARG002
        rows: Iterable[RowMatch],
    ) -> Iterator[dict[str, Any]]:
        """Yield that there was something, without its text."""
        for match in rows:
            yield {"place": self.name, "id": match.row_id}

    def tokens(
        self,
        person: Person,  # noqa: ARG002
        row_ids: Sequence[str],  # noqa: ARG002
    ) -> Iterator[bytes]:
        """Return nothing."""
        return iter(())

    def kept_texts(self, person: Person) -> Iterator[str]:  # noqa: ARG002
        """Yield nothing: nothing is kept."""
        return iter(())


class Caches(_WithoutRows):
    """Cached vectors of queries, and word counts, in this process.

    Django's cache holds counters under hashes, and tasks carry ids: neither can name
    anybody, so neither is searched.
    """

    name, title = "caches", "Questions kept in memory"

    def find(self, person: Person) -> Iterator[RowMatch]:
        """Yield one row when a cached query names the person."""
        count = engine.embedder().count(lambda text: bool(person.matcher.names(text)))
        if count:
            reason = f"{count} questions kept in memory name the person."
            yield RowMatch("questions", Fate.DELETE, reason)

    def erase(self, person: Person, row_ids: Sequence[str]) -> int:  # noqa: ARG002
        """Drop cached queries and word counts."""
        return drop_cached_texts(person)

    def redact(self, person: Person, row_ids: Sequence[str]) -> int:
        return self.erase(person, row_ids)

    def verify(self, person: Person) -> Iterator[Trace]:
        """Search the cached queries again."""
        for match in self.find(person):
            yield Trace(self.name, match.row_id, "question")


class Logs(_WithoutRows):
    """Log files. By default logs go to standard error, without any body.

    The files of configured file handlers are searched here.
    """

    name, title = "logs", "Log files"

    def _files(self) -> Iterator[Path]:
        loggers = [logging.getLogger(), *map(logging.getLogger, _names())]
        for logger in loggers:
            for handler in logger.handlers:
                if isinstance(handler, logging.FileHandler):
                    yield Path(handler.baseFilename)

    def find(self, person: Person) -> Iterator[RowMatch]:
        """Yield log files that name the person: they cannot be rewritten here."""
        for number, path in enumerate(sorted(set(self._files()))):
            lines = path.open(encoding="utf-8", errors="replace")
            with lines:
                if any(person.matcher.sure(line) for line in lines):
                    reason = "A log file names the person; rotate it away by hand."
                    yield RowMatch(f"log:{number}", Fate.KEEP, reason)

    def erase(self, person: Person, row_ids: Sequence[str]) -> int:  # noqa: ARG002
        """Do nothing: a log handler holds the files open."""
        return 0

    def redact(self, person: Person, row_ids: Sequence[str]) -> int:
        """Do nothing, see ``erase``."""
        return self.erase(person, row_ids)

    def verify(self, person: Person) -> Iterator[Trace]:
        """Yield log files that still name the person."""
        for match in self.find(person):
            yield Trace(self.name, match.row_id, "log file")


def _names() -> list[str]:
    return [str(name) for name in logging.root.manager.loggerDict]
