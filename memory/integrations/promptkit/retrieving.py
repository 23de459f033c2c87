"""Our retriever: searches with the whole conversation, not with one line of it.

The user's last message weighs most; the messages before it are a second query, so that
"and how long does that take?" still finds what "that" is. The two result lists are
fused by reciprocal rank, because their scores are not comparable.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from memory.integrations.promptkit.memories import Memory, Message, Scope
from memory.integrations.promptkit.protocols import Memories, Retrieve, Store

QUERY_CHARS: Final = 1_000
TURNS: Final = 6
LIMIT: Final = 10
RRF: Final = 60
# The user's last message counts double.
WEIGHTS: Final = (2.0, 1.0)


def _texts(messages: Sequence[Message], role: str | None = None) -> list[str]:
    texts = [" ".join(m.content.split()) for m in messages if role in (None, m.role)]
    return [text for text in texts if text]


def questions(messages: Sequence[Message]) -> list[str]:
    """Return the queries: the user's last message, then the latest messages."""
    last_words = _texts(messages, "user")[-1:] or _texts(messages)[-1:]
    recent = " ".join(reversed(_texts(messages)[-TURNS:]))
    queries = [text[:QUERY_CHARS] for text in (*last_words, recent) if text]
    return list(dict.fromkeys(queries))


class ConversationRetriever:
    """Finds the memories that fit a conversation, in any store."""

    def __init__(self, store: Store, *, limit: int = LIMIT) -> None:
        self._store, self._limit = store, limit
        self._options = Retrieve(limit=2 * limit)

    def retrieve_context(self, scope: Scope, messages: Sequence[Message]) -> Memories:
        """Return the best memories of all queries, each once."""
        scores: dict[str, float] = {}
        memories_by_id: dict[str, Memory] = {}
        for query, weight in zip(questions(messages), WEIGHTS, strict=False):
            memories = self._store.retrieve(scope, query, self._options)
            for rank, memory in enumerate(memories, 1):
                memories_by_id.setdefault(memory.id, memory)
                gain = weight / (RRF + rank)
                scores[memory.id] = scores.get(memory.id, 0.0) + gain
        best = sorted(scores, key=lambda memory_id: -scores[memory_id])
        return [memories_by_id[memory_id] for memory_id in best[: self._limit]]
