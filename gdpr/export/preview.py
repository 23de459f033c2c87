"""Single pages of a ready bundle, for officers to look at before it is handed over.

The bundle is decrypted in memory and never on the disk; each page is recorded like a
download.
"""

from __future__ import annotations

import io
import zipfile
from typing import Final

from django.utils.translation import gettext, gettext_noop

from gdpr import encrypted_file
from gdpr.export import make
from gdpr.models import Export
from memory.rules import errors
from memory.rules.permissions import Actor

BUNDLE_BYTES: Final = 32 * 1024 * 1024
PAGE_BYTES: Final = 4 * 1024 * 1024


class TooLarge(errors.TooLarge):
    """The bundle, or the page, is too large to look at here."""

    sentence = gettext_noop("It is too large to look at here; download it.")


def page(export: Export, name: str, *, by: Actor) -> bytes:
    """Return one page of a bundle, and record that it was read.

    Raises NotReady, TooLarge, NotFound, or Conflict for a file that was changed.
    """
    by.require("gdpr.manage", export.workspace_id)
    if export.bytes > BUNDLE_BYTES:
        raise TooLarge
    pieces = make.read(export, by=by)
    try:
        archive = zipfile.ZipFile(io.BytesIO(b"".join(pieces)))
    except (encrypted_file.Broken, zipfile.BadZipFile):
        detail = gettext("The file of this bundle was changed; it cannot be opened.")
        raise errors.Conflict(detail, code="export_broken") from None
    with archive:
        if name not in archive.namelist():
            raise errors.NotFound
        if archive.getinfo(name).file_size > PAGE_BYTES:
            raise TooLarge
        return archive.read(name)
