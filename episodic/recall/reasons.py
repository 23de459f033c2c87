"""Why an entry is in an answer, as one sentence that a person understands."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from django.utils.translation import gettext, ngettext

from episodic.recall import unanswered
from episodic.recall.ranking import Rankings
from episodic.recall.results import Hit
from memory.rules import convex
from memory.rules.convex import Parts, Signals

MAX_WORDS: Final = 4
# Of the range from the farthest entry in scope to the nearest.
CLOSE: Final = 0.75
RELATED: Final = 0.5
# How far from that of an ordinary entry an importance is worth a word.
UNUSUAL: Final = 0.3
# Below this share of the most that a signal can add it is not worth a word.
SLIGHT: Final = 0.15


def word_list(words: Sequence[str], limit: int = MAX_WORDS) -> str:
    """Return words as a list for people: "a, b and c"."""
    first_words = list(words[:limit])
    if len(words) > limit:
        rest = len(words) - limit
        first_words.append(
            ngettext("{count} more", "{count} more", rest).format(count=rest)
        )
    if len(first_words) < 2:
        return "".join(first_words)
    return gettext("{words} and {last}").format(
        words=", ".join(first_words[:-1]), last=first_words[-1]
    )


def sentence(
    hit: Hit, words: Sequence[str], rankings: Rankings, ranks: Mapping[str, int]
) -> str:
    """Return why a hit is where it is.

    ``words`` are those of the question that it says, ``ranks`` the places of the hits,
    by which a neighbour is named.
    """
    if hit.parts is None:
        return _by_ranks(hit, words)
    reasons = _reasons(hit, hit.parts.plain(hit.importance), words, rankings, ranks)
    text = ", ".join(reasons)
    return f"{text[:1].upper()}{text[1:]}."


def _by_ranks(hit: Hit, words: Sequence[str]) -> str:
    reasons = []
    if hit.sparse_rank:
        word_text = f" ({word_list(words)})" if words else ""
        reason = gettext("rank {rank} by words").format(rank=hit.sparse_rank)
        reasons.append(f"{reason}{word_text}")
    if hit.dense_rank:
        reason = gettext("rank {rank} by meaning and importance")
        reasons.append(reason.format(rank=hit.dense_rank))
    text = ", ".join(reasons) or gettext("found by no ranking of this question")
    return f"{text[:1].upper()}{text[1:]}."


def _reasons(
    hit: Hit,
    plain: Parts,
    words: Sequence[str],
    rankings: Rankings,
    ranks: Mapping[str, int],
) -> list[str]:
    signals = rankings.signals[hit.entry.id]
    says = gettext("says {words}").format(words=word_list(words))
    reasons = [says if words else gettext("says no word of the question")]
    reasons.append(meaning(hit, plain, rankings))
    if not words and plain.context > SLIGHT * convex.CONTEXT:
        reasons.append(gettext("the words stand around it"))
    if neighbour := _neighbour_reason(plain, signals, rankings):
        reasons.append(gettext("beside {hit}").format(hit=_name(neighbour, ranks)))
    best = best_of_conversation(hit.entry.id, rankings)
    if best is not None and best not in (hit.entry.id, neighbour):
        reason = gettext("in one conversation with {hit}")
        reasons.append(reason.format(hit=_name(best, ranks)))
    preferred = rankings.preferences.share(signals.preference)
    if preferred >= CLOSE:
        reasons.append(gettext("as the question prefers"))
    elif preferred >= RELATED:
        reasons.append(gettext("in part as the question prefers"))
    unusual = hit.importance - convex.NO_IMPORTANCE
    if abs(unusual) > UNUSUAL:
        reasons.append(
            gettext("important") if unusual > 0 else gettext("of little importance")
        )
    return [reason for reason in reasons if reason]


def meaning(hit: Hit, plain: Parts, rankings: Rankings) -> str:
    """Return how near an entry is, in words; "" when nothing was compared.

    "Close" goes by the cosine, for models whose bar is known. The share compares with
    the rest of the scope, where even the nearest entry may have nothing to do with it.
    """
    if rankings.vector is None:
        return ""
    if hit.cosine is None:
        return gettext("without a vector yet")
    bar = unanswered.NEAR_COSINE.get(rankings.scope.model)
    if bar is not None and hit.cosine >= bar:
        return gettext("close in meaning")
    share = convex.meaning_share(plain.meaning)
    if share >= CLOSE:
        return gettext("among the nearest in meaning")
    if share >= RELATED:
        return gettext("less near in meaning")
    return gettext("far in meaning")


def _neighbour_reason(plain: Parts, signals: Signals, rankings: Rankings) -> str | None:
    """Return the neighbour that adds to a score, the one that says more of the two."""
    if plain.neighbours <= SLIGHT * convex.NEIGHBOURS:
        return None
    sides = [
        (rankings.signals[side], side)
        for side in (signals.before, signals.after)
        if side in rankings.signals
    ]
    strength = [
        (signal.words + signal.context, signal.meaning or -1.0, side)
        for signal, side in sides
    ]
    return max(strength)[2] if strength else None


def best_of_conversation(entry_id: str, rankings: Rankings) -> str | None:
    """Return the candidate of the same trace with the best score before conversation.

    None for an entry without a trace.
    """
    thread = rankings.signals[entry_id].thread
    if thread is None:
        return None

    def own(candidate: str) -> tuple[float, bool]:
        parts = rankings.parts[candidate]
        plain = parts.plain(rankings.signals[candidate].importance)
        total = plain.total - plain.conversation - plain.preference
        return total, candidate == entry_id

    thread_ids = [c for c in rankings.parts if rankings.signals[c].thread == thread]
    return max(thread_ids, key=own)


def _name(entry_id: str, ranks: Mapping[str, int]) -> str:
    rank = ranks.get(entry_id)
    return gettext("hit {rank}").format(rank=rank) if rank else entry_id
