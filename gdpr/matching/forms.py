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
    Form(
        "base64",
        gettext_noop(
            "In base64 and base64url of at least six bytes, also in the middle of a"
            " longer text, in a data URL and in lines of at least 40 signs. A name"
            " without Latin letters: as registered, in capitals, in small letters."
        ),
    ),
    Form(
        "jwt",
        gettext_noop("In the content of a JSON web token that is not encrypted."),
    ),
    Form(
        "hexadecimal",
        gettext_noop(
            "As the hexadecimal digits of at least five UTF-8 bytes, without gaps. A"
            " name without Latin letters: as registered, in capitals, in small letters."
        ),
    ),
    Form(
        "quoted_printable",
        gettext_noop("Quoted-printable, also with a line break inside it."),
    ),
    Form(
        "twice",
        gettext_noop("In one of these encodings inside another one of them."),
    ),
    Form(
        "compressed",
        gettext_noop(
            "Compressed by gzip or zlib in base64: the first 256 KiB of each of the"
            " first eight such pieces of a text."
        ),
    ),
)
