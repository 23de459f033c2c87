"""The whole search for residue: reading paths, word lists, and every file's bytes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from django.db import connection

from gdpr.holders import registry
from gdpr.holders.base import Holder, Person, Trace
from gdpr.residue import needles, paths, postgres, raw, sqlite, stored
from gdpr.residue.needles import Finder
from gdpr.residue.report import Report

# More strings prove no more: the longest are the rarest. Of each place so many.
MOST_WORDS: Final = 1_000
MOST_OTHERS: Final = 500
# So many rows of a place are read for strings; beyond that one batch of ten.
MOST_ROWS: Final = 10_000
ONE_OF: Final = 10


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
            if needles.as_word(token) is not None:
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
    """Search for a person everywhere; the database's own cleaning came before."""
    for holder in holders:
        report.searches += 1
        report.found += list(holder.verify(person))
        beat()
    asked, found = paths.search(person)
    report.searches += asked
    report.found += found
    report.methods.append("every place and every reading path asked by name")
    beat()
    search_bytes(person, tokens(), report)


def search_bytes(person: Person, tokens: set[bytes], report: Report) -> None:
    """Search every file for names and for strings of what was erased."""
    kept = {name.value for name in registry.staying(person)}
    every = dict.fromkeys(name.value for name in person.matcher.names_known)
    names = [name for name in every if name not in kept]
    report.shared += len(kept)
    called = set[bytes]().union(*map(needles.of_alias, names))
    rare = _unlisted(tokens, names, report)
    sought = needles.of_tokens(rare) | called
    report.sought += len(sought)
    known = stored.KnownFiles()
    left_out = _Elsewhere(known)
    first = raw.search(Finder(sought), Finder(called), report, left_out, _roots())
    # Whatever somebody else's row says as well is no trace of this person.
    shared = stored.shared(Finder(first), known) if first else set()
    report.shared += len(shared)
    report.found += _traces({n: w for n, w in first.items() if n not in shared})
    report.methods.append("bytes of every file searched, in every encoding")


def _unlisted(tokens: set[bytes], names: list[str], report: Report) -> set[bytes]:
    """Ask the word indexes first; return the strings of which they list no word.

    A word they list is in a row that stays, and its bytes prove nothing; or it stands
    for a row that is gone, and that is a trace.
    """
    if connection.vendor != "sqlite":
        return tokens
    words = {word: token for token in tokens if (word := needles.as_word(token))}
    stems = needles.stemmed([*words, *names])
    there = sqlite.listed(set[str]().union(*stems.values()))
    report.found += [
        Trace("word index", index, f"{count} words of rows that are gone")
        for index, count in sqlite.stale(there).items()
    ]
    report.methods.append("word lists of both indexes read")
    terms = {term for counted in there.values() for _, term in counted}
    held = {words[word] for word in words.keys() & stems.keys() if stems[word] <= terms}
    report.shared += len(held)
    return tokens - held


class _Elsewhere:
    """Files that are read in another way, or that the report names as out of reach."""

    def __init__(self, known: stored.KnownFiles) -> None:
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
