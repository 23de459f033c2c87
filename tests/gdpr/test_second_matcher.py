"""The second matcher finds what is certain, and nothing that may mean somebody else."""

from __future__ import annotations

import ast
import base64
import html
import json
import quopri
from pathlib import Path
from urllib.parse import quote, quote_plus

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gdpr.matching.matcher import Matcher, Name, Sign
from gdpr.verification import second_matcher, word_sequences
from gdpr.verification.second_matcher import SEAM, Identifier, SecondMatcher

NAME = "Zorélle Quaxbørgsen"
MAIL = "zorelle.quax@example.com"
OWN = (
    Identifier("name", NAME),
    Identifier("email", MAIL),
    Identifier("user_id", "usr-88213"),
    Identifier("phone", "+49 151 2345678"),
    Identifier("handle", "zq_rocks"),
    Identifier("user_id", "42", in_texts=False),
    Identifier("name", "王伟"),
    Identifier("name", "Mueller Anton"),
)
OTHER_PEOPLE = (
    Identifier("name", "Zorélle Maria Quaxbørgsen-Olsen"),
    Identifier("email", "zorelle.quaxborgsen@other.example"),
)
MATCHER = SecondMatcher(OWN, OTHER_PEOPLE)


def _b64(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


def _token() -> str:
    """Return a web token whose payload has the address."""
    payload = json.dumps({"sub": "1", "email": MAIL}).encode()
    body = base64.urlsafe_b64encode(payload).decode().rstrip("=")
    return f"eyJhbGciOiJIUzI1NiJ9.{body}.c2lnbmF0dXJl"


CERTAIN = {
    "as registered": NAME,
    "capitals": NAME.upper(),
    "surname in capitals, first": "QUAXBØRGSEN Zorélle",
    "surname first, comma": "Quaxbørgsen, Zorélle",
    "without accents": "Zorelle Quaxborgsen",
    "digraph": "Zorelle Quaxboergsen",
    "digraph registered": "Anton Müller",
    "decomposed": "Zore\u0301lle Quaxbørgsen",
    "genitive": "Zorelle Quaxborgsen's boat",
    "genitive, no apostrophe": "Zorélle Quaxbørgsens Boot",
    "middle name": "Zorélle Maria Quaxbørgsen",
    "middle initial": "Zorélle M. Quaxbørgsen",
    "camel case": "getZorelleQuaxborgsenReport",
    "snake case": "zorelle_quaxborgsen",
    "one word": "zorellequaxborgsen",
    "hyphen at the end of a line": "Zorélle Quaxbør-\ngsen",
    "script without spaces": "联系王伟吧",
    "address": f"write to {MAIL}.",
    "address with a label": "zorelle.quax+news@example.com",
    "surname first in a list": "Olsen, Ida\nQuaxbørgsen, Zorélle\nBerg, Otto",
    "surname first, file": "quaxborgsen_zorelle.pdf",
    "number behind a word": "tel: 491512345678",
    "number behind a verb": "call 491512345678 now",
    "number of a field": '{"phone": 491512345678}',
    "user id": "seen: usr-88213",
    "handle": "@zq_rocks",
    "national number": "call 0151 2345678 now",
    "number in a field": '{"user_id": 42}',
    "id in a field": '{"user":"42"}',
    "json": json.dumps(NAME),
    "json twice": json.dumps(json.dumps(NAME)),
    "percent": quote(NAME),
    "form": quote_plus("Quaxbørgsen, Zorélle"),
    "html": html.escape(NAME).replace("é", "&eacute;"),
    "numeric html": "&#90;orélle Quaxbørgsen",
    "quoted printable": quopri.encodestring(NAME.encode()).decode(),
    "base64": _b64(f"mail {MAIL} please"),
    "base64 twice": _b64(_b64(MAIL)),
    "base64 in lines": base64.encodebytes(f"{'x' * 90} {MAIL}".encode()).decode(),
    "base64 in a path": f"img/{_b64(MAIL)}",
    "data url": f"data:text/plain;base64,{_b64(NAME)}",
    "web token": _token(),
    "hexadecimal": MAIL.encode().hex(),
    "hexadecimal utf-16": MAIL.encode("utf-16-le").hex().upper(),
}
NOT_CERTAIN = {
    "first name": "Zorélle",
    "surname": "Quaxbørgsen",
    "two people": "Zorélle and Quaxbørgsen",
    "a list": "Quaxbørgsen; Zorélle",
    "end of a sentence": "Quaxbørgsen. Zorélle",
    "list of people": "guests: Ida Quaxbørgsen, Zorélle Smith and Otto Berg",
    "list of two": "Zorélle Quaxbørg and Ida Quaxbørgsen, Zorélle",
    "list in lines": "guests: Ida Quaxbørgsen\nZorélle Smith\nOtto Berg",
    "list with dashes": "- Ida Quaxbørgsen,\n  Zorélle Smith",
    "list in small letters": "ida quaxborgsen, zorelle smith and otto berg",
    "list in a row": "Ida Quaxbørgsen Zorélle Smith",
    "no space after a sentence": "Ida Quaxbørgsen.Zorélle Smith",
    "list in an address": "q=Ida+Quaxborgsen%2C+Zorelle+Smith",
    "list in camel case": "IdaQuaxborgsenZorelleSmith",
    "list encoded": _b64("Ida Quaxbørgsen, Zorélle Smith and Otto Berg"),
    "capitalised word before": "Likes Quaxbørgsen, Zorélle Ludovika",
    "capitalised word after": "Quaxbørgsen, Zorélle Ludovika",
    "double name": "Olsen-Quaxbørgsen, Zorélle",
    "two columns": f"Zorélle{SEAM}Quaxbørgsen",
    "somebody else's longer name": "Zorélle Maria Quaxbørgsen-Olsen",
    "somebody else's address": "zorelle.quaxborgsen@other.example",
    "longer domain": "zorelle.quax@example.com.br",
    "longer mailbox": "xzorelle.quax@example.com",
    "longer id": "usr-882134",
    "number in a text": "42 boats",
    "number in another field": '{"count": 42}',
    "longer handle": "zq_rocks2",
    "mailbox like the handle": "zq_rocks@else.example",
    "longer number": "1512345678901234",
    "number that ends like it": "parcel 99491512345678 left",
    "amount": '{"amount":491512345678}',
    "digits alone": "amount 491512345678",
    "same sound": "汪威",
    "digraph not registered": "Anton Muller",
    "small middle word": "zorelle maria quaxborgsen",
}


@pytest.mark.parametrize("form", CERTAIN)
def test_a_certain_form_is_found(form: str) -> None:
    assert MATCHER.among(["a text", CERTAIN[form], "another"]) == {1}


@pytest.mark.parametrize("form", NOT_CERTAIN)
def test_what_may_mean_somebody_else_is_left(form: str) -> None:
    assert MATCHER.among([NOT_CERTAIN[form]]) == set()


def test_an_exact_matcher_finds_a_name_only_as_it_is_registered() -> None:
    exact = SecondMatcher(OWN, OTHER_PEOPLE, exact=True)
    texts = [NAME.upper(), "Quaxbørgsen, Zorélle", "Zorélle Maria Quaxbørgsen", MAIL]
    assert exact.among(texts) == {0, 3}


def test_a_name_that_somebody_else_has_too_is_nobodys() -> None:
    same_requests = Identifier("name", "Zorelle Quaxborgsen")
    assert len(SecondMatcher([Identifier("name", NAME)], [same_requests])) == 0


@given(st.lists(st.text(max_size=40), max_size=6), st.integers(0, 6))
def test_a_row_is_found_whatever_the_others_say(texts: list[str], at: int) -> None:
    at = min(at, len(texts))
    rows = [*texts[:at], f"about {MAIL} here", *texts[at:]]
    assert at in MATCHER.among(rows)


_LETTERS = st.text("abcdefghijklmnoprstuvwzäöüøéñł", min_size=3, max_size=9)


@given(_LETTERS, _LETTERS)
def test_both_find_a_full_name_as_it_is_registered(first: str, last: str) -> None:
    value = f"{first.title()} {last.title()}"
    first_matcher = Matcher([Name("sub_1", "name", value)])
    second = SecondMatcher([Identifier("name", value)])
    for text in (value, value.upper(), f"{last.title()}, {first.title()}"):
        assert first_matcher.sign(f"note: {text}.") is not Sign.NONE
        assert second.among([f"note: {text}."]) == {0}


@given(st.text(max_size=200))
def test_what_only_the_second_finds_is_no_plain_text(text: str) -> None:
    """In a text without the name's letters neither finds anything."""
    letters = word_sequences.ascii_of(text).lower()
    if "quax" not in letters and "@" not in letters:
        assert MATCHER.among([text.replace("王", "").replace("8", "")]) == set()


def test_the_second_shares_no_code_with_the_first() -> None:
    folder = Path(second_matcher.__file__).parent
    for name in ("second_matcher", "word_sequences", "decoded_texts"):
        tree = ast.parse((folder / f"{name}.py").read_text())
        imported = {
            node.module or ""
            for node in ast.walk(tree)
            if isinstance(node, ast.ImportFrom)
        }
        assert not [module for module in imported if "matching" in module]
