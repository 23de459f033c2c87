"""Testing a text against the rules, and a rule's mode against stored texts."""

from __future__ import annotations

import time
from dataclasses import asdict, dataclass

from memory import scanner
from memory.files import policy, quarantine
from memory.review import highlight, rescan
from memory.review.highlight import Marked
from memory.review.rescan import Replay
from memory.rules import errors
from memory.rules.permissions import Actor
from memory.scanner import Verdict, scoring


@dataclass(frozen=True, slots=True)
class Attempt:
    """The scanner's verdict on a text that is not stored."""

    verdict: Verdict
    text: Marked
    suspicious: float
    held: float
    ms: float


def attempt(actor: Actor, text: str, source: str) -> Attempt:
    """Scan a text with the workspace's rule modes, as if it came from a source."""
    actor.require("scanner.read")
    modes = quarantine.rule_modes(actor.workspace_id)
    started = time.perf_counter()
    verdict = scanner.scan(text, source=source, modes=modes)
    milliseconds = (time.perf_counter() - started) * 1000
    limits = scoring.thresholds(source, None)
    marked = highlight.mark(text, [asdict(finding) for finding in verdict.findings])
    return Attempt(
        verdict, marked, limits.suspicious, limits.held, round(milliseconds, 2)
    )


def replay(actor: Actor, rule_id: str, mode: str) -> Replay:
    """Return the effect of another mode of one rule on stored texts."""
    policy.rule(rule_id)
    if mode not in policy.MODES:
        detail = f"mode is one of {', '.join(policy.MODES)}."
        raise errors.Invalid(detail, code="unknown_mode")
    modes = quarantine.rule_modes(actor.workspace_id) | {rule_id: mode}
    return rescan.replay(actor, modes)
