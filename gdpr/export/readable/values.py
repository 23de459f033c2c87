"""Values of columns in words: moments, the program's own words, nested values."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import date, datetime
from typing import Any, Final
from zoneinfo import ZoneInfo

from django.utils.dateparse import parse_datetime
from django.utils.formats import date_format
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import gettext, pgettext

from gdpr.export.labels import LABELS
from gdpr.export.readable.enums import ENUMS

# Columns that tell programs apart and say nothing to a person.
TECHNICAL: Final = frozenset({
    "id", "seq", "entry_type", "actor_id", "crew_id", "agent_id", "mission_id",
    "trace_id", "span_id", "session_id", "turn_range", "entry_id", "held_id",
    "import_id", "number", "case_ref", "case_id", "user_id", "bytes", "version",
    "confidence", "scope_extra", "signals", "scopes", "name_key", "refs",
})  # fmt: skip
_MOMENTS: Final = frozenset(
    {"ts", "at", "since", "until", "date_joined", "last_login", "action_time"}
)
# Columns that are named by what is in them.
OPEN: Final = frozenset({"payload", "metadata", "line", "draft"})
LEVELS: Final = 30
Line = tuple[str, str]


def parsed_moment(text: object) -> datetime | None:
    """Return a stored moment; None for anything else."""
    if not isinstance(text, str) or len(text) > 40:
        return None
    try:
        moment = parse_datetime(text)
    except ValueError:
        return None
    return moment if moment is not None and moment.tzinfo else None


@dataclass(frozen=True, slots=True)
class Wording:
    """The time zone of a bundle, and the names of agents and crews by their ids."""

    zone: ZoneInfo
    names: Mapping[str, str] = field(default_factory=dict)

    def local(self, text: object) -> datetime | None:
        """Return a stored moment in the time zone; None for no moment."""
        moment = parsed_moment(text)
        try:
            return moment.astimezone(self.zone) if moment else None
        except OverflowError:
            return None

    def moment(self, text: str) -> SafeString:
        """Return a stored moment as a time element; another text as it is."""
        local = self.local(text)
        if local is None:
            return format_html("<bdi>{}</bdi>", text)
        words = gettext("{day} at {clock}").format(
            day=day(local), clock=date_format(local, pgettext("time", "H:i"))
        )
        return format_html('<time datetime="{}">{}</time>', text, words)


def markup(message: str, **values: object) -> SafeString:
    """Return a translated message with its values escaped, or already markup."""
    return format_html(message, **values) if values else format_html("{}", message)


def day(moment: datetime | date) -> str:
    """Return the day of a moment in the reader's language: 3 March 2026."""
    return date_format(moment, pgettext("date", "j F Y"))


def word(column: str, value: object) -> str:
    """Return what a word of the program means; empty for another column."""
    if not isinstance(value, str) or column not in ENUMS:
        return ""
    return str(ENUMS[column].get(value, value.replace("_", " ")))


def is_moment(column: str) -> bool:
    """Whether a column has moments."""
    return column.endswith("_at") or column in _MOMENTS


def label(key: str) -> str:
    """Return what a column or key is called; an unknown key without its underscores."""
    return str(LABELS.get(key, key.replace("_", " ").strip() or key))


def is_empty(value: object) -> bool:
    return value is None or (isinstance(value, (str, list, dict)) and not value)


def is_packed(text: str) -> bool:
    """Whether a text is JSON of several values."""
    return not isinstance(_unpacked(text), str)


def _unpacked(value: Any) -> Any:
    """Return JSON within a text as its value; a text that is none as it is."""
    if isinstance(value, str) and value[:1] in "{[" and value[-1:] in "}]":
        try:
            return json.loads(value)
        except (ValueError, RecursionError):
            return value
    return value


def _text(value: Any) -> str:
    if isinstance(value, bool):
        return pgettext("value", "yes") if value else pgettext("value", "no")
    return str(value)


def lines(name: str, value: Any) -> Iterator[Line]:
    """Yield a value as (label, text), one for each text within it.

    The label of a text within lists and objects has every key on its way.
    """
    value = _unpacked(value)
    is_open = name in OPEN and isinstance(value, Mapping)
    first = () if is_open else (label(name),)
    queue: list[tuple[tuple[str, ...], Any]] = [(first, value)]
    while queue:
        path, rest = queue.pop()
        rest = _unpacked(rest) if len(path) < LEVELS else rest
        if is_empty(rest):
            continue
        if isinstance(rest, Mapping):
            parts = [((*path, label(str(key))), item) for key, item in rest.items()]
            queue.extend(reversed(parts))
        elif isinstance(rest, (list, tuple)):
            single = len(rest) == 1
            parts = [
                (path if single else (*path, str(number)), item)
                for number, item in enumerate(rest, 1)
            ]
            queue.extend(reversed(parts))
        else:
            yield " › ".join(path), _text(rest)
