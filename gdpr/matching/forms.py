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
    Form(
        "last_first",
        gettext_noop("The surname before the first name, with or without a comma."),
    ),
    Form(
        "middle_names",
        gettext_noop(
            "Initials or a middle name with a capital between first name and surname."
        ),
    ),
    Form("genitive", gettext_noop("The whole name with an s or es at its end.")),
    Form(
        "inflected",
        gettext_noop(
            "First name and surname in the same Polish, Czech, Russian or Greek case."
        ),
    ),
    Form(
        "other_letters",
        gettext_noop(
            "Umlauts, å and ø as one letter or as two; Cyrillic and Greek letters as"
            " Latin ones."
        ),
    ),
    Form("line_break", gettext_noop("Parted by a hyphen at the end of a line.")),
    Form(
        "joined",
        gettext_noop(
            "First name and surname as one word of eight letters or more, in either"
            " order."
        ),
    ),
    Form(
        "split_fields",
        gettext_noop(
            "One part of the name in a field for it, the other elsewhere in the row."
        ),
    ),
    Form(
        "order_unclear",
        gettext_noop("Surname and first name, with other names beside them."),
        certain=False,
    ),
    Form(
        "middle_unclear",
        gettext_noop(
            "First name and surname, with other words between them or a middle name"
            " left out."
        ),
        certain=False,
    ),
    Form(
        "ending_unclear",
        gettext_noop("First name and surname, with an ending that may make another."),
        certain=False,
    ),
    Form(
        "joined_unclear",
        gettext_noop("First name and surname as one word that may be another."),
        certain=False,
    ),
    Form("surname", gettext_noop("The surname alone."), certain=False),
    Form("title_surname", gettext_noop("A title and the surname."), certain=False),
    Form("initial_surname", gettext_noop("An initial and the surname."), certain=False),
    Form(
        "initial_joined",
        gettext_noop("The initial and the surname as one word."),
        certain=False,
    ),
    Form("family", gettext_noop("The family by its surname."), certain=False),
)
# What names a person and is not looked for.
NOT_SOUGHT: Final = (
    gettext_noop(
        "A first name alone, a nickname, a misspelt name, and a name that only the"
        " meaning of a text tells."
    ),
    gettext_noop("A surname alone that is an everyday word or has two letters."),
    gettext_noop(
        "A surname alone in small letters, and one behind another word with a capital"
        " that may be somebody else's first name."
    ),
    gettext_noop(
        "Cases and transliterations of other languages and systems than those listed."
    ),
    gettext_noop(
        "Other encodings than those listed, such as base32 and base85, encodings of"
        " fewer bytes, and what was compressed but not in base64."
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
            "In base64 and base64url of at least six bytes of UTF-8 text, or of ASCII"
            " text as UTF-16, also in the middle of a longer text, in a data URL and"
            " in lines of at least 40 signs. A text without six ASCII signs in a row:"
            " as a token of its own."
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
            " text without eight ASCII signs in a row: as a token of its own."
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

_BY_CODE: Final = {form.code: form for form in WRITTEN}


def sentence(code: str) -> str:
    """Return the sentence of a way to write a name; empty for an unknown one."""
    form = _BY_CODE.get(code)
    return form.sentence if form else ""
