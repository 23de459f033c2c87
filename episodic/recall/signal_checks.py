"""What each signal of a question says about one entry, in words."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from episodic.index import engine
from episodic.recall import ranking, reasons, surroundings
from episodic.recall.reasons import word_list
from episodic.recall.results import Hit
from episodic.recall.search import Answer
from episodic.recall.surroundings import Words
from memory.models import JournalEntry
from memory.rules import convex, tokenizer
from memory.rules.convex import Parts
from memory.word_index import ranking as word_ranking


@dataclass(frozen=True, slots=True)
class Check:
    """One question about the entry: ``verdict`` is pass, fail or none."""

    name: str
    verdict: str
    text: str


def verdict(holds: bool) -> str:  # noqa: FBT001  (one obvious argument)
    return "pass" if holds else "fail"


def dense(entry: JournalEntry, answer: Answer) -> Check:
    """Return its place by meaning, among everything in scope."""
    vector = answer.rankings.vector
    if vector is None:
        text = answer.rankings.degraded or "the mode does not ask the dense ranking"
        return Check("dense", "none", text)
    scope, index = answer.rankings.scope, engine.vectors()
    centred = ranking.is_convex(answer.request)
    rank = index.rank(vector, scope, entry.id, centred=centred)
    if rank is None:
        return Check("dense", "none", "has no vector in scope")
    hit = index.of(vector, scope, [entry.id]).get(entry.id)
    by = "centred cosine" if centred else "cosine × importance"
    text = f"rank {rank} of {answer.rankings.dense.considered} by {by}"
    if hit:
        text += f", cosine {hit.cosine:.3f}, importance {hit.importance:.2f}"
    inside = entry.id in answer.rankings.dense_ids
    if not inside:
        text += f"; the ranking ends at {len(answer.rankings.dense.hits)}"
    return Check("dense", verdict(inside), text)


def words(entry: JournalEntry, answer: Answer) -> Check:
    """Return which words of the question it says, and which of them side by side."""
    if answer.rankings.word_answer is None:
        return Check("words", "none", "the mode does not ask the word ranking")
    word_query = answer.rankings.word_query
    if word_query.is_empty:
        return Check("words", "none", "the question left no word to search for")
    matching = word_ranking.matching_words(
        entry.workspace_id, word_query.terms, {entry.id: entry.docid}
    )[entry.id]
    if not matching:
        text = f"no word of the question is in it{_unsearched(answer)}"
        return Check("words", "none", text)
    ids = answer.rankings.word_ids
    text = ", ".join(matching)
    if pairs := _pairs(entry, answer):
        text += f"; side by side as in the question: {word_list(pairs)}"
    unsearched = _unsearched(answer)
    if entry.id in ids:
        place = f"rank {ids.index(entry.id) + 1} by {text}"
        return Check("words", "pass", f"{place}{unsearched}")
    place = f"{text} found, but below rank {len(ids)} or filtered"
    return Check("words", "fail", f"{place}{unsearched}")


def _unsearched(answer: Answer) -> str:
    """Return which times of the question are not searched as words, "" for none."""
    terms = set(answer.rankings.word_query.terms)
    times = [
        f"“{' '.join(mention.text.split())}”"
        for mention in answer.rankings.preferences.relative_times
        if terms.isdisjoint(tokenizer.split(mention.text))
    ]
    verb = "are times" if len(times) > 1 else "is a time"
    return f"; {word_list(times)} {verb}, and not searched as words" if times else ""


def _pairs(entry: JournalEntry, answer: Answer) -> list[str]:
    """Return the pairs of the question that its summary has, where they counted."""
    if answer.rankings.word_answer is None or not ranking.is_convex(answer.request):
        return []
    detail = answer.rankings.word_answer.details([entry.id]).get(entry.id)
    if detail is None or detail.pairs <= 0:
        return []
    entry_words = tokenizer.split(entry.summary)
    entry_pairs = set(pairwise(entry_words))
    pairs = answer.rankings.word_query.pairs
    return [f"“{a} {b}”" for a, b in pairs if (a, b) in entry_pairs] or ["some of them"]


def of_convex(entry: JournalEntry, hit: Hit | None, answer: Answer) -> list[Check]:
    """Return what convex adds up beside meaning and words; none for other fusions."""
    if not ranking.is_convex(answer.request):
        return []
    checks = [_context(entry, answer)]
    if hit is None or hit.parts is None:
        return checks
    plain = hit.parts.plain(hit.importance)
    return [
        *checks,
        _neighbours(entry, plain, answer),
        _conversation(entry, answer),
        *_preference(plain, answer),
        _importance(hit),
    ]


def _context(entry: JournalEntry, answer: Answer) -> Check:
    rankings = answer.rankings
    if rankings.word_query.is_empty or rankings.word_answer is None:
        return Check("context", "none", "the question left no word to search for")
    windows = surroundings.windows(rankings, [entry.id])
    around = surroundings.words_around(answer, windows)[entry.id]
    window, ids = windows[entry.id], rankings.context_ids
    text = _places(around, len(window.before), len(window.after))
    if not text and not around.own and entry.id in ids:
        # Behind an entry outside the scope, at which the windows stop.
        text = "words of the question stand further off in its thread"
    if not text and not window.before and not window.after:
        return Check("context", "none", "nothing in scope stands beside it")
    if not text:
        return Check("context", "none", "no word of the question stands around it")
    if entry.id in ids:
        return Check("context", "pass", f"rank {ids.index(entry.id) + 1}: {text}")
    return Check("context", "none", text)


def _places(around: Words, before: int, after: int) -> str:
    """Return which words stand where, "" for none."""
    places = []
    for matching, count, side in (
        (around.before, before, "before"),
        (around.after, after, "after"),
    ):
        if matching:
            entries = "the entry" if count == 1 else f"the {count} entries"
            verb = "stands" if len(matching) == 1 else "stand"
            places.append(f"{word_list(matching)} {verb} in {entries} {side} it")
    return ", ".join(places)


def _neighbours(entry: JournalEntry, plain: Parts, answer: Answer) -> Check:
    signals = answer.rankings.signals[entry.id]
    sides = [side for side in (signals.before, signals.after) if side]
    if not sides:
        return Check("neighbours", "none", "nothing in scope is directly beside it")
    text = f"{' and '.join(sides)} directly beside it"
    if plain.neighbours <= 0:
        return Check("neighbours", "none", f"{text}, which fit nothing asked for")
    # Two perfect neighbours are the most there is.
    share = plain.neighbours / convex.most_neighbours()
    return Check("neighbours", "pass", f"{text}: {share:.0%} of the most that counts")


def _conversation(entry: JournalEntry, answer: Answer) -> Check:
    best = reasons.best_of_conversation(entry.id, answer.rankings)
    if best is None:
        text = "it has no trace, so it counts as a conversation of its own"
        return Check("conversation", "none", text)
    if best == entry.id:
        text = "it is the best of its conversation itself"
        return Check("conversation", "pass", text)
    return Check("conversation", "pass", f"{best} is the best of its conversation")


def _preference(plain: Parts, answer: Answer) -> list[Check]:
    wishes = answer.rankings.preferences
    if not wishes:
        return []
    value = wishes.share(plain.preference / convex.PREFERENCE)
    fits = "It fits." if value >= reasons.CLOSE else "It fits in part."
    text = f"{' '.join(wishes.sentences())} "
    if value <= reasons.SLIGHT:
        return [
            Check("preference", "none", f"{text}It does not fit, and loses nothing.")
        ]
    return [Check("preference", "pass", text + fits)]


def _importance(hit: Hit) -> Check:
    factor = convex.importance_factor(hit.importance)
    text = f"importance {hit.importance:.2f} multiplies its score by {factor:.2f}"
    return Check("importance", "pass" if factor >= 1 else "none", text)


_SIGNAL_NAMES = {
    "words": "its words",
    "meaning": "its meaning",
    "context": "the words around it",
    "neighbours": "the entries beside it",
    "conversation": "its conversation",
    "preference": "what the question prefers",
    "substance": "how much it says",
    "importance": "its importance",
}


def against(hit: Hit, last: Hit, answer: Answer) -> str:
    """Return what a hit below the cut has more and less of than the last one above.

    "" where scores are not added up. What makes less than a tenth of the largest
    difference is left out.
    """
    if hit.parts is None or last.parts is None:
        return ""
    own, other = hit.parts.plain(hit.importance), last.parts.plain(last.importance)
    gaps = {
        name: getattr(other, name) - getattr(own, name) for name in convex.weights()
    }
    if _is_best(hit, answer) and _is_best(last, answer):
        # Then it only repeats what the others say.
        del gaps["conversation"]
    factors = [convex.importance_factor(h.importance) for h in (hit, last)]
    gaps["importance"] = own.total * (factors[1] / factors[0] - 1)
    largest = max(abs(gap) for gap in gaps.values())
    worth = {name: gap for name, gap in gaps.items() if abs(gap) > largest / 10}
    behind = sorted((n for n in worth if worth[n] > 0), key=lambda n: -worth[n])
    ahead = sorted((n for n in worth if worth[n] < 0), key=lambda n: worth[n])
    sides = []
    if ahead:
        sides.append(f"ahead by {_signal_text(ahead, hit)}")
    if behind:
        sides.append(f"behind by {_signal_text(behind, hit)}")
    name = f"hit {answer.request.k}"
    return f"Against {name} it is {' and '.join(sides)}." if sides else ""


def _is_best(hit: Hit, answer: Answer) -> bool:
    best = reasons.best_of_conversation(hit.entry.id, answer.rankings)
    return best in (None, hit.entry.id)


def _signal_text(names: Sequence[str], hit: Hit) -> str:
    texts = []
    for name in names[:2]:
        text = _SIGNAL_NAMES[name]
        if name == "meaning" and hit.cosine is not None:
            text += f" (cosine {hit.cosine:.2f})"
        texts.append(text)
    return " and ".join(texts)
