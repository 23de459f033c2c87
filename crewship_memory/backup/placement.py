"""Where bodies and keys end up: a load has put them into the data folder.

In the data folder, or in the database as the settings say; the same movers bring them
there that ``move_bodies`` has. Safe to repeat: a restore that was interrupted goes on.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.conf import settings

from crewship_memory.backup import bodies, key_store, make
from crewship_memory.backup.make import Watch
from memory import bodies_move
from memory.installation import bodies as body_settings
from memory.installation import identity as installation
from memory.installation import keys
from memory.models import Installation
from memory.rules import errors


class BodiesElsewhere(errors.Conflict):
    """The rows are here, the bodies in another machine's data folder."""

    code = "bodies_elsewhere"
    sentence = (
        "The bodies of the backup are not in this data folder: end the restore on the"
        " machine that began it, or begin it again with an empty database."
    )


def settle(note: Mapping[str, Any], watch: Watch) -> None:
    """Bring bodies and keys to where the settings say; raise NotMoved.

    What a move copies stays in the data folder, which is the old installation's too.
    """
    row, is_restore = Installation.objects.get(), note.get("kind") == "restore"
    keys.load_missing()
    if is_restore and keys.BY_NAME["secret"].file in settings.KEYS_FROM_ENVIRONMENT:
        # Only sessions and links depend on it, and a restore keeps neither.
        keys.record_secret(row.installation_id)
    installation.forget()
    if row.bodies != settings.BODIES:
        _copy(row, watch)
    if not body_settings.in_database():
        bodies_move.drop()
    elif is_restore:
        _leave_folder(row)
        if note.get("has_keys"):
            key_store.remove_sealed_files()
    installation.forget()


def _leave_folder(row: Installation) -> None:
    """Delete what the restore wrote into the data folder."""
    if bodies.are_of(row.installation_id):
        bodies_move.drop()
    bodies.remove_folders()


def _copy(row: Installation, watch: Watch) -> None:
    if row.bodies == body_settings.FOLDER and not bodies.are_of(row.installation_id):
        raise BodiesElsewhere
    watch("bodies", 0, 0)
    bodies_move.copy()
    Installation.objects.update(bodies=settings.BODIES)
    make.step("copied")
