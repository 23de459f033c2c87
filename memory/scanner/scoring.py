"""From findings to a verdict: the worst window decides, never the mean."""

from __future__ import annotations

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
    """The highest combined weight of any window."""
    active = sorted(
        (item for item in scored if item.finding.mode != Mode.OBSERVE),
        key=lambda item: item.finding.start,
    )
    best, first = 0.0, 0
    for last, item in enumerate(active):
        while active[first].finding.end < item.finding.start - WINDOW:
            first += 1
        best = max(best, _window(active[first : last + 1]))
        if best >= _CERTAIN:
            break
    return round(best, 4)


def _window(scored: Sequence[Scored]) -> float:
    """Distinct rules add up; findings that look like mentions only count once."""
    full: dict[str, float] = {}
    mention = 0.0
    for finding, is_discounted in scored:
        if is_discounted:
            mention = max(mention, finding.weight)
        else:
            full[finding.rule] = max(full.get(finding.rule, 0.0), finding.weight)
    clean = 1.0 - mention
    for weight in full.values():
        clean *= 1.0 - weight
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
