"""The declaration of a workspace setting: type, bounds, default, purpose.

A setting is declared once. From the declaration the service validates, the API
describes and serialises, and the page draws a form.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Final, Generic, TypeVar

from memory.rules import entries
from memory.rules.entries import NewEntry, Severity
from memory.rules.permissions import Actor
from memory.rules.translation import gettext

T = TypeVar("T")
TEXT_CHARS: Final = 500
CHANGED_TYPE: Final = "workspace.settings_changed"
Choices = Callable[[], Mapping[str, str]]


class Kind(StrEnum):
    """The type of a setting's value."""

    SWITCH = "switch"
    CHOICE = "choice"
    INTEGER = "whole"
    NUMBER = "number"
    TEXT = "text"
    ADDRESS = "address"
    SECRET = "secret"  # noqa: S105  (the name of a type)
    TABLE = "table"


class BadValue(ValueError):
    """A value that a setting cannot have; the message is a rule, never the value."""


@dataclass(frozen=True, slots=True)
class Change:
    """One setting's value before and after; of a secret only whether it is set."""

    setting: Setting[Any]
    before: Any
    after: Any
    reason: str = ""


def entry_of(changes: Sequence[Change]) -> Sequence[NewEntry]:
    """Return the journal entry of several changes."""
    names = [change.setting.name for change in changes]
    return [
        NewEntry(
            entry_type=CHANGED_TYPE,
            severity=Severity.NOTICE,
            summary=f"Workspace settings changed: {', '.join(names)}",
            payload={
                "changed": {change.setting.name: change.after for change in changes},
                "was": {change.setting.name: change.before for change in changes},
            },
        )
    ]


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting(Generic[T]):
    """One setting of a workspace.

    ``help`` says what it does, ``readers`` who reads it. ``choices`` maps values to
    labels and is called when needed. ``least`` and ``most`` bound a number, ``most``
    the length of a text. ``check`` returns the value to store or raises BadValue;
    ``pair`` says whether a pair of a table is valid. ``page`` names the page that edits
    it, where that is not the page of settings. A stored value that is no longer valid
    counts as the default, or as itself with ``keeps_unknown``: its reader then refuses
    it. ``resets`` names settings that go back to their defaults when this one changes.
    A value of ``reason_for`` is set only with a reason.
    ``journal`` turns changes into entries; ``follow`` runs after a change, in its
    transaction.
    """

    name: str
    group: str
    label: str
    help: str
    readers: str
    kind: Kind
    default: T
    choices: Choices = dict
    least: float | None = None
    most: float | None = None
    unit: str = ""
    check: Callable[[Any], Any] | None = None
    pair: Callable[[str, str], bool] | None = None
    may: str = "settings.manage"
    page: str = ""
    keeps_unknown: bool = False
    resets: tuple[str, ...] = ()
    reason_for: tuple[Any, ...] = ()
    journal: Callable[[Sequence[Change]], Sequence[NewEntry]] = field(default=entry_of)
    follow: Callable[[Any, Any, Actor], None] | None = None

    @property
    def is_secret(self) -> bool:
        """Whether the value is written and never shown."""
        return self.kind is Kind.SECRET

    def clean(self, value: object) -> Any:
        """Return a value as it is stored, or raise BadValue."""
        stored_value = _BY_KIND[self.kind](self, value)
        return self.check(stored_value) if self.check else stored_value

    def load(self, value: object) -> Any:
        """Return a stored value; raise BadValue when it is no longer valid.

        A table loses only the pairs that are no longer valid.
        """
        if self.kind is Kind.TABLE and isinstance(value, Mapping) and self.pair:
            value = {
                key: text
                for key, text in value.items()
                if isinstance(text, str) and self.pair(key, text)
            }
        return self.clean(value)


# ── One type at a time ───────────────────────────────────────────────────────
def _switch(_setting: Setting[Any], value: object) -> bool:
    if not isinstance(value, bool):
        raise BadValue(gettext("must be true or false"))
    return value


def _choice(setting: Setting[Any], value: object) -> str:
    choices = setting.choices()
    if not isinstance(value, str) or value not in choices:
        message = gettext("must be one of {values}")
        raise BadValue(message.format(values=", ".join(choices)))
    return str(value)


def _bounds(setting: Setting[Any]) -> dict[str, str] | None:
    low, high = setting.least, setting.most
    if low is None or high is None:
        return None
    return {"low": f"{low:,.15g}", "high": f"{high:,.15g}"}


def _within(setting: Setting[Any], value: float) -> bool:
    low = -math.inf if setting.least is None else setting.least
    high = math.inf if setting.most is None else setting.most
    return low <= value <= high


def _integer(setting: Setting[Any], value: object) -> int:
    good = isinstance(value, int) and not isinstance(value, bool)
    if not good or not _within(setting, value):  # type: ignore[arg-type]
        if bounds := _bounds(setting):
            message = gettext("must be a whole number from {low} to {high}")
            raise BadValue(message.format(**bounds))
        raise BadValue(gettext("must be a whole number"))
    return value  # type: ignore[return-value]


def _number(setting: Setting[Any], value: object) -> float:
    good = isinstance(value, (int, float)) and not isinstance(value, bool)
    if not good or not _within(setting, value):  # type: ignore[arg-type]
        if bounds := _bounds(setting):
            message = gettext("must be a number from {low} to {high}")
            raise BadValue(message.format(**bounds))
        raise BadValue(gettext("must be a number"))
    if not math.isfinite(value):  # type: ignore[arg-type]
        raise BadValue(gettext("must be a finite number"))
    return float(value)  # type: ignore[arg-type]


def _text(setting: Setting[Any], value: object) -> str:
    limit = int(setting.most or TEXT_CHARS)
    if not isinstance(value, str) or not value.strip():
        raise BadValue(gettext("must be a text that is not empty"))
    if len(value) > limit or not entries.is_storable(value):
        message = gettext("must be plain text of at most {limit} characters")
        raise BadValue(message.format(limit=limit))
    return value.strip()


def _secret(setting: Setting[Any], value: object) -> str:
    """Return a secret that fits into an HTTP header."""
    text = _text(setting, value)
    if not text.isascii() or not text.isprintable() or " " in text:
        message = gettext("must be printable ASCII characters without a space")
        raise BadValue(message)
    return text


def _table(setting: Setting[Any], value: object) -> dict[str, str]:
    if not isinstance(value, Mapping):
        raise BadValue(gettext("must be an object of names and texts"))
    for key, text in value.items():
        is_text = isinstance(key, str) and isinstance(text, str)
        if not is_text or (setting.pair and not setting.pair(key, text)):
            raise BadValue(gettext("holds a name or a value that is not known"))
    return dict(value)


_BY_KIND: Final[dict[Kind, Callable[[Setting[Any], object], Any]]] = {
    Kind.SWITCH: _switch,
    Kind.CHOICE: _choice,
    Kind.INTEGER: _integer,
    Kind.NUMBER: _number,
    Kind.TEXT: _text,
    Kind.ADDRESS: _text,
    Kind.SECRET: _secret,
    Kind.TABLE: _table,
}
