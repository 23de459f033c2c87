#!/usr/bin/env python
"""The command line: ``python manage.py up --demo`` starts everything."""

from __future__ import annotations

import gc
import os
import sys


def main() -> None:
    """Run a Django command."""
    if sys.argv[1:2] in (["version"], ["--version"]):
        # Django would answer with its own; ours needs no settings and no data folder.
        from crewship_memory.version import VERSION  # noqa: PLC0415

        sys.stdout.write(f"{VERSION}\n")
        return
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "crewship_memory.settings")
    if sys.argv[1:2] == ["up"] and not {"-h", "--help"} & set(sys.argv):
        # The imports below take their time on a slow machine.
        sys.stdout.write("  Reading the program\n")
        sys.stdout.flush()
        # Nothing they make is garbage, and looking for some is a fifth of the time;
        # the command turns it on again.
        gc.disable()
    from django.core.management import execute_from_command_line  # noqa: PLC0415

    from memory.rules import errors  # noqa: PLC0415

    try:
        execute_from_command_line(sys.argv)
    except errors.Unavailable as error:
        # A folder that is gone, a key that is missing: the sentence is all there is.
        sys.exit(f"{sys.argv[1]}: {error.detail}")


if __name__ == "__main__":
    main()
