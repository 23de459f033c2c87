"""The number of a workspace, which never changes: asked once per process."""

from __future__ import annotations

from functools import lru_cache
from typing import Final

from memory.models import Workspace

_CACHE_SIZE: Final = 4_096


@lru_cache(maxsize=_CACHE_SIZE)
def of(workspace_id: str) -> int:
    """Return a workspace's number; one that does not exist is asked for again."""
    numbers = Workspace.objects.values_list("number", flat=True)
    return int(numbers.get(pk=workspace_id))
