"""The number of a workspace, which never changes: read once per process."""

from __future__ import annotations

from functools import lru_cache
from typing import Final

from memory.models import Workspace

_CACHE_SIZE: Final = 4_096


@lru_cache(maxsize=_CACHE_SIZE)
def of(workspace_id: str) -> int:
    """Return a workspace's number; a missing workspace raises and is not cached."""
    numbers = Workspace.objects.values_list("number", flat=True)
    return int(numbers.get(pk=workspace_id))


@lru_cache(maxsize=_CACHE_SIZE)
def id_of(number: int) -> str:
    """Return the id of a workspace; a missing one raises and is not cached."""
    return str(Workspace.objects.values_list("pk", flat=True).get(number=number))
