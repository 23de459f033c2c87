"""Carrying out a case in the background, safe against a crash at any point.

``start`` checks plan and phrase and sets the case running. ``runner`` claims cases and
carries them out by kind. ``execute`` erases in every holder, ``process_caches`` has
every process drop its caches, ``seal_names`` erases the person's names and can restore
them, ``finish`` cleans the database, searches for remaining matches and closes the
case. ``failpoints`` names the points between two steps; crash tests kill the process
there. ``tombstones`` records erasures outside the database, ``replay`` repeats them
after a restore.
"""

from gdpr.erasure.runner import run, sweep
from gdpr.erasure.start import start

__all__ = ["run", "start", "sweep"]
