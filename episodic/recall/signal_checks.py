"""What each signal of a question says about one entry, in words."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

from django.utils.translation import gettext, gettext_noop, ngettext, pgettext

from episodic.index import engine
from episodic.recall import findings, ranking, reasons, surroundings
from episodic.recall.reasons import word_list
from episodic.recall.results import Hit
from episodic.recall.search import Answer
from episodic.recall.surroundings import Words
from memory.figures import decimal
from memory.models import JournalEntry
from memory.rules import convex, tokenizer
from memory.rules.convex import Parts
from memory.word_index import ranking as word_ranking

# What the checks are called on a page, by their names; the last of them is the cut.
TITLES: Final = {
    "policy": gettext_noop("Policy"),
    "state": gettext_noop("State"),
    "scope": gettext_noop("Scope"),
    "filters": gettext_noop("Filters"),
    "dense": gettext_noop("Dense"),
    "words": gettext_noop("Words"),
    "context": gettext_noop("Context"),
    "neighbours": gettext_noop("Neighbours"),
    "conversation": gettext_noop("Conversation"),
    "preference": gettext_noop("Preference"),
    "importance": gettext_noop("Importance"),
}


@dataclass(frozen=True, slots=True)
class Check:
    """One question about the entry: ``verdict`` is pass, fail or none."""

    name: str
    verdict: str
    text: str

    @property
    def title(self) -> str:
        """What it is called on a page."""
        return (
            gettext(TITLES[self.name])
            if self.name in TITLES
            else pgettext("check", "Cut")
        )


def verdict(holds: bool) -> str:  # noqa: FBT001  (one obvious argument)
    return "pass" if holds else "fail"


def dense(entry: JournalEntry, answer: Answer) -> Check:
    """Return its place by meaning, among everything in scope."""
    vector = answer.rankings.vector
    if vector is None:
        text = gettext("the mode does not ask the dense ranking")
        text = ranking.degraded_text(answer.rankings.degraded) or text
        return Check("dense", "none", text)
    scope, index = answer.rankings.scope, engine.vectors()
    centred = ranking.is_convex(answer.request)
    rank = index.rank(vector, scope, entry.id, centred=centred)
    if rank is None:
        return Check("dense", "none", gettext("has no vector in scope"))
    hit = index.of(vector, scope, [entry.id]).get(entry.id)
    text = gettext(findings.BY_COSINE)
    if centred:
        text = gettext(findings.BY_CENTRED)
    text = text.format(rank=rank, count=answer.rankings.dense.considered)
    if hit:
        values = gettext(findings.COSINE).format(
            cosine=decimal(hit.cosine, 3), importance=decimal(hit.importance)
        )
        text += f", {values}"
    inside = entry.id in answer.rankings.dense_ids
    if not inside:
        last = len(answer.rankings.dense.hits)
        text += f"; {gettext(findings.ENDS).format(rank=last)}"
    return Check("dense", verdict(inside), text)


def words(entry: JournalEntry, answer: Answer) -> Check:
    """Return which words of the question it says, and which of them side by side."""
    if answer.rankings.word_answer is None:
        text = gettext("the mode does not ask the word ranking")
        return Check("words", "none", text)
    word_query = answer.rankings.word_query
    if word_query.is_empty:
        text = gettext("the question left no word to search for")
        return Check("words", "none", text)
    matching = word_ranking.matching_words(
        entry.workspace_id, word_query.terms, {entry.id: entry.docid}
    )[entry.id]
    if not matching:
        text = gettext("no word of the question is in it")
        return Check("words", "none", f"{text}{_unsearched(answer)}")
    ids = answer.rankings.word_ids
    text = ", ".join(matching)
    if pairs := _pairs(entry, answer):
        beside = gettext(findings.BESIDE)
        text += f"; {beside.format(pairs=word_list(pairs))}"
    unsearched = _unsearched(answer)
    if entry.id in ids:
        place = gettext("rank {rank} by {words}").format(
            rank=ids.index(entry.id) + 1, words=text
        )
        return Check("words", "pass", f"{place}{unsearched}")
    place = gettext(findings.FOUND).format(words=text, rank=len(ids))
    return Check("words", "fail", f"{place}{unsearched}")


def _unsearched(answer: Answer) -> str:
    """Return which times of the question are not searched as words, "" for none."""
    terms = set(answer.rankings.word_query.terms)
    times = [
        gettext("“{words}”").format(words=" ".join(mention.text.split()))
        for mention in answer.rankings.preferences.relative_times
        if terms.isdisjoint(tokenizer.split(mention.text))
    ]
    text = gettext(findings.ONE_TIME if len(times) == 1 else findings.TIMES)
    return f"; {text.format(times=word_list(times))}" if times else ""


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
    quoted = gettext("“{words}”")
    own = [quoted.format(words=f"{a} {b}") for a, b in pairs if (a, b) in entry_pairs]
    return own or [gettext(findings.SOME)]


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
        text = gettext("the question left no word to search for")
        return Check("context", "none", text)
    windows = surroundings.windows(rankings, [entry.id])
    around = surroundings.words_around(answer, windows)[entry.id]
    window, ids = windows[entry.id], rankings.context_ids
    text = _places(around, len(window.before), len(window.after))
    if not text and not around.own and entry.id in ids:
        # Behind an entry outside the scope, at which the windows stop.
        text = gettext("words of the question stand further off in its thread")
    if not text and not window.before and not window.after:
        return Check("context", "none", gettext("nothing in scope stands beside it"))
    if not text:
        text = gettext("no word of the question stands around it")
        return Check("context", "none", text)
    if entry.id in ids:
        rank = ids.index(entry.id) + 1
        place = gettext("rank {rank}: {words}").format(rank=rank, words=text)
        return Check("context", "pass", place)
    return Check("context", "none", text)


def _places(around: Words, before: int, after: int) -> str:
    """Return which words stand where, "" for none."""
    places = []
    if around.before:
        text = _before(before, is_single=len(around.before) == 1)
        places.append(text.format(words=word_list(around.before), count=before))
    if around.after:
        text = _after(after, is_single=len(around.after) == 1)
        places.append(text.format(words=word_list(around.after), count=after))
    return ", ".join(places)


def _before(count: int, *, is_single: bool) -> str:
    if is_single:
        return ngettext(
            "{words} stands in the entry before it",
            "{words} stands in the {count} entries before it",
            count,
        )
    return ngettext(
        "{words} stand in the entry before it",
        "{words} stand in the {count} entries before it",
        count,
    )


def _after(count: int, *, is_single: bool) -> str:
    if is_single:
        return ngettext(
            "{words} stands in the entry after it",
            "{words} stands in the {count} entries after it",
            count,
        )
    return ngettext(
        "{words} stand in the entry after it",
        "{words} stand in the {count} entries after it",
        count,
    )


def _neighbours(entry: JournalEntry, plain: Parts, answer: Answer) -> Check:
    signals = answer.rankings.signals[entry.id]
    sides = [side for side in (signals.before, signals.after) if side]
    if not sides:
        text = gettext("nothing in scope is directly beside it")
        return Check("neighbours", "none", text)
    entries = word_list(sides)
    if plain.neighbours <= 0:
        text = gettext("{entries} directly beside it, which fit nothing asked for")
        return Check("neighbours", "none", text.format(entries=entries))
    # Two perfect neighbours are the most there is.
    share = decimal(100 * plain.neighbours / convex.most_neighbours(), 0)
    text = gettext("{entries} directly beside it: {share}% of the most that counts")
    return Check("neighbours", "pass", text.format(entries=entries, share=share))


def _conversation(entry: JournalEntry, answer: Answer) -> Check:
    best = reasons.best_of_conversation(entry.id, answer.rankings)
    if best is None:
        text = gettext("it has no trace, so it counts as a conversation of its own")
        return Check("conversation", "none", text)
    if best == entry.id:
        text = gettext("it is the best of its conversation itself")
        return Check("conversation", "pass", text)
    text = gettext("{entry} is the best of its conversation").format(entry=best)
    return Check("conversation", "pass", text)


def _preference(plain: Parts, answer: Answer) -> list[Check]:
    wishes = answer.rankings.preferences
    if not wishes:
        return []
    value = wishes.share(plain.preference / convex.PREFERENCE)
    verdict_text = gettext("It fits in part.")
    if value >= reasons.CLOSE:
        verdict_text = gettext("It fits.")
    elif value <= reasons.SLIGHT:
        verdict_text = gettext("It does not fit, and loses nothing.")
    text = " ".join([*wishes.sentences(), verdict_text])
    return [Check("preference", "none" if value <= reasons.SLIGHT else "pass", text)]


def _importance(hit: Hit) -> Check:
    factor = convex.importance_factor(hit.importance)
    text = gettext("importance {importance} multiplies its score by {factor}").format(
        importance=decimal(hit.importance), factor=decimal(factor)
    )
    return Check("importance", "pass" if factor >= 1 else "none", text)


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
    if ahead and behind:
        text = gettext(findings.AHEAD_AND_BEHIND)
    elif ahead:
        text = gettext(findings.AHEAD)
    elif behind:
        text = gettext(findings.BEHIND)
    else:
        return ""
    return text.format(
        k=answer.request.k,
        ahead=_signal_text(ahead, hit),
        behind=_signal_text(behind, hit),
    )


def _is_best(hit: Hit, answer: Answer) -> bool:
    best = reasons.best_of_conversation(hit.entry.id, answer.rankings)
    return best in (None, hit.entry.id)


def _signal_text(names: Sequence[str], hit: Hit) -> str:
    texts = []
    for name in names[:2]:
        has_cosine = name == "meaning" and hit.cosine is not None
        cosine = f"{hit.cosine:.2f}" if has_cosine else None
        texts.append(findings.signal(findings.SIGNALS[name], cosine))
    return word_list(texts)
