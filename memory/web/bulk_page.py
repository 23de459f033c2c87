"""What a page shows of an act on many items: each result and an undo, or a question."""

from __future__ import annotations

from dataclasses import dataclass

from django.utils.translation import gettext

from memory.figures import grouped
from memory.rules.bulk import Item


def sentence(words: tuple[str, str], count: int) -> str:
    """Return the sentence for one or for several, with the number in it.

    Both are marked with ``gettext_noop`` where they are declared.
    """
    return gettext(words[count != 1]).format(count=grouped(count))


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """The results of one act.

    ``words`` is the sentence about those that succeeded, for one and for several, with
    ``{count}``. ``action`` is the address that an undo is sent to, ``undo`` the value
    of its button; without it the act cannot be undone. ``item_page`` is the name of the
    page of an item, "" where items have none.
    """

    items: list[Item]
    words: tuple[str, str]
    action: str
    item_page: str = ""
    undo: str = ""

    @property
    def done_count(self) -> int:
        return sum(item.ok for item in self.items)

    @property
    def heading(self) -> str:
        return sentence(self.words, self.done_count)

    @property
    def has_refusals(self) -> bool:
        return self.done_count < len(self.items)

    @property
    def undoable(self) -> list[str]:
        """What an undo would send: exactly the items that changed."""
        return [item.pick for item in self.items if item.ok] if self.undo else []


@dataclass(frozen=True, slots=True)
class Line:
    """A row that an act without undo would touch; ``pick`` is what the form sends."""

    pick: str
    title: str
    note: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Confirmation:
    """The list of what goes, shown before an act that cannot be undone."""

    lines: list[Line]
    words: tuple[str, str]
    text: str
    button: tuple[str, str]
    action: str
    act: str
    back: str
    place: str
    reason: str | None = None

    @property
    def heading(self) -> str:
        return sentence(self.words, len(self.lines))

    @property
    def button_words(self) -> str:
        return sentence(self.button, len(self.lines))
