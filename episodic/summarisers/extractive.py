"""Rules without a model: entries that say nearly the same, and what was done then.

Entries are compared by the vectors they already have, or by their words where some have
none. The entry with the most close neighbours becomes the middle of a cluster, they
leave together, and so on. Nothing here is random: the same entries give the same rules.
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


def _terms(one: Material) -> frozenset[str]:
    return frozenset(
        tokenizer.telling(tokenizer.split(f"{one.summary}\n{one.text[:600]}"))
    )


# ── How alike entries are ────────────────────────────────────────────────────
def _by_words(material: Sequence[Material]) -> Matrix:
    """Return the share of words that entries have in common."""
    found = [_terms(one) for one in material]
    column = {
        term: n for n, term in enumerate(sorted({t for terms in found for t in terms}))
    }
    table = np.zeros((len(found), max(1, len(column))), dtype=np.float32)
    for row, terms in enumerate(found):
        table[row, [column[term] for term in terms]] = 1.0
    both = table @ table.T
    size = table.sum(axis=1)
    either = size[:, None] + size[None, :] - both
    likeness: Matrix = (both / np.maximum(either, 1.0)).astype(np.float32)
    return likeness


def _least(likeness: Matrix) -> float:
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
    shared = _by_words(material)
    seen = [n for n, one in enumerate(material) if one.vector is not None]
    vectors = [one.vector for one in material if one.vector is not None]
    if len(seen) < 2 or len({len(vector) for vector in vectors}) > 1:
        return shared, LEAST_OVERLAP
    table = np.stack(vectors)
    cosines: Matrix = (table @ table.T).astype(np.float32)
    least = _least(cosines)
    likeness: Matrix = np.minimum(shared * np.float32(least / LEAST_OVERLAP), 1.0)
    likeness[np.ix_(seen, seen)] = cosines
    return likeness, least


def clusters(likeness: Matrix, least: float) -> list[list[int]]:
    """Return groups of two or more, each with its middle first, best groups first."""
    near = likeness >= least
    np.fill_diagonal(near, val=False)
    free = np.ones(len(likeness), dtype=bool)
    found: list[list[int]] = []
    while True:
        links = near & free[None, :] & free[:, None]
        # Rounded, so that the order does not hang on the last bit of a float.
        pull = np.round((likeness * links).sum(axis=1), 4)
        if not len(pull) or pull.max() <= 0:
            return found
        middle = int(pull.argmax())
        others = np.flatnonzero(links[middle])
        ordered = others[np.argsort(-likeness[middle, others], kind="stable")]
        found.append([middle, *(int(n) for n in ordered)])
        free[[middle, *others]] = False


# ── What a cluster says ──────────────────────────────────────────────────────
def _is_special(part: str) -> bool:
    """Whether a word looks like a number, an id or a name."""
    return bool(_HAS_DIGIT.search(part)) or part.strip(_EDGE)[:1].isupper()


def _general(middle: Material, members: Sequence[Material]) -> str:
    """Return the middle's summary; its own numbers and names become an ellipsis.

    What less than half of the entries say is no part of the rule, and a name in it
    would be somebody's personal data.
    """
    said = Counter(
        part.strip(_EDGE) for one in members for part in set(one.summary.split())
    )
    kept = [
        "…"
        if _is_special(part) and said[part.strip(_EDGE)] * 2 <= len(members)
        else part
        for part in middle.summary.split()
    ]
    bare = [n for n, part in enumerate(kept) if not (n and part == kept[n - 1] == "…")]
    return " ".join(kept[n] for n in bare)


def _sentences(text: str) -> list[str]:
    """Return the sentences of a text whose lines may be wrapped by hand."""
    parts = (" ".join(part.split()) for part in _PARAGRAPH.split(text))
    told = (said for part in parts for said in _SENTENCE.split(part))
    return [bare for said in told if (bare := said.strip(" -*•#"))]


def _repeats(sentence: str, summaries: Sequence[frozenset[str]]) -> bool:
    """Whether a sentence says what the entries' own headlines say."""
    mine = set(tokenizer.telling(tokenizer.split(sentence)))
    return any(2 * len(mine & theirs) > len(mine | theirs) for theirs in summaries)


def _central(texts: Sequence[str], weights: Counter[str]) -> str:
    """Return the text whose words the cluster uses most, the first of equals."""

    def worth(text: str) -> float:
        terms = set(tokenizer.telling(tokenizer.split(text)))
        if len(terms) < 3:
            return 0.0
        return sum(weights[term] for term in terms) / (len(terms) + 4)

    return max(texts, key=worth, default="")


def _action(members: Sequence[Material]) -> str:
    """Return what was done: a recorded outcome if there is one, else a sentence."""
    weights = Counter(term for one in members for term in _terms(one))
    outcomes = [one.outcome for one in members if one.outcome]
    if outcomes:
        times = Counter(outcomes)
        often = max(times.values())
        best = [text for text in outcomes if times[text] == often]
        return one_line(_central(best, weights), OUTCOME_CHARS)
    told = [s for one in members for s in _sentences(one.text)[:4]]
    heads = [
        frozenset(tokenizer.telling(tokenizer.split(one.summary))) for one in members
    ]
    fresh = [s for s in told if len(s) <= OUTCOME_CHARS and not _repeats(s, heads)]
    return one_line(_central(fresh, weights), OUTCOME_CHARS)


def outcome_of(payload: dict[str, object]) -> str:
    """Return what was decided or done according to a payload, as one sentence."""
    for key in ("resolution", "outcome_text", "comment", "reason"):
        value = payload.get(key)
        if isinstance(value, str) and len(value.split()) > 1:
            said = payload.get("decision")
            word = _DECISIONS.get(said.lower()) if isinstance(said, str) else None
            return f"{word}: {value.strip()}" if word else value.strip()
    value = payload.get("decision")
    return value.strip() if isinstance(value, str) and " " in value.strip() else ""


def _confidence(likeness: Matrix, group: Sequence[int]) -> float:
    """Return cohesion, less for small groups: two entries are half an accident."""
    inner = likeness[np.ix_(group, group)]
    pairs = inner[np.triu_indices(len(group), 1)]
    return round(min(1.0, float(pairs.mean())) * len(group) / (len(group) + 1), 4)


class Extractive:
    """The summariser that is always there."""

    name = "extractive"
    batch = 2_000

    def rules(self, material: Sequence[Material]) -> list[Rule]:
        """See Summariser."""
        ordered = sorted(material, key=lambda one: (one.ts, one.id))
        if len(ordered) < 2:
            return []
        likeness, least = _likeness(ordered)
        made = []
        for group in clusters(likeness, least):
            members = [ordered[n] for n in group]
            if not any(one.tells for one in members):
                continue
            action = _action(members)
            sure = _confidence(likeness, group) * (1.0 if action else WITHOUT_ACTION)
            rule = Rule(
                pattern=_general(members[0], members),
                action=action,
                confidence=round(sure, 4),
                evidence=tuple(one.id for one in members),
            )
            made.append((rule.confidence, len(group), rule))
        made.sort(key=lambda one: (-one[0], -one[1], one[2].evidence))
        return [rule for _, _, rule in made[:MOST_RULES]]
