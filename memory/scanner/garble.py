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

_PROSE = re.compile(r"[A-Z][\w',-]*(?: [\w',-]+){5,40}")
_MARKS: Final = "[]{}()\\^$|=<>*`;"
_TORN = re.compile(
    r"[a-z][A-Z][a-z]|[\]})][(\[{A-Za-z]|[({\[\\][\[({\\]"
    r"|[a-z][\[({}\\^$=<>*|;\"!]+[A-Za-z]|\s[\]})>=*|\\^!]+(?=[A-Za-z\s])|[;:!?]\""
)
_ENTITY = re.compile(r"&#?\w{2,8};")
_PAIRS: Final = ("()", "[]", "{}")
_ORDERS: Final = (
    "argue compose create describe design develop discuss draft encourage explain "
    "generate give illustrate instruct list make offer outline produce provide script "
    "suggest teach tell write".split()
)
_SHORTEST, _LEAST = 20, 4
_ORDER_LINE = re.compile(
    rf"^[ \t]{{0,40}}((?i:{'|'.join(_ORDERS)}) [^\n]{{1,2500}})$", re.MULTILINE
)


def find(text: str) -> Iterator[Hit]:
    """A hit for each line that begins as an order and ends in garbled signs."""
    if not any(mark in text for mark in _MARKS):
        return
    for match in _ORDER_LINE.finditer(text):
        if _is_garbled(match.group(1)):
            yield Hit(registry.rule("role_play.garbled_order"), *match.span())


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
    return unclosed + len(_TORN.findall(rest)) >= _LEAST
