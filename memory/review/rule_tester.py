"""Testing a text against the rules, and a rule's mode against stored texts."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass

from memory import scanner
from memory.files import policy, quarantine
from memory.review import highlight, rescan
from memory.review.highlight import Marked
from memory.review.rescan import Replay
from memory.rules.permissions import Actor
from memory.scanner import Verdict, registry, scoring


@dataclass(frozen=True, slots=True)
class Attempt:
    """The scanner's verdict on a text that is not stored.

    ``saved`` is the verdict without the draft, None when the draft changes no rule.
    ``action`` is what the policy does with a held verdict of the source, "" where only
    the tier decides; ``tiers_decide`` says whether the line of a tier may.
    """

    verdict: Verdict
    saved: Verdict | None
    text: Marked
    suspicious: float
    held: float
    ms: float
    action: str
    tiers_decide: bool


def attempt(
    actor: Actor, text: str, source: str, draft: Mapping[str, str] | None = None
) -> Attempt:
    """Scan a text under the workspace's policy and a draft of changes to it."""
    saved_policy = policy.in_force(actor.workspace_id)
    new = {change.key: change.after for change in policy.changes(actor, draft or {})}
    lines = saved_policy | new
    started = time.perf_counter()
    weights = quarantine.policy(actor.workspace_id).weights
    verdict = scanner.scan(text, source=source, modes=lines, weights=weights)
    milliseconds = (time.perf_counter() - started) * 1000
    saved = None
    if any(key in registry.BY_ID for key in new):
        saved = scanner.scan(text, source=source, modes=saved_policy, weights=weights)
    limits = scoring.thresholds(source, None)
    return Attempt(
        verdict,
        saved,
        highlight.mark(text, [asdict(finding) for finding in verdict.findings]),
        limits.suspicious,
        limits.held,
        round(milliseconds, 2),
        "block" if verdict.is_blocked else lines.get(f"source:{source}", ""),
        any(key.startswith("tier:") and value for key, value in lines.items()),
    )


def replay(actor: Actor, draft: Mapping[str, str]) -> Replay:
    """Return the effect of a draft's rule modes on stored texts."""
    policy.changes(actor, draft)
    return rescan.replay(actor, policy.in_force(actor.workspace_id) | dict(draft))
