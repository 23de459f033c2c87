"""How what this package keeps in files is moved to the database, and back."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO, Final

from django.conf import settings

from gdpr import bundle_files
from gdpr.cases import case_files
from gdpr.certificates import keys as signing_keys
from gdpr.erasure import shared_tombstones, tombstones
from gdpr.models import Case, ErasureLine, Export
from memory.bodies_move import Mover, NotMoved, other
from memory.installation import bodies, key_files, sealed_keys
from memory.stored_files import pieces, trees

OTHER_BYTES: Final = "A file arrived with other bytes."


# ── Signing keys ─────────────────────────────────────────────────────────────
def _key_path(name: str) -> Path:
    return Path(settings.DATA_DIR) / "keys" / f"{name}{signing_keys.SUFFIX}"


def _signing_keys(place: str) -> Iterator[str]:
    if place == bodies.DATABASE:
        yield from sealed_keys.names(signing_keys.PREFIX)
        return
    folder = Path(settings.DATA_DIR) / "keys"
    for path in sorted(folder.glob(f"{signing_keys.PREFIX}*{signing_keys.SUFFIX}")):
        yield path.stem


def _copy_signing_key(name: str, to: str) -> bool:
    sealed, text = sealed_keys.read(name), key_files.read(_key_path(name))
    if to == bodies.DATABASE and not sealed:
        return bool(sealed_keys.make(name, text))
    if to == bodies.FOLDER and not text:
        key_files.replace(_key_path(name), sealed)
        return True
    return False


def _drop_signing_key(name: str, place: str) -> bool:
    """Delete a sealed key; a key's file stays, as the copy that it is."""
    return place == bodies.DATABASE and sealed_keys.remove(name)


# ── Bundles ──────────────────────────────────────────────────────────────────
def _bundles(place: str) -> Iterator[str]:
    for export in Export.objects.order_by("pk").iterator():
        if _bundle_exists(export, place):
            yield export.pk


def _bundle_exists(export: Export, place: str) -> bool:
    if place == bodies.FOLDER:
        return bundle_files.path(export).is_file()
    return trees.database(trees.EXPORTS).has_folder(bundle_files.parts(export))


def _opened(export: Export, place: str) -> BinaryIO:
    if place == bodies.FOLDER:
        return bundle_files.path(export).open("rb")
    return pieces.opened(trees.database(trees.EXPORTS), bundle_files.parts(export))


def _copy_bundle(name: str, to: str) -> bool:
    export = Export.objects.get(pk=name)
    with _opened(export, other(to)) as source:
        if to == bodies.DATABASE:
            parts = bundle_files.parts(export)
            pieces.put(trees.database(trees.EXPORTS), parts, source)
        else:
            bundle_files.write(bundle_files.path(export), source)
    if _digest(export, to) != _digest(export, other(to)):
        raise NotMoved(reason=OTHER_BYTES)
    return True


def _digest(export: Export, place: str) -> str:
    with _opened(export, place) as file:
        return bundle_files.digest(file)


def _drop_bundle(name: str, place: str) -> bool:
    bundle_files.erase_at(Export.objects.get(pk=name), place)
    return True


# ── Search terms of erasures under way ───────────────────────────────────────
def _case_files(place: str) -> Iterator[str]:
    for case in Case.objects.order_by("pk").only("pk", "workspace_id").iterator():
        if case_files.at(case, place).exists():
            yield case.pk


def _copy_case_files(name: str, to: str) -> bool:
    case = Case.objects.get(pk=name)
    source, target = case_files.at(case, other(to)), case_files.at(case, to)
    if source.content() == target.content():
        return False
    target.remove(case_files.NAMES, case_files.WORDS)
    names, records = source.content()
    if names is not None:
        target.put_sealed_names(names)
    for record in records:
        target.add_record(record, case_files.UNLIMITED)
    if source.content() != target.content():
        raise NotMoved(reason=OTHER_BYTES)
    return True


def _drop_case_files(name: str, place: str) -> bool:
    case = Case.objects.get(pk=name)
    case_files.at(case, place).remove(case_files.NAMES, case_files.WORDS)
    return True


# ── Records of erasures ──────────────────────────────────────────────────────
def _records(place: str) -> Iterator[str]:
    if place == bodies.FOLDER:
        yield from tombstones.workspaces()
        return
    homes = ErasureLine.objects.order_by().values_list("workspace_id", flat=True)
    yield from sorted(set(homes))


def _copy_records(name: str, _to: str) -> bool:
    """Bring table and file to the same records, whichever way the move goes."""
    try:
        return shared_tombstones.mirror_one(name)
    except tombstones.Damaged as error:
        raise NotMoved(reason=str(error)) from None


def _keep_records(_name: str, _place: str) -> bool:
    """Delete nothing: file and table are copies of each other."""
    return False


MOVERS: Final = (
    Mover("signing keys", _signing_keys, _copy_signing_key, _drop_signing_key),
    Mover("bundles", _bundles, _copy_bundle, _drop_bundle),
    Mover("search terms", _case_files, _copy_case_files, _drop_case_files),
    Mover("records of erasures", _records, _copy_records, _keep_records),
)
