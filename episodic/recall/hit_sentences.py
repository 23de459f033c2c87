"""One sentence per hit: what found it, its cosine, and what its weight comes from."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from django.utils import timezone

from episodic.index import decay, importance
from episodic.index.importance import Importance
from episodic.models import Embedding
from episodic.recall import reasons, surroundings
from episodic.recall.results import Hit
from episodic.recall.search import Answer
from memory.models import JournalEntry
from memory.rules.entries import Priority

# More than a day of ageing: the weight in use is that of the last night.
SETTLED: Final = 0.01


def weight(entry: JournalEntry, stored: float, parts: Importance | None) -> str:
    """Return an entry's weight and its causes.

    Causes are named only when they yield the weight that recall used.
    """
    text = f"weight {stored:.2f}"
    if parts is None:
        return f"{text}, which does not age before it is indexed"
    if abs(parts.value - stored) > SETTLED:
        return f"{text}, which would be {parts.value:.2f} if computed now"
    plain = importance.base(entry.entry_type, entry.severity, Priority.NORMAL)
    if parts.value <= parts.floor:
        return f"{text} because it is permanent"
    is_raised = parts.base > plain
    causes = [f"priority {entry.priority}" if is_raised else "type and severity"]
    if parts.days >= 1:
        days = int(parts.days)
        causes.append(f"an age of {days} day{'' if days == 1 else 's'}")
    if parts.references:
        times = f"{parts.references} time{'' if parts.references == 1 else 's'}"
        causes.append(f"being recalled {times}")
    return f"{text} from {reasons.word_list(causes)}"


def places(hit: Hit) -> str:
    """Return the places of a hit in the rankings that found it, "" without one.

    The context ranking counts an entry's own words as well, so it is named only for
    what the word ranking does not have.
    """
    context_rank = None if hit.sparse_rank else hit.context_rank
    ranks = (
        (hit.sparse_rank, "words"),
        (hit.dense_rank, "meaning"),
        (context_rank, "the words around it"),
    )
    texts = [f"{ordinal(rank)} by {name}" for rank, name in ranks if rank]
    return reasons.word_list(texts)


def ordinal(number: int) -> str:
    """Return a number as a place: 1st, 2nd, 3rd."""
    if number % 100 in (11, 12, 13):
        return f"{number}th"
    ending = {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th")
    return f"{number}{ending}"


def sentences(answer: Answer, hits: Sequence[Hit]) -> dict[str, str]:
    """Return why each hit is in the answer, or below its cut."""
    entries = [hit.entry for hit in hits]
    words = surroundings.words_in(answer, entries)
    ranked = [hit.entry.id for hit in hits if ":" not in hit.via]
    ranks = {entry_id: rank for rank, entry_id in enumerate(ranked, 1)}
    rows = Embedding.objects.defer("vector").in_bulk([entry.id for entry in entries])
    now, texts = timezone.now(), {}
    for hit in hits:
        entry, row = hit.entry, rows.get(hit.entry.id)
        parts = decay.parts(entry, row, now) if row else None
        base = reasons.sentence(hit, words[entry.id], answer.rankings, ranks)
        clauses = [
            base.removesuffix("."),
            f"cosine {hit.cosine:.2f}" if hit.cosine is not None else "",
            weight(entry, hit.importance, parts),
            # Where ranks are fused the sentence starts with them.
            places(hit) if hit.parts else "",
        ]
        texts[entry.id] = "; ".join(clause for clause in clauses if clause) + "."
    return texts
