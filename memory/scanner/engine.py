"""The scan itself: views, rules, windows, verdict."""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING

from memory.scanner import (
    garble,
    head,
    hidden,
    matching,
    normalise,
    provenance,
    registry,
    scoring,
    secrets,
)
from memory.scanner.model import Finding, Hit, Level, Mode, Verdict
from memory.scanner.similarity import SAME_FROM, signature, similarity
from memory.scanner.views import View

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

_NO_MODES: Mapping[str, str] = MappingProxyType({})
_NO_WEIGHTS: Mapping[str, float] = MappingProxyType({})
_DECODED_BONUS, _SHOWN_CHARS, MAX_FINDINGS = 0.5, 400, 200
_HEAD_SHARE, _WORTH_HIDING = 0.4, 0.6


def scan(  # noqa: PLR0913  (each of them is independent)
    text: str,
    *,
    source: str | None = None,
    tier: str | None = None,
    writer: str | None = None,
    modes: Mapping[str, str] = _NO_MODES,
    weights: Mapping[str, float] = _NO_WEIGHTS,
    known_signatures: Collection[str] = (),
) -> Verdict:
    """Judge one text.

    `source` and `writer` must be what the caller established, never a field of the
    payload. `modes` switches single rules for a workspace, `weights` lowers their
    weights: one above a rule's own counts as its own. `known_signatures` are those of
    confirmed attacks.
    """
    context = provenance.context(source, tier, writer)
    off = frozenset(rule for rule, mode in modes.items() if mode == Mode.OFF)
    hits = [*_collect(text, off), *_known_attacks(text, known_signatures)]
    scored = [
        _finding(hit, modes, weights)
        for hit in hits
        if hit.rule.id not in off and scoring.is_judged(hit.rule, context)
    ]
    scored.sort(key=lambda item: (item.finding.start, -item.finding.weight))
    points = scoring.score(scored)
    findings = [item.finding for item in scored]
    level = scoring.level(points, findings, scoring.limits(context))
    # The priority in review: the score, raised by the learned head.
    risk = points
    if level is not Level.CLEAN:
        share = _HEAD_SHARE * head.likelihood(text)
        risk = round(points + (1.0 - points) * share, 4)
    findings = findings[:MAX_FINDINGS]
    return Verdict(
        level.value, points, risk, tuple(findings), registry.VERSION, context
    )


def _known_attacks(text: str, signatures: Collection[str]) -> list[Hit]:
    if not signatures:
        return []
    own = signature(text)
    best = max(similarity(own, known_signature) for known_signature in signatures)
    if best < SAME_FROM:
        return []
    return [Hit(registry.rule("override.known_attack"), 0, len(text))]


def _collect(text: str, off: frozenset[str]) -> list[Hit]:
    """Hits of all views, each with its span in the original text."""
    original = View(text)
    folded = normalise.normalise(original)
    hits = [_mapped(folded, hit) for hit in matching.find(folded, off)]
    hits += secrets.find(original)
    hits += garble.find(text)
    channel_hits, views = hidden.channels(text)
    lookalike_hits, plain = hidden.lookalikes(folded)
    hits += channel_hits + lookalike_hits + hidden.styled(text)
    reported = {(hit.rule.id, hit.start) for hit in hits}
    for view in (*views, *filter(None, (plain, normalise.flag_letters(text)))):
        hits += _decoded_hits(view, original, off, reported)
    is_cut = False
    for view in hidden.expand(original, plain or folded):
        hits += _decoded_hits(view, original, off, reported)
        is_cut = is_cut or view.is_cut
    if is_cut:
        hits.append(Hit(registry.rule("hidden_text.too_much"), 0, len(text)))
    return hits


def _mapped(view: View, hit: Hit) -> Hit:
    start, end = view.origin(hit.start, hit.end)
    return Hit(hit.rule, start, end, hit.factor, hit.decoded)


def _decoded_hits(
    view: View, original: View, off: frozenset[str], reported: set[tuple[str, int]]
) -> list[Hit]:
    """Hits of a decoded view that no other view had; being hidden they count more."""
    folded = normalise.normalise(view)
    hits: list[Hit] = []
    if view.kind not in hidden.SILENT:
        hits = hidden.judge(view, hidden.changed_pieces(view, original.text))
    for hit in matching.find(folded, off):
        origin = _mapped(folded, hit)
        key = origin.rule.id, origin.start
        if key in reported:
            continue
        reported.add(key)
        decoded = None
        if view.kind not in hidden.SILENT:
            decoded = folded.text[hit.start : hit.end][:_SHOWN_CHARS]
        hits.append(Hit(hit.rule, origin.start, origin.end, hit.factor, decoded))
    if view.kind in hidden.CODES:
        hits += [_mapped(view, hit) for hit in secrets.find(view)]
    return hits


def _finding(
    hit: Hit, modes: Mapping[str, str], weights: Mapping[str, float]
) -> scoring.Scored:
    rule = hit.rule
    weight = min(rule.weight, weights.get(rule.id, rule.weight))
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
        is_mention=hit.factor < 1.0,
    )
    return scoring.Scored(finding, finding.is_mention)
