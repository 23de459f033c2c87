"""Storage of bundles: one file each, encrypted with a key of this installation."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta
from pathlib import Path
from typing import BinaryIO, Final, cast

from django.conf import settings
from django.utils import timezone

from gdpr import encrypted_file
from gdpr.cases import privacy_settings
from gdpr.export import bundle, pages, portable
from gdpr.export.bundle import Collection
from gdpr.models import CaseKind, Export, ExportState
from memory.installation import identity as installation
from memory.models import User

SAMPLE: Final = 5


def folder() -> Path:
    return Path(settings.DATA_DIR) / "exports"


def path(export: Export) -> Path:
    """Return the path of a bundle's file, which may not exist."""
    return folder() / export.workspace_id / f"{export.id}.sealed"


def expiry(workspace_id: str) -> datetime:
    """Return when a bundle goes that is made, or decided on, now."""
    days = privacy_settings.of(workspace_id).export_days
    return timezone.now() + timedelta(days=days)


def _key(export: Export) -> bytes:
    return encrypted_file.key_for(installation.key("exports"), export.id)


def key_opens(key: str) -> bool | None:
    """Whether a key decrypts one of the newest bundles; None when there are none."""
    rows = Export.objects.filter(state=ExportState.READY).order_by("-made_at")
    kept_bundles = [row for row in rows[:SAMPLE] if path(row).is_file()]
    if not kept_bundles:
        return None
    return any(_opens(row, key) for row in kept_bundles)


def _opens(export: Export, key: str) -> bool:
    with path(export).open("rb") as file:
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
    """Write a bundle to its encrypted file, atomically and synced."""
    language = language or settings.LANGUAGE_CODE
    files = (portable if is_portable(export) else pages).files(collection, language)
    with encrypted_file.sealed(path(export), _key(export)) as sealer:
        bundle.write_files(files, cast("BinaryIO", sealer))
    export.sha256, export.bytes = sealer.sha256.hexdigest(), sealer.size


def pieces(export: Export) -> Iterator[bytes]:
    """Yield the decrypted bytes; the file is opened on the first read."""
    with path(export).open("rb") as file:
        yield from encrypted_file.decrypted_pieces(file, _key(export))
