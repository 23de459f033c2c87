"""What a process holds in memory, and the logs it writes.

Every process does this for itself; the run makes the others do it too.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from episodic.index import engine
from gdpr import linking
from gdpr.data_map.base import Fate, Found, Person, Trace
from memory import fulltext


def drop_cached_texts(person: Person) -> int:
    """Drop the person's questions from this process's memory; return how many."""
    fulltext.frequencies.clear()
    # The names themselves are held for looking out for them; they are read again.
    linking.forget()
    return engine.embedder().forget(lambda text: bool(person.matcher.names(text)))


class _Volatile:
    """What has no rows: nothing to export, nothing to redact."""

    name = ""
    derived = True
    tables: tuple[str, ...] = ()
    files: tuple[str, ...] = ()

    def export(
        self,
        person: Person,  # noqa: ARG002
        rows: Iterable[Found],
    ) -> Iterator[dict[str, Any]]:
        """Return that it was there."""
        for match in rows:
            yield {"place": self.name, "id": match.row_id}

    def tokens(
        self,
        person: Person,  # noqa: ARG002
        row_ids: Sequence[str],  # noqa: ARG002
    ) -> Iterator[bytes]:
        """Return nothing."""
        return iter(())

    def stays(self, person: Person) -> Iterator[str]:  # noqa: ARG002
        """Nothing is kept."""
        return iter(())


class Caches(_Volatile):
    """Questions whose vectors are kept, and counts of words, in this process.

    Django's cache holds counters under hashes, and tasks carry ids: neither can name
    anybody, so neither is looked at.
    """

    name, title = "caches", "Questions kept in memory"

    def find(self, person: Person) -> Iterator[Found]:
        """Return one line when a kept question names the person."""
        count = engine.embedder().count(lambda text: bool(person.matcher.names(text)))
        if count:
            reason = f"{count} questions kept in memory name the person."
            yield Found("questions", Fate.DELETE, reason)

    def erase(self, person: Person, row_ids: Sequence[str]) -> int:  # noqa: ARG002
        """Drop questions and counts of words."""
        return drop_cached_texts(person)

    def redact(self, person: Person, row_ids: Sequence[str]) -> int:
        """Drop them all the same."""
        return self.erase(person, row_ids)

    def verify(self, person: Person) -> Iterator[Trace]:
        """Look at the kept questions again."""
        for match in self.find(person):
            yield Trace(self.name, match.row_id, "question")


class Logs(_Volatile):
    """Log files. We write lines to standard error and no body into any line.

    If somebody sets up a handler that writes to a file, that file is read here.
    """

    name, title = "logs", "Log files"

    def _files(self) -> Iterator[Path]:
        loggers = [logging.getLogger(), *map(logging.getLogger, _names())]
        for logger in loggers:
            for handler in logger.handlers:
                if isinstance(handler, logging.FileHandler):
                    yield Path(handler.baseFilename)

    def find(self, person: Person) -> Iterator[Found]:
        """Return log files that name the person: they are not ours to rewrite."""
        for number, path in enumerate(sorted(set(self._files()))):
            lines = path.open(encoding="utf-8", errors="replace")
            with lines:
                if any(person.matcher.sure(line) for line in lines):
                    reason = "A log file names the person; rotate it away by hand."
                    yield Found(f"log:{number}", Fate.KEEP, reason)

    def erase(self, person: Person, row_ids: Sequence[str]) -> int:  # noqa: ARG002
        """Nothing is done to files that a handler of somebody else's holds open."""
        return 0

    def redact(self, person: Person, row_ids: Sequence[str]) -> int:
        """Nothing is done, see ``erase``."""
        return self.erase(person, row_ids)

    def verify(self, person: Person) -> Iterator[Trace]:
        """Return log files that still name the person."""
        for match in self.find(person):
            yield Trace(self.name, match.row_id, "log file")


def _names() -> list[str]:
    return [str(name) for name in logging.root.manager.loggerDict]
