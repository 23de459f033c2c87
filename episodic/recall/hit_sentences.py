"""One sentence per hit: what found it, its cosine, and what its weight comes from."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from django.utils import timezone
from django.utils.translation import gettext, ngettext, pgettext

from episodic.index import decay, importance
from episodic.index.importance import Importance
from episodic.models import Embedding
from episodic.recall import reasons, surroundings
from episodic.recall.results import Hit
from episodic.recall.search import Answer
from memory.figures import decimal
from memory.models import JournalEntry
from memory.rules.entries import Priority

# More than a day of ageing: the weight in use is that of the last night.
SETTLED: Final = 0.01


def weight(entry: JournalEntry, stored: float, parts: Importance | None) -> str:
    """Return an entry's weight and its causes.

    Causes are named only when they yield the weight that recall used.
    """
    value = decimal(stored)
    if parts is None:
        text = gettext("weight {value}, which does not age before it is indexed")
        return text.format(value=value)
    if abs(parts.value - stored) > SETTLED:
        text = gettext("weight {value}, which would be {other} if computed now")
        return text.format(value=value, other=decimal(parts.value))
    if parts.value <= parts.floor:
        return gettext("weight {value} because it is permanent").format(value=value)
    causes = reasons.word_list(_causes(entry, parts))
    return gettext("weight {value} from {causes}").format(value=value, causes=causes)


def _causes(entry: JournalEntry, parts: Importance) -> list[str]:
    plain = importance.base(entry.entry_type, entry.severity, Priority.NORMAL)
    causes = [gettext("type and severity")]
    if parts.base > plain:
        causes = [gettext("priority {priority}").format(priority=entry.priority)]
    if parts.days >= 1:
        days = int(parts.days)
        text = ngettext("an age of {count} day", "an age of {count} days", days)
        causes.append(text.format(count=days))
    if parts.references:
        times = parts.references
        text = ngettext(
            "being recalled {count} time", "being recalled {count} times", times
        )
        causes.append(text.format(count=times))
    return causes


def places(hit: Hit) -> str:
    """Return the places of a hit in the rankings that found it, "" without one.

    The context ranking counts an entry's own words as well, so it is named only for
    what the word ranking does not have.
    """
    context_rank = None if hit.sparse_rank else hit.context_rank
    ranks = (
        (hit.sparse_rank, gettext("{place} by words")),
        (hit.dense_rank, gettext("{place} by meaning")),
        (context_rank, gettext("{place} by the words around it")),
    )
    texts = [text.format(place=ordinal(rank)) for rank, text in ranks if rank]
    return reasons.word_list(texts)


def ordinal(number: int) -> str:
    """Return a number as a place: 1st, 2nd, 3rd."""
    last = 0 if number % 100 in (11, 12, 13) else number % 10
    text = {
        1: pgettext("place", "{number}st"),
        2: pgettext("place", "{number}nd"),
        3: pgettext("place", "{number}rd"),
    }.get(last, pgettext("place", "{number}th"))
    return text.format(number=number)


def _cosine(hit: Hit) -> str:
    if hit.cosine is None:
        return ""
    return gettext("cosine {value}").format(value=decimal(hit.cosine))


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
            _cosine(hit),
            weight(entry, hit.importance, parts),
            # Where ranks are fused the sentence starts with them.
            places(hit) if hit.parts else "",
        ]
        texts[entry.id] = "; ".join(clause for clause in clauses if clause) + "."
    return texts
