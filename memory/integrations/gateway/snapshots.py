"""The two curated files of a conversation, frozen at its first turn.

``MEMORY.md`` is the agent's own notes (``AGENT.md``), ``USER.md`` the card of the
person it speaks to (``peers/<user>.md``). The digests of the first versions seen are
cached for a day; the text is read from the stored versions, so what was erased
meanwhile is gone here too. Without a shared cache each process freezes its own.
"""

from __future__ import annotations

from typing import Final

from django.core.cache import cache

from memory import scanner
from memory.files import paths, reading, versions
from memory.files.paths import Owner
from memory.integrations.gateway.strategies import Snapshot, Turn
from memory.journal import append as journal
from memory.models import Agent, MemoryVersion
from memory.rules import entries, errors, hashing, tiers
from memory.rules.permissions import Actor
from memory.rules.tiers import Place, Tier

KEPT_SECONDS: Final = 24 * 3600


def _user_place(user: str) -> Place | None:
    """Return the place of a person's card; None when the name is no slug."""
    try:
        return Place(Tier.PEERS, tiers.slug_key(user))
    except errors.Invalid:
        return None


def _old(owner: Owner, place: Place, sha256: str) -> str | None:
    """Return the text of an earlier version; None when it is no longer stored."""
    rows = MemoryVersion.objects.filter(
        workspace_id=owner.workspace_id,
        file__path=owner.path(place),
        sha256=sha256,
        committed=True,
    )
    version = rows.order_by("-number").first()
    try:
        return versions.read(version).decode("utf-8", "replace") if version else None
    except errors.AppError:
        return None


def _text(owner: Owner, place: Place, frozen: dict[str, str], by: Actor) -> str:
    """Return a file's text: of the frozen version, or freeze the present one."""
    now = reading.read(owner, place, by=by)
    first = frozen.setdefault(place.label, now.sha256)
    text = now.text
    if first != now.sha256:
        old = _old(owner, place, first) if first else ""
        text = now.text if old is None else old
    return scanner.redact_for_prompt(text)


def take(agent: Agent, turn: Turn, *, by: Actor) -> Snapshot:
    """Return the files as they were at the conversation's first turn."""
    owner = paths.owner_of_agent(agent)
    identity = entries.canonical([agent.id, turn.conversation_id])
    cache_key = f"turns:snapshot:{hashing.keyed_digest(journal.key(), identity)}"
    frozen: dict[str, str] = dict(cache.get(cache_key) or {})
    before = dict(frozen)
    memory = _text(owner, Place(Tier.AGENT), frozen, by)
    card = _user_place(turn.user)
    user = _text(owner, card, frozen, by) if card else ""
    if frozen != before:
        cache.set(cache_key, frozen, KEPT_SECONDS)
    return Snapshot(memory, user)
