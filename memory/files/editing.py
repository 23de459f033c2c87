"""Writes by people: an edit based on a known state, and a restore."""

from __future__ import annotations

from memory.files import listing, paths, writer
from memory.files.paths import Owner
from memory.files.writer import Request, WriteResult
from memory.rules import errors
from memory.rules.permissions import Actor
from memory.rules.tiers import Place, WriteMode


class EditedSince(errors.Conflict):
    """The file changed since the person opened it; nothing was written."""

    code, title = "edited_since", "Edited since"
    sentence = (
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
        raise errors.Conflict("That version says that the file was removed.")
    return writer.restore(row, version, by=by)
