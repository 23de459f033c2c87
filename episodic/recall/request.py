"""The parameters of a recall, and its timings."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import datetime
from enum import StrEnum
from typing import Final

from django.utils.translation import gettext

from memory import workspace_settings
from memory.measurements import tracing
from memory.models import JournalEntry
from memory.rules import errors
from memory.rules.fusion import Fusion
from memory.workspace_settings import declarations

K_MAX: Final = 50
K_DEFAULT: Final = 5
QUERY_CHARS: Final = 4_000


class Mode(StrEnum):
    """Which rankings are used."""

    HYBRID = "hybrid"
    DENSE = "dense"
    SPARSE = "sparse"


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """One recall; ``k`` outside 1..50 is clamped, the API refuses it before.

    Without a ``fusion`` the workspace's holds: ``settled`` fills it in.
    """

    query: str
    scope: str | None = None
    crew_id: str | None = None
    agent_id: str | None = None
    k: int = K_DEFAULT
    mode: Mode = Mode.HYBRID
    fusion: Fusion | None = None
    entry_types: tuple[str, ...] = ()
    since: datetime | None = None
    until: datetime | None = None
    # Only what the journal held by then. Weights, edges and word statistics are
    # today's: their past values are not stored.
    as_of: datetime | None = None
    min_score: float | None = None
    walk_depth: int | None = None
    explain: bool = False
    mark: bool = True

    @property
    def fused_by(self) -> Fusion:
        if self.fusion is None:
            message = "The request names no fusion: settle it for its workspace first."
            raise ValueError(message)
        return self.fusion

    def matches(self, entry: JournalEntry) -> bool:
        """Whether no filter leaves an entry out."""
        if self.entry_types and entry.entry_type not in self.entry_types:
            return False
        if self.since is not None and entry.ts < self.since:
            return False
        if self.as_of is not None and entry.recorded_at > self.as_of:
            return False
        return self.until is None or entry.ts <= self.until


@dataclass(slots=True)
class Timings:
    """Milliseconds per stage."""

    embed: float = 0.0
    dense: float = 0.0
    sparse: float = 0.0
    fuse: float = 0.0
    load: float = 0.0
    total: float = 0.0

    @contextmanager
    def stage(self, name: str) -> Iterator[None]:
        """Add the time of a block to a stage."""
        start = time.perf_counter()
        try:
            with tracing.span(f"recall {name}"):
                yield
        finally:
            milliseconds = (time.perf_counter() - start) * 1000
            setattr(self, name, round(getattr(self, name) + milliseconds, 3))


def settled(request: Request, workspace_id: str) -> Request:
    """Return the request with ``k`` clamped, and the workspace's fusion if it has none.

    Raises Invalid or TooLarge for an impossible one.
    """
    if not request.query.strip():
        raise errors.Invalid(gettext("query must not be empty."), code="empty_query")
    if len(request.query) > QUERY_CHARS:
        raise errors.TooLarge(what="query", limit=QUERY_CHARS, size=len(request.query))
    if request.since and request.until and request.since > request.until:
        raise errors.Invalid(gettext("since lies after until."), code="bad_range")
    k = min(K_MAX, max(1, request.k))
    return replace(request, k=k, fusion=request.fusion or default_fusion(workspace_id))


def default_fusion(workspace_id: str) -> Fusion:
    """Return the fusion of questions of a workspace that name none."""
    return Fusion(workspace_settings.value(workspace_id, declarations.FUSION))
