"""Caches in this process's memory, and log files.

Each process flushes its own caches; ``gdpr.erasure`` orders the others to do so.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

from django.utils.translation import gettext_noop

from episodic.index import engine
from episodic.recall import name_index
from episodic.recall.question_log import question_log
from gdpr import linking
from gdpr.data_map.base import Fate, Holder, Person, RowMatch
from memory.word_index import ranking as word_ranking

QUESTIONS: Final = gettext_noop("{count} questions kept in memory name the person.")


class Caches(Holder):
    """Cached vectors of queries, questions not yet in the recall log, words and names.

    Django's cache holds counters under hashes, and tasks carry ids: neither can name
    anybody, so neither is searched.
    """

    name, title, derived = "caches", gettext_noop("Questions kept in memory"), True
    trace = gettext_noop("question")

    def find(self, person: Person) -> Iterator[RowMatch]:
        """Yield one row when a query in memory names the person."""
        count = engine.embedder().count(lambda text: bool(person.matcher.names(text)))
        count += question_log.count(lambda text: bool(person.matcher.names(text)))
        if count:
            reason = QUESTIONS.format(count=count)
            yield RowMatch("questions", Fate.DELETE, reason)

    def erase(self, person: Person, row_ids: Sequence[str]) -> int:  # noqa: ARG002
        """Drop queries in memory that name the person, cached words and names."""
        question_log.drop(person.workspace_id)
        word_ranking.forget(person.workspace_id)
        linking.clear_cache()
        name_index.clear()
        return engine.embedder().forget(lambda text: bool(person.matcher.names(text)))


class Logs(Holder):
    """Log files. By default logs go to standard error, without any body.

    The files of configured file handlers are searched here. They are kept open by their
    handlers, so they cannot be rewritten.
    """

    name, title, derived = "logs", gettext_noop("Log files"), True
    trace = gettext_noop("log file")

    def _files(self) -> Iterator[Path]:
        names = map(str, logging.root.manager.loggerDict)
        for logger in (logging.getLogger(), *map(logging.getLogger, names)):
            for handler in logger.handlers:
                if isinstance(handler, logging.FileHandler):
                    yield Path(handler.baseFilename)

    def find(self, person: Person) -> Iterator[RowMatch]:
        """Yield log files that name the person."""
        for number, path in enumerate(sorted(set(self._files()))):
            with path.open(encoding="utf-8", errors="replace") as lines:
                if any(person.matcher.sure(line) for line in lines):
                    reason = gettext_noop(
                        "A log file names the person; rotate it away by hand."
                    )
                    yield RowMatch(f"log:{number}", Fate.KEEP, reason)
