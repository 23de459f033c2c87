"""What every resting place of personal data can do.

A holder knows one place: a table with what hangs on it, a folder of files, a cache, a
log. It finds what names a person, says what would become of each row and why, and does
it in small batches, each its own transaction. It never asks for permission, looks for
holds or writes the ledger: that is the cascade's work.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Any, Protocol

from gdpr.matching.matcher import Matcher, Sign

SAMPLE_CHARS = 160


class Fate(StrEnum):
    """What becomes of a row: it is about one person, about several, or must stay."""

    DELETE = "delete"
    REDACT = "redact"
    KEEP = "keep"


@dataclass(frozen=True, slots=True)
class Person:
    """Whom a holder looks for: the person's matcher, and everybody else's.

    ``others`` finds the other people of the workspace, so that a row about several is
    told from a row about one. ``links`` is place → row ids that a writer linked,
    ``matched`` those that an earlier search found: what is in them now decides.
    ``spared`` and ``confirmed`` are rows that a person judged: not theirs, or theirs.
    """

    workspace_id: str
    subject_id: str
    matcher: Matcher
    others: Matcher
    links: Mapping[str, frozenset[str]]
    # Rows that are also linked to somebody else: place → row ids.
    shared: Mapping[str, frozenset[str]] = field(default_factory=dict)
    matched: Mapping[str, frozenset[str]] = field(default_factory=dict)
    spared: Mapping[str, frozenset[str]] = field(default_factory=dict)
    confirmed: Mapping[str, frozenset[str]] = field(default_factory=dict)
    # What one holder found and another follows, so that a journal is read once.
    memo: dict[str, frozenset[str]] = field(
        default_factory=dict, compare=False, repr=False
    )

    def linked(self, place: str) -> frozenset[str]:
        """Return the rows of a place that their writers linked to the person."""
        return self.links.get(place, frozenset())

    def once_matched(self, place: str) -> frozenset[str]:
        """Return the rows of a place that an earlier search found."""
        return self.matched.get(place, frozenset())

    def sign(self, place: str, row_id: str, text: str) -> Sign:
        """Return how surely a row is about the person."""
        sign = self.matcher.judge(text, linked=row_id in self.linked(place))
        if sign is Sign.NONE and row_id in self.once_matched(place):
            # A name that was taken away since had matched it.
            return self.matcher.forgotten
        return sign

    def has_spared(self, place: str, row_id: str) -> bool:
        """Whether a person said that a row stays."""
        return row_id in self.spared.get(place, frozenset())

    def goes(self, place: str, row_id: str, *, doubtful: bool) -> bool:
        """Whether a row is theirs, for sure or because a person said so."""
        if self.has_spared(place, row_id):
            return False
        return not doubtful or self.has_confirmed(place, row_id)

    def has_confirmed(self, place: str, row_id: str) -> bool:
        """Whether a person said that a doubtful row is theirs."""
        return row_id in self.confirmed.get(place, frozenset())

    def fate(self, place: str, row_id: str, text: str) -> Fate:
        """Say what becomes of a row: whoever else it names decides."""
        if row_id in self.shared.get(place, frozenset()) or self.others.names(text):
            return Fate.REDACT
        return Fate.DELETE


@dataclass(frozen=True, slots=True)
class Found:
    """One row that names a person; ``why`` is a short sentence for the plan.

    ``doubtful`` says that it may be somebody else's: a person decides.
    """

    row_id: str
    fate: Fate
    why: str
    sample: str = ""
    at: datetime | None = None
    doubtful: bool = False


@dataclass(slots=True)
class Tally:
    """How many rows were deleted, redacted and kept."""

    delete: int = 0
    redact: int = 0
    keep: int = 0

    def add(self, other: Tally) -> None:
        """Count another tally in."""
        self.delete += other.delete
        self.redact += other.redact
        self.keep += other.keep


@dataclass(frozen=True, slots=True)
class Trace:
    """Something of a person that is still there: where, and what kind of thing.

    Never the words themselves: a trace ends up in a report that is kept.
    """

    place: str
    where: str
    what: str
    # The row of a plan that it belongs to, when that has another id.
    row_id: str = ""


class Holder(Protocol):
    """One resting place.

    ``tables`` are ``app.Model`` labels and ``files`` are folders below the data
    directory: together with ``KNOWN_HARMLESS`` in ``gdpr.data_map.registry`` they must
    cover every table and folder there is. ``derived`` places follow another (an index,
    a cache): they are counted and verified, and erased by what they follow.
    """

    @property
    def name(self) -> str: ...

    @property
    def title(self) -> str: ...

    @property
    def tables(self) -> tuple[str, ...]: ...

    @property
    def files(self) -> tuple[str, ...]: ...

    @property
    def derived(self) -> bool: ...

    def find(self, person: Person) -> Iterator[Found]:
        """Return every row that names a person: linked rows, and found by content."""
        ...

    def export(self, person: Person, rows: Iterable[Found]) -> Iterator[dict[str, Any]]:
        """Return rows as JSON objects, bodies included, other people redacted."""
        ...

    def erase(self, person: Person, row_ids: Sequence[str]) -> int:
        """Delete a batch of rows about one person; return how many were there."""
        ...

    def redact(self, person: Person, row_ids: Sequence[str]) -> int:
        """Take a person out of a batch of rows about several; return how many."""
        ...

    def tokens(self, person: Person, row_ids: Sequence[str]) -> Iterator[bytes]:
        """Return rare byte strings of rows about to go, for the search afterwards.

        Kept in memory only: lower-cased words of eight letters and more, blob names,
        the first 24 bytes of vectors.
        """
        ...

    def verify(self, person: Person) -> Iterator[Trace]:
        """Look for the person once more, along the paths by which one would read."""
        ...

    def stays(self, person: Person) -> Iterator[str]:
        """Return texts that name the person and are kept, with a reason in the plan."""
        ...
