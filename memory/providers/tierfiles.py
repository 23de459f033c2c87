"""The contract over tier files, with the scribe as the only hand.

Ids are labels with canonical keys: a daily note without a key is today's, and its id
says which day that was. A text that is held back is named beside the hits and is never
among them; the last good text of the same file stays readable.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Final

from django.conf import settings
from django.utils import timezone

from memory.files import paths, reading, reconcile, writer
from memory.files.paths import Owner
from memory.files.writer import Request
from memory.models import Workspace
from memory.providers import base, ownership
from memory.providers.base import Bound, Hit, Pulse
from memory.rules import errors, tiers

NAME: Final = "tierfiles"
SOURCE: Final = "provider"
# What a file system says that has no unnamed files.
_NO_UNNAMED: Final = (errno.EOPNOTSUPP, errno.EISDIR, errno.EINVAL)


class StoreFault(Exception):
    """Why the folders cannot be written, without saying where they are."""


def probe(bound: Bound, data: Path | None = None) -> None:
    """Look whether the workspace's folder can be written, and leave nothing there.

    An unnamed file is written and dropped where the system has them; a folder that is
    not made yet is as good as the nearest one above it.
    """
    if data is None:
        try:
            paths.vault().check()
        except errors.Unavailable:
            message = "stat: the folder of the memory files is missing or not ours"
            raise StoreFault(message) from None
    slug = Workspace.objects.values_list("slug", flat=True).get(pk=bound.workspace_id)
    data = data or Path(settings.DATA_DIR)
    folder = data / "files" / slug
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
        try:
            flags = os.O_TMPFILE | os.O_WRONLY | os.O_CLOEXEC
            probe_file = os.open(".", flags, 0o600, dir_fd=handle)
        except OSError as error:
            if error.errno not in _NO_UNNAMED:
                raise
            if not os.access(folder, os.W_OK | os.X_OK):
                raise PermissionError from None
            return
        try:
            os.write(probe_file, b"pulse")
        finally:
            os.close(probe_file)
    finally:
        os.close(handle)


def _look_around(owner: Owner) -> None:
    """Notice files that nobody told us of, before they are searched or not found.

    Search itself looks at every file that is known; a new one lies in the tree only.
    """
    vault = paths.vault()
    for whose_tree in (owner, Owner(owner.crew)):
        tree = whose_tree.parts()
        for parts in vault.walk(tree):
            place = tiers.split("/".join(parts[len(tree) :]))
            if place is None or place.rule.shared is not (whose_tree.agent is None):
                continue
            with suppress(errors.HouseError):
                reconcile.notice(whose_tree, place)


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
            owner = ownership.owner(bound)
            mode = ownership.mode(request.mode)
            place = tiers.place(request.tier, request.key or None)
            ownership.writable(place, owner, bound.by)
            asked = Request(
                owner,
                place,
                request.content,
                mode,
                SOURCE,
                subjects=request.subjects,
            )
            done = writer.write(asked, by=bound.by)
        except errors.HouseError as error:
            raise base.Refusal("retain", error) from error
        return base.Retained(done.label, done.size)

    def recall(self, request: base.Recall) -> base.Recalled:
        """Search the files of the agent and of its crew."""
        bound = base.guard(self._bound, request)
        try:
            tier = ownership.tier(request.tier)
            limit = base.clamp(request.limit)
            owner = ownership.owner(bound)
            reading.permit(owner, bound.by)
            _look_around(owner)
            found = reading.search(
                owner, request.query, by=bound.by, tier=tier, limit=limit
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
            place = ownership.place_of(request.id)
            owner = ownership.owner(bound)
            ownership.writable(place, owner, bound.by)
        except errors.HouseError as error:
            raise base.Refusal("forget", error) from error
        try:
            gone = writer.remove(owner, place, source=SOURCE, by=bound.by)
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


def make(bound: Bound | None) -> TierFiles:
    """Return the provider for a binding."""
    return TierFiles(bound)
