"""Names in a question: agents, crews, and the people who act in a workspace.

Only names inside the asker's reach are looked for, and only those are read from the
database: neither the answer nor its time depends on any other. An agent's own scope
has its own name, a shared one its crew and the crew's agents. Members of the workspace
are names for people only, who may list them anyway; a reach of an agent has none. Ids
(``agent_…``, ``crew_…``, ``u_…``) are taken as written, without a look-up.

A name is matched as a whole, without case and accents, with a possessive or a German
genitive ("Lenas"). A name that is an ordinary word ("scout", "support") counts

- with an @ before it, or written with its dash ("data-writer"),
- beside "agent", "crew" or "team" ("the support crew"),
- as "did X" or "by X", before a verb such as "decided", or with a possessive,
- capitalised inside a sentence, unless the question is German or mostly in capitals.

Registered data subjects are not looked for: a person named in a text is found by words.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from episodic.recall import name_index
from episodic.recall.common_names import is_common
from episodic.recall.name_index import Name
from episodic.scopes import Reach
from memory.rules import tokenizer

MAX_MENTIONS: Final = 8
_WORD: Final = re.compile(r"(?:[^\W_]|[\u0300-\u036f])+")
_ID: Final = re.compile(r"(?<!\w)(agent|crew|u)_[0-9a-f]{16}(?!\w)")
_JOINTS: Final = frozenset("-_./\\@")
_SENTENCE_ENDS: Final = frozenset(".!?:\n")
_POSSESSIVES: Final = ("'s", "’s")
_ARTICLES: Final = frozenset("the der dem den die das".split())
_BEFORE: Final = frozenset({"did", "by", "hat"})
# "did support for retries land", "by default": no name.
_NOT_AFTER: Final = frozenset("for of in on to with from".split())
_NOT_BY: Final = frozenset(
    "default design hand name key id date time type query".split()
)
_VERBS: Final = frozenset(
    """
    added agreed announced answered approved asked believes built changed chose
    concluded decided deployed did explained fixed found knew knows learned learnt
    mentioned merged noted planned promised proposed recommended recorded rejected
    reported reviewed said says shipped suggested thinks thought told tried wrote
    entschied fand meinte meldete sagte schlug schrieb
    """.split()
)
_GERMAN: Final = frozenset(
    """
    auf das der eine haben hat ich im ist mit nicht und von wann warum wer wie wir
    wurde zum
    """.split()
)


@dataclass(frozen=True, slots=True)
class NameMention:
    """One name, where it stands in the question, and whose entries it means."""

    text: str
    start: int
    end: int
    name: Name


@dataclass(frozen=True, slots=True)
class _Word:
    folded: str
    start: int
    end: int
    is_capital: bool


class _Question:
    """The words of a question, and what they say about a name among them."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.words = [_word(match) for match in _WORD.finditer(text)]
        capitals = sum(word.is_capital for word in self.words)
        self._capitals_tell = not (
            (len(self.words) > 3 and 2 * capitals > len(self.words))
            or any(word.folded in _GERMAN for word in self.words)
        )

    def folded(self, i: int) -> str:
        return self.words[i].folded if 0 <= i < len(self.words) else ""

    def stands_alone(self, i: int, count: int) -> bool:
        """Whether no part of a longer id, address or path is cut off."""
        start, end = self.words[i].start, self.words[i + count - 1].end
        before, after = self.text[max(0, start - 2) : start], self.text[end : end + 2]
        if before[-1:] in _JOINTS and before[:-1] and _is_wordlike(before[0]):
            return False
        if before[-1:] in {"/", "\\", "."}:
            return False
        return not (after[:1] in _JOINTS and after[1:] and _is_wordlike(after[1]))

    def is_meant(self, i: int, count: int, name: Name) -> bool:
        """Whether a name counts at a place, by the rule for ordinary words."""
        start, end = self.words[i].start, self.words[i + count - 1].end
        parts = self.words[i : i + count]
        if not all(is_common(part.folded) for part in parts):
            return True
        if self.text[max(0, start - 1) : start] == "@":
            return True
        if count > 1 and not any(c.isspace() for c in self.text[start:end]):
            return True
        return self._is_placed(i, count, name, end) or self._is_proper(i)

    def _is_placed(self, i: int, count: int, name: Name, end: int) -> bool:
        has_article = self.folded(i - 1) in _ARTICLES
        before, after = (
            self.folded(i - 2 if has_article else i - 1),
            self.folded(i + count),
        )
        if "agent" in (before, after) and name.agent_ids:
            return True
        if name.crew_ids and not {before, after}.isdisjoint({"crew", "team"}):
            return True
        if self.text[end : end + 2] in _POSSESSIVES and not has_article:
            return True
        if before == "by" and self.folded(i) in _NOT_BY:
            return False
        return after in _VERBS or (before in _BEFORE and after not in _NOT_AFTER)

    def _is_proper(self, i: int) -> bool:
        """Whether a word is capitalised though no sentence begins with it."""
        if i == 0 or not self._capitals_tell or not self.words[i].is_capital:
            return False
        between = self.text[self.words[i - 1].end : self.words[i].start]
        return _SENTENCE_ENDS.isdisjoint(between)


def _is_wordlike(character: str) -> bool:
    return character.isalnum() or character == "_"


def _word(match: re.Match[str]) -> _Word:
    text = match[0]
    folded = text.lower() if text.isascii() else tokenizer.fold(text)
    # "API" is written so wherever it stands.
    is_capital = text[0].isupper() and (len(text) == 1 or not text[1].isupper())
    return _Word(folded, match.start(), match.end(), is_capital)


def mentions(question: str, reach: Reach) -> list[NameMention]:
    """Return the names inside the reach, in their order, ``MAX_MENTIONS`` at most."""
    index = name_index.of(reach)
    parts = _Question(question)
    results = [_of_id(match) for match in _ID.finditer(question)]
    i = 0
    while i < len(parts.words) and len(results) < MAX_MENTIONS:
        count, name = _longest(parts, i, index)
        if name is not None:
            start, end = parts.words[i].start, parts.words[i + count - 1].end
            results.append(NameMention(question[start:end], start, end, name))
        i += count
    return sorted(results[:MAX_MENTIONS], key=lambda mention: mention.start)


def _of_id(match: re.Match[str]) -> NameMention:
    ids = frozenset({match[0]})
    name = Name(
        label=match[0],
        agent_ids=ids if match[1] == "agent" else frozenset(),
        crew_ids=ids if match[1] == "crew" else frozenset(),
        actor_ids=ids,
    )
    return NameMention(match[0], match.start(), match.end(), name)


def _longest(
    parts: _Question, i: int, index: name_index.NameIndex
) -> tuple[int, Name | None]:
    """Return the longest name that begins at a word, and how many words it has."""
    first = parts.words[i]
    for count in index.lengths.get(first.folded, ()):
        key = tuple(word.folded for word in parts.words[i : i + count])
        name = index.names.get(key)
        if (
            name is not None
            and len(key) == count  # not cut off by the end of the question
            and parts.stands_alone(i, count)
            and parts.is_meant(i, count, name)
        ):
            return count, name
    if first.is_capital and first.folded.endswith("s"):
        stem = first.folded[:-1]
        name = index.names.get((stem,))
        if name is not None and not is_common(stem) and parts.stands_alone(i, 1):
            return 1, name
    return 1, None
