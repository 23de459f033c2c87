"""Words that no list has and that become known ones: cut, transposed, without vowels.

The text with the known words is scanned like any other; nothing is held for the
spelling alone.
"""

from __future__ import annotations

import re
from functools import cache, lru_cache
from operator import add
from typing import TYPE_CHECKING

from memory.scanner import segment, word_lists
from memory.scanner.views import by_line, reordered

if TYPE_CHECKING:
    from collections.abc import Iterator

    from memory.scanner.views import Piece, View

KIND = "respelled"
# Rules look no further than some fifteen words.
_REACH = 120
_NO_VOWELS = str.maketrans("", "", "aeiou")
_SHORTEST, _LONGEST, _SHORTEST_JOINED, _MAX_WORDS = 5, 24, 6, 60
# Other orders of the inner letters happen by chance, but not in several words.
_FEW_PAIRS = 8
_SWAPPED, _LEAST_MIXED, _MIN_CUT_WORDS = 2, 3, 2
_LEAST_HINTS, _LEAST_BARE, _BARE_SHARE = 2, 4, 0.4
_LEAST_PIG, _PIG_SHARE, _CLUSTER = 3, 0.25, 3
# Words that need no correction, so that each is looked at only once.
_settled: set[str] = set()
_MOST_SETTLED = 1 << 17
_WORD = re.compile(r"[a-z]{1,255}")
_CUT_BY_SIGNS = re.compile(r"[a-z]{1,20}(?:[^\w\s]{1,3}[a-z]{1,20}){1,6}")
# What very short words without vowels stand for.
_SHORT_WORDS = dict(
    pair.split(":")
    for pair in (
        "y:you m:me t:to s:is f:of n:in nd:and r:are b:be d:do th:the ll:all "
        "ny:any yr:your hv:have hs:has wr:were ws:was wll:will nt:not frm:from "
        "ths:this tht:that wht:what nw:new sr:user bv:above tll:tell gv:give rls:rules "
        "sy:say nly:only ky:key fr:for wrt:write snd:send wth:with"
    ).split()
)
_FREQUENT = (
    "the and your with from this that what tell rules ignore instructions previous "
    "prompt password system user forget disregard send always never secret message "
    "repeat reveal before after when every output about answer follow must give write "
    "word code email example every just print show conversation restrictions without "
    "real exist future text "
    "instrucciones anteriores ignora todas sistema muestra vergiss alles anweisungen "
    "bisherigen vorherigen istruzioni precedenti tutte oublie toutes instrucoes"
).split()
# Skeletons that technical texts use as they are.
_ABBREVIATIONS = ("cd", "cod", "prnt", "shw", "usr", "msg", "emal", "ws", "wr", "al")
_LANGUAGES = ("en", "es", "de", "it", "fr", "pt")
# Neighbours that hardly any text has but one whose words stand in reversed order.
_BACKWARD = {
    f"{first}{second}": (first, second)
    for firsts, seconds in (
        (
            "the an your my our every",
            (
                "of to in on for from with by and is are was were ignore forget "
                "disregard reveal tell give send follow obey you me"
            ),
        ),
        ("all any previous prior", "ignore forget disregard override reveal delete"),
        ("instructions rules directions guidelines", "previous prior all system"),
        ("me", "tell give send show"),
        ("prompt", "system"),
        ("everything anything", "ignore forget disregard delete reveal"),
    )
    for first in firsts.split()
    for second in seconds.split()
}


_BACKWARD_PAIRS = frozenset(_BACKWARD.values())


@cache
def _ordinary() -> frozenset[str]:
    """Words that are spelled as they should be; read when the first text is scanned."""
    return segment.KNOWN_WORDS | word_lists.vocabulary()


@cache
def _whole_words() -> frozenset[str]:
    return frozenset(word for word in _ordinary() if len(word) >= _SHORTEST_JOINED)


@cache
def _pairs() -> frozenset[str]:
    return _whole_words().union(_BACKWARD)


def undo(view: View, words: list[str], distinct: set[str]) -> Iterator[View]:
    """Views in which unknown words are known ones.

    ``words`` are those of the view in order, ``distinct`` each of them once.
    """
    pairs = _neighbours(words)
    if pairs:
        yield from _in_order(view, pairs)
    parts = _joined_words(view, pairs) if pairs else []
    plain = _transpositions(distinct)
    if parts or plain:
        yield from _with_words(view, parts, plain)
    if len(_bare_hints().intersection(distinct)) >= _LEAST_HINTS:
        yield from by_line(view, _with_vowels, KIND)
    if view.text.count("ay") >= _LEAST_PIG:
        ends = (word for word in distinct if word[-2:] == "ay")
        if sum(word not in _ordinary() for word in ends) >= _LEAST_PIG:
            yield from by_line(view, _from_pig_latin, "pig_latin")


def _neighbours(words: list[str]) -> set[tuple[str, str]]:
    """Two words in a row that are a known word together, or in reversed order."""
    pair_words = [*map(add, words, words[1:])]
    known_pairs = _pairs().intersection(pair_words)
    if len(known_pairs) > _FEW_PAIRS:
        places = {pair: place for place, pair in enumerate(pair_words)}
    else:
        places = {pair: pair_words.index(pair) for pair in known_pairs}
    return {
        (words[place], words[place + 1])
        for place in map(places.__getitem__, known_pairs)
    }


# ── Order ──────────────────────────────────────────────────────────────────────
def _in_order(view: View, pairs: set[tuple[str, str]]) -> Iterator[View]:
    """Lines with such neighbours, their words from the last to the first."""
    backward = sorted(pairs & _BACKWARD_PAIRS)
    if not backward:
        return
    pattern = "|".join(f"{first}[^a-z]{{1,3}}{second}" for first, second in backward)
    parts: list[Piece] = []
    end = 0
    for match in re.finditer(rf"\b(?:{pattern})\b", view.text):
        if match.start() < end:
            continue
        start = view.text.rfind("\n", end, match.start()) + 1
        start = max(start, end)
        place = view.text.find("\n", match.end())
        end = place if place >= 0 else len(view.text)
        parts.append((" ".join(view.text[start:end].split()[::-1]), start, end))
    yield from reordered(view, parts, KIND)


# ── Words cut by a blank, and with letters in another order ────────────────────
def _joined_words(view: View, pairs: set[tuple[str, str]]) -> list[Piece]:
    """Pieces that are a known word together, and of which one is no common word."""
    halves = {pair for pair in pairs if "".join(pair) in _whole_words()}
    # Where words are cut, others are by signs, or in more than two pieces.
    forms = [_CUT_BY_SIGNS.pattern] if len(halves) >= _MIN_CUT_WORDS else []
    # Two English words may be meant as two; not where others are cut.
    cut_pairs = {pair for pair in halves if not word_lists.COMMON.issuperset(pair)}
    halves = halves if len(cut_pairs) >= _MIN_CUT_WORDS else cut_pairs
    if halves:
        pairs_in_order = sorted(halves)[:_MAX_WORDS]
        pattern = "|".join(f"{first}-? {second}" for first, second in pairs_in_order)
        forms.insert(0, rf"\b(?:{pattern})\b")
    if not forms:
        return []
    return [
        (word, *match.span())
        for match in re.finditer("|".join(forms), view.text)
        if (word := "".join(_WORD.findall(match.group()))) in _ordinary()
    ]


def _signature(word: str) -> str:
    return word[0] + word[-1] + "".join(sorted(word[1:-1]))


@cache
def _by_signature() -> dict[str, str]:
    """The first and last letter and the others in order → the known word."""
    words = sorted(word for word in _ordinary() if len(word) >= _SHORTEST)
    return {_signature(word): word for word in (*words, *sorted(segment.KNOWN_WORDS))}


def transposed(word: str) -> str:
    """The known word with the same letters, the inner ones in another order."""
    if not _SHORTEST <= len(word) <= _LONGEST:
        return ""
    return _by_signature().get(_signature(word), "")


def _transpositions(words: set[str]) -> dict[str, str]:
    """The words that are known ones with letters in another order."""
    if len(_settled) > _MOST_SETTLED or not _settled:
        _settled.clear()
        _settled.update(_ordinary())
    fresh = words.difference(_settled)
    plain = {word: known_word for word in fresh if (known_word := transposed(word))}
    _settled.update(fresh.difference(plain))
    swapped = {word: plain[word] for word in plain if _is_swapped(word, plain[word])}
    return plain if len(plain) - len(swapped) >= _LEAST_MIXED else swapped


def _is_swapped(word: str, known_word: str) -> bool:
    """Whether two neighbours changed places, as in a typing error."""
    places = [place for place, char in enumerate(word) if char != known_word[place]]
    return len(places) == _SWAPPED and places[1] - places[0] == 1


def _with_words(
    view: View, parts: list[Piece], plain: dict[str, str]
) -> Iterator[View]:
    joined = {place for _, start, end in parts for place in range(start, end)}
    if plain:
        pattern = "|".join(sorted(plain, key=len, reverse=True)[:_MAX_WORDS])
        parts = parts + [
            (plain[match.group()], *match.span())
            for match in re.finditer(rf"\b(?:{pattern})\b", view.text)
            if match.start() not in joined
        ]
    if parts:
        parts.sort(key=lambda part: part[1])
        yield view.with_parts(parts, kind=KIND, reach=_REACH)


# ── Words without their vowels ─────────────────────────────────────────────────
def _skeletons(word: str) -> tuple[str, str]:
    """The consonants of a word, and the same with its first letter."""
    bare = word[1:].translate(_NO_VOWELS)
    return word[0].translate(_NO_VOWELS) + bare, word[0] + bare


@cache
def _bare_hints() -> frozenset[str]:
    """What is left of words that hardly any order can do without."""
    skeletons = (part for word in _FREQUENT for part in _skeletons(word))
    return frozenset(skeletons).difference(word_lists.COMMON, _ABBREVIATIONS)


@cache
def _by_consonants(language: str) -> dict[str, str]:
    """The consonants of a word → the word; frequent and short ones come first."""
    table = dict(_SHORT_WORDS) if language == "en" else {}
    words = sorted(sorted(word_lists.vocabulary(language)), key=len)
    if language == "en":
        words += sorted(word_lists.COMMON)
    for word in (*_FREQUENT, *words):
        for skeleton in _skeletons(word):
            if len(skeleton) > 1:
                table.setdefault(skeleton, word)
    return table


def _with_vowels(line: str) -> str:
    """A line of which most words are consonants that stand for a known word."""
    words = set(_WORD.findall(line))
    bare = words.difference(word_lists.COMMON)
    threshold = max(_LEAST_BARE, _BARE_SHARE * len(words))
    if len(bare) < threshold:
        return ""
    tables = map(_by_consonants, _LANGUAGES)
    table = max(tables, key=lambda words: len(bare & words.keys()))
    if len(bare & table.keys()) < threshold:
        return ""
    return _WORD.sub(lambda match: table.get(match[0], match[0]), line)


# ── Words in which the first letters stand last ────────────────────────────────
@lru_cache(maxsize=4096)
def _unturned(word: str) -> str:
    """The word behind one of pig Latin: heta and way are the ends of the and a."""
    stem = word[:-2]
    if word[-2:] != "ay" or not stem or word in segment.KNOWN_WORDS:
        return word
    choices = [stem[-size:] + stem[:-size] for size in range(1, _CLUSTER + 1)]
    if stem[-1] in "wyh":
        choices.insert(0, stem[:-1])
    choices.append(stem)
    known_words = (choice for choice in choices if choice in _ordinary())
    return next(known_words, choices[0])


def _from_pig_latin(line: str) -> str:
    words = _WORD.findall(line)
    turned_words = [word for word in words if _unturned(word) != word]
    if len(turned_words) < max(_LEAST_PIG, _PIG_SHARE * len(words)):
        return ""
    return _WORD.sub(lambda match: _unturned(match[0]), line)


def forget() -> None:
    """Drop the words kept in memory: they are readable."""
    _settled.clear()
    _unturned.cache_clear()
