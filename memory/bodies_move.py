"""Moving the bytes of files, and keys, between the data folder and the database.

Everything is copied and compared first; then the database records the new place; then
what was copied is deleted at the old one. A move that was cut off goes on where it was:
what is there and equal is not copied again. Once the new place is on record servers may
write there: nothing is copied any more, and what the old place still has is deleted.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Final

from django.conf import settings
from django.db import transaction

from memory.installation import bodies, folders, key_files, keys, sealed_keys
from memory.installation import identity as installation
from memory.journal import append as journal
from memory.models import Installation, Workspace
from memory.rules import errors
from memory.rules.entries import NewEntry, Severity
from memory.rules.permissions import system
from memory.stored_files import trees
from memory.stored_files.store import Store, digest

Progress = Callable[[str], object]
_NOT_ON_RECORD: Final = (
    "CREWSHIP_SECRET_KEY is not the one on record: give this process the one that the"
    " installation had, in the environment or in keys/secret.key. Nothing was changed."
)


class NotMoved(errors.AppError):
    """Something could not be copied; nothing was deleted."""

    code, status, title = "bodies_not_moved", 409, "Not moved"
    sentence = "{reason}"


@dataclass(frozen=True, slots=True)
class Mover:
    """One kind of file: its names at a place, and how one is copied and deleted.

    ``copy`` is given a name and the place to copy it to, compares what arrived, and
    says whether there was something to copy; it raises NotMoved. ``names`` and ``drop``
    are given the place; ``drop`` says whether it deleted something. ``is_same``
    compares both places.
    """

    title: str
    names: Callable[[str], Iterator[str]]
    copy: Callable[[str, str], bool]
    drop: Callable[[str, str], bool]
    is_same: Callable[[str], bool] = lambda _name: True


@dataclass(slots=True)
class Report:
    """What a move did, by kind."""

    copied: dict[str, int] = field(default_factory=dict)
    dropped: dict[str, int] = field(default_factory=dict)
    remaining: list[str] = field(default_factory=list)


_movers: list[Mover] = []


def register(mover: Mover) -> None:
    """Add what another package keeps; called at start-up."""
    if mover not in _movers:
        _movers.append(mover)


def other(place: str) -> str:
    """Return the place that bodies are moved from to get to a place."""
    return bodies.FOLDER if place == bodies.DATABASE else bodies.DATABASE


# ── Keys ─────────────────────────────────────────────────────────────────────
def _key_names(place: str) -> Iterator[str]:
    for key in keys.KEYS:
        if key.name == "secret" or key.file in settings.KEYS_FROM_ENVIRONMENT:
            continue
        is_file = keys.path_of(key).is_file()
        if is_file if place == bodies.FOLDER else sealed_keys.names(key.name):
            yield key.name


def _copy_key(name: str, to: str) -> bool:
    path = keys.path_of(keys.BY_NAME[name])
    try:
        sealed, text = sealed_keys.read(name), key_files.read(path)
    except sealed_keys.Broken:
        reason = f"The key {name} is sealed under another CREWSHIP_SECRET_KEY."
        raise NotMoved(reason=reason) from None
    if sealed and text and sealed != text:
        raise NotMoved(reason=f"The key {name} is another in the folder keys.")
    if to == bodies.DATABASE and not sealed:
        return bool(sealed_keys.make(name, text))
    if to == bodies.FOLDER and not text:
        return bool(key_files.make(path, sealed))
    return False


def _drop_key(name: str, place: str) -> bool:
    """Delete a sealed key; a key's file stays, as the copy that it is."""
    return place == bodies.DATABASE and sealed_keys.remove(name)


# ── Memory files and versions ────────────────────────────────────────────────
def _is_new_machine(tree: str) -> bool:
    """Whether this machine never had the tree: it came when rows had the bodies."""
    is_absent = not (Path(settings.DATA_DIR) / tree).exists()
    return is_absent and Installation.objects.filter(bodies=bodies.DATABASE).exists()


def _store(tree: str, place: str) -> Store:
    return trees.database(tree) if place == bodies.DATABASE else trees.folder(tree)


def _names(tree: str, place: str) -> Iterator[str]:
    store = _store(tree, place)
    if place == bodies.FOLDER:
        if _is_new_machine(tree):
            return
        store.tidy()
    for file in store.raw():
        if not any(part.startswith(".") for part in file.parts):
            yield file.path


def _is_same(tree: str, name: str) -> bool:
    parts = tuple(name.split("/"))
    places = (bodies.FOLDER, bodies.DATABASE)
    return len({_store(tree, place).read(parts) for place in places}) == 1


def _tree_mover(title: str, tree: str) -> Mover:
    def copy(name: str, to: str) -> bool:
        parts = tuple(name.split("/"))
        source, target = _store(tree, other(to)), _store(tree, to)
        stored, present = source.read(parts), target.read(parts)
        if stored is None or present == stored:
            return False
        target.write(parts, stored.data)
        arrived = target.read(parts)
        if arrived is None or digest(arrived.data) != stored.sha256:
            raise NotMoved(reason=f"A file of {tree} arrived with other bytes.")
        return True

    def drop(name: str, place: str) -> bool:
        return _store(tree, place).remove(tuple(name.split("/")))

    return Mover(title, partial(_names, tree), copy, drop, partial(_is_same, tree))


_KEYS: Final = Mover("keys", _key_names, _copy_key, _drop_key)
_OWN: Final = (
    _KEYS,
    _tree_mover("memory files", trees.FILES),
    _tree_mover("versions", trees.BLOBS),
)


def movers() -> tuple[Mover, ...]:
    """Return all kinds, keys first: what follows may be signed or sealed with them."""
    return (*_OWN, *_movers)


# ── Moving ───────────────────────────────────────────────────────────────────
def _is_recorded(place: str) -> bool:
    return Installation.objects.filter(bodies=place).exists()


def counts() -> dict[str, int]:
    """Return how many of each kind are not where the settings say."""
    place = other(settings.BODIES)
    return {mover.title: sum(1 for _ in mover.names(place)) for mover in movers()}


def move(watch: Progress = lambda _line: None) -> Report:
    """Move everything to where the settings say; raise NotMoved, and delete nothing.

    Every server has to be stopped: what is written meanwhile is not copied.
    """
    if keys.BY_NAME["secret"] in keys.differing(installation.installation_id()):
        raise NotMoved(reason=_NOT_ON_RECORD)
    to = str(settings.BODIES)
    is_settled = _is_recorded(to)
    # What is at the old place then is no longer true: erased since, or changed.
    report = Report()
    if not is_settled:
        report = copy(watch)
        _record(to, report)
    report.dropped = drop(watch, is_settled=is_settled)
    return report


def copy(watch: Progress = lambda _line: None) -> Report:
    """Copy everything to where the settings say, and compare it; raise NotMoved."""
    report, to = Report(), str(settings.BODIES)
    _make_folders(installation.installation_id())
    for mover in movers():
        report.copied[mover.title] = _copy(mover, to, report, watch)
        keys.load_missing()
        installation.forget()
    if report.remaining:
        raise NotMoved(reason=_unmoved(report.remaining))
    return report


def _make_folders(installation_id: str) -> None:
    """Make the folders that a machine lacks which never had bodies."""
    root = Path(settings.DATA_DIR)
    absent = tuple(name for name in folders.names() if not (root / name).exists())
    if absent and Installation.objects.filter(bodies=bodies.DATABASE).exists():
        folders.mark_folders(root, installation_id, absent)


def drop(
    watch: Progress = lambda _line: None, *, is_settled: bool = False
) -> dict[str, int]:
    """Delete at the old place what is the same at the new one; return how many.

    With ``is_settled`` all of it: the new place has been on record for a while.
    """
    counts, place = {}, other(settings.BODIES)
    for mover in movers():
        names = list(mover.names(place))
        # What a server that was not stopped wrote after the copy stays.
        names = [name for name in names if is_settled or mover.is_same(name)]
        counts[mover.title] = sum(mover.drop(name, place) for name in names)
        watch(f"{mover.title}: {counts[mover.title]:,} deleted at the old place")
    return counts


def _copy(mover: Mover, to: str, report: Report, watch: Progress) -> int:
    names, count = list(mover.names(other(to))), 0
    for number, name in enumerate(names, start=1):
        try:
            count += mover.copy(name, to)
        except NotMoved:
            raise
        except (errors.AppError, OSError) as error:
            report.remaining.append(f"{mover.title}: {type(error).__name__}")
        if number % 1_000 == 0 or number == len(names):
            watch(f"{mover.title}: {number:,} of {len(names):,}")
    return count


def _unmoved(remaining: list[str]) -> str:
    kinds = ", ".join(f"{kind} {number}" for kind, number in Counter(remaining).items())
    return (
        f"{len(remaining)} files could not be moved ({kinds}): they belong to no"
        " workspace, are links or are too large. Remove them or put them right, and run"
        " it again. Nothing was deleted."
    )


def _record(to: str, report: Report) -> None:
    with transaction.atomic():
        Installation.objects.update(bodies=to)
        installation.forget()
        new = NewEntry(
            entry_type="installation.bodies_moved",
            severity=Severity.NOTICE,
            summary=f"Memory files, bundles and keys are kept in the {to} from now on",
            payload={"to": to, "copied": report.copied},
        )
        for workspace_id in Workspace.objects.values_list("pk", flat=True):
            journal.write([new], by=system(workspace_id, "move_bodies"))
