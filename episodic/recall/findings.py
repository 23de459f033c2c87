"""Sentences on why an entry is not in an answer, and stored ones in other languages.

A run of a check stores what it found in English. The sentences with values are named
here, for who writes them and for who reads them.
"""

from __future__ import annotations

import re
from typing import Final

from episodic.embedders.base import Reason, failure_text
from episodic.index import policy
from episodic.recall.reasons import word_list
from memory.figures import decimal
from memory.rules.stored_sentences import translated
from memory.rules.translation import gettext, gettext_noop, ngettext

RETURNED: Final = gettext_noop("It is in the answer, at rank {rank}.")
ONE_BELOW: Final = gettext_noop(
    "It is rank {rank} of {total}: one place below the cut."
)
BELOW: Final = gettext_noop(
    "It is rank {rank} of {total}: {count} places below the cut."
)
EXCLUDED: Final = gettext_noop("It cannot be in the answer: {reason}.")
UNRANKED: Final = gettext_noop("No ranking put it on the list: {reason}.")

OTHER_MODEL: Final = gettext_noop("embedded with {model}; recall now uses {other}")
WAITS: Final = gettext_noop("{state} for {seconds} s")
TRIED: Final = gettext_noop("{waits}, tried {count} times: {error}")
OUTSIDE: Final = gettext_noop("outside the scope {scope}")
BY_COSINE: Final = gettext_noop("rank {rank} of {count} by cosine × importance")
BY_CENTRED: Final = gettext_noop("rank {rank} of {count} by centred cosine")
COSINE: Final = gettext_noop("cosine {cosine}, importance {importance}")
ENDS: Final = gettext_noop("the ranking ends at {rank}")
FOUND: Final = gettext_noop("{words} found, but below rank {rank} or filtered")
BESIDE: Final = gettext_noop("side by side as in the question: {pairs}")
SOME: Final = gettext_noop("some of them")
ONE_TIME: Final = gettext_noop("{times} is a time, and not searched as words")
TIMES: Final = gettext_noop("{times} are times, and not searched as words")

AHEAD_AND_BEHIND: Final = gettext_noop(
    "Against hit {k} it is ahead by {ahead} and behind by {behind}."
)
AHEAD: Final = gettext_noop("Against hit {k} it is ahead by {ahead}.")
BEHIND: Final = gettext_noop("Against hit {k} it is behind by {behind}.")
SIGNALS: Final = {
    "words": gettext_noop("its words"),
    "meaning": gettext_noop("its meaning"),
    "context": gettext_noop("the words around it"),
    "neighbours": gettext_noop("the entries beside it"),
    "conversation": gettext_noop("its conversation"),
    "preference": gettext_noop("what the question prefers"),
    "substance": gettext_noop("how much it says"),
    "importance": gettext_noop("its importance"),
}

_SENTENCES: Final = (ONE_BELOW, BELOW, RETURNED, AHEAD_AND_BEHIND, AHEAD, BEHIND)
# What stands behind the last semicolon of a reason.
_ENDINGS: Final = (ENDS, ONE_TIME, TIMES)
_REASONS: Final = (
    FOUND,
    TRIED,
    OTHER_MODEL,
    WAITS,
    OUTSIDE,
    BY_COSINE,
    BY_CENTRED,
    COSINE,
    *policy.REFUSALS,
)
_NUMBER: Final = re.compile(r"-?\d+\.(\d+)")
_SIGNAL: Final = re.compile(r"([a-z ]+?)(?: \(cosine ([\d.-]+)\))?")
# Of a list of quoted words; behind the last there may be how many more there are.
_QUOTED: Final = re.compile(r"“([^”]*)”|(\d+) more")


def in_words(stored: str) -> str:
    """Return a stored finding in the reader's language; an unknown one as it is."""
    for template in (EXCLUDED, UNRANKED):
        start, _, end = template.partition("{reason}")
        if stored.startswith(start) and stored.endswith(end):
            reason = stored.removeprefix(start).removesuffix(end)
            return gettext(template).format(reason=_reason(reason))
    sentence, mark, rest = stored.partition(". ")
    if mark:
        return f"{in_words(f'{sentence}.')} {in_words(rest)}"
    return translated(stored, _SENTENCES, _value)


def _reason(text: str) -> str:
    start, mark, ending = text.rpartition("; ")
    words = translated(ending, _ENDINGS, _value)
    if mark and words != ending:
        return f"{_reason(start)}{mark}{words}"
    words = translated(text, _REASONS, _value)
    first, mark, rest = text.partition(", ")
    if mark and words == text:
        return f"{translated(first, _REASONS, _value)}{mark}{_reason(rest)}"
    return words


def _value(text: str) -> str:
    """Return a value of a sentence; what a person wrote stays as it is."""
    if number := _NUMBER.fullmatch(text):
        return decimal(float(text), len(number[1]))
    if text.partition(": ")[0] in list(Reason):
        return failure_text(text)
    if text == SOME:
        return gettext(SOME)
    if text.startswith("“"):
        return _quoted(text)
    names = [_SIGNAL.fullmatch(name) for name in text.split(" and ")]
    signals = [signal(name[1], name[2]) for name in names if name and _is_signal(name)]
    if len(signals) == len(names):
        return word_list(signals)
    words, mark, pairs = text.rpartition("; ")
    if mark:
        return f"{words}{mark}{translated(pairs, (BESIDE,), _value)}"
    # Any other may be a word of a question: no sentence to look up.
    return translated(text, (WAITS,), _value) if text.endswith(" s") else text


def _is_signal(name: re.Match[str]) -> bool:
    return name[1] in SIGNALS.values()


def signal(name: str, cosine: str | None = None) -> str:
    """Return what a signal is called, with the cosine as it is written."""
    if cosine is None:
        return gettext(name)
    value = gettext("cosine {value}").format(value=_value(cosine))
    return f"{gettext(name)} ({value})"


def _quoted(text: str) -> str:
    quoted = gettext("“{words}”")
    texts = [
        ngettext("{count} more", "{count} more", int(count)).format(count=count)
        if count
        else quoted.format(words=words)
        for words, count in _QUOTED.findall(text)
    ]
    return word_list(texts, len(texts))
