"""Encoded identifiers: what is read, what is masked, what is left alone."""

from __future__ import annotations

import gzip
import json
import quopri
import random
from base64 import b64encode, encodebytes
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gdpr.matching import encodings, forms, name_fields, normalize
from gdpr.matching.matcher import Matcher, Name, Sign
from gdpr.models import CaseState
from gdpr.verification import byte_search
from memory.models import JournalEntry, Record
from tests.gdpr import encoded, erasing, kit, planted_forms
from tests.world import World

MAIL = "maria.lindqvist@canary.example"
PEOPLE = Matcher(
    [
        Name("s", "email", MAIL),
        Name("s", "user_id", "u-4711"),
        Name("s", "name", "Åsa Lindqvist"),
        Name("s", "name", "王小明"),
        Name("s", "name", "Мария Иванова"),
    ]
)
ITEMS = list(zip(encoded.NAMES, encoded.CASES, strict=True))
Encode = Callable[[str], str]
each_encoding = pytest.mark.parametrize(
    "encode", [encode for _, encode in encoded.CASES], ids=encoded.NAMES
)


def test_every_form_of_the_list_has_its_cases() -> None:
    assert [form.code for form in forms.ENCODED] == list(encoded.ENCODED)


@each_encoding
def test_an_encoded_address_is_masked_as_a_whole(encode: Encode) -> None:
    token = encode(MAIL)
    assert PEOPLE.sure(f"see {token} now") == {"s"}
    masked = PEOPLE.mask(f"see {token} now").split()
    assert masked[0] == "see" and masked[-1] == "now"
    assert not set(masked[1:-1]) & set(token.split()), masked


@each_encoding
def test_it_is_noticed_among_many_texts(encode: Encode) -> None:
    text = f"see {encode(MAIL)} now"
    payload = json.dumps({"v": text})
    texts = ["nobody", text, "x" * 9, payload]
    assert PEOPLE.may(text) and PEOPLE.may(payload)
    assert PEOPLE.among(texts, name_fields.json_as_text) == [1, 3]


@pytest.mark.parametrize(
    "name", ["u-4711", "王小明", "Мария Иванова", "МАРИЯ ИВАНОВА", "Åsa Lindqvist"]
)
@pytest.mark.parametrize("encode", [encoded.base64, lambda text: text.encode().hex()])
def test_short_names_and_other_scripts_are_read(name: str, encode: Encode) -> None:
    text = f'"{encode(name)}"'
    assert PEOPLE.names(text) == {"s"}
    assert PEOPLE.among(["x", text], lambda text: text) == [1]


LANGUAGES = [
    someone
    for someone in planted_forms.PEOPLE
    if someone.language in ("cs", "da", "de", "ru", "el", "sv")
]


@pytest.mark.parametrize("someone", LANGUAGES, ids=lambda someone: someone.language)
@each_encoding
def test_the_prefilter_misses_no_form_in_no_encoding(
    encode: Encode, someone: planted_forms.Somebody
) -> None:
    matcher = Matcher([Name("s", "name", someone.name)], proposals=True)
    texts = [
        f"note: {encode(form.summary.removeprefix('seen today: '))} end"
        for form in planted_forms.forms_of(someone)
        if not form.payload and form.verdict == planted_forms.CERTAIN
    ]
    target = {at for at, text in enumerate(texts) if matcher.sign(text) is Sign.SURE}
    assert target
    assert target <= set(matcher.among(texts, lambda text: text))


@pytest.mark.parametrize(
    ("name", "form"),
    [
        ("Oldřich Vávrovský", "Vávrovský, Oldřich"),
        ("Oldřich Vávrovský", "oldřich_vávrovský"),
        ("Oldřich Vávrovský", "OldřichVávrovský"),
        ("Oldřich Vávrovský", "Oldřichem Vávrovským"),
        ("Åse Björkegren", "A\u030ase Bjo\u0308rkegren"),
        ("Λεωνίδας Χατζόπουλος", "ΧΑΤΖΌΠΟΥΛΟΣ, Λεωνίδας"),
    ],
)
@pytest.mark.parametrize("encode", [encoded.base64, lambda text: text.encode().hex()])
def test_names_with_accents_are_noticed(encode: Encode, name: str, form: str) -> None:
    matcher = Matcher([Name("s", "name", name)])
    text = json.dumps({"said": f"note {encode(form)}"})
    assert matcher.sure(text) == {"s"}
    assert matcher.among(["x", text], name_fields.json_as_text) == [1]


def test_text_of_many_lines_without_ascii_is_noticed() -> None:
    token = encodebytes(("Вчера Мария Иванова звонила. " * 3).encode()).decode()
    text = "\n    ".join(token.split())
    assert PEOPLE.sure(text) == {"s"}
    assert PEOPLE.among(["x", text], lambda text: text) == [1]


BREAKS = [
    encoded.base64("Dear Harriet Thistle-\ncombe, hello"),
    encoded.base64(json.dumps({"text": "Harriet Thistle-\n> combe"})),
    b"Dear Harriet Thistle-\ncombe, hello".hex(),
    "Harriet%20Thistle-%0Acombe",
    "Harriet&#32;Thistle-&#10;combe",
    "Harriet\\u0020Thistle-\\u000acombe",
    "Harriet=20Thistle-=0Acombe",
    "Thistlecombe%2C+Harriet",
]


@pytest.mark.parametrize("token", BREAKS)
def test_words_parted_in_an_encoding_are_read_as_one(token: str) -> None:
    matcher = Matcher([Name("s", "name", "Harriet Thistlecombe")])
    text = f"see {token} now"
    assert matcher.sure(text) == {"s"}
    assert matcher.among(["nobody", text], lambda text: text) == [1]
    assert matcher.mask(text, "…") == "see … now"
    readings = [normalize.fold(view.text) for view in normalize.escaped_views(text)]
    assert list(normalize.readings(text)) == readings


def test_a_soft_line_end_inside_a_character_parts_nothing() -> None:
    matcher = Matcher([Name("s", "name", "Ксения Щербакова")])
    signs = quopri.encodestring("„Ксения Щербакова“".encode()).decode()
    assert "=D0=\n=B0" in signs
    assert matcher.among(["nobody", signs], lambda text: text) == [1]
    assert matcher.mask(signs, "…") == "=E2=80=9E…=E2=80=9C"


def test_a_plus_of_an_address_stays_a_plus() -> None:
    matcher = Matcher([Name("s", "email", "anna+tag@x.example")])
    assert matcher.sure("q=anna+tag%40x.example") == {"s"}


@pytest.mark.parametrize("codec", ["utf-16-le", "utf-16-be"])
def test_utf16_is_read_of_ascii_text_only(codec: str) -> None:
    greek, ascii_name = "Λεωνίδας Χατζόπουλος", "Harriet Thistlecombe"
    matcher = Matcher([Name("g", "name", greek), Name("a", "name", ascii_name)])
    assert matcher.sure(b64encode(ascii_name.encode(codec)).decode()) == {"a"}
    assert matcher.sure(b64encode(greek.encode(codec)).decode()) == frozenset()


def test_a_name_in_two_fields_of_a_token_is_read() -> None:
    claims = json.dumps({"family_name": "Lindqvist", "given_name": "Åsa"})
    assert PEOPLE.names(f"Bearer e30.{encoded.base64url(claims)}.c2ln") == {"s"}


def test_what_stands_beside_a_token_stays() -> None:
    text = f"/users/{encoded.base64url(MAIL)}?tab=2 id-{encoded.base64(MAIL)}"
    assert PEOPLE.mask(text, "…") == "/users/…?tab=2 id-…"


@given(
    st.text(st.characters(codec="utf-8"), max_size=30),
    st.text(st.characters(codec="utf-8"), max_size=30),
)
def test_an_address_is_found_anywhere_in_an_encoded_text(
    before: str, behind: str
) -> None:
    text = f"{before} {MAIL} {behind}"
    if PEOPLE.names(text):
        token = encoded.base64(text)
        assert PEOPLE.names(token)
        assert PEOPLE.among([token], lambda text: text) == [0]


@given(st.binary(max_size=200))
def test_bytes_that_are_no_text_break_nothing(data: bytes) -> None:
    for token in (b64encode(data).decode(), data.hex()):
        assert PEOPLE.names(token) == frozenset()
        views = [view.text for view in normalize.escaped_views(token)]
        assert set(normalize.readings(token)) == set(views)


def test_hashes_and_ids_are_no_text() -> None:
    rng = random.Random(7)
    tokens = [rng.randbytes(32).hex() for _ in range(300)]
    tokens += [b64encode(rng.randbytes(32)).decode() for _ in range(300)]
    readable = sum(bool(list(encodings.pieces(token))) for token in tokens)
    assert readable <= 6


def test_a_small_token_for_gigabytes_is_read_up_to_the_limit() -> None:
    space = b" " * encodings.MAX_INFLATED
    beyond, within = (
        b64encode(gzip.compress(space[: -len(MAIL) * n] + MAIL.encode())).decode()
        for n in (0, 1)
    )
    assert PEOPLE.names(within)
    beyond = b64encode(gzip.compress(space + MAIL.encode())).decode()
    assert not PEOPLE.names(beyond)
    items = " ".join([beyond] * encodings.MAX_COMPRESSED_TOKENS)
    assert PEOPLE.names(f"{within} {items}")
    assert not PEOPLE.names(f"{items} {within}")


# ── Bytes ────────────────────────────────────────────────────────────────────
@pytest.mark.parametrize("lead", ["", "a", "ab", "abc"])
@pytest.mark.parametrize("name", [MAIL, MAIL.upper(), "Åsa Lindqvist"])
def test_the_bytes_of_encodings_are_searched_for(name: str, lead: str) -> None:
    finder = byte_search.Finder(byte_search.of_alias(name.lower().title()))
    finder = byte_search.Finder(byte_search.of_alias(name))
    text = f"{lead} {name} and more"
    for data in (
        b64encode(text.encode()),
        b64encode(text.encode("utf-16-le")),
        text.encode().hex().encode(),
    ):
        assert finder.find(b"\x00\x01" + data + b"\x00" * 16)


def test_the_patterns_of_a_name_are_bounded() -> None:
    for name in (MAIL, "Åsa Lindqvist", "Jörg Ängström-Ölund"):
        assert len(byte_search.of_alias(name)) <= 150


# ── Erasure ──────────────────────────────────────────────────────────────────
def _planted(world: World, token: str) -> list[str]:
    """Write a token into an entry, a payload, a record and a file; return entries."""
    rows = [
        world.entry(f"said {token} here"),
        world.entry("said", payload={"deep": [{"said": token}]}),
    ]
    ada = world.api("ada")
    assert ada.post("/records", {"content": f"heard {token}"}).status == 201
    body = {"tier": "AGENT", "content": f"- {token}\n", "mode": "append"}
    assert ada.post("/memory/tools/memory.write", body).status == 200
    return [row.id for row in rows]


def test_every_form_is_erased_and_searched_for(shared_world: World) -> None:
    world = shared_world
    planted = {name: _planted(world, encode(MAIL)) for name, (_, encode) in ITEMS}
    # Registered after the writes, which else would link the rows.
    person = erasing.subject(world, ("email", MAIL))
    case = erasing.erased(world, person)
    entries = JournalEntry.objects.filter(erased_at=None)
    left_text = {
        name: ids
        for name, ids in planted.items()
        if entries.filter(pk__in=ids).exists()
    }
    assert left_text == {}
    assert not Record.objects.filter(content__contains="heard").exists()
    tokens = {name: encode(MAIL) for name, (_, encode) in ITEMS}
    in_files = {n: kit.in_folders(t.split()[0]) for n, t in tokens.items()}
    assert {name: hits for name, hits in in_files.items() if hits} == {}
    assert case.state == CaseState.COMPLETE, erasing.failure_text(case)


_BEYOND_ASCII = st.text("éüЩ王 aB-", min_size=1, max_size=30)
_TOKENS = st.one_of(
    st.text("abAB01+/=_- \n\r\0é", max_size=50),
    _BEYOND_ASCII.map(lambda text: b64encode(text.encode()).decode()),
    _BEYOND_ASCII.map(lambda text: encodebytes(4 * text.encode()).decode()),
    _BEYOND_ASCII.map(lambda text: text.encode().hex()),
)


def _tokens_one_by_one(body: str) -> list[tuple[int, int]]:
    spans = [
        match.span()
        for match in encodings._UTF8_TOKEN.finditer(body)
        if len(match[0]) >= encodings.MIN_BASE64
        and encodings._OTHER.search(match[0])
        and match[0].strip(encodings._ID_SIGNS)
        and encodings._is_utf8(data := encodings._decoded("".join(match[0].split())))
        and encodings._said(data) is not None
    ]
    return spans + [
        match.span()
        for match in encodings._HEX_TOKEN.finditer(body)
        if encodings._UTF8_HEX.match(body, match.start())
        and any(
            encodings._said(data) is not None
            for data in encodings._hexadecimal(match[0])
        )
    ]


@given(st.lists(_TOKENS, max_size=8), st.sampled_from(["", " ", "=", "."]))
def test_tokens_are_found_without_trying_every_sign(
    tokens: list[str], between: str
) -> None:
    body = between.join(tokens)
    assert list(encodings.unbroken(body)) == _tokens_one_by_one(body)
