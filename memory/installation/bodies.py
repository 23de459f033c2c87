"""Where the bytes of files are: in the data folder, or in the database.

A process is told by its settings, the database has on record where they are. While the
two differ nothing is read or written: a file would look removed.
"""

from __future__ import annotations

from typing import Final

from django.conf import settings

FOLDER: Final = "folder"
DATABASE: Final = "database"
_NAMES: Final = {FOLDER: "the data folder", DATABASE: "the database"}


def in_database() -> bool:
    """Whether this process is told to keep the bytes of files in the database."""
    return bool(settings.BODIES == DATABASE)


def problem(recorded: str) -> str | None:
    """Return why this process must not touch files, None where it may."""
    if recorded == settings.BODIES:
        return None
    return (
        f"The bodies of memory files, bundles and keys are in {_NAMES[recorded]}, and"
        f" this process is told to keep them in {_NAMES[settings.BODIES]}: stop every"
        " server and run manage.py move_bodies --apply, or set"
        f" CREWSHIP_BODIES={recorded} to go on as before. Until then nothing is"
        " written."
    )
