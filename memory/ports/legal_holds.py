"""The port through which the ground floor learns what must not be destroyed.

The second floor knows of legal holds. Here there are none. Whoever destroys words that
the journal holds, at somebody's wish or by the clock, asks before it does.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

from memory.rules import errors

JOURNAL: Final = "journal"
RECORDS: Final = "records"

# Is given a workspace, a place and entries of the journal; returns those to be kept.
HeldIds = Callable[[str, str, Sequence[str]], frozenset[str]]


def _none(_workspace_id: str, _place: str, _entry_ids: Sequence[str]) -> frozenset[str]:
    return frozenset()


class _Port:
    def __init__(self) -> None:
        self.lookup: HeldIds = _none


_port = _Port()


def register(lookup: HeldIds) -> None:
    """Put the upper floor's knowledge in place; called once, at start-up."""
    _port.lookup = lookup


def held_ids(
    workspace_id: str, entry_ids: Sequence[str], place: str = JOURNAL
) -> frozenset[str]:
    """Return which of some entries a legal hold keeps; ``place`` holds their words."""
    return _port.lookup(workspace_id, place, entry_ids) if entry_ids else frozenset()


def may_destroy(
    workspace_id: str, entry_ids: Sequence[str], place: str = JOURNAL
) -> None:
    """Raise Conflict ``on_hold`` when one of some entries has to be kept.

    Whose hold it is, and why, is for those who keep holds: the caller is not told.
    """
    if held_ids(workspace_id, entry_ids, place):
        detail = "A legal hold keeps this: nothing was forgotten."
        raise errors.Conflict(detail, code="on_hold")
