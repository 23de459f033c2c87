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
MAX_WORDS: Final = 1_000
MAX_VECTORS: Final = 500
# So many rows of a place are read for strings; beyond that one batch of ten.
MAX_ROWS: Final = 10_000
SAMPLE_EVERY: Final = 10
BEAT_SECONDS: Final = 1.0
# How a journal's entry is called, but for two letters before it.
_ENTRY: Final = re.compile(rb"[0-9a-f]{16}")


def _no_beat() -> None:
    return None


@dataclass(slots=True)
class _PlaceTokens:
    """What was taken from one place."""

    words: set[bytes] = field(default_factory=set)
    vectors: set[bytes] = field(default_factory=set)
    rows: int = 0
    batches: int = 0

    def trim(self) -> None:
        longest = sorted(self.words, key=lambda word: (-len(word), word))
        self.words = set(longest[:MAX_WORDS])


class Tokens:
    """Rare strings of the rows that went, in memory only, and never too many."""

    def __init__(self) -> None:
        self._shares: dict[str, _PlaceTokens] = {}

    def wants(self, place: str, rows: int) -> bool:
        """Whether a batch of rows should be read for strings."""
        share = self._shares.setdefault(place, _PlaceTokens())
        share.rows += rows
        share.batches += 1
        return share.rows <= MAX_ROWS or share.batches % SAMPLE_EVERY == 0

    def add(self, place: str, tokens: Iterable[bytes]) -> None:
        """Take in strings; when there are too many the longest stay, being rarest."""
        share = self._shares.setdefault(place, _PlaceTokens())
        for token in tokens:
            if byte_search.as_word(token) is not None:
                share.words.add(token)
            elif len(share.vectors) < MAX_VECTORS:
                share.vectors.add(token)
        if len(share.words) > 10 * MAX_WORDS:
            share.trim()

    def __call__(self) -> set[bytes]:
        """Return what is to be sought."""
        tokens: set[bytes] = set()
        for share in self._shares.values():
            share.trim()
            tokens |= share.words | share.vectors
        return tokens


def run(
    person: Person,
    holders: Iterable[Holder],
    tokens: Tokens,
    report: Report,
    beat: Callable[[], None] = _no_beat,
) -> None:
    """Search for a person everywhere; the database's own cleaning came before.

    The questions come first: whatever a question leaves behind, the bytes tell. While
    these are searched, every place is asked; both only read.
    """
    count, traces = read_paths.search(person)
    report.searches += count
    report.traces += _without_kept(person, traces)
    report.as_words = len(person.matcher.searched)
    report.in_fields = len(person.matcher.names_known) - report.as_words
    beat()

    def verify_holders() -> None:
        for holder in holders:
            report.searches += 1
            report.traces += _without_kept(person, holder.verify(person))
            beat()

    search_bytes(person, tokens(), report, verify_holders, beat)
    report.methods.append("every place and every reading path asked by name")
    report.methods += _method_lines(report)


# What is made from entries knows them by their ids.
_ENTRIES: Final = ("journal", "archive", "word_index", "vectors", "relations")


def _without_kept(person: Person, traces: Iterable[Trace]) -> list[Trace]:
    """Return the traces that are in no row of which a person said that it stays."""
    entries = person.spared.get("journal", frozenset())
    entries |= person.spared.get("archive", frozenset())
    files = person.spared.get("files", frozenset())
    remaining = []
    for trace in traces:
        row_id = trace.row_id or trace.where
        is_kept = person.has_spared(trace.place, row_id)
        is_kept = is_kept or (trace.place in _ENTRIES and row_id in entries)
        # The search of files tells whose file it is, and not which.
        is_kept = is_kept or (trace.what == read_paths.FILE_SEARCH and bool(files))
        if not is_kept:
            remaining.append(trace)
    return remaining


def _method_lines(report: Report) -> list[str]:
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
    other_work: Callable[[], None] = _no_beat,
    beat: Callable[[], None] = _no_beat,
) -> None:
    """Search every file for names and for strings of what was erased.

    It goes on in a thread of its own while the caller does something else.
    """
    with _ByteSearch(person, tokens, report) as search:
        other_work()
        search.end(beat)


class _Stopped(Exception):
    """Nobody waits any more for what a search would find."""


class _ByteSearch:
    """A search of every file's bytes, in a thread of its own that asks no database.

    Leaving the block before the end stops it.
    """

    def __init__(self, person: Person, tokens: set[bytes], report: Report) -> None:
        kept_values = {name.value for name in registry.kept_names(person)}
        distinct = dict.fromkeys(name.value for name in person.matcher.searched)
        names = [name for name in distinct if name not in kept_values]
        self._names = names
        name_shapes = set[bytes]().union(*map(byte_search.of_alias, names))
        rare = _not_in_live_rows(tokens, names, report)
        patterns = byte_search.of_tokens(rare) | name_shapes
        report.shared += len(kept_values)
        report.patterns += len(patterns)
        self._report, self._own = report, Report()
        self._patterns, self._name_shapes = Finder(patterns), Finder(name_shapes)
        self._known = expected_words.KnownFiles()
        self._skip, self._roots = _SkippedFiles(self._known), _roots()
        self._stopping = threading.Event()
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="residue")

    def __enter__(self) -> Self:
        self._future = self._thread.submit(self._search)
        return self

    def __exit__(self, *_: object) -> None:
        self._stopping.set()
        self._thread.shutdown()

    def _search(self) -> dict[bytes, str]:
        return file_scan.search(
            self._patterns,
            self._name_shapes,
            self._own,
            self._skip,
            self._roots,
            self._beat,
        )

    def _beat(self) -> None:
        if self._stopping.is_set():
            raise _Stopped

    def end(self, beat: Callable[[], None]) -> None:
        """Wait for what was found, and tell what of it is a trace."""
        while not wait([self._future], BEAT_SECONDS).done:
            beat()
        first = self._future.result()
        report, own = self._report, self._own
        report.files += own.files
        report.bytes += own.bytes
        report.traces += own.traces
        # Whatever somebody else's row says as well is no trace of this person.
        shared_patterns = (
            expected_words.shared_patterns(Finder(first), self._known)
            if first
            else set()
        )
        report.shared += len(shared_patterns)
        report.traces += _traces(
            {n: w for n, w in first.items() if n not in shared_patterns}
        )
        report.methods.append("bytes of every file searched, in every encoding")
        report.remains += byte_search.too_short(self._names)


def _not_in_live_rows(
    tokens: set[bytes], names: list[str], report: Report
) -> set[bytes]:
    """Ask the journal and the word indexes first; return the strings they do not hold.

    A word they list is in a row that stays, and its bytes prove nothing; or it stands
    for a row that is gone, and that is a trace.
    """
    known_tokens = _entry_id_tokens(tokens)
    if connection.vendor == "sqlite":
        known_tokens |= _listed_tokens(tokens, names, report)
    report.shared += len(known_tokens)
    return tokens - known_tokens


def _entry_id_tokens(tokens: set[bytes]) -> set[bytes]:
    """Return the strings by which entries are called: an erased one keeps its place."""
    ids = [f"j_{token.decode()}" for token in tokens if _ENTRY.fullmatch(token)]
    id_tokens: set[bytes] = set()
    for part in row_text.batches(ids):
        entry_ids = JournalEntry.objects.filter(pk__in=part).values_list(
            "pk", flat=True
        )
        id_tokens.update(entry_id[2:].encode() for entry_id in entry_ids)
    return id_tokens


def _listed_tokens(tokens: set[bytes], names: list[str], report: Report) -> set[bytes]:
    tokens_by_word = {
        word: token for token in tokens if (word := byte_search.as_word(token))
    }
    stems = byte_search.stemmed([*tokens_by_word, *names])
    terms_by_index = sqlite.listed_terms(set[str]().union(*stems.values()))
    report.traces += [
        Trace("word index", index, f"{count} words of rows that are gone")
        for index, count in sqlite.stale(terms_by_index).items()
    ]
    report.methods.append("word lists of both indexes read")
    terms = {term for entries in terms_by_index.values() for _, term in entries}
    return {
        tokens_by_word[word]
        for word in tokens_by_word.keys() & stems.keys()
        if stems[word] <= terms
    }


class _SkippedFiles:
    """Files that are read in another way, or that the report names as out of reach."""

    def __init__(self, known_files: expected_words.KnownFiles) -> None:
        served = connection.vendor == "postgresql"
        self._known = known_files
        self._log = served and postgres.keeps_log()
        self._others = postgres.other_databases() if served else _no_file

    def __call__(self, path: Path) -> bool:
        return (
            self._known(path)
            or (self._log and postgres.WAL in path.parts)
            or self._others(path)
        )


def _no_file(_path: Path) -> bool:
    return False


def _roots() -> list[Path]:
    """Return the folders outside ours that hold the database, where we may look."""
    return postgres.roots() if connection.vendor == "postgresql" else []


def _traces(first: dict[bytes, str]) -> list[Trace]:
    counts = Counter(first.values())
    return [Trace("files", w, f"{n} strings in its bytes") for w, n in counts.items()]
