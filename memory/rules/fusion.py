"""The ways in which a ranking by meaning and a ranking by words become one list."""

from __future__ import annotations

from enum import StrEnum


class Fusion(StrEnum):
    """How the two rankings are fused."""

    RRF = "rrf"
    CONVEX = "convex"
