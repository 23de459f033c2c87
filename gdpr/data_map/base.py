"""The interface of holders: one for every place where personal data is stored.

A holder covers one place: a table with its dependents, a folder of files, a cache, a
log. It finds rows that name a person, states the fate of each and why, and carries it
out in small batches, each its own transaction. It never checks permissions or holds,
nor writes the audit log: ``gdpr.erasure`` does.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Any

from django.apps import apps
from django.utils.translation import gettext_noop

from gdpr.matching.matcher import Matcher, Sign

SAMPLE_CHARS = 160


class Fate(StrEnum):
    """What happens to a row: about one person, about several, or must be kept."""

    DELETE = "delete"
    REDACT = "redact"
    KEEP = "keep"


@dataclass(frozen=True, slots=True)
class Person:
    """The person to search for: their matcher, and one for everybody else.

    ``others_matcher`` matches the other people of the workspace, to tell a row about
    several people from a row about one. ``links`` is place → row ids that a writer
    linked, ``matched`` those that an earlier search found; their present text decides.
    ``spared_rows`` and ``confirmed`` are rows decided by hand: kept, or theirs.
    """

    workspace_id: str
    subject_id: str
    matcher: Matcher
    others_matcher: Matcher
    links: Mapping[str, frozenset[str]]
    # Rows that are also linked to somebody else: place → row ids.
    shared: Mapping[str, frozenset[str]] = field(default_factory=dict)
    matched: Mapping[str, frozenset[str]] = field(default_factory=dict)
    spared_rows: Mapping[str, frozenset[str]] = field(default_factory=dict)
    confirmed: Mapping[str, frozenset[str]] = field(default_factory=dict)
    # Results of one holder that another uses, so that a journal is read once.
    memo: dict[str, frozenset[str]] = field(
        default_factory=dict, compare=False, repr=False
    )

    def linked(self, place: str) -> frozenset[str]:
        """Return the rows of a place whose writers linked them to the person."""
        return self.links.get(place, frozenset())

    def once_matched(self, place: str) -> frozenset[str]:
        """Return the rows of a place that an earlier search found."""
        return self.matched.get(place, frozenset())

    def sign(self, place: str, row_id: str, text: str) -> Sign:
        """Return how surely a row is about the person."""
        sign = self.matcher.judge(text, linked=row_id in self.linked(place))
        if sign is Sign.NONE and row_id in self.once_matched(place):
            # It matched a name that was removed since.
            return self.matcher.former_name_sign
        return sign

    def is_kept(self, place: str, row_id: str) -> bool:
        """Whether it was decided that a row is kept."""
        return row_id in self.spared_rows.get(place, frozenset())

    def is_about(self, place: str, row_id: str, *, doubtful: bool) -> bool:
        """Whether a row is theirs: surely, or by decision."""
        if self.is_kept(place, row_id):
            return False
        return not doubtful or self.is_confirmed(place, row_id)

    def is_confirmed(self, place: str, row_id: str) -> bool:
        """Whether it was decided that a doubtful row is theirs."""
        return row_id in self.confirmed.get(place, frozenset())

    def fate(self, place: str, row_id: str, text: str) -> Fate:
        """Return ``redact`` for a row that names others too, else ``delete``."""
        if row_id in self.shared.get(place, frozenset()) or self.others_matcher.names(
            text
        ):
            return Fate.REDACT
        return Fate.DELETE


@dataclass(frozen=True, slots=True)
class RowMatch:
    """One row that names a person; ``why`` is a sentence for the plan.

    A ``doubtful`` row may be about somebody else and needs a decision; ``form`` is the
    code of how the name is written there (``gdpr.matching.forms``).
    """

    row_id: str
    fate: Fate
    why: str
    sample: str = ""
    at: datetime | None = None
    doubtful: bool = False
    form: str = ""


@dataclass(frozen=True, slots=True)
class Trace:
    """A match that remains after an erasure: where, and what kind of thing.

    Never the text itself: traces are part of a report that is kept.
    """

    place: str
    where: str
    description: str
    # The row id in a plan, when it differs from ``where``.
    row_id: str = ""


class Holder(ABC):
    """One place where personal data is stored.

    ``tables`` are ``app.Model`` labels and ``files`` are folders below the data
    directory: together with ``KNOWN_HARMLESS`` in ``gdpr.data_map.registry`` they must
    cover every table and folder. ``derived`` places are computed from another (an
    index, a cache): they are counted and verified, and erased with their source.

    A place without text of its own inherits everything but ``find``.
    """

    name: str
    title: str
    tables: tuple[str, ...] = ()
    files: tuple[str, ...] = ()
    derived = False
    # What a row that ``find`` still returns after an erasure is called.
    trace = gettext_noop("row")

    def stored_in(self, workspace_id: str) -> set[str]:  # noqa: ARG002
        """Return the database's tables that have its rows of a workspace."""
        return {apps.get_model(label)._meta.db_table for label in self.tables}

    @abstractmethod
    def find(self, person: Person) -> Iterator[RowMatch]:
        """Yield every row that names a person, by link or by content."""

    def export(
        self,
        person: Person,  # noqa: ARG002
        rows: Iterable[RowMatch],
    ) -> Iterator[dict[str, Any]]:
        """Yield rows as JSON objects, bodies included, other people masked."""
        for match in rows:
            yield {"place": self.name, "id": match.row_id}

    def erase(self, person: Person, row_ids: Sequence[str]) -> int:  # noqa: ARG002
        """Delete a batch of rows about one person; return how many existed."""
        return 0

    def redact(self, person: Person, row_ids: Sequence[str]) -> int:
        """Mask a person in a batch of rows about several; return how many.

        Rows that cannot be edited are deleted.
        """
        return self.erase(person, row_ids)

    def tokens(
        self,
        person: Person,  # noqa: ARG002
        row_ids: Sequence[str],  # noqa: ARG002
    ) -> Iterator[bytes]:
        """Yield rare byte strings of rows about to be erased, for the final search.

        Kept in memory only: lower-cased words of eight letters and more, blob names,
        the first 24 bytes of vectors.
        """
        return iter(())

    def verify(self, person: Person) -> Iterator[Trace]:
        """Search for the person again, the way a reader would."""
        for match in self.find(person):
            yield Trace(self.name, match.row_id, self.trace)

    def kept_texts(self, person: Person) -> Iterator[str]:  # noqa: ARG002
        """Yield texts that name the person and are kept for a reason in the plan."""
        return iter(())
