"""Acting on many items at once: each succeeds or fails by itself.

An item is acted on in the state it was read in, which its ``version`` names: a number,
or for what has none the value that would change. A second submit of the same picks
therefore changes nothing, and an undo finds exactly what did not change since.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Final, TypeVar

from memory.rules import errors
from memory.rules.translation import gettext, gettext_noop

Row = TypeVar("Row")
LIMIT: Final = 200
FAULT: Final = gettext_noop("The server could not do it; look at it and try again.")
log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Pick:
    """An item to act on, as it was read; ``former`` is what an undo puts back."""

    id: str
    version: str = ""
    former: str = ""

    @property
    def number(self) -> int:
        """The version as a number; a broken one is 0, which no row has."""
        text = self.version
        return int(text) if text.isascii() and text.isdigit() and len(text) < 10 else 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What an act left: the state in words, its version, and the former value."""

    state: str
    version: str | int = ""
    former: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Item:
    """The result for one item; a refused one has a code and a sentence."""

    id: str
    ok: bool
    title: str = ""
    state: str | None = None
    version: str = ""
    former: str = ""
    code: str | None = None
    detail: str | None = None

    @property
    def pick(self) -> str:
        """The item as a form sends it to undo the act."""
        return ":".join((self.id, self.version, self.former))


def parse(values: Sequence[str]) -> list[Pick]:
    """Return what forms send as ``id:version`` or ``id:version:former``.

    One without a version gets one that no row has.
    """
    picks = []
    for value in values:
        item_id, version, former = (*value.replace("\0", "").split(":", 2), "", "")[:3]
        picks.append(Pick(item_id, version or "0", former))
    return picks


def _tick_some() -> str:
    return gettext("Tick between 1 and {limit} rows.").format(limit=LIMIT)


def run(
    picks: Sequence[Pick],
    load: Callable[[list[str]], Mapping[str, Row]],
    act: Callable[[Row, Pick], Outcome],
    *,
    title: Callable[[Row], str] = lambda _: "",
) -> list[Item]:
    """Act on each pick once, in their order; one that ``load`` lacks is not found."""
    unique = {pick.id: pick for pick in picks}
    if not 0 < len(unique) <= LIMIT:
        raise errors.Invalid(_tick_some(), code="bad_ids")
    rows = load(list(unique))
    items: list[Item] = []
    for pick in unique.values():
        row = rows.get(pick.id)
        words = "" if row is None else title(row)
        refused = partial(Item, id=pick.id, ok=False, title=words)
        try:
            if row is None:
                raise errors.NotFound
            outcome = act(row, pick)
        except errors.AppError as error:
            item = refused(code=error.problem_code, detail=error.detail)
        except Exception:
            # What was done before it is reported, and can be undone.
            if not any(item.ok for item in items):
                raise
            log.exception("An act on one of many items failed")
            item = refused(code="failed", detail=gettext(FAULT))
        else:
            item = Item(
                id=pick.id,
                ok=True,
                title=words,
                state=outcome.state,
                version=str(outcome.version),
                former=outcome.former,
            )
        items.append(item)
    return items
