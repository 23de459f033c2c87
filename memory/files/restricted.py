"""Cards and held texts about restricted people, which only compliance may see.

Elsewhere a name is masked in a text. A card is about the person as a whole, and its
file has their name; a held text is decided on as it stands, unmasked.
"""

from __future__ import annotations

from django.db.models import QuerySet

from memory.models import HeldFile, MemoryFile
from memory.ports import subject_linker
from memory.ports.subject_linker import Names
from memory.rules.permissions import Actor
from memory.rules.tiers import Place, Tier


def _names(workspace_id: str, by: Actor) -> Names | None:
    """Return what to look for; None for an actor who sees everything."""
    return None if by.can("gdpr.read") else subject_linker.restricted(workspace_id)


def _is_card_of(key: str, names: Names) -> bool:
    return names(key) or names(key.replace("-", " "))


def is_hidden(place: Place, workspace_id: str, by: Actor) -> bool:
    """Whether a place is a card about a restricted person."""
    if place.tier is not Tier.PEERS:
        return False
    names = _names(workspace_id, by)
    return names is not None and _is_card_of(place.key, names)


def visible_files(rows: QuerySet[MemoryFile], by: Actor) -> QuerySet[MemoryFile]:
    """Return the files without cards about restricted people."""
    names = _names(by.workspace_id, by)
    if names is None:
        return rows
    cards = rows.filter(tier=Tier.PEERS).order_by().values_list("key", flat=True)
    hidden = [key for key in set(cards) if _is_card_of(key, names)]
    return rows.exclude(tier=Tier.PEERS, key__in=hidden) if hidden else rows


def visible_held(rows: QuerySet[HeldFile], by: Actor) -> QuerySet[HeldFile]:
    """Return the held texts that name no restricted person."""
    names = _names(by.workspace_id, by)
    if names is None:
        return rows
    texts = rows.order_by().values_list("pk", "body", "key").iterator()
    hidden = [
        pk
        for pk, body, key in texts
        if names(bytes(body).decode("utf-8", "replace")) or _is_card_of(key, names)
    ]
    return rows.exclude(pk__in=hidden) if hidden else rows
