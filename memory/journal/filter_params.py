"""The filters of the journal as an address carries them, for the API and the pages."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from memory.journal.queries import JournalFilter
from memory.rules import errors
from memory.rules.entries import ActorType, Priority, Severity


def parse(params: Mapping[str, Any]) -> JournalFilter:
    """Return the filter; lists are comma-separated. Invalid for unknown values.

    The paging parameters ``limit`` and ``cursor`` are ignored.
    """
    fields = {k: v for k, v in params.items() if k not in ("limit", "cursor")}
    choices = {
        "entry_type": None,
        "exclude_entry_type": None,
        "severity": {s.value for s in Severity},
        "priority": {p.value for p in Priority},
        "actor_type": {a.value for a in ActorType},
    }
    for name, allowed in choices.items():
        parts = [part.strip() for part in (fields.get(name) or "").split(",")]
        fields[name] = tuple(filter(None, parts))
        if allowed is not None and not allowed.issuperset(fields[name]):
            raise errors.unknown_value(name, sorted(allowed))
    return JournalFilter(**fields)
