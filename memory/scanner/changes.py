"""A write judged with the kept text that it touches: half an attack may be there.

An instruction of which a file holds the first half is found when the second arrives, as
far as findings add up. Only what is new is held, and kept text that is held by itself
holds nothing beside it. The kept text is read for ``REACH`` characters on either side,
so the cost does not grow with the file.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING, Final, NamedTuple

from memory.scanner import scoring
from memory.scanner.engine import MAX_FINDINGS
from memory.scanner.model import Finding, Level, Verdict
from memory.scanner.scoring import Scored

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    Scan = Callable[[str], Verdict]

# Findings further apart do not add up.
REACH: Final = scoring.WINDOW
_GAP: Final = "\n"
_FENCE: Final = "```"


class Change(NamedTuple):
    """What a write adds and removes, between the kept text on either side of it.

    ``start`` is where ``before`` begins in the text that the write makes; it is
    negative where text of another file stands in front.
    """

    before: str
    added: str
    removed: str
    after: str
    start: int

    @property
    def text(self) -> str:
        return f"{self.before}{self.added}{self.after}"

    @property
    def earlier(self) -> str:
        """What stood there before the write."""
        return f"{self.before}{self.removed}{self.after}"


# ── What a write changes ─────────────────────────────────────────────────────
def _common(first: str, second: str) -> int:
    """How many characters two texts begin with alike."""
    low, high = 0, min(len(first), len(second))
    while low < high:
        middle = (low + high + 1) // 2
        if first[low:middle] == second[low:middle]:
            low = middle
        else:
            high = middle - 1
    return low


def between(present: str, final: str) -> Change:
    """Return what a write changes that makes one text of another."""
    head = _common(present, final)
    tail = _common(present[head:][::-1], final[head:][::-1])
    first = max(0, head - REACH)
    end = len(final) - tail
    return Change(
        before=final[first:head],
        added=final[head:end],
        removed=present[head : len(present) - tail],
        after=final[end : end + REACH],
        start=first,
    )


def pairs(change: Change, final: str, neighbour: str) -> Iterator[tuple[Change, int]]:
    """Yield the change with a text that is read before, or after, the changed one.

    Each with the place where the two texts meet. A change that is farther from the
    edge than a sentence reaches yields none.
    """
    head = change.start + len(change.before)
    end = head + len(change.added)
    if head < REACH:
        front = neighbour[-REACH:] + _GAP
        short = len(change.added) <= REACH
        yield (
            change._replace(
                before=front + final[:head],
                added=change.added[:REACH],
                removed=change.removed[:REACH],
                after=change.after if short else "",
                start=-len(front),
            ),
            0,
        )
    if len(final) - end < REACH:
        skip = max(0, len(change.added) - REACH)
        yield (
            change._replace(
                before="" if skip else change.before,
                added=change.added[skip:],
                removed=change.removed[-REACH:],
                after=final[end:] + _GAP + neighbour[:REACH],
                start=head + skip if skip else change.start,
            ),
            len(final),
        )


# ── What is new in it ────────────────────────────────────────────────────────
def _fresh_spans(change: Change) -> list[tuple[int, int]]:
    """Return the parts of the text that are new; a line that only moved is not."""
    kept_lines = Counter(change.removed.splitlines(keepends=True))
    spans, place = [], len(change.before)
    for line in change.added.splitlines(keepends=True):
        if kept_lines[line]:
            kept_lines[line] -= 1
        elif body := line.strip("\r\n"):
            start = place + line.index(body)
            spans.append((start, start + len(body)))
        place += len(line)
    return spans


def _touching(
    findings: Iterable[Finding], spans: Sequence[tuple[int, int]]
) -> list[Finding]:
    def touches(finding: Finding) -> bool:
        # The last span that begins before its end; those before it end earlier.
        place = bisect_left(spans, (finding.end,)) - 1
        return place >= 0 and finding.start < spans[place][1]

    return [finding for finding in findings if touches(finding)]


def _weights(text: str, verdict: Verdict) -> dict[tuple[str, str], float]:
    weights: dict[tuple[str, str], float] = {}
    for finding in verdict.findings:
        key = finding.rule, text[finding.start : finding.end]
        weights[key] = max(weights.get(key, 0.0), finding.weight)
    return weights


def _heavier(
    text: str, verdict: Verdict, before: Mapping[tuple[str, str], float]
) -> list[Finding]:
    """Return findings of a text that weigh more than they did before.

    What a write removed may be "never" before an order, for one.
    """
    return [
        finding
        for finding in verdict.findings
        if finding.weight
        > before.get((finding.rule, text[finding.start : finding.end]), 0.0)
    ]


def is_joint(change: Change, verdict: Verdict, boundary: int, scan: Scan) -> bool:
    """Whether an attack lies in the texts on both sides of a place, not in each."""
    if any(finding.start < boundary < finding.end for finding in verdict.findings):
        return True
    place = boundary - change.start
    front, rest = change.text[:place], change.text[place:]
    sides = [front, rest]
    if front.count(_FENCE) % 2:
        # A block of code left open turns those of the other text inside out.
        sides.append(f"{_FENCE}\n{rest}")
    apart: dict[tuple[str, str], float] = {}
    for side in sides:
        for key, weight in _weights(side, scan(side)).items():
            apart[key] = max(apart.get(key, 0.0), weight)
    local = tuple(_shift(finding, -change.start) for finding in verdict.findings)
    return bool(_heavier(change.text, replace(verdict, findings=local), apart))


def _shift(finding: Finding, by: int) -> Finding:
    return replace(finding, start=finding.start + by, end=finding.end + by)


def within(finding: Finding, first: int, size: int) -> Finding:
    """Return a finding with its place in a part of the text that begins at ``first``.

    The place of a finding outside of the part is all of the part.
    """
    start, end = max(finding.start - first, 0), min(finding.end - first, size)
    if start >= end:
        start, end = 0, size
    return replace(finding, start=start, end=end)


# ── The verdict ──────────────────────────────────────────────────────────────
def judge(change: Change, scan: Scan, name: str = "") -> Verdict:
    """Judge what is new, together with what it touches; places are in the new text.

    ``name`` is what a finding says it completes, when without kept text it would not
    have held.
    """
    verdict = scan(change.text)
    spans = _fresh_spans(change)
    fresh = _touching(verdict.findings, spans)
    if len(verdict.findings) >= MAX_FINDINGS:
        # Findings of the kept text may have taken the place of later ones.
        own = scan(change.added).findings
        fresh += _touching((_shift(f, len(change.before)) for f in own), spans)
    if verdict.is_held:
        verdict, fresh = _weighed(change, scan, verdict, fresh)
    if not fresh:
        return clean(verdict)
    if verdict.is_held and name:
        fresh = _with_name(change, verdict, fresh, name)
    places = (_shift(finding, change.start) for finding in fresh)
    return replace(verdict, findings=tuple(places))


def clean(verdict: Verdict) -> Verdict:
    """Return a verdict of the same context that says nothing against a text."""
    level = Level.CLEAN.value
    return replace(verdict, verdict=level, score=0.0, risk=0.0, findings=())


def _weighed(
    change: Change, scan: Scan, verdict: Verdict, fresh: list[Finding]
) -> tuple[Verdict, list[Finding]]:
    """Take out what the kept text is held for by itself: a person let that in."""
    earlier = scan(change.earlier)
    # The word that decides may stand outside of what a finding shows.
    known, before = set(fresh), _weights(change.earlier, earlier)
    heavier = _heavier(change.text, verdict, before)
    fresh += [finding for finding in heavier if finding not in known]
    if not earlier.is_held:
        # Nothing was held before, so what was written or taken out made it so.
        return verdict, fresh or list(verdict.findings)
    together = fresh + _pieces(change.text, verdict, fresh)
    points = _points(together)
    level = scoring.level(points, together, scoring.limits(verdict.context))
    return replace(verdict, verdict=level.value, score=points), fresh


def _pieces(text: str, verdict: Verdict, fresh: Sequence[Finding]) -> list[Finding]:
    """Return the kept findings that are not held by themselves.

    Without the heaviest lines, as many as hold: to the others a write may add.
    """
    lines: dict[int, list[Finding]] = {}
    for finding in verdict.findings:
        if finding not in fresh:
            lines.setdefault(text.count("\n", 0, finding.start), []).append(finding)
    lightest_first = sorted(lines.values(), key=_points)
    limits = scoring.limits(verdict.context)
    while lightest_first:
        rest = [finding for line in lightest_first for finding in line]
        if scoring.level(_points(rest), rest, limits) is not Level.HELD:
            return rest
        lightest_first.pop()
    return []


def _points(findings: Sequence[Finding]) -> float:
    """Return the score of some of a text's findings."""
    scored = [Scored(finding, finding.is_mention) for finding in findings]
    return scoring.score(scored)


def _with_name(
    change: Change, verdict: Verdict, fresh: list[Finding], name: str
) -> list[Finding]:
    """Say of findings that they hold only together with text that is there already."""
    first = len(change.before)
    last = first + len(change.added)
    inside = [f for f in fresh if first <= f.start and f.end <= last]
    level = scoring.level(_points(inside), inside, scoring.limits(verdict.context))
    if level is Level.HELD:
        return fresh
    return [replace(finding, completes=name) for finding in fresh]
