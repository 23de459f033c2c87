"""Watch the memory files on disk and scan changes within a second.

Best effort: the sweep finds whatever this thread misses. It runs in ``up`` and in every
worker that serves the queue of the clock. On a file system without change events only
the sweep finds changes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Final

import structlog
from django.conf import settings
from django.db import DatabaseError, close_old_connections, connections
from watchfiles import watch

from crewship_memory import logs
from crewship_memory.stoppable_thread import StoppableThread
from memory.files import paths as file_paths
from memory.files import reconcile
from memory.files.reconcile import Report
from memory.installation import bodies
from memory.installation import identity as installation
from memory.rules import errors

DEBOUNCE_MS: Final = 500
STEP_MS: Final = 50
AGAIN_SECONDS: Final = 5.0
log = structlog.get_logger(__name__)


def is_needed() -> bool:
    """Whether memory files lie in a folder of this machine, where others may change."""
    return True


def _labels(root: Path, paths: Iterable[str]) -> set[tuple[str, ...]]:
    """Return the changed paths below the root; a new folder counts with its content.

    A folder that was moved in gives an event for itself, not for its files.
    """
    labels: set[tuple[str, ...]] = set()
    for name in paths:
        path = Path(name)
        if path.name.startswith(".") or not path.is_relative_to(root):
            continue
        parts = path.relative_to(root).parts
        labels.add(parts)
        if path.is_dir() and not path.is_symlink():
            labels |= set(file_paths.file_store().walk(parts))
    return labels


def look(root: Path, paths: Iterable[str]) -> Report:
    """Reconcile the changed files; an error in one does not stop the others."""
    report = Report()
    close_old_connections()
    try:
        for parts in sorted(_labels(root, paths)):
            try:
                reconcile.visit(parts, report)
            except errors.Unavailable as error:
                log.warning("watcher_stopped", why=error.detail)
                break
            except (DatabaseError, OSError, ValueError):
                log.exception("watched_file_failed")
    finally:
        connections.close_all()
    return report


class Watcher(StoppableThread):
    """Reconciles changed files, and every file once at start."""

    def __init__(self) -> None:
        super().__init__("watcher")
        self._root = Path(settings.DATA_DIR) / "files"

    def run(self) -> None:
        if bodies.in_database():
            log.info("watcher_not_needed", why="the files are in the database")
            return
        self._guarded(self._catch_up)
        while not self.ended.is_set():
            self._guarded(self._watch)
            # It only comes back by itself when something went wrong.
            self.ended.wait(AGAIN_SECONDS)

    def _guarded(self, act: Callable[[], None]) -> None:
        try:
            installation.require()
            with logs.own_run():
                act()
        except errors.Unavailable as error:
            log.warning("watcher_stopped", why=error.detail)
        except (errors.AppError, DatabaseError, OSError, RuntimeError, ValueError):
            log.exception("watcher_failed")
        finally:
            connections.close_all()

    def _catch_up(self) -> None:
        """Remove what a crash left and reconcile what changed before the start."""
        file_paths.file_store().tidy()
        reconcile.sweep()

    def _watch(self) -> None:
        changes = watch(
            self._root,
            debounce=DEBOUNCE_MS,
            step=STEP_MS,
            stop_event=self.ended,
            watch_filter=None,
            recursive=True,
            raise_interrupt=False,
            ignore_permission_denied=True,
        )
        for batch in changes:
            with logs.own_run():
                look(self._root, (path for _, path in batch))
