"""A caller's own division of its memory: a map of short texts, stored whole.

Four names have columns (user, agent, namespace, thread); other keys are stored as extra
ones. Two maps are the same when their names and values are, whichever spelling of the
four a caller used.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from memory.rules import entries, errors

NAMES: Final = ("user", "agent", "namespace", "thread")
SPELLINGS: Final = {
    "user": "user",
    "user_id": "user",
    "agent": "agent",
    "agent_id": "agent",
    "namespace": "namespace",
    "thread": "thread",
    "thread_id": "thread",
}
CHARS: Final = 256
EXTRAS: Final = 16
_KEY: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_.:-]{0,63}")


def _bad(message: str) -> errors.Invalid:
    return errors.bad_field("scope", message, code="bad_scope")


@dataclass(frozen=True, slots=True, kw_only=True)
class Scope:
    """Whose memory, in the caller's own terms; in a search empty matches anything."""

    user: str = ""
    agent: str = ""
    namespace: str = ""
    thread: str = ""
    extra: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def of(
        cls, values: Mapping[str, Any], spellings: Mapping[str, str] = SPELLINGS
    ) -> Scope:
        """Return a caller's map as a scope; Invalid when it is none.

        ``spellings`` says which keys mean one of the four names.
        """
        names: dict[str, str] = {}
        extra: dict[str, str] = {}
        for key, value in values.items():
            if not isinstance(value, str):
                raise _bad("A scope maps names to texts.")
            name = spellings.get(key)
            place = extra if name is None else names
            if place.get(name or key, value) != value:
                raise _bad(f"The scope names its {name} twice.")
            place[name or key] = value
        return cls(**names, extra={k: v for k, v in extra.items() if v})

    def as_map(self) -> dict[str, str]:
        """Return the map without empty values."""
        names = {name: getattr(self, name) for name in NAMES}
        return {key: text for key, text in {**names, **self.extra}.items() if text}

    @property
    def key(self) -> str:
        """A digest that identifies the map; the empty map has one too."""
        text = entries.canonical(self.as_map())
        return hashlib.sha256(text.encode()).hexdigest()[:32]

    @property
    def is_empty(self) -> bool:
        return not self.as_map()


def check(scope: Scope) -> None:
    """Raise Invalid when a scope cannot be stored."""
    if len(scope.extra) > EXTRAS:
        raise _bad(f"A scope has {EXTRAS} names beside the four at most.")
    for key in scope.extra:
        if key in NAMES or not _KEY.fullmatch(key):
            raise _bad("A scope's name is letters, digits and _ . : - , 64 at most.")
    for text in scope.as_map().values():
        entries.check_storable(text)
        if len(text) > CHARS:
            raise _bad(f"A scope is {CHARS} characters at most.")
