"""The whole search for residue: reading paths, word lists, and every file's bytes."""

from __future__ import annotations

import re
import threading
from collections import Counter
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor, wait
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, Self

from django.db import connection

from gdpr.data_map import registry, row_text
from gdpr.data_map.base import Holder, Person, Trace
from gdpr.verification import (
    byte_search,
    expected_words,
    file_scan,
    postgres,
    read_paths,
    sqlite,
)
from gdpr.verification.byte_search import Finder
from gdpr.verification.report import Report
from memory.models import JournalEntry

# More strings prove no more: the longest are the rarest. Of each place so many.
MOST_WORDS: Final = 1_000
MOST_OTHERS: Final = 500
# So many rows of a place are read for strings; beyond that one batch of ten.
MOST_ROWS: Final = 10_000
ONE_OF: Final = 10
BEAT_SECONDS: Final = 1.0
# How a journal's entry is called, but for two letters before it.
_ENTRY: Final = re.compile(rb"[0-9a-f]{16}")


def _silent() -> None:
    return None


@dataclass(slots=True)
class _Share:
    """What was taken from one place."""

    words: set[bytes] = field(default_factory=set)
    others: set[bytes] = field(default_factory=set)
    rows: int = 0
    batches: int = 0

    def trim(self) -> None:
        longest = sorted(self.words, key=lambda word: (-len(word), word))
        self.words = set(longest[:MOST_WORDS])


class Tokens:
    """Rare strings of the rows that went, in memory only, and never too many."""

    def __init__(self) -> None:
        self._shares: dict[str, _Share] = {}

    def wants(self, place: str, rows: int) -> bool:
        """Whether a batch of rows should be read for strings."""
        share = self._shares.setdefault(place, _Share())
        share.rows += rows
        share.batches += 1
        return share.rows <= MOST_ROWS or share.batches % ONE_OF == 0

    def add(self, place: str, tokens: Iterable[bytes]) -> None:
        """Take in strings; when there are too many the longest stay, being rarest."""
        share = self._shares.setdefault(place, _Share())
        for token in tokens:
            if byte_search.as_word(token) is not None:
                share.words.add(token)
            elif len(share.others) < MOST_OTHERS:
                share.others.add(token)
        if len(share.words) > 10 * MOST_WORDS:
            share.trim()

    def __call__(self) -> set[bytes]:
        """Return what is to be sought."""
        found: set[bytes] = set()
        for share in self._shares.values():
            share.trim()
            found |= share.words | share.others
        return found


def run(
    person: Person,
    holders: Iterable[Holder],
    tokens: Tokens,
    report: Report,
    beat: Callable[[], None] = _silent,
) -> None:
    """Search for a person everywhere; the database's own cleaning came before.

    The questions come first: whatever a question leaves behind, the bytes tell. While
    these are searched, every place is asked; both only read.
    """
    asked, found = read_paths.search(person)
    report.searches += asked
    report.found += _unspared(person, found)
    report.as_words = len(person.matcher.searched)
    report.in_fields = len(person.matcher.names_known) - report.as_words
    beat()

    def meanwhile() -> None:
        for holder in holders:
            report.searches += 1
            report.found += _unspared(person, holder.verify(person))
            beat()

    search_bytes(person, tokens(), report, meanwhile, beat)
    report.methods.append("every place and every reading path asked by name")
    report.methods += _told(report)


# What is made from entries knows them by their ids.
_ENTRIES: Final = ("journal", "archive", "word_index", "vectors", "relations")


def _unspared(person: Person, traces: Iterable[Trace]) -> list[Trace]:
    """Return the traces that are in no row of which a person said that it stays."""
    entries = person.spared.get("journal", frozenset())
    entries |= person.spared.get("archive", frozenset())
    files = person.spared.get("files", frozenset())
    left = []
    for trace in traces:
        row_id = trace.row_id or trace.where
        kept = person.has_spared(trace.place, row_id)
        kept = kept or (trace.place in _ENTRIES and row_id in entries)
        # The search of files tells whose file it is, and not which.
        kept = kept or (trace.what == read_paths.SEARCHED and bool(files))
        if not kept:
            left.append(trace)
    return left


def _told(report: Report) -> list[str]:
    """Return how many identifiers were sought as words, and how many otherwise."""
    lines = [f"{report.as_words} identifiers sought as words in every text"]
    if report.in_fields:
        lines.append(
            f"{report.in_fields} identifiers, ordinary words or numbers, sought in"
            " links and in fields that say who, and not in texts"
        )
    return lines


def search_bytes(
    person: Person,
    tokens: set[bytes],
    report: Report,
    meanwhile: Callable[[], None] = _silent,
    beat: Callable[[], None] = _silent,
) -> None:
    """Search every file for names and for strings of what was erased.

    It goes on in a thread of its own while the caller does something else.
    """
    with _Bytes(person, tokens, report) as search:
        meanwhile()
        search.end(beat)


class _Stopped(Exception):
    """Nobody waits any more for what a search would find."""


class _Bytes:
    """A search of every file's bytes, in a thread of its own that asks no database.

    Leaving the block before the end stops it.
    """

    def __init__(self, person: Person, tokens: set[bytes], report: Report) -> None:
        kept = {name.value for name in registry.staying(person)}
        every = dict.fromkeys(name.value for name in person.matcher.searched)
        names = [name for name in every if name not in kept]
        self._names = names
        called = set[bytes]().union(*map(byte_search.of_alias, names))
        rare = _unlisted(tokens, names, report)
        sought = byte_search.of_tokens(rare) | called
        report.shared += len(kept)
        report.sought += len(sought)
        self._report, self._own = report, Report()
        self._sought, self._called = Finder(sought), Finder(called)
        self._known = expected_words.KnownFiles()
        self._left_out, self._roots = _Elsewhere(self._known), _roots()
        self._over = threading.Event()
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="residue")

    def __enter__(self) -> Self:
        self._first = self._thread.submit(self._search)
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.shutdown()

    def _search(self) -> dict[bytes, str]:
        return file_scan.search(
            self._sought,
            self._called,
            self._own,
            self._left_out,
            self._roots,
            self._beat,
        )

    def _beat(self) -> None:
        if self._over.is_set():
            raise _Stopped

    def end(self, beat: Callable[[], None]) -> None:
        """Wait for what was found, and tell what of it is a trace."""
        while not wait([self._first], BEAT_SECONDS).done:
            beat()
        first = self._first.result()
        report, own = self._report, self._own
        report.files += own.files
        report.bytes += own.bytes
        report.found += own.found
        # Whatever somebody else's row says as well is no trace of this person.
        shared = expected_words.shared(Finder(first), self._known) if first else set()
        report.shared += len(shared)
        report.found += _traces({n: w for n, w in first.items() if n not in shared})
        report.methods.append("bytes of every file searched, in every encoding")
        report.remains += byte_search.too_short(self._names)


def _unlisted(tokens: set[bytes], names: list[str], report: Report) -> set[bytes]:
    """Ask the journal and the word indexes first; return the strings they do not hold.

    A word they list is in a row that stays, and its bytes prove nothing; or it stands
    for a row that is gone, and that is a trace.
    """
    held = _called(tokens)
    if connection.vendor == "sqlite":
        held |= _listed(tokens, names, report)
    report.shared += len(held)
    return tokens - held


def _called(tokens: set[bytes]) -> set[bytes]:
    """Return the strings by which entries are called: an erased one keeps its place."""
    ids = [f"j_{token.decode()}" for token in tokens if _ENTRY.fullmatch(token)]
    found: set[bytes] = set()
    for part in row_text.batches(ids):
        there = JournalEntry.objects.filter(pk__in=part).values_list("pk", flat=True)
        found.update(entry_id[2:].encode() for entry_id in there)
    return found


def _listed(tokens: set[bytes], names: list[str], report: Report) -> set[bytes]:
    known = {word: token for token in tokens if (word := byte_search.as_word(token))}
    stems = byte_search.stemmed([*known, *names])
    there = sqlite.listed(set[str]().union(*stems.values()))
    report.found += [
        Trace("word index", index, f"{count} words of rows that are gone")
        for index, count in sqlite.stale(there).items()
    ]
    report.methods.append("word lists of both indexes read")
    terms = {term for counted in there.values() for _, term in counted}
    return {known[word] for word in known.keys() & stems.keys() if stems[word] <= terms}


class _Elsewhere:
    """Files that are read in another way, or that the report names as out of reach."""

    def __init__(self, known: expected_words.KnownFiles) -> None:
        served = connection.vendor == "postgresql"
        self._known = known
        self._log = served and postgres.keeps_log()
        self._others = postgres.others() if served else _nowhere

    def __call__(self, path: Path) -> bool:
        return (
            self._known(path)
            or (self._log and postgres.WAL in path.parts)
            or self._others(path)
        )


def _nowhere(_path: Path) -> bool:
    return False


def _roots() -> list[Path]:
    """Return the folders outside ours that hold the database, where we may look."""
    return postgres.roots() if connection.vendor == "postgresql" else []


def _traces(first: dict[bytes, str]) -> list[Trace]:
    counted = Counter(first.values())
    return [Trace("files", w, f"{n} strings in its bytes") for w, n in counted.items()]
