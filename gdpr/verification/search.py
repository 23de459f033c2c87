"""The search for remaining matches: read paths, word lists, bytes of every file."""

from __future__ import annotations

import re
import threading
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from django.db import connection
from django.utils.translation import gettext_noop

from gdpr.data_map import registry, row_text
from gdpr.data_map.base import Holder, Person, Trace
from gdpr.verification import (
    byte_search,
    expected_words,
    file_scan,
    read_paths,
    second_search,
    server_files,
    sqlite,
    statements,
    write_ahead_log,
)
from gdpr.verification.byte_search import Finder
from gdpr.verification.expected_words import KnownFiles
from gdpr.verification.report import Beat, Report, no_beat
from memory.models import JournalEntry

# Limits per place. More strings prove no more; the longest are the rarest.
MAX_WORDS: Final = 1_000
MAX_VECTORS: Final = 5_000
# So many rows of a place are read for strings, then every tenth batch.
MAX_ROWS: Final = 10_000
SAMPLE_EVERY: Final = 10
BEAT_SECONDS: Final = 1.0
# The report's lines and descriptions; they are stored as they stand here.
STRINGS: Final = gettext_noop("{count} strings in its bytes")
STALE_WORDS: Final = gettext_noop("{count} words of rows that are gone")
# The id of a journal entry without its prefix ``j_``.
_ENTRY: Final = re.compile(rb"[0-9a-f]{16}")


@dataclass(slots=True)
class _PlaceTokens:
    """The strings taken from one place."""

    words: set[bytes] = field(default_factory=set)
    vectors: set[bytes] = field(default_factory=set)
    rows: int = 0
    batches: int = 0

    def trim(self) -> None:
        longest = sorted(self.words, key=lambda word: (-len(word), word))
        self.words = set(longest[:MAX_WORDS])


class Tokens:
    """Rare strings of erased rows, limited in number, in memory only."""

    def __init__(self) -> None:
        self._tokens_by_place: dict[str, _PlaceTokens] = {}

    def wants(self, place: str, rows: int) -> bool:
        """Whether a batch of rows should be read for strings."""
        place_tokens = self._tokens_by_place.setdefault(place, _PlaceTokens())
        place_tokens.rows += rows
        place_tokens.batches += 1
        return place_tokens.rows <= MAX_ROWS or place_tokens.batches % SAMPLE_EVERY == 0

    def add(self, place: str, tokens: Iterable[bytes]) -> None:
        """Add strings; when there are too many, the longest are kept."""
        place_tokens = self._tokens_by_place.setdefault(place, _PlaceTokens())
        for token in tokens:
            if byte_search.as_word(token) is not None:
                place_tokens.words.add(token)
            elif len(place_tokens.vectors) < MAX_VECTORS:
                place_tokens.vectors.add(token)
        if len(place_tokens.words) > 10 * MAX_WORDS:
            place_tokens.trim()

    def __call__(self) -> set[bytes]:
        tokens: set[bytes] = set()
        for place_tokens in self._tokens_by_place.values():
            place_tokens.trim()
            tokens |= place_tokens.words | place_tokens.vectors
        return tokens


def run(
    person: Person,
    holders: Iterable[Holder],
    tokens: Tokens,
    report: Report,
    beat: Beat = no_beat,
) -> None:
    """Search for a person everywhere, after the database was cleaned.

    Read paths come first, so that the byte search finds anything they leave behind. The
    holders verify, and the second matcher searches, while the bytes are searched.
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
        second_search.search(person, report, beat)

    search_bytes(person, tokens(), report, verify_holders, beat)
    report.methods += statements.methods(report)
    report.remains += statements.not_searched(report, MAX_WORDS, MAX_ROWS)


# Places whose rows have the ids of entries.
_ENTRIES: Final = ("journal", "archive", "word_index", "vectors", "relations", "map")


def _without_kept(person: Person, traces: Iterable[Trace]) -> list[Trace]:
    """Return the traces outside rows that are kept by decision."""
    entries = person.spared_rows.get("journal", frozenset())
    entries |= person.spared_rows.get("archive", frozenset())
    files = person.spared_rows.get("files", frozenset())
    remaining = []
    for trace in traces:
        row_id = trace.row_id or trace.where
        is_kept = person.is_kept(trace.place, row_id)
        is_kept = is_kept or (trace.place in _ENTRIES and row_id in entries)
        # The files' search returns the owner of a file, not the file.
        is_kept = is_kept or (
            trace.description == read_paths.FILE_SEARCH and bool(files)
        )
        if not is_kept:
            remaining.append(trace)
    return remaining


def search_bytes(
    person: Person,
    tokens: set[bytes],
    report: Report,
    other_work: Beat = no_beat,
    beat: Beat = no_beat,
) -> None:
    """Search every file for names and strings of erased rows, beside ``other_work``."""
    kept_values = {name.value for name in registry.kept_names(person)}
    distinct = dict.fromkeys(name.value for name in person.matcher.searched)
    names = [name for name in distinct if name not in kept_values]
    name_shapes = set[bytes]().union(*map(byte_search.of_alias, names))
    rare = _not_in_live_rows(tokens, names, report)
    patterns = byte_search.of_tokens(rare) | name_shapes
    report.shared += len(kept_values)
    report.patterns += len(patterns)
    known_files = expected_words.KnownFiles()
    shapes = Finder(patterns), Finder(name_shapes)
    with _scan(*shapes, known_files, report) as scan:
        other_work()
        while not wait([scan], BEAT_SECONDS).done:
            beat()
    first, in_log = scan.result()
    hits = set(first).union(*in_log.values())
    # A string that rows which stay contain too is not a trace.
    shared_patterns = (
        expected_words.shared_patterns(Finder(hits), known_files) if hits else set()
    )
    by_stem = expected_words.stem_patterns(Finder(hits - shared_patterns))
    elsewhere = _outside_index(by_stem, shapes[1], known_files, beat)
    shared_patterns |= by_stem - elsewhere.keys()
    first |= elsewhere
    report.shared += len(shared_patterns)
    # What names somebody is explained by no stem there: which file had it is unknown.
    _judge_log(in_log, shared_patterns - (by_stem & name_shapes), report)
    report.traces += _traces(
        place for pattern, place in first.items() if pattern not in shared_patterns
    )
    report.remains += byte_search.too_short(names)


def _traces(places: Iterable[str]) -> list[Trace]:
    return [
        Trace("files", place, STRINGS.format(count=count))
        for place, count in Counter(places).items()
    ]


def _outside_index(
    patterns: set[bytes], names: Finder, known_files: KnownFiles, beat: Beat
) -> dict[bytes, str]:
    """Return the patterns in files that hold no stems, each with the first of them."""
    if not patterns:
        return {}
    skip, is_index = _skipped_files(known_files), server_files.of_stems()
    return file_scan.search(
        Finder(patterns),
        names,
        Report(),
        lambda path: skip(path) or is_index(path),
        server_files.roots(),
        beat,
    )


def _judge_log(
    in_log: dict[Path, set[bytes]], shared_patterns: set[bytes], report: Report
) -> None:
    """Say what PostgreSQL's write-ahead log still holds.

    No trace: nothing that a case can do removes it, and the server overwrites it.
    """
    if connection.vendor != "postgresql":
        return
    segments = write_ahead_log.files()
    if not segments:
        report.remains.append(write_ahead_log.NOT_READ)
        return
    count = sum(not hits <= shared_patterns for hits in in_log.values())
    report.methods.append(write_ahead_log.SEARCHED.format(count=len(segments)))
    if count:
        report.remains.append(write_ahead_log.held(count, len(segments)))


class _Stopped(Exception):
    """The scan was cancelled."""


# Byte string → the first file with it; segment of the log → the strings in it.
_Hits = tuple[dict[bytes, str], dict[Path, set[bytes]]]


@contextmanager
def _scan(
    patterns: Finder, names: Finder, known_files: KnownFiles, report: Report
) -> Iterator[Future[_Hits]]:
    """Search every file in a thread without database access.

    Leaving the block early cancels it.
    """
    own, stopping = Report(), threading.Event()

    def check() -> None:
        if stopping.is_set():
            raise _Stopped

    skip = _skipped_files(known_files)
    is_server = connection.vendor == "postgresql"
    # Folders of the database server outside the data folder.
    roots = server_files.roots() if is_server else []
    segments = write_ahead_log.files() if is_server else []

    def read() -> _Hits:
        # The search drops what it found; the log is searched for everything.
        in_log = file_scan.holding(patterns, segments, check)
        return file_scan.search(patterns, names, own, skip, roots, check), in_log

    with ThreadPoolExecutor(1, thread_name_prefix="residue") as thread:
        try:
            yield thread.submit(read)
        finally:
            stopping.set()
    report.files += own.files
    report.bytes += own.bytes
    report.unpacked += own.unpacked
    report.skipped += own.skipped
    report.not_read += own.not_read
    report.traces += own.traces


def _skipped_files(known_files: KnownFiles) -> Callable[[Path], bool]:
    """Return whether a file is read in another way, or reported as out of reach."""
    if connection.vendor != "postgresql":
        return known_files
    is_of_others = server_files.other_databases()
    return lambda path: (
        known_files(path) or server_files.WAL in path.parts or is_of_others(path)
    )


def _not_in_live_rows(
    tokens: set[bytes], names: list[str], report: Report
) -> set[bytes]:
    """Return the strings that neither live entries' ids nor the word indexes contain.

    A word in an index belongs to a row that stays, and its bytes prove nothing; or to
    an erased row, which is reported as a trace.
    """
    known_tokens = _entry_id_tokens(tokens)
    if connection.vendor == "sqlite":
        known_tokens |= _listed_tokens(tokens, names, report)
    report.shared += len(known_tokens)
    return tokens - known_tokens


def _entry_id_tokens(tokens: set[bytes]) -> set[bytes]:
    """Return the strings that are ids of entries: an erased entry keeps its id."""
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
        Trace("word index", index, STALE_WORDS.format(count=count))
        for index, count in sqlite.stale(terms_by_index).items()
    ]
    report.methods.append(statements.WORD_LISTS)
    terms = {term for entries in terms_by_index.values() for _, term in entries}
    return {
        tokens_by_word[word]
        for word in tokens_by_word.keys() & stems.keys()
        if stems[word] <= terms
    }
