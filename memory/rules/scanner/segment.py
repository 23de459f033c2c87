"""Find the words in letters that were run together or pulled apart."""

from __future__ import annotations

from memory.rules.scanner.lexicon import LEXICON

# The commonest English words, enough to see that a run of letters is a sentence.
COMMON = frozenset(
    "a about after all also an and any are as at be because been before being but by "
    "can come could day did do does done down each even every file find first for from "
    "get give go good had has have he her here him his how i if in instead into is it "
    "its just know last like list look make many may me more most much must my need "
    "never new next no not now of off on one only open or other our out over page "
    "please put right run said same see send set should so some still such take tell "
    "than that the their them then there these they thing this those time to today "
    "token too two up us use user using very want was way we well were what when where "
    "which who will with word work would write yes yet you your with without admin "
    "customer data email message messages system prompt answer order orders access "
    "account bank files folder money number report review server session team update "
    "website call mail name end day days week full contents directory reply text "
    "address attacker evil exfil assistant assistants private public".split()
)
_PHRASE_WORDS = frozenset(
    part
    for seconds in LEXICON.phrases.values()
    for rows in seconds.values()
    for parts, _, _ in rows
    for part in parts
    if part.isascii()
)
_SINGLE = frozenset(word for word in LEXICON.words if word.isascii())
KNOWN = frozenset(COMMON | _SINGLE | _PHRASE_WORDS)
_LONGEST, _MAX_RUN, _LONE = 16, 600, frozenset("ai")
_UNKNOWN_COST, _WORD_COST = 3.0, 1.0


def is_known(word: str) -> bool:
    """Say whether this is an ordinary word or one that rules know."""
    return word in KNOWN


def segment(run: str) -> tuple[str, ...]:
    """The cheapest cut of a run of letters into words."""
    run = run[:_MAX_RUN]
    best: list[tuple[float, int]] = [(0.0, 0)]
    for end in range(1, len(run) + 1):
        choices = [(best[end - 1][0] + _UNKNOWN_COST, end - 1)]
        for start in range(max(0, end - _LONGEST), end):
            word = run[start:end]
            if word in KNOWN and (len(word) > 1 or word in _LONE):
                choices.append((best[start][0] + _WORD_COST, start))
        best.append(min(choices))
    words: list[str] = []
    end = len(run)
    while end:
        start = best[end][1]
        words.append(run[start:end])
        end = start
    return tuple(reversed(words))


def coverage(words: tuple[str, ...]) -> float:
    """The share of letters that belong to known words of two letters or more."""
    total = sum(map(len, words))
    known = sum(len(word) for word in words if len(word) > 1 and word in KNOWN)
    return known / total if total else 0.0


def readability(text: str) -> float:
    """The share of words that are known; the measure of a decoded text."""
    words = [word.strip(".,:;!?'\"()[]{}<>") for word in text.lower().split()]
    words = [word for word in words if word]
    if not words:
        return 0.0
    return sum(word in KNOWN for word in words) / len(words)
