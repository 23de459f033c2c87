"""The scanner: what poisoned text and leaked secrets look like.

Pure: standard library only, no framework, no clock, no network. Rules and hidden
channels decide; the learned head only orders the review queue. Text whose harm has no
surface sign is not found here: scope, provenance and the untrusted fence defend there.
"""

from __future__ import annotations

from memory.rules.scanner.engine import scan
from memory.rules.scanner.model import (
    Family,
    Finding,
    Level,
    Mode,
    Rule,
    Severity,
    Verdict,
)
from memory.rules.scanner.registry import VERSION, rule, rules
from memory.rules.scanner.render import (
    Segment,
    Span,
    redact,
    redact_findings,
    redact_for_prompt,
    segments,
    spans,
)
from memory.rules.scanner.similarity import fingerprint, signature, similarity

__all__ = [
    "VERSION",
    "Family",
    "Finding",
    "Level",
    "Mode",
    "Rule",
    "Segment",
    "Severity",
    "Span",
    "Verdict",
    "fingerprint",
    "redact",
    "redact_findings",
    "redact_for_prompt",
    "rule",
    "rules",
    "scan",
    "segments",
    "signature",
    "similarity",
    "spans",
]
