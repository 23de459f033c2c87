"""Identifiers as writers put them into the keys of cards.

A key takes lower-case letters, digits and dashes, so that ``usr_88412`` becomes
``usr-88412`` and ``maria@example.org`` becomes ``maria-example-org``.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Final

from gdpr.matching import normalize
from gdpr.matching.masking import Name

# The kinds whose slug means the same person; a name's own pattern matches its slug.
KINDS: Final = ("user_id", "handle", "email")
# A shorter one could be anything.
MIN_CHARS: Final = 6
_NO_KEY: Final = re.compile(r"[^a-z0-9]+")


def slug(text: str) -> str:
    """Return a text as it can stand in a key."""
    return _NO_KEY.sub("-", normalize.fold(text)).strip("-")


def forms(names: Iterable[Name]) -> Iterator[str]:
    """Yield the slugs of addresses, ids and handles."""
    for name in names:
        if name.kind in KINDS and (form := slug(name.value)):
            yield form
            if name.kind == "email":
                yield slug(name.value.replace("@", " at "))


def is_unambiguous(form: str) -> bool:
    """Whether a slug means one person wherever it stands in a key."""
    return "-" in form and len(form) >= MIN_CHARS


def is_in(form: str, key: str) -> bool:
    """Whether a slug is a key, or some of its parts one after another."""
    return f"-{form}-" in f"-{key}-"
