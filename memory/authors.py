"""The author of an entry, as a part of what is indexed of it.

"What did lena say about the lease?" can only find what Lena said when her name is among
the words and in the vector of her entries. It is put before the text, as in a script,
where the text does not begin with it anyway.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterable
from typing import Any, Final

from django.db.models.signals import post_delete, post_save

from memory.models import Agent
from memory.rules import tokenizer

# A name that another process changed is followed after so long.
FRESH_SECONDS: Final = 60.0
MAX_NAMES: Final = 20_000
# Where a text says who speaks: its first characters.
HEAD_CHARS: Final = 200


def attributed(name: str | None, text: str) -> str:
    """Return a text with its author's name before it, unless it begins with it."""
    words = set(tokenizer.split(name or ""))
    if not words or not text.strip():
        return text
    if words <= set(tokenizer.split(text[:HEAD_CHARS])):
        return text
    return f"{name}: {text}"


class _Names:
    """Cache: agent id → name."""

    def __init__(self) -> None:
        self._known: dict[str, tuple[str, float]] = {}
        self._lock = threading.Lock()

    def of(self, agent_ids: Iterable[str | None]) -> dict[str, str]:
        """Return the names of those agents that exist."""
        asked, now = {agent_id for agent_id in agent_ids if agent_id}, time.monotonic()
        with self._lock:
            known = {
                agent_id: name
                for agent_id in asked
                for name, until in [self._known.get(agent_id, ("", 0.0))]
                if until > now
            }
        if missing := asked - known.keys():
            rows = Agent.objects.filter(pk__in=missing).order_by()
            read = dict(rows.values_list("id", "name"))
            known |= read
            with self._lock:
                if len(self._known) + len(read) > MAX_NAMES:
                    self._known.clear()
                until = now + FRESH_SECONDS
                self._known |= {key: (name, until) for key, name in read.items()}
        return known

    def clear(self) -> None:
        """Forget every name."""
        with self._lock:
            self._known.clear()


names = _Names()


def _changed(**_: Any) -> None:
    names.clear()


post_save.connect(_changed, sender=Agent, dispatch_uid="memory.authors.saved")
post_delete.connect(_changed, sender=Agent, dispatch_uid="memory.authors.deleted")
