"""Rules without a model: entries that say nearly the same, and what was done then.

Entries are compared by the vectors they already have, or by their words where some have
none. The entry with the most close neighbours becomes the middle of a cluster, the
cluster is taken out, and so on. Nothing is random: the same entries give equal rules.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

from episodic.summarisers.base import Material, Rule, one_line
from memory.rules import tokenizer

# Two entries are alike from here on; in a large set also three deviations above what
# is usual there, because models differ in how near everything is to everything.
LEAST_COSINE: Final = 0.62
MOST_COSINE: Final = 0.90
LEAST_OVERLAP: Final = 0.34
ENOUGH: Final = 50
MOST_RULES: Final = 12
# What a rule is worth that cannot say what to do.
WITHOUT_ACTION: Final = 0.8
OUTCOME_CHARS: Final = 280

Matrix = NDArray[np.float32]
_PARAGRAPH: Final = re.compile(r"\n\s*\n|\n(?=\s*(?:[-*•#]|\d+[.)])\s)")
_SENTENCE: Final = re.compile(r"(?<=[.!?])\s+")
_HAS_DIGIT: Final = re.compile(r"\d")
_EDGE: Final = "()[]{}.,;:!?\"'#*-–—"
_DECISIONS: Final = {
    "deny": "Denied",
    "denied": "Denied",
    "reject": "Rejected",
    "rejected": "Rejected",
}


def _words(text: str) -> frozenset[str]:
    return frozenset(tokenizer.without_stop_words(tokenizer.split(text)))


def _terms(item: Material) -> frozenset[str]:
    return _words(f"{item.summary}\n{item.text[:600]}")


# ── How alike entries are ────────────────────────────────────────────────────
def _by_words(material: Sequence[Material]) -> Matrix:
    """Return the share of words that entries have in common."""
    term_sets = [_terms(item) for item in material]
    column = {
        term: n
        for n, term in enumerate(sorted({t for terms in term_sets for t in terms}))
    }
    table = np.zeros((len(term_sets), max(1, len(column))), dtype=np.float32)
    for row, terms in enumerate(term_sets):
        table[row, [column[term] for term in terms]] = 1.0
    common = table @ table.T
    size = table.sum(axis=1)
    union = size[:, None] + size[None, :] - common
    likeness: Matrix = (common / np.maximum(union, 1.0)).astype(np.float32)
    return likeness


def _threshold(likeness: Matrix) -> float:
    """Return the cosine from which entries of this set count as alike."""
    if len(likeness) < ENOUGH:
        return LEAST_COSINE
    upper = likeness[np.triu_indices(len(likeness), 1)]
    usual = float(upper.mean() + 3.0 * upper.std())
    return min(MOST_COSINE, max(LEAST_COSINE, usual))


def _likeness(material: Sequence[Material]) -> tuple[Matrix, float]:
    """Return how alike entries are, and from where on they count as alike.

    Where an entry has no vector its words are compared, on the scale of the vectors.
    """
    overlap = _by_words(material)
    with_vector = [n for n, item in enumerate(material) if item.vector is not None]
    vectors = [item.vector for item in material if item.vector is not None]
    if len(with_vector) < 2 or len({len(vector) for vector in vectors}) > 1:
        return overlap, LEAST_OVERLAP
    table = np.stack(vectors)
    cosines: Matrix = (table @ table.T).astype(np.float32)
    threshold = _threshold(cosines)
    likeness: Matrix = np.minimum(overlap * np.float32(threshold / LEAST_OVERLAP), 1.0)
    likeness[np.ix_(with_vector, with_vector)] = cosines
    return likeness, threshold


def clusters(likeness: Matrix, threshold: float) -> list[list[int]]:
    """Return groups of two or more, each with its middle first, best groups first."""
    is_alike = likeness >= threshold
    np.fill_diagonal(is_alike, val=False)
    free = np.ones(len(likeness), dtype=bool)
    groups: list[list[int]] = []
    while True:
        links = is_alike & free[None, :] & free[:, None]
        # Rounded, so that the order does not depend on the last bit of a float.
        pull = np.round((likeness * links).sum(axis=1), 4)
        if not len(pull) or pull.max() <= 0:
            return groups
        middle = int(pull.argmax())
        neighbours = np.flatnonzero(links[middle])
        by_likeness = neighbours[
            np.argsort(-likeness[middle, neighbours], kind="stable")
        ]
        groups.append([middle, *(int(n) for n in by_likeness)])
        free[[middle, *neighbours]] = False


# ── What a cluster says ──────────────────────────────────────────────────────
def _is_special(part: str) -> bool:
    """Whether a word looks like a number, an id or a name."""
    return bool(_HAS_DIGIT.search(part)) or part.strip(_EDGE)[:1].isupper()


def _general(middle: Material, members: Sequence[Material]) -> str:
    """Return the middle's summary; its own numbers and names become an ellipsis.

    What less than half of the entries say is no part of the rule, and a name in it
    would be somebody's personal data.
    """
    counts = Counter(
        part.strip(_EDGE) for member in members for part in set(member.summary.split())
    )
    words: list[str] = []
    for part in middle.summary.split():
        if _is_special(part) and counts[part.strip(_EDGE)] * 2 <= len(members):
            part = "…"
        if words[-1:] != ["…"] or part != "…":
            words.append(part)
    return " ".join(words)


def _sentences(text: str) -> list[str]:
    """Return the sentences of a text whose lines may be hard-wrapped."""
    parts = (" ".join(part.split()) for part in _PARAGRAPH.split(text))
    sentences = (sentence for part in parts for sentence in _SENTENCE.split(part))
    return [bare for sentence in sentences if (bare := sentence.strip(" -*•#"))]


def _repeats(sentence: str, summaries: Sequence[frozenset[str]]) -> bool:
    """Whether a sentence says what the entries' own headlines say."""
    words = _words(sentence)
    return any(2 * len(words & summary) > len(words | summary) for summary in summaries)


def _central(texts: Sequence[str], weights: Counter[str]) -> str:
    """Return the text whose words the cluster uses most, the first of equals."""

    def worth(text: str) -> float:
        terms = _words(text)
        if len(terms) < 3:
            return 0.0
        return sum(weights[term] for term in terms) / (len(terms) + 4)

    return max(texts, key=worth, default="")


def _action(members: Sequence[Material]) -> str:
    """Return what was done: a recorded outcome if there is one, else a sentence."""
    weights = Counter(term for member in members for term in _terms(member))
    outcomes = [member.outcome for member in members if member.outcome]
    if outcomes:
        times = Counter(outcomes)
        often = max(times.values())
        best = [text for text in outcomes if times[text] == often]
        return one_line(_central(best, weights), OUTCOME_CHARS)
    sentences = [s for member in members for s in _sentences(member.text)[:4]]
    heads = [_words(member.summary) for member in members]
    fresh = [s for s in sentences if len(s) <= OUTCOME_CHARS and not _repeats(s, heads)]
    return one_line(_central(fresh, weights), OUTCOME_CHARS)


def outcome_of(payload: dict[str, object]) -> str:
    """Return what was decided or done according to a payload, as one sentence."""
    for key in ("resolution", "outcome_text", "comment", "reason"):
        value = payload.get(key)
        if isinstance(value, str) and len(value.split()) > 1:
            decision = payload.get("decision")
            word = _DECISIONS.get(str(decision).lower())
            return f"{word}: {value.strip()}" if word else value.strip()
    value = payload.get("decision")
    return value.strip() if isinstance(value, str) and " " in value.strip() else ""


def _confidence(likeness: Matrix, group: Sequence[int]) -> float:
    """Return cohesion, less for small groups: two entries are half an accident."""
    inner = likeness[np.ix_(group, group)]
    pairs = inner[np.triu_indices(len(group), 1)]
    return round(min(1.0, float(pairs.mean())) * len(group) / (len(group) + 1), 4)


class Extractive:
    """The built-in summariser."""

    name = "extractive"
    batch = 2_000

    def rules(self, material: Sequence[Material]) -> list[Rule]:
        entries = sorted(material, key=lambda item: (item.ts, item.id))
        if len(entries) < 2:
            return []
        likeness, threshold = _likeness(entries)
        rules = []
        for group in clusters(likeness, threshold):
            members = [entries[n] for n in group]
            if not any(item.is_informative for item in members):
                continue
            action = _action(members)
            sure = _confidence(likeness, group) * (1.0 if action else WITHOUT_ACTION)
            rule = Rule(
                pattern=_general(members[0], members),
                action=action,
                confidence=round(sure, 4),
                evidence=tuple(item.id for item in members),
            )
            rules.append((rule.confidence, len(group), rule))
        rules.sort(key=lambda item: (-item[0], -item[1], item[2].evidence))
        return [rule for _, _, rule in rules[:MOST_RULES]]
