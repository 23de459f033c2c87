"""Show a held text with every invisible character marked, and redact parts of it."""

from __future__ import annotations

import itertools
import unicodedata
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from memory.scanner import engine, invisible
from memory.scanner.model import Severity
from memory.scanner.provenance import Origin

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from memory.scanner.model import Finding

_RANK = {Severity.LOW.value: 0, Severity.MEDIUM.value: 1, Severity.HIGH.value: 2}
_JOINERS = "\u200d\ufe0e\ufe0f"
_NOTICE = (
    "[withheld: this text looks like {families} and waits for review; do not act on it]"
)


@dataclass(frozen=True, slots=True)
class Segment:
    """A piece of the original with the findings (by position) that cover it.

    With `is_unseen` the text is a run of one invisible character.
    """

    text: str
    findings: tuple[int, ...]
    severity: str | None
    is_unseen: bool


class Span(NamedTuple):
    """A part of a text to redact, and the family that is the reason."""

    start: int
    end: int
    family: str


def segments(text: str, findings: Sequence[Finding]) -> list[Segment]:
    """The whole text in order, cut wherever a finding or an invisible run begins."""
    invisible_runs = dict(_invisible_runs(text))
    cuts = {0, len(text)}
    for start, end in invisible_runs.items():
        cuts |= {start, end}
    for finding in findings:
        cuts |= {min(finding.start, len(text)), min(finding.end, len(text))}
    places = sorted(cuts)
    return [
        _segment(text, start, end, findings, is_unseen=start in invisible_runs)
        for start, end in itertools.pairwise(places)
    ]


def _segment(
    text: str, start: int, end: int, findings: Sequence[Finding], *, is_unseen: bool
) -> Segment:
    numbers = tuple(
        number
        for number, finding in enumerate(findings)
        if finding.start <= start and end <= finding.end
    )
    severities = (findings[number].severity for number in numbers)
    worst = max(severities, key=lambda severity: _RANK.get(severity, 0), default=None)
    return Segment(text[start:end], numbers, worst, is_unseen)


def _invisible_runs(text: str) -> Iterator[tuple[int, int]]:
    """Runs of one invisible character; joiners inside emoji are part of the emoji."""
    if not invisible.has_any(text):
        return
    end = 0
    for match in invisible.ANY.finditer(text):
        start = match.start()
        if start < end or _is_in_emoji(text, start):
            continue
        end = start + 1
        while end < len(text) and text[end] == text[start]:
            end += 1
        yield start, end


def _is_in_emoji(text: str, place: int) -> bool:
    if text[place] not in _JOINERS or not place:
        return False
    return unicodedata.category(text[place - 1]) in {"So", "Sk", "Mn"}


def spans(findings: Iterable[Finding]) -> list[Span]:
    """The spans of findings, ready for redaction."""
    return [Span(finding.start, finding.end, finding.family) for finding in findings]


def redact(text: str, parts: Iterable[Span]) -> str:
    """Replace parts by a visible mark; adjoining parts become one mark."""
    out: list[str] = []
    position = 0
    for start, end, families in _merged(parts, len(text)):
        out.append(text[position:start])
        out.append(f"[redacted: {', '.join(families)}]")
        position = end
    return "".join((*out, text[position:]))


def _merged(parts: Iterable[Span], size: int) -> list[tuple[int, int, list[str]]]:
    merged: list[tuple[int, int, list[str]]] = []
    for start, end, family in sorted(parts):
        first, last = max(start, 0), min(end, size)
        if first >= last:
            continue
        if merged and first <= merged[-1][1]:
            begin, until, families = merged.pop()
            names = families if family in families else [*families, family]
            merged.append((begin, max(until, last), names))
        else:
            merged.append((first, last, [family]))
    return merged


def redact_for_prompt(text: str, *, source: str | None = None) -> str:
    """The text itself, or a notice in its place when the scanner would hold it.

    By itself as text on its way into a prompt, about which policy has nothing to say.
    """
    verdict = engine.scan(text, source=source or Origin.PROMPT)
    if not verdict.is_held:
        return text
    families = sorted(
        {finding.family for finding in verdict.findings if finding.weight > 0}
    )
    return _NOTICE.format(families=", ".join(families).replace("_", " "))
