"""Carrying out a case, in the background, so that a crash anywhere changes nothing.

``starting`` is the person's side: the plan still fits, the phrase is right, the case
runs. ``running`` claims cases and does them by their kind. ``destroying`` goes through
the holders, ``names`` takes the person's names away and can put them back, ``proving``
cleans the database, searches for what is left and closes the case. ``moments`` names
the points between two steps; the crash tests end the process there.
"""

from gdpr.erasure.runner import run, sweep
from gdpr.erasure.start import start

__all__ = ["run", "start", "sweep"]
