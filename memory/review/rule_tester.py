"""Trying a text against the rules, and a rule against what is stored."""

from __future__ import annotations

import time
from dataclasses import dataclass

from memory import scanner
from memory.files import policy, quarantine
from memory.review import highlight, rescan
from memory.review.highlight import Marked
from memory.review.rescan import Replay
from memory.rules import errors
from memory.rules.permissions import Actor
from memory.scanner import Finding, Verdict, scoring


@dataclass(frozen=True, slots=True)
class Attempt:
    """What the scanner says about a text that nobody keeps."""

    verdict: Verdict
    text: Marked
    suspicious: float
    held: float
    ms: float


def _as_dict(finding: Finding) -> dict[str, object]:
    names = ("rule", "family", "severity", "weight", "start", "end", "decoded", "why")
    return {name: getattr(finding, name) for name in names}


def attempt(actor: Actor, text: str, source: str) -> Attempt:
    """Judge a text with the workspace's modes, as if it came from a source."""
    actor.require("scanner.read")
    modes = quarantine.rule_modes(actor.workspace_id)
    started = time.perf_counter()
    verdict = scanner.scan(text, source=source, modes=modes)
    milliseconds = (time.perf_counter() - started) * 1000
    limits = scoring.thresholds(source, None)
    marked = highlight.mark(text, [_as_dict(finding) for finding in verdict.findings])
    return Attempt(
        verdict, marked, limits.suspicious, limits.held, round(milliseconds, 2)
    )


def replay(actor: Actor, rule_id: str, mode: str) -> Replay:
    """Say what switching one rule would do to what is stored."""
    policy.rule(rule_id)
    if mode not in policy.MODES:
        detail = f"mode is one of {', '.join(policy.MODES)}."
        raise errors.Invalid(detail, code="unknown_mode")
    modes = quarantine.rule_modes(actor.workspace_id) | {rule_id: mode}
    return rescan.replay(actor, modes)
