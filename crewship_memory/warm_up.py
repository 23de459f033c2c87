"""What first writes and questions need, loaded while the web server answers already.

First the scanner's word lists and the embedder. Then, on SQLite, the words and vectors
of workspaces of at least ``MIN_ENTRIES``: those whose keys were used last first, then
the larger ones, each as long as it fits beside those before it within
``CREWSHIP_WORD_INDEX_MB`` and ``CREWSHIP_VECTOR_MEMORY_MB``. A question meanwhile waits
for the same load.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Final

import structlog
from django.conf import settings
from django.db import connections
from django.db.models import Max

from episodic.embedders.base import EmbedderError
from episodic.index import engine
from episodic.vectors.base import VectorScope
from episodic.vectors.matrix import bytes_of
from episodic.vectors.scan import ScanIndex
from memory import scanner
from memory.models import AgentKey, ChainHead, OperatorKey
from memory.word_index.cache import indexes

# Fewer are loaded by their first question in some hundredths of a second.
MIN_ENTRIES: Final = 2_000
# What the words of an entry take, about: 30 terms of three bytes, and its columns.
WORD_BYTES: Final = 220
_MEGABYTE: Final = 2**20
log = structlog.get_logger(__name__)


def start(then: Callable[[], None]) -> threading.Thread:
    """Load in a thread of its own, call a function when that is over, well or not."""

    def act() -> None:
        try:
            run()
        finally:
            then()

    thread = threading.Thread(target=act, name="warm-up", daemon=True)
    thread.start()
    return thread


def run() -> None:
    """Load the word lists, the embedder and the workspaces."""
    try:
        scanner.load_word_lists()
        load_workspaces(_dim())
    except Exception as error:  # noqa: BLE001  (a question loads what it needs itself)
        log.warning("workspaces_not_loaded", error=type(error).__name__)
    finally:
        connections.close_all()


def _dim() -> int:
    """Return how long the embedder's vectors are, 0 when it does not answer."""
    try:
        return len(engine.embedder().embed_query("warm-up"))
    except EmbedderError as error:
        log.warning("embedder_not_answering", reason=error.reason, why=str(error))
        return 0


def load_workspaces(dim: int) -> list[str]:
    """Load the workspaces that fit; return their ids. With ``dim`` 0 only words."""
    index = engine.vectors()
    if not isinstance(index, ScanIndex):
        return []
    sizes, model = dict(in_order()), engine.embedder().model
    loaded, loaded_count = list[str](), 0
    for workspace_id in fitting(list(sizes.items()), dim):
        if _drops_others(sizes[workspace_id], loaded_count):
            continue
        indexes.view(workspace_id)
        if dim:
            index.view(VectorScope(workspace_id, model=model), dim)
        loaded.append(workspace_id)
        loaded_count += sizes[workspace_id]
    return loaded


def _drops_others(count: int, loaded_count: int) -> bool:
    """Whether so many more entries, if as long as those loaded, take these's room."""
    room = settings.WORD_INDEX_MB * _MEGABYTE
    total = loaded_count + count
    return loaded_count > 0 and indexes.nbytes * total > room * loaded_count


def in_order() -> list[tuple[str, int]]:
    """Return the larger workspaces, best first, with how many entries they were sent.

    Best is where a key was used last; then come those without a used key.
    """
    last_used: dict[str, datetime] = {}
    for keys in (AgentKey.objects, OperatorKey.objects):
        used = keys.filter(last_used_at__isnull=False).order_by().values("workspace_id")
        for row in used.annotate(at=Max("last_used_at")):
            other_use = last_used.setdefault(row["workspace_id"], row["at"])
            last_used[row["workspace_id"]] = max(other_use, row["at"])
    heads = ChainHead.objects.filter(seq__gte=MIN_ENTRIES)
    sizes = list(heads.values_list("workspace_id", "seq"))
    never = datetime.min.replace(tzinfo=UTC)
    sizes.sort(key=lambda row: (last_used.get(row[0], never), row[1]), reverse=True)
    return sizes


def fitting(sizes: list[tuple[str, int]], dim: int) -> list[str]:
    """Return those workspaces that fit in memory beside those before them."""
    word_room = settings.WORD_INDEX_MB * _MEGABYTE
    vector_room = settings.VECTOR_MEMORY_MB * _MEGABYTE
    chosen = []
    for workspace_id, count in sizes:
        words, vectors = count * WORD_BYTES, bytes_of(count, dim)
        if words <= word_room and vectors <= vector_room:
            chosen.append(workspace_id)
            word_room, vector_room = word_room - words, vector_room - vectors
    return chosen
