"""The forms in which an identifier is sought, in the words of the certificate.

A certain form means the person. A proposed one may mean somebody else: a person decides
on each row before the run.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from memory.rules.translation import gettext_noop


@dataclass(frozen=True, slots=True)
class Form:
    """One way to write an identifier: a code for programs, a sentence for readers."""

    code: str
    sentence: str
    certain: bool = True


# Ways to write a name, an address, a number or an id.
WRITTEN: Final = (
    Form(
        "as_registered",
        gettext_noop("As registered, in any case, with and without accents."),
    ),
)
# Ways to encode a text that names somebody.
ENCODED: Final = (
    Form(
        "escapes",
        gettext_noop("Escaped as in JSON, in a URL or in HTML, up to three times."),
    ),
)
