"""Rows of known truth about people whose names are alike.

Each row is built from a sentence and a form of a name, and says whom its writer meant:
the target, somebody else, or nobody. Others share the target's surname or first name,
have nearly the same name, or an address like the target's; some rows have the words of
the name as ordinary words.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import cycle, islice
from typing import Final


@dataclass(frozen=True, slots=True)
class NamedRow:
    """A text, and the number of the person its writer meant; None for nobody."""

    text: str
    meant: int | None
    kind: str


@dataclass(frozen=True, slots=True)
class Person:
    """A registered person, with people and words that are alike."""

    first: str
    last: str
    # Full names of other people, who are not registered.
    alike: tuple[str, ...]
    # Texts with a word of the name in another meaning.
    words: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        return f"{self.first} {self.last}"


PEOPLE: Final = (
    Person(
        "Hannah", "Weber",
        ("Hanna Weber", "Hannah Webering", "Johannah Weber", "Hannah Weberknecht"),
        ("der Weber webt am Stuhl {n}", "ein Weberknecht sitzt auf Kiste {n}"),
    ),
    Person("Otto", "Weber", ("Ottokar Weber", "Otto Webermann", "Oto Weber")),
    Person(
        "Hannah", "Lindqvist",
        ("Hannah Lindqvistson", "Anna Lindqvist", "Hannah Lind"),
        ("der Linde fehlt Ast {n}",),
    ),
    Person(
        "Jürgen", "Groß",
        ("Jürgen Große", "Jörgen Groß", "Jürgen Grossmann"),
        ("die Kiste {n} ist groß", "Große Kisten stehen in Halle {n}"),
    ),
    Person(
        "Jan", "Kowalski",
        ("Jana Kowalska", "Jan Kowal", "Janusz Kowalski"),
        ("in jan the crate {n} was full",),
    ),
    Person(
        "Robert", "Martin",
        ("Robert Martins", "Roberta Martin", "Martin Roberts"),
        ("the martin nests above dock {n}",),
    ),
)  # fmt: skip
_SENTENCES: Final = (
    "{} rang about crate {n}",
    "a letter from {} on day {n}",
    "crate {n} was signed for by {} at noon",
    "we owe {} the sum of {n}",
    "On dock {n} we met {} again",
)
_WHOLE: Final = (
    "{first} {last}", "{last}, {first}", "{LAST} {first}", "{first} K. {last}",
    "{first} Amalia {last}", "Dr. {first} {last}", "{first}.{last}@post.example",
    "{first}_{last}.md", "{first}{last}", "{first} {last}'s clerk",
)  # fmt: skip
_PARTS: Final = (
    "Dr. {last}", "{f}. {last}", "{last}", "the family {last}", "{f}{last}@post.example"
)  # fmt: skip
_OTHERS: Final = (
    "Ludovika {last}", "L. {last}", "{first} Ostergaard",
    "ludovika.{last}@post.example", "{first}.x@post.example",
    "Ludovika {last}, {first} Ostergaard",
)  # fmt: skip


def _forms(form: str, person: Person) -> str:
    return form.format(
        first=person.first,
        last=person.last,
        LAST=person.last.upper(),
        f=person.first[0],
    )


def _kinds() -> Iterator[Iterator[tuple[str, int | None, str]]]:
    """Yield, per kind, forms for ever, with whom they mean."""
    numbered = list(enumerate(PEOPLE))
    for kind, forms in (("whole", _WHOLE), ("part", _PARTS)):
        yield cycle(
            [
                (_forms(form, person), n, kind)
                for form in forms
                for n, person in numbered
            ]
        )
    yield cycle(
        [(_forms(form, person), None, "other") for form in _OTHERS for person in PEOPLE]
    )
    yield cycle([(name, None, "near") for person in PEOPLE for name in person.alike])
    yield cycle([(text, None, "word") for person in PEOPLE for text in person.words])
    yield cycle([("nobody", None, "nobody")])
    yield cycle([(person.first, n, "first name") for n, person in numbered])


def _endless() -> Iterator[NamedRow]:
    kinds = list(_kinds())
    for number in range(10**9):
        sentence = _SENTENCES[number % len(_SENTENCES)]
        for forms in kinds:
            form, meaning, kind = next(forms)
            text = form if kind == "word" else sentence.replace("{}", form)
            yield NamedRow(text.replace("{n}", str(100 + number)), meaning, kind)


def rows(count: int) -> list[NamedRow]:
    """Return the first rows of the set; it is the same every time."""
    return list(islice(_endless(), count))
