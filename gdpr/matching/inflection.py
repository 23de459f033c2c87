"""Case endings of Polish, Czech, Russian and Greek names, on folded words.

No kept library declines surnames (stemmers for these languages are made for other
words), so the endings are listed. A form counts with its cases: two words are one name
where they share a case.
"""

from __future__ import annotations

import re
from typing import Final

Cases = dict[str, str]

# End of a word, what is cut off, and its endings by case: genitive, dative,
# accusative, instrumental, locative. The first rule that fits counts.
_RULES: Final = tuple(
    (re.compile(pattern), cut, tuple(tuple(e.split(":")) for e in endings.split()))
    for pattern, cut, endings in (
        # Adjectives: Kowalski, Nowotny, Kowalska, Nováková.
        ("(?:sk|ck|dzk)i$", 1, "iego:GA iemu:D im:IL"),
        ("(?:sk|ck|n)y$", 1, "eho:GA ego:GA emu:D ym:IL em:L"),
        ("(?:sk|ck|dzk)a$", 1, "iej:GDL ej:GDL a:AI ou:AI e:GDL u:A oy:GDIL oi:GDIL"),
        ("(?:ov|ev|in)a$", 1, "e:GDL ou:AI oy:GDIL oi:GDIL u:A"),
        # Nouns: Maria, Anna, Marek, Paweł, Nowak.
        ("ia$", 1, "i:GDL e:A a:I u:A ou:I ej:I"),
        ("a$", 1, "y:G i:GDL ie:DL e:ADGL o:V u:A a:I ou:I oy:I oj:I ow:G"),
        (
            "[b-df-hk-np-tv-xz]e[klc]$",
            2,
            "{}a:GA {}owi:D {}ovi:DL {}iem:I {}em:I {}u:DL {}om:I",
        ),
        (
            "[b-df-hk-np-tv-xz]$",
            0,
            "a:GA owi:D ovi:DL u:DL em:I iem:I om:I ie:L e:L ze:L ym:I",
        ),
        # Russian and Ukrainian.
        ("(?:ск|цк)ии$", 2, "ого:GA ому:D им:I ом:L"),
        ("(?:ск|цк)ая$", 2, "ои:GDIL ую:A"),
        ("(?:ов|ев|ин)а$", 1, "ои:GDIL у:A"),
        ("(?:ов|ев|ин)$", 0, "а:GA у:D ым:I е:L"),
        ("ия$", 1, "и:GDL ю:A еи:I"),
        ("я$", 1, "и:G е:DL ю:A еи:I"),
        ("а$", 1, "ы:G и:G е:DL у:A ои:I еи:I"),
        ("и$", 1, "я:GA ю:D ем:I е:L и:L"),
        ("[бвгджзклмнпрстфхцчшщ]$", 0, "а:GA у:D ом:I ем:I е:L"),
        # Greek.
        ("οσ$", 2, "ου:G ο:A ε:V"),
        ("[αη]σ$", 1, ":GA"),
        ("[αη]$", 0, "σ:G"),
    )
)
# Surnames whose shape or letters say that the language has cases.
_SHAPE: Final = re.compile(
    r"(?:[scz]k[aiy]|ov|ev|ova|eva|owa|czyk|icz|ak|iak|[^aeiou]ek|uk)$|[^\x00-\x7f]"
)
_LETTERS: Final = frozenset("ąćęłńśźżčďěňřšťůž")


def forms(word: str) -> Cases:
    """Return the case forms of a folded word, each with the letters of its cases."""
    for pattern, short_form, endings in _RULES:
        if pattern.search(word):
            stem = word[:-short_form] if short_form else word
            last = word[-1] if short_form == 2 and endings[0][0].startswith("{") else ""
            result: Cases = {}
            for ending, cases in endings:
                form = stem + ending.format(last)
                result[form] = result.get(form, "") + cases
            return result
    return {}


def is_inflecting(surname: str, folded: str) -> bool:
    """Whether a surname's language has cases, by its shape or its letters."""
    letters = set(surname.lower())
    return not letters.isdisjoint(_LETTERS) or _SHAPE.search(folded) is not None
