"""The contract over tier files, with the scribe as the only hand.

Ids are labels with canonical keys: a daily note without a key is today's, and its id
says which day that was. A text that is held back is named beside the hits and is never
among them; the last good text of the same file stays readable.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

from django.conf import settings
from django.utils import timezone

from memory.files import reading, scribe
from memory.files.scribe import Request
from memory.models import Workspace
from memory.providers import base, whose
from memory.providers.base import Bound, Hit, Pulse
from memory.rules import errors, tiers

NAME: Final = "tierfiles"
SOURCE: Final = "provider"


class StoreFault(Exception):
    """Why the folders cannot be written, without saying where they are."""


def probe(bound: Bound) -> None:
    """Look whether the workspace's folder can be written, and leave nothing there.

    An unnamed file is written and dropped where the system has them; a folder that is
    not made yet is as good as the nearest one above it.
    """
    slug = Workspace.objects.values_list("slug", flat=True).get(pk=bound.workspace_id)
    folder = Path(settings.DATA_DIR) / "files" / slug
    data = Path(settings.DATA_DIR)
    while not os.path.lexists(folder) and folder != data:
        folder = folder.parent
    try:
        _write_nothing(folder)
    except FileNotFoundError:
        message = "stat: the folder of the memory files is missing"
        raise StoreFault(message) from None
    except NotADirectoryError:
        message = "the folder of the memory files is not a directory"
        raise StoreFault(message) from None
    except OSError:
        message = "probe write: the folder of the memory files cannot be written"
        raise StoreFault(message) from None


def _write_nothing(folder: Path) -> None:
    flags = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
    handle = os.open(folder, flags)
    try:
        unnamed = getattr(os, "O_TMPFILE", None)
        if unnamed is None:
            if not os.access(folder, os.W_OK | os.X_OK):
                raise PermissionError
            return
        probe_file = os.open(".", unnamed | os.O_WRONLY, 0o600, dir_fd=handle)
        try:
            os.write(probe_file, b"pulse")
        finally:
            os.close(probe_file)
    finally:
        os.close(handle)


class TierFiles:
    """Memory in files, one tree per crew and agent."""

    def __init__(
        self, bound: Bound | None, look: Callable[[Bound], None] = probe
    ) -> None:
        self._bound, self._look = bound, look

    def retain(self, request: base.Retain) -> base.Retained:
        """Write a file through the scribe."""
        bound = base.guard(self._bound, request)
        try:
            owner = whose.owner(bound)
            mode, today = whose.mode(request.mode), timezone.now().date()
            place = tiers.place(request.tier, request.key or None, today=today)
            whose.writable(place, owner, bound.by)
            asked = Request(owner, place, request.content, mode, SOURCE)
            done = scribe.write(asked, by=bound.by)
        except errors.HouseError as error:
            raise base.Refusal("retain", error) from error
        return base.Retained(done.label, done.size)

    def recall(self, request: base.Recall) -> base.Recalled:
        """Search the files of the agent and of its crew."""
        bound = base.guard(self._bound, request)
        try:
            tier = whose.tier(request.tier)
            limit = base.clamp(request.limit)
            found = reading.search(
                whose.owner(bound), request.query, by=bound.by, tier=tier, limit=limit
            )
        except errors.HouseError as error:
            raise base.Refusal("recall", error) from error
        hits = [
            Hit(hit.source, hit.snippet[: base.SNIPPET_CHARS], hit.line, hit.score)
            for hit in found.hits
        ]
        held = [label for label in found.quarantined if tiers.split(label)]
        return base.Recalled(hits, held)

    def forget(self, request: base.Forget) -> base.Forgotten:
        """Remove a file through the scribe: locked, versioned, in the journal."""
        bound = base.guard(self._bound, request)
        if base.selector(request) != "id":
            raise base.UnsupportedSelector
        try:
            place = whose.place_of(request.id)
            owner = whose.owner(bound)
            whose.writable(place, owner, bound.by)
        except errors.HouseError as error:
            raise base.Refusal("forget", error) from error
        try:
            gone = scribe.remove(owner, place, source=SOURCE, by=bound.by)
        except errors.HouseError as error:
            raise base.Refusal("forget: remove", error) from error
        return base.Forgotten(int(gone))

    def health(self, request: base.Health) -> Pulse:  # noqa: ARG002  (the contract's)
        """Tell whether the folders can be written."""
        message = ""
        if self._bound is None or not self._bound.workspace_id:
            message = base.NotInitialized.sentence
        else:
            try:
                self._look(self._bound)
            except StoreFault as fault:
                message = str(fault)
            except Exception:  # noqa: BLE001  (health tells, it never raises)
                message = "the memory files do not answer"
        return Pulse(ok=not message, message=message, checked_at=timezone.now())


def make(bound: Bound | None, _options: dict[str, Any]) -> TierFiles:
    """Return the provider for a binding."""
    return TierFiles(bound)
