"""Other people in what is exported, whom nobody registered (Article 15(4) GDPR).

Their names, addresses and numbers are replaced by marks with numbers, the same word by
the same mark. The requester's own names stay, and so do names of agents and crews, and
the columns that say who of the staff or which agent did something: they acted for the
controller. Ids, dates and states of ours are not read.
"""

from __future__ import annotations

import hashlib
import hmac
import itertools
import re
from collections import Counter
from collections.abc import Callable, Container, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final

from django.utils.translation import gettext_noop

from episodic.embedders.base import EmbedderError
from gdpr.data_map.base import Person
from gdpr.data_map.covered_words import Sighting
from gdpr.detection import find as detection
from gdpr.detection.find import Kind
from gdpr.export.bundle import Collection, OtherPeople
from gdpr.matching.common_words import WORDS
from gdpr.models import WordVerdict
from memory.journal import append as journal
from memory.models import Agent, Crew, Workspace
from memory.rules import errors

_DOMAIN: Final = b"crewship covered word v1\x00"
MARKS: Final = {
    Kind.NAME: "person", Kind.ADDRESS: "address", Kind.PHONE: "phone",
    Kind.EMAIL: "e-mail", Kind.NUMBER: "number", Kind.HANDLE: "handle",
}  # fmt: skip
SNIPPETS: Final = 3
SNIPPET_CHARS: Final = 60
# What is read while a caller waits: half a minute.
ONE_ANSWER_CHARS: Final = 1_000_000
# So many texts are read between two signs of life.
_BEAT: Final = 100
# Letters to the person: what they say of others went to them before.
LETTERS: Final = "letters"
# Columns that hold an id, a date or a state, or who of the staff did it.
_UNREAD: Final = frozenset(
    "id place seq ts at entry_type severity priority tier state status kind action"
    " actor_type actor_label assignee by sha256 bytes counts session"
    " scope_agent".split()
)
_UNREAD_ENDS: Final = ("_id", "_at", "_by", "_hash", "_type")
_NAME_WORD: Final = re.compile(r"[^\W\d_]+(?:[-’'][^\W\d_]+)*")
Change = Callable[[str], str]


class NoDetector(errors.AppError):
    """The model that finds people does not run; its files may be damaged."""

    code, status, title = (
        "no_detector", 503, gettext_noop("Other people cannot be found"),
    )  # fmt: skip
    sentence = gettext_noop("The program that finds other people does not run.")


class TooLong(errors.Invalid):
    """More text than one answer can have read; a bundle has no such end."""

    code, title = "answer_too_long", gettext_noop("Too much for one answer")
    sentence = gettext_noop(
        "{size} characters are to be searched for other people, and one answer takes"
        " {limit}. Request a bundle: POST /api/v1/gdpr/exports."
    )


@dataclass(slots=True)
class Word:
    """One word, number or name, as often as it stands in a collection."""

    digest: str
    kind: Kind
    text: str
    surely: bool
    count: int = 0
    snippets: list[str] = field(default_factory=list)

    @property
    def sighting(self) -> Sighting:
        return Sighting(self.text, tuple(self.snippets))


@dataclass(frozen=True, slots=True)
class Reading:
    """What was read: the words by digest, and where they stand in each text."""

    words: dict[str, Word]
    spans: dict[str, tuple[tuple[int, int, str], ...]]


# ── Reading ──────────────────────────────────────────────────────────────────
class _Reader:
    """Reads texts one after the other; each distinct one once."""

    def __init__(
        self, person: Person, display_name: str, beat: Callable[[], None]
    ) -> None:
        self._own = person.matcher.for_redaction()
        self._own_words = set(_own_words(person, display_name))
        self._actors = _actor_names(person.workspace_id)
        self._key = hmac.digest(
            journal.key(), _DOMAIN + person.workspace_id.encode(), "sha256"
        )
        self._beat = beat
        self._times: Counter[str] = Counter()
        self.words: dict[str, Word] = {}
        self.spans: dict[str, list[tuple[int, int, str]]] = {}

    def read(self, text: str) -> str:
        self._times[text] += 1
        if text in self.spans:
            return text
        if len(self.spans) % _BEAT == 0:
            self._beat()
        self.spans[text] = rows = []
        spans = detection.find(text)
        own = self._own.spans(text) if spans else []
        for span in spans:
            spelling = text[span.start : span.end]
            is_own = any(o.start < span.end and span.start < o.end for o in own)
            if is_own or self._is_known(spelling, span.kind):
                continue
            word = self._word(spelling, span.kind)
            word.surely |= span.surely
            rows.append((span.start, span.end, word.digest))
        return text

    def _is_known(self, spelling: str, kind: Kind) -> bool:
        """Whether a word is a part of the requester's name, or an agent's name."""
        folded = spelling.casefold()
        words = {match[0] for match in _NAME_WORD.finditer(folded)}
        if kind == Kind.NAME and words <= self._own_words:
            return True
        return folded.lstrip("@") in self._actors

    def _word(self, spelling: str, kind: Kind) -> Word:
        digest = self._digest(spelling, kind)
        return self.words.setdefault(digest, Word(digest, kind, spelling, surely=False))

    def _digest(self, spelling: str, kind: Kind) -> str:
        plain = " ".join(spelling.casefold().split())
        data = f"{kind}\x00{plain}".encode()
        return hashlib.blake2b(data, digest_size=32, key=self._key).hexdigest()

    def _count(self, text: str, start: int, end: int, word: Word) -> None:
        word.count += self._times[text]
        if len(word.snippets) < SNIPPETS:
            piece = text[max(0, start - SNIPPET_CHARS) : end + SNIPPET_CHARS]
            snippet = " ".join(piece.split())
            if snippet not in word.snippets:
                word.snippets.append(snippet)

    # ── After all texts ──────────────────────────────────────────────────────
    def finish(self) -> Reading:
        """Return what was read, with names that stand there once more.

        A whole name that the detector knew in one text may be missed in another, and so
        may a part of it; a part of somebody's whole name is theirs.
        """
        by_first: dict[str, list[Word]] = {}
        parts: set[str] = set()
        for word in list(self.words.values()):
            if word.kind == Kind.NAME and " " in word.text:
                letters = _NAME_WORD.findall(word.text.casefold())
                by_first.setdefault(letters[0], []).append(word)
                parts.update(letters if word.surely else ())
        parts -= self._own_words | self._actors | WORDS
        for text, rows in self.spans.items():
            if by_first:
                self._add_repeats(text, rows, by_first, parts)
            for start, end, digest in rows:
                self._count(text, start, end, self.words[digest])
        spans = {text: tuple(sorted(rows)) for text, rows in self.spans.items() if rows}
        return Reading(self.words, spans)

    def _add_repeats(
        self,
        text: str,
        rows: list[tuple[int, int, str]],
        by_first: Mapping[str, Iterable[Word]],
        parts: Container[str],
    ) -> None:
        for match in _NAME_WORD.finditer(text):
            start, folded = match.start(), match[0].casefold()
            for word in by_first.get(folded, ()):
                end = start + len(word.text)
                is_same = text[start:end].casefold() == word.text.casefold()
                is_whole = is_same and not text[end : end + 1].isalnum()
                if is_whole and _is_free(rows, start, end):
                    rows.append((start, end, word.digest))
            is_part = folded in parts and match[0][0].isupper()
            if is_part and _is_free(rows, start, match.end()):
                part = self._word(match[0], Kind.NAME)
                rows.append((start, match.end(), part.digest))
            if is_part and self._digest(match[0], Kind.NAME) in self.words:
                self._word(match[0], Kind.NAME).surely = True


def _is_free(rows: Iterable[tuple[int, int, str]], start: int, end: int) -> bool:
    return not any(first < end and start < last for first, last, _ in rows)


def _own_words(person: Person, display_name: str) -> Iterator[str]:
    """Yield the words of the requester's names, and of their addresses' first parts."""
    names = person.matcher.names_known
    texts = [
        display_name,
        *(name.value for name in names if name.kind == "name"),
        *(name.value.partition("@")[0] for name in names if name.kind == "email"),
    ]
    for text in texts:
        yield from (match[0] for match in _NAME_WORD.finditer(text.casefold()))


def _actor_names(workspace_id: str) -> frozenset[str]:
    """Return the names of a workspace, its crews and its agents, in small letters."""
    rows = {"workspace_id": workspace_id}
    pairs = [
        *Agent.objects.filter(**rows).values_list("slug", "name"),
        *Crew.objects.filter(**rows).values_list("slug", "name"),
        *Workspace.objects.filter(pk=workspace_id).values_list("slug", "name"),
    ]
    return frozenset(name.casefold() for pair in pairs for name in pair if name)


def read(
    collection: Collection, person: Person, beat: Callable[[], None] = lambda: None
) -> Reading:
    """Return the other people's words of a collection. Raises NoDetector.

    ``beat`` is called from time to time: reading takes a while.
    """
    reader = _Reader(person, str(collection.subject["display_name"]), beat)
    try:
        _with_texts(collection, reader.read)
    except EmbedderError as error:
        raise NoDetector from error
    return reader.finish()


def require_short(collection: Collection) -> None:
    """Refuse what takes longer to read than a caller waits for."""
    texts: set[str] = set()

    def note(text: str) -> str:
        texts.add(text)
        return text

    _with_texts(collection, note)
    if (size := sum(map(len, texts))) > ONE_ANSWER_CHARS:
        raise TooLong(size=size, limit=ONE_ANSWER_CHARS)


# ── Covering ─────────────────────────────────────────────────────────────────
def covered(
    collection: Collection, reading: Reading, verdicts: Mapping[str, str]
) -> Collection:
    """Return a collection with words replaced by marks.

    ``verdicts`` are digest → ``WordVerdict``; a word without one is covered.
    """
    readable = {
        digest
        for digest, verdict in verdicts.items()
        if verdict == WordVerdict.LEAVE and digest in reading.words
    }
    marks = dict(_marks(reading.words.values(), readable))
    counts: Counter[str] = Counter()

    def change(text: str) -> str:
        pieces, position = [], 0
        for start, end, digest in reading.spans.get(text, ()):
            if digest in marks:
                pieces += [text[position:start], marks[digest]]
                position = end
                counts[reading.words[digest].kind] += 1
        return "".join((*pieces, text[position:]))

    result = _with_texts(collection, change)
    unsure = sum(not reading.words[digest].surely for digest in marks)
    facts = OtherPeople(dict(counts), unsure, len(readable))
    return replace(result, other_people=facts)


def _marks(words: Iterable[Word], readable: set[str]) -> Iterator[tuple[str, str]]:
    numbers: Counter[str] = Counter()
    for word in words:
        if word.digest not in readable:
            numbers[word.kind] += 1
            yield word.digest, f"[{MARKS[word.kind]} {numbers[word.kind]}]"


def _with_texts(collection: Collection, change: Change) -> Collection:
    """Return a collection with every text changed that may name somebody."""
    return replace(
        collection,
        places=tuple(
            replace(place, rows=[_row(row, change) for row in place.rows])
            if place.name != LETTERS
            else place
            for place in collection.places
        ),
        actions=tuple(
            row | {"reason": change(row["reason"])} for row in collection.actions
        ),
    )


def _row(row: Mapping[str, Any], change: Change) -> dict[str, Any]:
    return {
        name: value if _is_unread(name) else _value(value, change)
        for name, value in row.items()
    }


def _is_unread(column: str) -> bool:
    return column in _UNREAD or column.endswith(_UNREAD_ENDS)


def _value(value: Any, change: Change) -> Any:
    """Return a JSON value with its texts changed, the keys of objects too."""
    if isinstance(value, str):
        return change(value)
    if isinstance(value, Mapping):
        result: dict[str, Any] = {}
        for key, item in value.items():
            result[_free_key(change(str(key)), result)] = _value(item, change)
        return result
    if isinstance(value, (list, tuple)):
        return [_value(item, change) for item in value]
    return value


def _free_key(key: str, taken: Container[str]) -> str:
    """Return a key that nothing has: one name in two spellings has one mark."""
    names = itertools.chain([key], (f"{key} ({n})" for n in itertools.count(2)))
    return next(name for name in names if name not in taken)
