"""Published test sets, as they are downloaded, in the common form of labelled sets.

Nothing of the data is part of this project. The README of ``episodic`` says where each
set is to be had and under what licence.

    python -m crewship_memory.bench.convert qmsum QMSum/data/Committee/all sets/qmsum
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final

from crewship_memory.bench import sets
from crewship_memory.bench.converters import abstracts, conversations, journal
from crewship_memory.bench.sets import LabelledSet, SetError

CONVERTERS: Final[Mapping[str, Callable[[Path], LabelledSet]]] = {
    "beir": abstracts.beir,
    "cisi": abstracts.cisi,
    "cranfield": abstracts.cranfield,
    "friendsqa": conversations.friendsqa,
    "journal": journal.known_items,
    "molweni": conversations.molweni,
    "qmsum": conversations.qmsum,
}
# What reading something in another form than a converter expects may raise.
_OTHER_FORM: Final = (
    AttributeError,
    IndexError,
    KeyError,
    RecursionError,
    TypeError,
    ValueError,
)


def convert(kind: str, source: Path) -> LabelledSet:
    """Return a published set in the common form; raise SetError when it is another."""
    try:
        labelled = CONVERTERS[kind](source)
        sets.check_rows(labelled)
        sets.check(labelled)
    except OSError as error:
        raise SetError(f"{error.filename}: {error.strerror}") from error
    except _OTHER_FORM as error:
        if isinstance(error, SetError):
            raise
        message = f"{source} is not {kind} as published: {error!r}"
        raise SetError(message) from error
    return labelled


def main(arguments: list[str] | None = None) -> int:
    """Convert one published set into a folder; return the exit code."""
    parser = argparse.ArgumentParser(description="Convert a published test set.")
    parser.add_argument("kind", choices=sorted(CONVERTERS))
    parser.add_argument("source", type=Path, help="The published files.")
    parser.add_argument("folder", type=Path, help="Where the set is written.")
    options = parser.parse_args(arguments)
    try:
        labelled = convert(options.kind, options.source)
    except SetError as error:
        print(error, file=sys.stderr)  # noqa: T201  (a command line)
        return 1
    sets.write(labelled, options.folder)
    print(  # noqa: T201
        f"{len(labelled.documents)} documents, {len(labelled.tenants)} tenants,"
        f" {len(labelled.questions)} questions"
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
