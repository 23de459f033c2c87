"""What a page shows after an act on many items: one sentence, each result, an undo."""

from __future__ import annotations

from dataclasses import dataclass

from memory.rules.bulk import Item


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """The results of one act.

    ``words`` is the sentence about those that succeeded, for one and for several, with
    ``{count}``. ``action`` is the address that an undo is sent to, ``undo`` the value of
    its button; without it the act cannot be undone. ``item_page`` is the name of the
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
        count = self.done_count
        return self.words[count != 1].format(count=f"{count:,}")

    @property
    def has_refusals(self) -> bool:
        return self.done_count < len(self.items)

    @property
    def undoable(self) -> list[str]:
        """What an undo would send: exactly the items that changed."""
        return [item.pick for item in self.items if item.ok] if self.undo else []
