"""The contract over tier files; every change goes through the file writer.

Ids are labels with canonical keys: a daily note without a key is today's, and its id
says which day that was. A held text is listed in ``quarantined`` and never among the
hits; the last accepted text of the same file stays readable.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Final

from django.conf import settings

from memory.files import paths, reading, reconcile, writer
from memory.files.paths import Owner
from memory.files.writer import Request
from memory.installation import bodies
from memory.models import Workspace
from memory.providers import base, ownership
from memory.providers.base import Binding, HealthStatus, Hit
from memory.rules import errors, tiers

NAME: Final = "tierfiles"
SOURCE: Final = "provider"
# Errors of a file system that has no unnamed files.
_NO_UNNAMED: Final = (errno.EOPNOTSUPP, errno.EISDIR, errno.EINVAL)


def probe(binding: Binding, data: Path | None = None) -> None:
    """Raise unless the workspace's folder can be written; leave nothing there.

    An unnamed file is written and dropped where the system has them; for a folder that
    does not exist yet the nearest existing one above it is tried. Files in the database
    need no folder.
    """
    if data is None:
        try:
            paths.file_store().check()
        except errors.Unavailable:
            message = "stat: the folder of the memory files is missing or not ours"
            raise base.StoreFault(message) from None
        if bodies.in_database():
            return
    slug = Workspace.objects.values_list("slug", flat=True).get(pk=binding.workspace_id)
    data = data or Path(settings.DATA_DIR)
    folder = data / "files" / slug
    while not os.path.lexists(folder) and folder != data:
        folder = folder.parent
    try:
        _probe_write(folder)
    except FileNotFoundError:
        message = "stat: the folder of the memory files is missing"
        raise base.StoreFault(message) from None
    except NotADirectoryError:
        message = "the folder of the memory files is not a directory"
        raise base.StoreFault(message) from None
    except OSError:
        message = "probe write: the folder of the memory files cannot be written"
        raise base.StoreFault(message) from None


def _probe_write(folder: Path) -> None:
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
            os.write(probe_file, b"probe")
        finally:
            os.close(probe_file)
    finally:
        os.close(handle)


def _notice_new_files(owner: Owner) -> None:
    """Register files that were added to the tree outside the writer.

    Search reads the registered files only.
    """
    store = paths.file_store()
    for tree_owner in (owner, Owner(owner.crew)):
        tree = tree_owner.parts()
        for parts in store.walk(tree):
            place = tiers.split("/".join(parts[len(tree) :]))
            if place is None or place.rule.shared is not (tree_owner.agent is None):
                continue
            with suppress(errors.AppError):
                reconcile.notice(tree_owner, place)


class TierFiles:
    """Memory in files, one tree per crew and agent."""

    def __init__(
        self, binding: Binding | None, check: Callable[[Binding], None] = probe
    ) -> None:
        self._binding, self._probe = binding, check

    def retain(self, request: base.Retain) -> base.Retained:
        """Write a file through the file writer."""
        binding = base.guard(self._binding, request)
        with base.refusing("retain"):
            owner = ownership.owner(binding)
            mode = ownership.mode(request.mode)
            place = tiers.place(request.tier, request.key or None)
            ownership.writable(place, owner, binding.by)
            text, subjects = request.content, request.subjects
            write = Request(owner, place, text, mode, SOURCE, subjects=subjects)
            result = writer.write(write, by=binding.by)
        return base.Retained(result.label, result.size)

    def recall(self, request: base.Recall) -> base.Recalled:
        """Search the files of the agent and of its crew."""
        binding = base.guard(self._binding, request)
        with base.refusing("recall"):
            tier = ownership.tier(request.tier)
            limit = base.clamp(request.limit)
            owner = ownership.owner(binding)
            reading.permit(owner, binding.by)
            _notice_new_files(owner)
            results = reading.search(
                owner, request.query, by=binding.by, tier=tier, limit=limit
            )
        hits = [
            Hit(hit.source, hit.snippet[: base.SNIPPET_CHARS], hit.line, hit.score)
            for hit in results.hits
        ]
        quarantined = [label for label in results.quarantined if tiers.split(label)]
        return base.Recalled(hits, quarantined)

    def forget(self, request: base.Forget) -> base.Forgotten:
        """Remove a file through the writer: locked, versioned, in the journal."""
        binding = base.guard(self._binding, request)
        if base.selector(request) != "id":
            raise base.UnsupportedSelector
        with base.refusing("forget"):
            place = ownership.place_of(request.id)
            owner = ownership.owner(binding)
            ownership.writable(place, owner, binding.by)
        with base.refusing("forget: remove"):
            is_removed = writer.remove(owner, place, source=SOURCE, by=binding.by)
        return base.Forgotten(int(is_removed))

    def health(self, request: base.Health) -> HealthStatus:  # noqa: ARG002  (the contract's)
        """Return whether the folders can be written."""
        no_answer = "the memory files do not answer"
        return base.checked_status(self._binding, self._probe, no_answer)
