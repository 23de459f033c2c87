"""The values of the story; nothing here knows how they are stored."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import datetime

Json: TypeAlias = "bool | int | float | str | list[Json] | dict[str, Json] | None"

SUMMARY_LIMIT = 140
SEVERITIES: Mapping[str, str] = {
    "approval.denied": "warn",
    "approval.granted": "notice",
    "budget.exceeded": "warn",
    "budget.warning": "warn",
    "credential.lease_issued": "notice",
    "eval.regression_detected": "warn",
    "keeper.decision": "notice",
    "memory.consolidated": "notice",
    "peer.escalation": "warn",
    "run.failed": "error",
}


@dataclass(frozen=True, slots=True)
class DemoCrew:
    slug: str
    name: str
    purpose: str


@dataclass(frozen=True, slots=True)
class DemoAgent:
    slug: str
    name: str
    role: str
    crew: str
    walk_depth: int


@dataclass(frozen=True, slots=True)
class DemoMission:
    """`opened` and `closed` are relative to now, as `clock.Clock` reads them."""

    id: str
    title: str
    crew: str
    lead: str
    opened: str
    closed: str | None


@dataclass(frozen=True, slots=True)
class DemoEntry:
    """One entry of the story, ready for the journal."""

    ts: datetime
    crew: str
    agent: str
    entry_type: str
    severity: str
    summary: str
    payload: dict[str, Json] = field(default_factory=dict)
    refs: dict[str, Json] = field(default_factory=dict)
    mission_id: str | None = None
    trace_id: str | None = None
    span_id: str | None = None
    priority: str = "normal"
    subjects: tuple[str, ...] = ()


def severity_of(entry_type: str) -> str:
    """Return the severity that entries of a type have in the story."""
    return SEVERITIES.get(entry_type, "info")
