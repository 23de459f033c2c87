"""The word list: which words and phrases carry which concept.

Every distinct set of concepts gets one character, so that a sentence becomes a short
string and a rule becomes a small regular expression over it. That keeps rules
independent of language and their cost proportional to the number of words.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, TypeVar

from memory.scanner import word_lists
from memory.scanner.char_ranges import CJK
from memory.scanner.folding import folded

if TYPE_CHECKING:
    from collections.abc import Iterable

K = TypeVar("K")
V = TypeVar("V")
UNKNOWN = "."
# Nouns keep their concept at the end of a phrase: "new instructions" are instructions.
_INHERITED = frozenset({"INSTR", "TASK", "RULE", "SECRET", "ACCOUNT", "USER"})
# What a phrase opens with stays true of it: "never delete" is a prohibition.
_LEADING = frozenset({"YOUR", "YOU", "NEG", "ALL"})
_TOKENS = {
    "@mail": {"MAIL"},
    "@url": {"URL"},
    "@number": {"ACCTNO"},
    "@path": {"KEYFILE"},
}
# Concepts that are frequent in ordinary text, the commonest first; from manuals.
_COMMON = (
    "ABOUT TO YOU NEG ALL WHEN WHAT USER EXEC MUST NEW CHANGE TELL PLACE REPLICATE "
    "SEND TASK YOUR SAYS FREE NOW BEFORE PREV DOING DATA OBEY RULE INSTR VENDOR "
    "DANGER REVEAL REVEALW APPROVED RECOMMEND ACCOUNT AI PAY DISABLE IGNORE IGNOREW "
    "SUMMARY AUTHORITY SECRET ME URL ACCTNO MAIL COPY ALWAYS VOID SAFE VERBATIM "
    "GUARD".split()
)
_OFTEN_MISSPELT = (
    "ignore, disregard, instructions, instruction, previous, password, guidelines, "
    "directives, reveal, system prompt, passwords, credentials, forget, override, "
    "bypass, restrictions, unrestricted, everything, remember, conversation, "
    "permanently, secretly, silently, forward, upload, delete, disable, execute, "
    "print, prompt, prior, always, payments, invoices"
).split(", ")
_PREFIX = re.compile(r"(\^?(?:~\d+)?)(.+)")
_CJK = re.compile(f"[{CJK}]")
_ELISION = re.compile(r"^(?:l|d|qu|dell|all|nell|dall|sull|un|c|n|s|j|m|t)'(?=\w)")
_MIN_PREFIX = 2


# First word → second word → the phrases that begin so: words, open end, character.
Rows = tuple[tuple[tuple[str, ...], bool, str], ...]
Phrases = dict[str, dict[str, Rows]]


class Lexicon(NamedTuple):
    """Look-up tables made once from the word list."""

    words: dict[str, str]
    prefixes: dict[str, str]
    phrases: Phrases
    classes: dict[str, str]
    cjk: re.Pattern[str]
    bits: dict[str, int]
    masks: dict[str, int]
    keys: dict[str, tuple[tuple[frozenset[str], int], ...]]


def _entries() -> dict[str, set[str]]:
    """Phrase → concepts, as written in the word list."""
    table: dict[str, set[str]] = {key: set(value) for key, value in _TOKENS.items()}
    source = Path(__file__).with_name("lexicon.txt").read_text(encoding="utf-8")
    for line in source.splitlines():
        head, _, phrases = line.partition(": ")
        if not phrases or line.startswith("#"):
            continue
        concept, _, language = head.partition(" ")
        names = {concept}
        if concept == "TELL" and language != "en":
            names |= {"REVEAL", "REVEALF"}
        for phrase in phrases.split(", "):
            table.setdefault(folded(phrase.strip()), set()).update(names)
    return table


def _inherit(table: dict[str, set[str]]) -> None:
    for phrase, names in table.items():
        first, _, rest = phrase.rstrip("*").partition(" ")
        if rest:
            last = rest.rpartition(" ")[2]
            names |= table.get(last, set()) & _INHERITED
            names |= table.get(first, set()) & _LEADING


def _misspell(table: dict[str, set[str]]) -> None:
    """Add one-letter slips and split spellings of the words attackers misspell most."""
    for word in _OFTEN_MISSPELT:
        for number in range(1, len(word)):
            first, last = word[:number], word[number:]
            slips = [first + last[1:], first[:-1] + last[0] + first[-1] + last[1:]]
            if number > 1 and len(last) > 1:
                slips.append(f"{first} {last}")
            for slip in slips:
                table.setdefault(slip, set(table[word]))


def grouped(pairs: Iterable[tuple[K, V]]) -> dict[K, tuple[V, ...]]:
    """The values of each key, in their order."""
    table: dict[K, list[V]] = {}
    for key, value in pairs:
        table.setdefault(key, []).append(value)
    return {key: tuple(values) for key, values in table.items()}


def _phrase_table(items: list[tuple[str, str]]) -> Phrases:
    rows = []
    for phrase, char in items:
        parts, is_open = tuple(phrase.rstrip("*").split()), phrase.endswith("*")
        second = "" if is_open and len(parts) == 2 else parts[1]
        rows.append((parts[0], (second, (parts, is_open, char))))
    # The longest phrases first.
    rows.sort(key=lambda row: -len(row[1][1][0]))
    return {first: grouped(seconds) for first, seconds in grouped(rows).items()}


def _phrase_keys(
    items: list[tuple[str, str]], masks: dict[str, int]
) -> dict[str, tuple[tuple[frozenset[str], int], ...]]:
    """A phrase's rarest word → the other words it needs, and its concepts."""
    rows = []
    for phrase, char in items:
        full_words = [part for part in phrase.split() if not part.endswith("*")]
        key = word_lists.rarest(full_words)
        rows.append((key, (frozenset(full_words) - {key}, masks[char])))
    return grouped(rows)


def _build() -> Lexicon:
    table = _entries()
    _inherit(table)
    _misspell(table)
    distinct = sorted({frozenset(names) for names in table.values()}, key=sorted)
    chars = {names: chr(0x100 + index) for index, names in enumerate(distinct)}
    coded = {phrase: chars[frozenset(names)] for phrase, names in table.items()}
    cjk = [phrase.rstrip("*") for phrase in coded if _CJK.search(phrase)]
    prefixes = {
        phrase[:-1]: char
        for phrase, char in coded.items()
        if phrase.endswith("*") and " " not in phrase
    }
    classes: dict[str, str] = {}
    for names, char in chars.items():
        for name in names:
            classes[name] = classes.get(name, "") + char
    phrases = [(phrase, char) for phrase, char in coded.items() if " " in phrase]
    bits = {name: 1 << number for number, name in enumerate(sorted(classes))}
    # Concept character → the bits of its concepts.
    masks = {char: sum(bits[name] for name in names) for names, char in chars.items()}
    return Lexicon(
        words={key: char for key, char in coded.items() if " " not in key},
        prefixes=prefixes,
        phrases=_phrase_table(phrases),
        classes=classes,
        cjk=re.compile("|".join(sorted(map(re.escape, cjk), key=len, reverse=True))),
        bits=bits,
        masks=masks,
        keys=_phrase_keys(phrases, masks),
    )


LEXICON = _build()


# The first letters of a prefix → the prefixes that begin so, longest first.
_BY_HEAD = grouped(
    (prefix[:_MIN_PREFIX], prefix)
    for prefix in sorted(LEXICON.prefixes, key=len, reverse=True)
)


def concept_char(word: str) -> str:
    """The character of a folded word; UNKNOWN when it carries no concept.

    Of a word with an elided article the rest counts too: l'istruzione.
    """
    for part in (word, _ELISION.sub("", word)) if "'" in word else (word,):
        char = LEXICON.words.get(part)
        if char is not None:
            return char
        for prefix in _BY_HEAD.get(part[:_MIN_PREFIX], ()):
            if part.startswith(prefix):
                return LEXICON.prefixes[prefix]
    return UNKNOWN


KEYS = frozenset(LEXICON.keys)


def phrases_in(words: Iterable[str]) -> int:
    """The bits of every phrase whose words are all present."""
    mask, present = 0, frozenset(words)
    for key in KEYS & present:
        for words_beside, concepts in LEXICON.keys[key]:
            if words_beside <= present:
                mask |= concepts
    return mask


def bits_of(mask: int) -> list[int]:
    """The single bits of a mask."""
    return [1 << place for place in range(mask.bit_length()) if mask >> place & 1]


def needed(phrase: str) -> tuple[int, ...]:
    """The concepts a phrase cannot match without, the rarest first."""
    bare = re.sub(r"\([^()]*\)", "", phrase)
    groups = [group.split("|") for group in re.findall(r"<([A-Z|]+)>", bare)]
    groups.sort(key=_commonness)
    bits = LEXICON.bits
    return tuple(sum(bits[name] for name in group) for group in groups)


def _commonness(group: list[str]) -> int:
    """The rank of a group's commonest concept: the higher, the commoner."""
    return max(
        len(_COMMON) - _COMMON.index(name) if name in _COMMON else 0 for name in group
    )


def compile_pattern(pattern: str) -> re.Pattern[str]:
    """Compile `<A|B> ~3 <C>`: classes of concepts and bounded gaps of words.

    Group 1 is the hit itself, without the words allowed before it by `^ ~3`.
    """

    def expand(match: re.Match[str]) -> str:
        names = match.group(1).split("|")
        return "[" + re.escape("".join(LEXICON.classes[name] for name in names)) + "]"

    compact = re.sub(r"\s+", "", pattern)
    prefix, body = _PREFIX.fullmatch(compact).groups()  # type: ignore[union-attr]
    gaps = re.sub(r"~(\d+)", r".{0,\1}?", f"{prefix}({body})")
    return re.compile(re.sub(r"<([A-Z|]+)>", expand, gaps))
