"""The port through which ``gdpr`` says which entries a legal hold keeps.

Without it there are no holds. Every service that erases texts of the journal, on
request or on a schedule, asks first.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

from memory.ports.port import Port
from memory.rules import errors

JOURNAL: Final = "journal"
RECORDS: Final = "records"

# (workspace id, where the words are stored, entry ids) → the ids that must be kept.
HeldIds = Callable[[str, str, Sequence[str]], frozenset[str]]


def _none(_workspace_id: str, _place: str, _entry_ids: Sequence[str]) -> frozenset[str]:
    return frozenset()


_port: Port[HeldIds] = Port(_none)


def register(lookup: HeldIds) -> None:
    """Set the lookup; called once, at start-up."""
    _port.implementation = lookup


def held_ids(
    workspace_id: str, entry_ids: Sequence[str], place: str = JOURNAL
) -> frozenset[str]:
    """Return the entries under a legal hold; ``place`` is where their words are."""
    if not entry_ids:
        return frozenset()
    return _port.implementation(workspace_id, place, entry_ids)


def require_no_hold(
    workspace_id: str, entry_ids: Sequence[str], place: str = JOURNAL
) -> None:
    """Raise Conflict ``on_hold`` when a legal hold keeps one of some entries.

    The error does not say whose hold it is, or why.
    """
    if held_ids(workspace_id, entry_ids, place):
        detail = "A legal hold keeps this: nothing was forgotten."
        raise errors.Conflict(detail, code="on_hold")
