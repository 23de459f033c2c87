"""Testing a text against the rules, and a rule's mode against stored texts."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from functools import partial

from memory import scanner
from memory.files import policy, quarantine
from memory.review import context_words, highlight, rescan
from memory.review.context_words import Row
from memory.review.highlight import Marked
from memory.review.rescan import Replay
from memory.rules.permissions import Actor
from memory.scanner import Verdict, provenance, registry
from memory.scanner.provenance import Writer


@dataclass(frozen=True, slots=True)
class Attempt:
    """The scanner's verdict on a text that is not stored.

    ``saved`` is the verdict without the draft, None when the draft changes no rule.
    ``action`` is what the policy does with a held verdict, "" where it holds;
    ``tiers_decide`` says whether a tier, of which none is named, may decide otherwise.
    ``context`` is what the text was judged as, part by part.
    """

    verdict: Verdict
    saved: Verdict | None
    text: Marked
    suspicious: float
    held: float
    ms: float
    action: str
    tiers_decide: bool
    context: list[Row]
    judges_policy: bool


def attempt(
    actor: Actor,
    text: str,
    source: str,
    draft: Mapping[str, str] | None = None,
    *,
    tier: str = "",
    writer: str = Writer.OWN.value,
) -> Attempt:
    """Scan a text under the workspace's policy and a draft of changes to it."""
    saved_policy = policy.in_force(actor.workspace_id)
    new = {change.key: change.after for change in policy.changes(actor, draft or {})}
    lines = saved_policy | new
    weights = quarantine.policy(actor.workspace_id).weights
    scan = partial(
        scanner.scan, text, source=source, tier=tier, writer=writer, weights=weights
    )
    started = time.perf_counter()
    verdict = scan(modes=lines)
    milliseconds = (time.perf_counter() - started) * 1000
    saved = None
    if any(key in registry.BY_ID for key in new):
        saved = scan(modes=saved_policy)
    context = provenance.context(source, tier, writer)
    action = lines.get(f"source:{source}") or lines.get(f"tier:{tier}") or ""
    return Attempt(
        verdict,
        saved,
        highlight.mark(text, [asdict(finding) for finding in verdict.findings]),
        context.suspicious,
        context.held,
        round(milliseconds, 2),
        "block" if verdict.is_blocked else action,
        not tier and any(lines[key] for key in lines if key.startswith("tier:")),
        context_words.rows(context),
        context.judges_policy,
    )


def replay(actor: Actor, draft: Mapping[str, str]) -> Replay:
    """Return the effect of a draft's rule modes on stored texts."""
    policy.changes(actor, draft)
    return rescan.replay(actor, policy.in_force(actor.workspace_id) | dict(draft))
