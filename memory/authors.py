"""The author of an entry, as a part of what is indexed of it.

"What did lena say about the lease?" can only find what Lena said when her name is among
the words and in the vector of her entries. It is put before the text, as in a script,
where the text does not begin with it anyway. Names are read each time and kept by
nobody: one that was erased must not come back. Database triggers follow a new name.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from django.db import connection

from memory.rules import tokenizer

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


def names(agent_ids: Iterable[str | None]) -> dict[str, str]:
    """Return the names of those agents that exist, by id.

    Plain SQL: every append calls this, and building a query costs more than running it.
    """
    ids = {agent_id for agent_id in agent_ids if agent_id}
    if not ids:
        return {}
    marks = ", ".join(["%s"] * len(ids))
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT id, name FROM agents WHERE id IN ({marks})", [*ids])  # noqa: S608
        return dict(cursor.fetchall())
