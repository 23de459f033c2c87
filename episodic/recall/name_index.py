"""The names inside a reach, read from the workspace tree and kept for a few seconds.

The cache holds names of people too: an erasure flushes it. A change of an agent, a crew
or a membership drops the workspace's part in this process at once; another process, and
a person who changes the own name, is followed after ``FRESH_SECONDS``.
"""

from __future__ import annotations

import re
import threading
import time
from collections import OrderedDict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, Final

from django.db.models import Q, QuerySet

from episodic.scopes import Reach
from memory.models import Agent, Crew, Membership
from memory.rules import tokenizer

FRESH_SECONDS: Final = 5.0
MAX_REACHES: Final = 256
# Names over all reaches; the least recently asked reach goes first.
MAX_NAMES: Final = 100_000
_WORD: Final = re.compile(r"[^\W_]+")
_NOBODY: Final[frozenset[str]] = frozenset()


@dataclass(frozen=True, slots=True)
class Name:
    """Whose entries a name means: several when agents share it, or an agent and a crew.

    ``label`` is the name as the workspace writes it.
    """

    label: str
    agent_ids: frozenset[str] = _NOBODY
    crew_ids: frozenset[str] = _NOBODY
    actor_ids: frozenset[str] = _NOBODY

    def __or__(self, other: Name) -> Name:
        return Name(
            self.label,
            self.agent_ids | other.agent_ids,
            self.crew_ids | other.crew_ids,
            self.actor_ids | other.actor_ids,
        )


@dataclass(frozen=True, slots=True)
class NameIndex:
    """Folded words → name; ``lengths`` has a first word's counts, longest first."""

    names: dict[tuple[str, ...], Name] = field(default_factory=dict)
    lengths: dict[str, tuple[int, ...]] = field(default_factory=dict)


# Workspace, crew, agent, and the crew of the rules.
_Key = tuple[str, str | None, str | None, str | None]
_cache: OrderedDict[_Key, tuple[float, NameIndex]] = OrderedDict()
_lock = threading.Lock()
# Counts what dropped names: an index that was being read meanwhile is not kept.
_drops = 0


def of(reach: Reach) -> NameIndex:
    """Return the names inside a reach, as they were ``FRESH_SECONDS`` ago at most."""
    key = (reach.workspace_id, reach.crew_id, reach.agent_id, reach.rules_crew_id)
    now = time.monotonic()
    with _lock:
        drops = _drops
        cached = _cache.get(key)
        if cached is not None and now - cached[0] < FRESH_SECONDS:
            _cache.move_to_end(key)
            return cached[1]
    index = _index(_names(reach))
    with _lock:
        if drops != _drops:
            return index
        _cache[key] = (now, index)
        _cache.move_to_end(key)
        total = sum(len(index.names) for _, index in _cache.values())
        while len(_cache) > MAX_REACHES or (total > MAX_NAMES and len(_cache) > 1):
            _, (_, oldest) = _cache.popitem(last=False)
            total -= len(oldest.names)
    return index


def clear() -> int:
    """Drop every name that this process keeps; return of how many reaches."""
    global _drops
    with _lock:
        _drops += 1
        count = len(_cache)
        _cache.clear()
    return count


def on_change(instance: Any, **_: Any) -> None:
    """Signal handler: drop the names of the workspace of a saved or deleted row."""
    global _drops
    with _lock:
        _drops += 1
        for key in [key for key in _cache if key[0] == instance.workspace_id]:
            del _cache[key]


def _names(reach: Reach) -> Iterator[tuple[str, Name]]:
    """Yield each written form of a name inside the reach, and whose it is."""
    agents = _agents(reach).values_list("pk", "slug", "name")
    for agent_id, slug, name in agents:
        ids = frozenset({agent_id})
        for form in {slug, name}:
            yield form, Name(slug, agent_ids=ids, actor_ids=ids)
    for crew_id, slug, name in _crews(reach).values_list("pk", "slug", "name"):
        for form in {slug, name}:
            yield form, Name(slug, crew_ids=frozenset({crew_id}))
    if reach.agent_id is None:
        members = Membership.objects.filter(workspace_id=reach.workspace_id)
        for user_id, name in members.values_list("user_id", "user__name"):
            yield name, Name(name, actor_ids=frozenset({user_id}))


def _agents(reach: Reach) -> QuerySet[Agent]:
    rows = Agent.objects.filter(workspace_id=reach.workspace_id).order_by()
    if reach.crew_id is not None:
        return rows.filter(Q(crew_id=reach.crew_id) | Q(pk=reach.agent_id))
    return rows if reach.agent_id is None else rows.filter(pk=reach.agent_id)


def _crews(reach: Reach) -> QuerySet[Crew]:
    rows = Crew.objects.filter(workspace_id=reach.workspace_id).order_by()
    if reach.crew_id is None and reach.agent_id is None:
        return rows
    return rows.filter(pk__in=[reach.crew_id or reach.rules_crew_id])


def _index(forms: Iterable[tuple[str, Name]]) -> NameIndex:
    names: dict[tuple[str, ...], Name] = {}
    lengths: dict[str, set[int]] = {}
    for form, name in forms:
        folded = form.lower() if form.isascii() else tokenizer.fold(form)
        words = tuple(_WORD.findall(folded))
        if not words:
            continue
        names[words] = names[words] | name if words in names else name
        lengths.setdefault(words[0], set()).add(len(words))
    longest_first = {
        word: tuple(sorted(counts, reverse=True)) for word, counts in lengths.items()
    }
    return NameIndex(names, longest_first)
