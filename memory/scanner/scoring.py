"""From findings to a verdict: the worst window decides, never the mean."""

from __future__ import annotations

from heapq import heappop, heappush
from typing import TYPE_CHECKING, NamedTuple

from memory.scanner.model import Family, Finding, Level, Mode, Rule
from memory.scanner.provenance import HELD_FROM as HELD_FROM
from memory.scanner.provenance import SUSPICIOUS_FROM as SUSPICIOUS_FROM

if TYPE_CHECKING:
    from collections.abc import Sequence

    from memory.scanner.provenance import Context

WINDOW = 900
# Above this no further window can change the verdict.
_CERTAIN = 0.9999
_MENTIONS = ""


class Scored(NamedTuple):
    """A finding, and whether its context reduced its weight."""

    finding: Finding
    is_discounted: bool


class Thresholds(NamedTuple):
    """From which score a text is suspicious, and from which it is held."""

    suspicious: float
    held: float


def is_judged(rule: Rule, context: Context) -> bool:
    """Whether a rule counts: what operators decide, no policy holds for a person."""
    return rule.family is not Family.POLICY or context.judges_policy


def limits(context: Context) -> Thresholds:
    """The two thresholds of a context."""
    return Thresholds(context.suspicious, context.held)


def score(scored: Sequence[Scored]) -> float:
    """The highest combined weight of the findings that reach into any window."""
    active = sorted(
        (item for item in scored if item.finding.mode != Mode.OBSERVE),
        key=lambda item: item.finding.start,
    )
    window, best = _Window(), 0.0
    for item in active:
        window.add(item)
        best = max(best, window.weight(item.finding.start - WINDOW))
        if best >= _CERTAIN:
            break
    return round(best, 4)


class _Window:
    """The findings that reach into a window; it only moves forward."""

    def __init__(self) -> None:
        # Rule → its findings, the heaviest first; mentions count as one rule together.
        self._findings: dict[str, list[tuple[float, int]]] = {}

    def add(self, item: Scored) -> None:
        finding = item.finding
        rule = _MENTIONS if item.is_discounted else finding.rule
        heap = self._findings.setdefault(rule, [])
        heappush(heap, (-finding.weight, finding.end))

    def weight(self, first: int) -> float:
        """What the rules add up to of which a finding ends at ``first`` or later."""
        clean = 1.0
        for rule, heap in [*self._findings.items()]:
            # What has ended below the heaviest is dropped once it is the heaviest.
            while heap and heap[0][1] < first:
                heappop(heap)
            if heap:
                clean *= 1.0 + heap[0][0]
            else:
                del self._findings[rule]
        return 1.0 - clean


def level(points: float, findings: Sequence[Finding], limits: Thresholds) -> Level:
    """The verdict for a score; a rule set to *block* holds from suspicion on."""
    blocked = any(
        finding.mode == Mode.BLOCK and finding.weight >= limits.suspicious
        for finding in findings
    )
    if points >= limits.held or blocked:
        return Level.HELD
    observed = max((finding.weight for finding in findings), default=0.0)
    if max(points, observed) >= limits.suspicious:
        return Level.SUSPICIOUS
    return Level.CLEAN
