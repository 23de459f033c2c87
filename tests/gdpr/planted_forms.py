"""Forms of people's names made by rules, each with what a plan must say about it.

``certain``: the row is the person's; ``proposed``: a person decides on it; ``not
sought``: no plan lists it, and the certificate says so (``forms.NOT_SOUGHT``).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Final

CERTAIN, PROPOSED, NOT_SOUGHT = "certain", "proposed", "not sought"


@dataclass(frozen=True, slots=True)
class Somebody:
    """A person: their name, its other spellings, and words of their language."""

    language: str
    first: str
    last: str
    # The name in other letters: umlauts as two, Cyrillic as Latin.
    others: tuple[str, ...]
    title: str
    sentence: str
    cases: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        return f"{self.first} {self.last}"


@dataclass(frozen=True, slots=True)
class Planted:
    """A form of a name in a row: summary and payload, and what a plan must say."""

    rule: str
    verdict: str
    summary: str
    payload: dict[str, Any]


PEOPLE: Final = (
    Somebody("en", "Harriet", "Thistlecombe", (), "Mrs.", "Yesterday {} rang twice"),
    Somebody(
        "de", "Jürgen", "Hößlinger", ("Juergen Hoesslinger", "Jürgen Hösslinger"),
        "Herr Dr.", "Gestern hat {} zweimal angerufen",
    ),
    Somebody(
        "da", "Zorélle", "Quaxbørgsen", ("Zorelle Quaxboergsen",), "Fru",
        "I går ringede {} to gange",
    ),
    Somebody("fr", "Maëlys", "Desrosiers", (), "Mme", "Hier {} a appelé deux fois"),
    Somebody(
        "es", "Íñigo", "Zubizarreta", (), "Señor", "Ayer {} llamó dos veces",
    ),
    Somebody(
        "pl", "Bożena", "Trzebiatowska", (), "Pani", "Wczoraj {} dzwoniła dwa razy",
        ("Bożeny Trzebiatowskiej", "Bożenie Trzebiatowskiej"),
    ),
    Somebody(
        "cs", "Oldřich", "Vávrovský", (), "pan", "Včera {} volal dvakrát",
        ("Oldřicha Vávrovského", "Oldřichem Vávrovským"),
    ),
    Somebody(
        "sv", "Åse", "Björkegren", ("Aase Bjoerkegren",), "Fru",
        "Igår ringde {} två gånger",
    ),
    Somebody(
        "ru", "Ксения", "Щербакова",
        ("Kseniya Shcherbakova", "Ksenia Shcherbakova", "Ksenija Schtscherbakowa"),
        "госпожа", "Вчера {} звонила два раза",
        ("Ксении Щербаковой", "Ксению Щербакову"),
    ),
    Somebody(
        "el", "Λεωνίδας", "Χατζόπουλος", ("Leonidas Chatzopoylos",), "κύριος",
        "Χθες {} τηλεφώνησε", ("Λεωνίδα Χατζόπουλου",),
    ),
)  # fmt: skip
Rule = Callable[[Somebody], str]


def _whole_names(someone: Somebody) -> Iterator[tuple[str, str]]:
    first, last = someone.first, someone.last
    yield "as registered", someone.name
    yield "upper case", someone.name.upper()
    yield "lower case", someone.name.lower()
    yield "snake case", f"{first}_{last}".lower()
    yield "dots", f"{first}.{last}".lower()
    yield "dashes", f"{first}-{last}".lower()
    yield "line end between", f"{first}\n{last}"
    yield "quoted", f"„{someone.name}“"
    yield "possessive", f"{someone.name}'s"
    yield "comma", f"{last}, {first}"
    yield "surname first", f"{last.upper()} {first}"
    yield "surname first, plain", f"{last} {first}"
    yield "surname first, dots", f"{last}.{first}".lower()
    yield "middle name", f"{first} Ludovika {last}"
    yield "middle initial", f"{first} K. {last}"
    yield "two initials", f"{first} K. L. {last}"
    yield "title and name", f"{someone.title} {someone.name}"
    yield "name and degree", f"{someone.name}, PhD"
    yield "line break", f"{first} {last[:4]}-\n{last[4:]}"
    yield "line break in a quote", f"{first} {last[:4]}-\n> {last[4:]}"
    yield "soft hyphen", f"{first} {last[:4]}\u00ad{last[4:]}"
    yield "camel case", f"{first}{last}"
    yield "lower camel case", f"{first.lower()}{last}"
    yield "joined", f"{first}{last}".lower()
    yield "joined, surname first", f"{last}{first}"
    yield "joined with a year", f"{first}{last}1984".lower()
    yield "in an address", f"{first}.{last}@post.example".lower()
    yield "in a path", f"/home/{first}.{last}/notes.md".lower()
    yield from (("other letters", other) for other in someone.others)
    yield from (
        ("other letters, surname first", _turned_orders(o)) for o in someone.others
    )
    yield from (("case", case) for case in someone.cases)
    if last.isascii() or someone.language in ("da", "de", "sv"):
        yield "genitive", f"{someone.name}s"
        yield "genitive, middle name", f"{first} Ludovika {last}s"


def _turned_orders(name: str) -> str:
    first, last = name.split()
    return f"{last}, {first}"


def _parts(someone: Somebody) -> Iterator[tuple[str, str]]:
    first, last = someone.first, someone.last
    yield "surname", last
    yield "surname in capitals", last.upper()
    yield "surname's", f"{last}'s"
    yield "title and surname", f"{someone.title} {last}"
    yield "title and surname, small", f"{someone.title} {last}".lower()
    yield "initial and surname", f"{first[0]}. {last}"
    yield "initials and surname", f"{first[0]}. K. {last}"
    yield "surname and initial", f"{last}, {first[0]}."
    yield "initial joined", f"{first[0]}{last}".lower()
    yield "initial in an account", f"{first[0]}.{last}".lower()
    yield "two middle names", f"{first} Ludovika Amalia {last}"
    yield "before another name", f"{last}, {first} Ludovika"
    yield from (("surname, other letters", o.split()[1]) for o in someone.others)
    if last.isascii() or someone.language in ("da", "de", "sv"):
        yield "family", f"the {last}s"


def _none(someone: Somebody) -> Iterator[tuple[str, str]]:
    yield "first name", someone.first
    yield "nickname", someone.first[:3]
    yield "misspelt", f"{someone.first} {someone.last[:-2]}"
    yield "surname, small", someone.last.lower()
    yield "somebody else's first name", f"Ludovika {someone.last}"
    yield "somebody else's initial", f"Q. {someone.last}"


def _split(someone: Somebody) -> Iterator[tuple[str, str, dict[str, Any]]]:
    reading = someone.sentence.format(someone.first)
    yield "surname in its field", reading, {"last_name": someone.last, "n": 7}
    yield "surname in its field, German", reading, {"nachname": someone.last}
    yield (
        "first name in its field",
        "A form",
        {"first": someone.first, "last": someone.last},
    )
    yield "apart in an object", "A form", {
        "given_name": someone.first, "n": 7, "city": "Oslo", "family_name": someone.last
    }  # fmt: skip


def forms_of(someone: Somebody) -> Iterator[Planted]:
    """Yield every form of a person's name in a row of its own."""
    for verdict, rules in (
        (CERTAIN, _whole_names), (PROPOSED, _parts), (NOT_SOUGHT, _none),
    ):  # fmt: skip
        for rule, form in rules(someone):
            # A form at the end of a sentence and one in a payload.
            yield Planted(rule, verdict, f"seen today: {form}", {})
    for rule, form in _whole_names(someone):
        payload = {"text": someone.sentence.format(form)}
        yield Planted(f"{rule}, in a sentence", CERTAIN, "A note", payload)
    for rule, summary, values in _split(someone):
        yield Planted(rule, CERTAIN, summary, values)
    yield Planted(
        "split, no key", PROPOSED, f"about {someone.first}", {"text": someone.last}
    )
