"""A caller's own division of its memory: a map of short texts, kept whole.

Four names have columns (user, agent, namespace, thread); every other key is kept beside
them. Two maps are the same when their names and values are, whichever spelling of the
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
    fault = {"field": "scope", "code": "bad_scope", "message": message}
    return errors.Invalid(message, code="bad_scope", errors=[fault])


@dataclass(frozen=True, slots=True, kw_only=True)
class Scope:
    """Whose memory, in the caller's own words; empty matches anything in a search."""

    user: str = ""
    agent: str = ""
    namespace: str = ""
    thread: str = ""
    extra: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def of(
        cls, given: Mapping[str, Any], spellings: Mapping[str, str] = SPELLINGS
    ) -> Scope:
        """Return a caller's map as a scope; Invalid when it is none.

        ``spellings`` says which keys mean one of the four names.
        """
        named: dict[str, str] = {}
        extra: dict[str, str] = {}
        for key, value in given.items():
            if not isinstance(value, str):
                raise _bad("A scope maps names to texts.")
            name = spellings.get(key)
            place = extra if name is None else named
            if place.get(name or key, value) != value:
                raise _bad(f"The scope names its {name} twice.")
            place[name or key] = value
        return cls(**named, extra={k: v for k, v in extra.items() if v})

    def whole(self) -> dict[str, str]:
        """Return the map, without what is empty."""
        named = {name: getattr(self, name) for name in NAMES}
        return {key: text for key, text in {**named, **self.extra}.items() if text}

    @property
    def key(self) -> str:
        """One name for the whole map; the empty map has one too."""
        text = entries.canonical(self.whole())
        return hashlib.sha256(text.encode()).hexdigest()[:32]

    @property
    def is_empty(self) -> bool:
        """Nothing is named."""
        return not self.whole()


def check(scope: Scope) -> None:
    """Raise Invalid when a scope cannot be kept."""
    if len(scope.extra) > EXTRAS:
        raise _bad(f"A scope has {EXTRAS} names beside the four at most.")
    for key in scope.extra:
        if key in NAMES or not _KEY.fullmatch(key):
            raise _bad("A scope's name is letters, digits and _ . : - , 64 at most.")
    for text in scope.whole().values():
        if not entries.is_storable(text):
            detail = "A text holds a NUL or half a surrogate pair."
            raise errors.Invalid(detail, code="bad_text")
        if len(text) > CHARS:
            raise _bad(f"A scope is {CHARS} characters at most.")
