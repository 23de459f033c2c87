"""The port through which ``gdpr`` links texts to the data subjects they name.

Without it nothing is refused, linked or masked. Every writer calls ``refuse`` (or
``gate``, for many texts) before it stores a text, and ``note`` in the transaction that
stores it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Final, Protocol

from memory.models import JournalEntry
from memory.ports.port import Port
from memory.rules.entries import NewEntry

RESTRICTED: Final = "[restricted]"


@dataclass(frozen=True, slots=True)
class TextRow:
    """One stored row: its texts, and the subjects its writer named."""

    row_id: str
    texts: tuple[str, ...]
    subjects: tuple[str, ...] = ()


# Is given the texts of a row and the subjects its writer named; raises for a refusal.
Gate = Callable[[Iterable[str], Sequence[str]], None]


# Whether a text names somebody.
Names = Callable[[str], bool]


class SubjectLinker(Protocol):
    """What ``gdpr`` implements; as it stands, the answers where no subject is known.

    Every call is about one workspace.
    """

    def gate(self, workspace_id: str) -> Gate | None:
        """Return what raises Conflict ``subject_suppressed``; None refuses nothing."""
        return None

    def note(self, workspace_id: str, place: str, rows: Sequence[TextRow]) -> None:
        """Link stored rows to the people they name, inside the transaction."""
        return

    def mask(self, workspace_id: str, text: str) -> str:
        """Return a text with restricted people masked."""
        return text

    def restricted(self, workspace_id: str) -> Names | None:
        """Return what says whether a text names a restricted person; None for none."""
        return None


class NoSubjects(SubjectLinker):
    """The default."""


_port: Port[SubjectLinker] = Port(NoSubjects())


def register(people: SubjectLinker) -> None:
    """Set the linker; called once, at start-up."""
    _port.implementation = people


def gate(workspace_id: str) -> Gate | None:
    """Return the check that refuses texts about erased people, for many texts."""
    return _port.implementation.gate(workspace_id)


def refuse(
    workspace_id: str, texts: Iterable[str], subjects: Sequence[str] = ()
) -> None:
    """Raise Conflict ``subject_suppressed`` when a text may not be stored."""
    check = gate(workspace_id)
    if check is not None:
        check(texts, subjects)


def entry_texts(entry: JournalEntry) -> tuple[str, ...]:
    """Return every text of an entry that may name somebody."""
    objects = [text for text in (entry.payload_text, entry.refs_text) if text != "{}"]
    trace_ids = (entry.mission_id, entry.trace_id, entry.span_id)
    return (entry.summary, *objects, *(text for text in trace_ids if text))


def entries_of(rows: Sequence[JournalEntry], news: Sequence[NewEntry]) -> list[TextRow]:
    return [
        TextRow(row.id, entry_texts(row), new.subjects)
        for row, new in zip(rows, news, strict=True)
    ]


def note(workspace_id: str, place: str, rows: Sequence[TextRow]) -> None:
    """Link rows to the people they name; call it inside the writing transaction."""
    if rows:
        _port.implementation.note(workspace_id, place, rows)


def mask(workspace_id: str, text: str) -> str:
    """Return a text with restricted people masked, for actors who may not see them."""
    return _port.implementation.mask(workspace_id, text) if text else text


def restricted(workspace_id: str) -> Names | None:
    """Return what says whether a text names a restricted person.

    None where nobody is restricted: then nothing has to be read.
    """
    return _port.implementation.restricted(workspace_id)
