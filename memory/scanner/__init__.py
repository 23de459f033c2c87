"""The scanner: finds prompt injection and leaked secrets in a text.

Pure: RE2 and the standard library, no framework, no clock, no network. Rules and hidden
channels decide; the learned head only orders the review queue. Text whose harm has no
surface sign is not found here: scopes, provenance and the prompt fence protect there.
"""

from __future__ import annotations

from memory.scanner.engine import scan
from memory.scanner.invisible import has_any as has_unseen
from memory.scanner.model import Family, Finding, Level, Mode, Rule, Verdict
from memory.scanner.registry import VERSION, rule, rules
from memory.scanner.render import (
    Segment,
    Span,
    redact,
    redact_for_prompt,
    segments,
    spans,
)
from memory.scanner.similarity import fingerprint, signature, similarity
from memory.scanner.units import REVIEWED, Redaction, Unit, redact_units, units
from memory.scanner.word_forms import tables as load_word_lists
