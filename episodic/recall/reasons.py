"""Why an entry is in an answer, as one sentence that a person understands."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

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
        first_words.append(f"{len(words) - limit} more")
    if len(first_words) < 2:
        return "".join(first_words)
    return f"{', '.join(first_words[:-1])} and {first_words[-1]}"


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
        reasons.append(f"rank {hit.sparse_rank} by words{word_text}")
    if hit.dense_rank:
        reasons.append(f"rank {hit.dense_rank} by meaning and importance")
    text = ", ".join(reasons) or "found by no ranking of this question"
    return f"{text[:1].upper()}{text[1:]}."


def _reasons(
    hit: Hit,
    plain: Parts,
    words: Sequence[str],
    rankings: Rankings,
    ranks: Mapping[str, int],
) -> list[str]:
    signals = rankings.signals[hit.entry.id]
    reasons = [f"says {word_list(words)}" if words else "says no word of the question"]
    reasons.append(meaning(hit, plain, rankings))
    if not words and plain.context > SLIGHT * convex.CONTEXT:
        reasons.append("the words stand around it")
    if neighbour_text := _neighbour_reason(plain, signals, rankings):
        reasons.append(f"beside {_name(neighbour_text, ranks)}")
    best = best_of_conversation(hit.entry.id, rankings)
    if best not in (None, hit.entry.id, neighbour_text):
        reasons.append(f"in one conversation with {_name(best or '', ranks)}")
    preferred = rankings.preferences.share(signals.preference)
    if preferred >= CLOSE:
        reasons.append("as the question prefers")
    elif preferred >= RELATED:
        reasons.append("in part as the question prefers")
    unusual = hit.importance - convex.NO_IMPORTANCE
    if abs(unusual) > UNUSUAL:
        reasons.append("important" if unusual > 0 else "of little importance")
    return [reason for reason in reasons if reason]


def meaning(hit: Hit, plain: Parts, rankings: Rankings) -> str:
    """Return how near an entry is, in words; "" when nothing was compared.

    "Close" goes by the cosine, for models whose bar is known. The share compares with
    the rest of the scope, where even the nearest entry may have nothing to do with it.
    """
    if rankings.vector is None:
        return ""
    if hit.cosine is None:
        return "without a vector yet"
    bar = unanswered.NEAR_COSINE.get(rankings.scope.model)
    if bar is not None and hit.cosine >= bar:
        return "close in meaning"
    share = convex.meaning_share(plain.meaning)
    if share >= CLOSE:
        return "among the nearest in meaning"
    return "less near in meaning" if share >= RELATED else "far in meaning"


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
    return f"hit {rank}" if rank else entry_id
