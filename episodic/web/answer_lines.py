"""The lines of an answer: each hit, what its score is made of, and why it is there."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Final

from django.utils.translation import gettext

from episodic.recall import fusion, hit_sentences
from episodic.recall.results import Hit
from episodic.recall.search import Answer
from memory import workspace_tree
from memory.figures import decimal
from memory.rules.convex import Parts

GAP: Final = 0.6
# The most one ranking can add in reciprocal rank fusion: its first place.
MAX_SHARE: Final = fusion.reciprocal(1)


@dataclass(frozen=True, slots=True)
class Bar:
    """One piece of a contribution, in hundredths of the widest possible bar."""

    kind: str
    x: float
    width: float


@dataclass(frozen=True, slots=True)
class Line:
    """One entry of the fused answer. ``label`` says in words what the bars show.

    ``reason`` is one sentence on why it is there. A neighbour of a hit has no rank;
    ``beside`` is the hit it was reached from and ``relation`` how.
    """

    rank: int | None
    hit: Hit
    author: str
    bars: list[Bar]
    label: str
    reason: str = ""
    relation: str = ""
    beside: str = ""


def _bars(hit: Hit, rule: str) -> tuple[list[Bar], str]:
    if rule == "product":
        wide = 100 * min(1.0, max(0.0, hit.score))
        label = gettext("cosine × importance {value}").format(
            value=decimal(hit.score, 3)
        )
        return [Bar("", 0.0, round(wide, 2))], label
    if hit.parts is not None:
        return _part_bars(hit.parts)
    ranks = (hit.dense_rank, hit.sparse_rank)
    dense, words = (fusion.reciprocal(rank) if rank else 0.0 for rank in ranks)
    scale = (100 - GAP) / (2 * MAX_SHARE)
    bars = []
    if dense:
        bars.append(Bar("", 0.0, round(dense * scale, 2)))
    if words:
        start = dense * scale + GAP if dense else 0.0
        bars.append(Bar("two", round(start, 2), round(words * scale, 2)))
    label = gettext("dense {dense}, words {words}")
    return bars, label.format(dense=decimal(dense, 4), words=decimal(words, 4))


def _part_bars(parts: Parts) -> tuple[list[Bar], str]:
    """Return a bar for meaning, words, what stands around the entry, and the rest."""
    around = parts.context + parts.neighbours + parts.conversation
    rest = parts.substance + parts.preference
    shares = {"": parts.meaning, "two": parts.words, "three": around, "four": rest}
    bars, x = [], 0.0
    for kind, share in shares.items():
        if share > 0:
            width = share * (100 - 3 * GAP)
            bars.append(Bar(kind, round(x, 2), round(width, 2)))
            x += width + GAP
    label = gettext(
        "meaning {meaning}, words {words}, around it {around} (words {context}, "
        "neighbours {neighbours}, conversation {conversation}), length {substance}, "
        "preference {preference}"
    )
    values = {name: decimal(value, 3) for name, value in asdict(parts).items()}
    return bars, label.format(around=decimal(around, 3), **values)


def _line(hit: Hit, rank: int | None, author: str, rule: str, reason: str) -> Line:
    relation, _, hit_id = hit.via.partition(":")
    if hit_id:
        return Line(None, hit, author, [], gettext("a neighbour"), "", relation, hit_id)
    bars, label = _bars(hit, rule)
    return Line(rank, hit, author, bars, label, reason)


def lines(answer: Answer, rule: str) -> tuple[list[Line], list[Line]]:
    """Return the lines of the answer, and of what was found below its cut."""
    hits = [*answer.hits, *answer.below]
    slugs = workspace_tree.agent_slugs([hit.entry for hit in hits])
    ranked = [hit.entry.id for hit in hits if ":" not in hit.via]
    ranks = {entry_id: rank for rank, entry_id in enumerate(ranked, 1)}
    texts = hit_sentences.sentences(answer, hits)
    rows = [
        _line(
            hit,
            ranks.get(hit.entry.id),
            slugs.get(hit.entry.agent_id or "", hit.entry.actor_id),
            rule,
            texts[hit.entry.id],
        )
        for hit in hits
    ]
    count = len(answer.hits)
    # A neighbour that was returned may have been found below the cut as well.
    returned = {hit.entry.id for hit in answer.hits}
    below = [line for line in rows[count:] if line.hit.entry.id not in returned]
    return rows[:count], below
