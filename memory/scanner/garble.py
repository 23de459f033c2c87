"""An order that ends in garbled signs, as found by automatic search against models.

Such a suffix looks like code, markup and words of several languages torn apart. Code
and markup themselves close their brackets and do not begin with an order.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from memory.scanner import registry
from memory.scanner.model import Hit

if TYPE_CHECKING:
    from collections.abc import Iterator

_RULE = registry.rule("role_play.garbled_order")
_PROSE = re.compile(r"[A-Z][\w',-]*(?: [\w',-]+){5,40}")
_TORN = re.compile(
    r"[a-z][A-Z][a-z]|[\]})][(\[{A-Za-z]|[({\[\\][\[({\\]"
    r"|[a-z][\[({}\\^$=<>*|;\"!]+[A-Za-z]|\s[\]})>=*|\\^!]+(?=[A-Za-z\s])|[;:!?]\""
)
_ENTITY = re.compile(r"&#?\w{2,8};")
_PAIRS: Final = ("()", "[]", "{}")
_ORDERS: Final = frozenset(
    "argue compose create describe design develop discuss draft encourage explain "
    "generate give illustrate instruct list make offer outline produce provide script "
    "suggest teach tell write".split()
)
_LONGEST_ORDER: Final = 12
_SHORTEST, _LONGEST, _MIN_SIGNS = 20, 2_500, 4


def find(text: str) -> Iterator[Hit]:
    """A hit for each line that begins as an order and ends in garbled signs."""
    place = 0
    for line in text.split("\n"):
        first_word = line.lstrip()[:_LONGEST_ORDER].partition(" ")[0]
        is_order = first_word.lower() in _ORDERS and len(line) <= _LONGEST
        if is_order and _is_garbled(line):
            yield Hit(_RULE, place, place + len(line))
        place += len(line) + 1


def _is_garbled(line: str) -> bool:
    if "http" in line:
        return False
    line = _ENTITY.sub("", line).strip()
    prose = _PROSE.match(line)
    if not prose:
        return False
    rest = line[prose.end() :]
    if len(rest) < _SHORTEST:
        return False
    unclosed = sum(abs(rest.count(first) - rest.count(last)) for first, last in _PAIRS)
    return unclosed + len(_TORN.findall(rest)) >= _MIN_SIGNS
