"""Storage of bundles: one file each, encrypted with a key of this installation."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import BinaryIO, Final, cast

from django.conf import settings
from django.utils import timezone

from gdpr import bundle_files, encrypted_file
from gdpr.cases import privacy_settings
from gdpr.export import bundle, pages, portable
from gdpr.export.bundle import Collection
from gdpr.models import CaseKind, Export, ExportState
from memory.installation import identity as installation
from memory.models import User

SAMPLE: Final = 5


def expiry(workspace_id: str) -> datetime:
    """Return when a bundle goes that is made, or decided on, now."""
    days = privacy_settings.of(workspace_id).export_days
    return timezone.now() + timedelta(days=days)


def _key(export: Export) -> bytes:
    return encrypted_file.key_for(installation.key("exports"), export.id)


def key_opens(key: str) -> bool | None:
    """Whether a key decrypts one of the newest bundles; None when there are none."""
    rows = Export.objects.filter(state=ExportState.READY).order_by("-made_at")
    kept_bundles = [row for row in rows[:SAMPLE] if bundle_files.exists(row)]
    if not kept_bundles:
        return None
    return any(_opens(row, key) for row in kept_bundles)


def _opens(export: Export, key: str) -> bool:
    with bundle_files.opened(export) as file:
        try:
            next(
                encrypted_file.decrypted_pieces(
                    file, encrypted_file.key_for(key.encode(), export.id)
                ),
                b"",
            )
        except encrypted_file.Broken:
            return False
    return True


def language_of(actor_id: str) -> str:
    """Return the language that a person chose; empty for none, and for a program."""
    user = User.objects.filter(pk=actor_id).first()
    return user.language if user is not None else ""


def is_portable(export: Export) -> bool:
    """Whether a bundle answers a request for portability."""
    return export.case is not None and export.case.kind == CaseKind.PORTABILITY


def store(export: Export, collection: Collection, language: str = "") -> None:
    """Write a bundle, encrypted: all of it or nothing."""
    language = language or settings.LANGUAGE_CODE
    files = (portable if is_portable(export) else pages).files(collection, language)
    with bundle_files.sealed(export, _key(export)) as sealer:
        bundle.write_files(files, cast("BinaryIO", sealer))
    export.sha256, export.bytes = sealer.sha256.hexdigest(), sealer.size


def pieces(export: Export) -> Iterator[bytes]:
    """Yield the decrypted bytes; the file is opened on the first read."""
    with bundle_files.opened(export) as file:
        yield from encrypted_file.decrypted_pieces(file, _key(export))
