"""Taking findings out of a text, for a person's decision or for a prompt."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from memory.rules.scanner.engine import scan
from memory.rules.scanner.model import Finding

NOTICE = "[withheld: this text was flagged as {families} and waits for review]"


def _merged(spans: Iterable[tuple[int, int, str]]) -> list[tuple[int, int, str]]:
    """Return spans in order, overlapping ones joined under the first one's name."""
    found: list[tuple[int, int, str]] = []
    for start, end, name in sorted(spans):
        if found and start < found[-1][1]:
            first, last, known = found[-1]
            found[-1] = first, max(last, end), known
        else:
            found.append((start, end, name))
    return found


def _cut(text: str, spans: Iterable[tuple[int, int, str]]) -> str:
    parts, at = [], 0
    for start, end, name in _merged(spans):
        parts += [text[at:start], f"[redacted: {name}]"]
        at = end
    return "".join([*parts, text[at:]])


def redact(text: str, spans: Sequence[tuple[int, int]]) -> str:
    """Return a text with the given (start, end) spans replaced by a visible mark."""
    return _cut(text, ((start, end, "by a reviewer") for start, end in spans))


def redact_findings(text: str, findings: Iterable[Finding]) -> str:
    """Return a text with every finding replaced by a mark that names its family."""
    return _cut(text, ((one.start, one.end, one.family) for one in findings))


def redact_for_prompt(text: str) -> str:
    """Return a text as a model may see it: whole when clean, else a notice."""
    verdict = scan(text)
    if not verdict.is_held:
        return text
    families = sorted({one.family for one in verdict.findings})
    return NOTICE.format(families=", ".join(families))
