"""Writes by people: an edit based on a known state, a restore, a text taken out."""

from __future__ import annotations

from memory.files import listing, paths, writer
from memory.files.paths import Owner
from memory.files.writer import Request, WriteResult
from memory.rules import errors
from memory.rules.permissions import Actor
from memory.rules.tiers import Place, WriteMode
from memory.rules.translation import gettext, gettext_noop


class EditedSince(errors.Conflict):
    """The file changed since the person opened it; nothing was written."""

    code, title = "edited_since", gettext_noop("Edited since")
    sentence = gettext_noop(
        "{label} was written since you opened it. Nothing was written; compare your "
        "text with the current one first."
    )


def edit(
    owner: Owner, place: Place, text: str, mode: WriteMode, *, base: str, by: Actor
) -> WriteResult:
    """Write a person's text over, or below, the state whose SHA-256 is ``base``.

    Appending needs no base: it overwrites nothing.
    """
    by.require("files.write", owner.workspace_id)
    row = paths.row_of(owner, place)
    present = row.sha256 if row else ""
    if mode is WriteMode.REPLACE and present != base:
        raise EditedSince(label=place.label)
    text = text.replace("\r\n", "\n")
    return writer.write(Request(owner, place, text, mode, "operator"), by=by)


def restore(owner: Owner, place: Place, number: int, *, by: Actor) -> WriteResult:
    """Put a version back as a new one, through every check of a write."""
    by.require("files.write", owner.workspace_id)
    row = paths.row_of(owner, place)
    version = listing.version(row, number)
    if row is None or not version.sha256:
        raise errors.Conflict(gettext("That version says that the file was removed."))
    return writer.restore(row, version, by=by)


def without(present: str, text: str) -> str:
    """Return a file's text without one that was appended to it.

    Raises Conflict unless it is there exactly once, as whole lines. With the last text
    taken out, the result is the file as it was before the append.
    """
    count = present.count(text) if text else 0
    before, _, after = present.partition(text or "\0")
    is_line = not before or before.endswith("\n")
    if count != 1 or not is_line:
        detail = gettext("The file does not hold the text as it was written.")
        raise errors.Conflict(detail, code="text_changed")
    if not before:
        return after.removeprefix("\n")
    # Of the empty lines around it, the one that came with it goes.
    return (before[:-1] if before.endswith("\n\n") else before) + after


def take_out(owner: Owner, place: Place, text: str, *, note: str, by: Actor) -> None:
    """Take an appended text out of a file, as a version of its own."""
    by.require("files.write", owner.workspace_id)
    present = writer.current_text(owner, place)
    rest = without(present, text)
    if not rest.strip():
        writer.remove(owner, place, source="undo", by=by, expected=present)
        return
    request = Request(owner, place, rest, WriteMode.REPLACE, "undo", note)
    # The scan would judge the other rules again, which people accepted.
    writer.write_released(request, by=by, expected=present)
