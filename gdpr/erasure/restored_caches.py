"""Dropping what a process cached of a database that was replaced by a restore.

The caches follow logs of changes by number. A restored database counts from an earlier
number, so that they would believe to be up to date: they are dropped as a whole.
"""

from __future__ import annotations

from django.conf import settings
from django.core.cache import cache

from episodic.index import engine
from episodic.recall import name_index
from episodic.recall.question_log import question_log
from episodic.vectors import pg_mean
from episodic.vectors.scan import ScanIndex
from gdpr import linking
from memory.word_index import terms
from memory.word_index.cache import indexes


def drop(workspace_id: str) -> None:
    """Drop this process's caches; what its agents asked is dropped of one workspace."""
    question_log.drop(workspace_id)
    indexes.clear()
    terms.forget()
    linking.clear_cache()
    name_index.clear()
    engine.embedder().clear()
    index = engine.vectors()
    if isinstance(index, ScanIndex):
        index.clear()
    pg_mean.clear()
    if not settings.REDIS_URL:
        cache.clear()
