"""The ways to merge a ranking by meaning and a ranking by words."""

from __future__ import annotations

from enum import StrEnum


class Fusion(StrEnum):
    """RRF adds reciprocal ranks; convex adds weighted, normalised scores."""

    RRF = "rrf"
    CONVEX = "convex"
