"""The second matcher leaves out most texts at once; it misses none by that."""

from __future__ import annotations

import base64
import html
import json
import quopri
import random
import re
from collections.abc import Iterator
from typing import Final
from urllib.parse import quote

import pytest
from django.db import connection

from gdpr.verification import decoded_texts, raw_columns, raw_rows
from gdpr.verification.second_matcher import Identifier, SecondMatcher
from tests.gdpr import planted_forms
from tests.gdpr.test_second_matcher import CERTAIN, NOT_CERTAIN, OTHER_PEOPLE, OWN
from tests.world import World

IDENTIFIERS: Final = (
    *OWN,
    *(Identifier("name", person.name) for person in planted_forms.PEOPLE),
)
MATCHER: Final = SecondMatcher(IDENTIFIERS, OTHER_PEOPLE)
FORMS: Final = (
    *CERTAIN.values(),
    *NOT_CERTAIN.values(),
    *(
        text
        for person in planted_forms.PEOPLE
        for text in (person.name, *person.others, *person.cases)
    ),
)
ENCODINGS: Final = (
    str.upper,
    json.dumps,
    quote,
    html.escape,
    lambda text: base64.b64encode(text.encode()).decode(),
    lambda text: base64.b64encode(text.encode("utf-16-le")).decode(),
    lambda text: base64.encodebytes((4 * text).encode()).decode(),
    lambda text: base64.encodebytes((4 * text).encode()).decode().replace("\n", "\r\n"),
    lambda text: quopri.encodestring(text.encode()).decode(),
    lambda text: text.encode().hex(),
    lambda text: text.encode("utf-16-be").hex().upper(),
    lambda text: text.replace(" ", "-\n", 1),
    lambda text: text.replace(" ", "\x00"),
)
NOISE: Final = 'abcdef ABC 0123456789 +/=_- \n\r\t\x00\x1f%&\\é王ß\u00ad\u2010@."'
_WORD: Final = re.compile(r"[A-Za-z0-9+/_\-]{12,}")
_WRAPPED: Final = re.compile(r"\n(?<=[A-Za-z0-9+/]{60}\n)(?=[A-Za-z0-9+/])")


def _texts(seed: int) -> list[str]:
    rng = random.Random(seed)

    def parts() -> Iterator[str]:
        for _ in range(rng.randint(0, 3)):
            if rng.random() < 0.6:
                yield "".join(rng.choices(NOISE, k=rng.randint(0, 60)))
                continue
            text = rng.choice(FORMS)
            for _ in range(rng.randint(0, 3)):
                text = rng.choice(ENCODINGS)(text)
            yield text

    return [
        rng.choice(["", " ", "\n", "-\n"]).join(parts())
        for _ in range(rng.randint(0, 10))
    ]


def _names(text: str, depth: int = 0) -> bool:
    """Whether a text names the person, each reading and each word tried in turn."""
    for reading in decoded_texts.readings([text]):
        (body,) = reading.texts
        if any(MATCHER._is_in(target, body) for target in MATCHER._sought):
            return True
        words = _WORD.findall(_WRAPPED.sub("", body.replace("\r\n", "\n")))
        meanings = (m for word in words for m in decoded_texts._meanings(word))
        if depth < 2 and any(_names(meaning, depth + 1) for meaning in meanings):
            return True
    return False


@pytest.mark.parametrize("seed", range(150))
def test_it_finds_what_reading_each_text_by_itself_finds(seed: int) -> None:
    texts = _texts(seed)
    expected = {at for at, text in enumerate(texts) if _names(text)}
    assert MATCHER.among(texts) == expected


# ── Reading rows ─────────────────────────────────────────────────────────────
ROWS: Final = ("a", "", "b" * 40, "c\x00d", "é", "e" * 700, "f", "g")


@pytest.mark.skipif(connection.vendor != "sqlite", reason="SQLite's rows")
@pytest.mark.parametrize("batch", [1, 2, 3, 100])
def test_rows_of_any_length_and_sign_are_read_once(
    shared_world: World, monkeypatch: pytest.MonkeyPatch, batch: int
) -> None:
    monkeypatch.setattr(raw_columns, "BATCH", batch)
    monkeypatch.setattr(raw_columns, "MAX_BYTES", 600)
    with connection.cursor() as cursor:
        cursor.execute("CREATE TABLE foreign_notes (said text)")
        for text in ROWS:
            cursor.execute("INSERT INTO foreign_notes VALUES (%s)", [text])
        # Bytes that are no text.
        cursor.execute("INSERT INTO foreign_notes VALUES (CAST(x'6dff' AS TEXT))")
    try:
        (table,) = (t for t in raw_rows.tables() if t.name == "foreign_notes")
        batches = list(raw_rows.batches(table, frozenset(), "ws_1", "sub_1"))
    finally:
        with connection.cursor() as cursor:
            cursor.execute("DROP TABLE foreign_notes")
    rows = [batch.row(at) for batch in batches for at in range(len(batch))]
    assert [row.text for row in rows] == [*ROWS, "m\ufffd"]
    assert [row.key for row in rows] == [str(n) for n in range(1, len(ROWS) + 2)]
