"""The scan itself: views, rules, windows, verdict."""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING

from memory.scanner import head, hidden, matching, normalise, registry, scoring, secrets
from memory.scanner.model import Finding, Hit, Mode, Verdict
from memory.scanner.similarity import SAME, signature, similarity
from memory.scanner.views import View

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

_NO_MODES: Mapping[str, str] = MappingProxyType({})
_DECODED_BONUS, _SHOWN, _MAX_FINDINGS = 0.5, 400, 200
_HEAD_SHARE, _WORTH_HIDING = 0.4, 0.6


def scan(
    text: str,
    *,
    source: str | None = None,
    tier: str | None = None,
    modes: Mapping[str, str] = _NO_MODES,
    known: Collection[str] = (),
) -> Verdict:
    """Judge one text.

    `source` must be what the caller established, never a field of the payload. `modes`
    switches single rules for a workspace. `known` holds signatures of confirmed
    attacks.
    """
    off = frozenset(rule for rule, mode in modes.items() if mode == Mode.OFF)
    hits = [*_collect(text, off), *_recognised(text, known)]
    scored = [_finding(hit, modes) for hit in hits if hit.rule.id not in off]
    scored.sort(key=lambda one: (one.finding.start, -one.finding.weight))
    points = scoring.score(scored)
    every = [one.finding for one in scored]
    limits = scoring.thresholds(source, tier)
    level = scoring.level(points, every, limits)
    shown = tuple(every[:_MAX_FINDINGS])
    return Verdict(level.value, points, _risk(text, points), shown, registry.VERSION)


def _risk(text: str, points: float) -> float:
    """The review priority: the score of what has findings, raised by the head."""
    if not points:
        return points
    return round(points + (1.0 - points) * _HEAD_SHARE * head.likelihood(text), 4)


def _recognised(text: str, known: Collection[str]) -> list[Hit]:
    if not known:
        return []
    own = signature(text)
    best = max(similarity(own, one) for one in known)
    if best < SAME:
        return []
    return [Hit(registry.rule("override.known_attack"), 0, len(text))]


def _collect(text: str, off: frozenset[str]) -> list[Hit]:
    """Hits in all views, each with its span in the original text."""
    original = View(text)
    folded = normalise.normalise(original)
    hits = [_mapped(folded, hit) for hit in matching.find(folded, off)]
    hits += secrets.find(original)
    found, views = hidden.channels(text)
    masked, plain = hidden.lookalikes(folded)
    hits += found + masked + hidden.styled(text)
    seen = {(hit.rule.id, hit.start) for hit in hits}
    for view in (*views, *filter(None, (plain, normalise.flags(text)))):
        hits += _decoded(view, original, off, seen)
    for view in hidden.expand(original, plain or folded):
        hits += _decoded(view, original, off, seen)
    return hits


def _mapped(view: View, hit: Hit) -> Hit:
    start, end = view.origin(hit.start, hit.end)
    return Hit(hit.rule, start, end, hit.factor, hit.decoded)


def _decoded(
    view: View, original: View, off: frozenset[str], seen: set[tuple[str, int]]
) -> list[Hit]:
    """New hits of a decoded view; being hidden makes them count more."""
    folded = normalise.normalise(view)
    hits = hidden.judge(view, hidden.changed(view, original.text))
    for hit in matching.find(folded, off):
        there = _mapped(folded, hit)
        key = there.rule.id, there.start
        if key in seen:
            continue
        seen.add(key)
        said = None
        if view.kind not in hidden.SILENT:
            said = folded.text[hit.start : hit.end][:_SHOWN]
        hits.append(Hit(hit.rule, there.start, there.end, hit.factor, said))
    if view.kind in hidden.CODES:
        hits += [_mapped(view, hit) for hit in secrets.find(view)]
    return hits


def _finding(hit: Hit, modes: Mapping[str, str]) -> scoring.Scored:
    rule = hit.rule
    weight = rule.weight
    is_hidden = hit.decoded is not None and not rule.id.startswith("hidden_text.")
    if is_hidden and weight >= _WORTH_HIDING:
        weight += (1.0 - weight) * _DECODED_BONUS
    finding = Finding(
        rule.id,
        rule.family.value,
        rule.severity.value,
        round(weight * hit.factor, 4),
        hit.start,
        hit.end,
        hit.decoded,
        rule.why,
        str(modes.get(rule.id, Mode.HOLD.value)),
    )
    return scoring.Scored(finding, hit.factor < 1.0)
