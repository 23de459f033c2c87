"""Text as terms: what counts as the same word, and how it is stored."""

from __future__ import annotations

import sqlite3
import struct
import subprocess
import sys
import threading
from collections import Counter
from contextlib import closing

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory.rules import tokenizer
from memory.word_index import terms
from tests.project.source import ROOT


@pytest.mark.parametrize(
    ("text", "stems"),
    [
        ("running", ["run"]),
        ("Rozhodnutí", ["rozhodnuti"]),
        ("ﬁle", ["file"]),
        ("한국어", ["한국", "국어"]),
        ("日本語", ["日本", "本語"]),
        ("猫", ["猫"]),
        ("abc日本x", ["abc", "日本", "x"]),
        ("4711", ["4711"]),
    ],
)
def test_a_word_has_these_stems(text: str, stems: list[str]) -> None:
    assert terms.stems(text.lower()) == stems


@pytest.mark.sqlite
def test_stems_are_those_of_the_full_text_search() -> None:
    words = (
        "running refunds denied customers parcel receipts relational happily"
        " příkaz überweisung naïve generalizations oscillators agreed hopping"
    ).split()
    with closing(sqlite3.connect(":memory:")) as memory:
        memory.execute(
            "CREATE VIRTUAL TABLE t USING fts5(word,"
            " tokenize='porter unicode61 remove_diacritics 2')"
        )
        memory.executemany("INSERT INTO t(rowid, word) VALUES (?, ?)", enumerate(words))
        memory.execute("CREATE VIRTUAL TABLE v USING fts5vocab(t, instance)")
        stems = dict(memory.execute("SELECT doc, term FROM v"))
    assert [terms.stems(word)[0] for word in words] == [
        stems[number] for number in range(len(words))
    ]


def test_terms_are_the_same_in_every_process() -> None:
    words = "terms.words_of('Refund', 'höhe').hex()"
    code = f"from memory.word_index import terms; print({words})"
    other = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True,
        check=True, env={"PYTHONHASHSEED": "7"},
    )  # fmt: skip
    blob = terms.words_of("Refund", "höhe")
    assert other.stdout.strip() == blob.hex()
    # Pinned: stored lists outlive the program that wrote them.
    assert sorted(terms.of_text("refund", "")) == [PINNED]


PINNED = 842260292


def test_threads_get_the_same_stems() -> None:
    words = [f"{stem}{ending}" for stem in ("load", "walk") for ending in ("ing", "ed")]
    results: list[list[str]] = []

    def work() -> None:
        results.extend([terms.stems(word)[0] for word in words] for _ in range(200))

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(results) == 800
    assert all(result == ["load", "load", "walk", "walk"] for result in results)


def test_what_is_behind_the_cap_does_not_count() -> None:
    inside = "x " * (terms.TEXT_CHARS // 2 - 1)
    assert set(terms.of_text("", f"{inside} zeppelin")) == set(terms.of_text("x", ""))


@given(st.lists(st.text(max_size=60), max_size=6))
def test_what_is_packed_comes_out_again(texts: list[str]) -> None:
    in_order = [terms.of_text(text, "") for text in texts]
    blobs = [terms.pack(text) for text in in_order]
    counts = [Counter(text) for text in in_order]
    lists = terms.unpack(blobs)
    assert lists.sizes.tolist() == [len(count) for count in counts]
    assert lists.lengths.tolist() == [count.total() for count in counts]
    pairs = list(zip(lists.terms.tolist(), lists.counts.tolist(), strict=True))
    assert pairs == [pair for count in counts for pair in sorted(count.items())]
    assert [terms.in_order(blob).tolist() for blob in blobs] == in_order


@given(st.lists(st.integers(0, 400), max_size=700))
def test_the_stored_form_stays_what_it_is(text: list[int]) -> None:
    counts = Counter(text)
    order = sorted(counts)
    width = "B" if len(order) <= 256 else "H"
    assert terms.pack(text) == struct.pack(
        f"<BHH{len(order)}I{len(order)}B{len(text)}{width}",
        *(1, len(text), len(order)),
        *order,
        *(min(counts[term], 255) for term in order),
        *(order.index(term) for term in text),
    )


@pytest.mark.parametrize("long", ["", "x" * 41])
def test_a_text_has_the_terms_of_its_words(long: str) -> None:
    words = tokenizer.split(f"Refunds denied\nfor 日本語 {long} refund")
    expected = [term for word in words for term in terms.of_word(word)]
    assert terms.of_text("Refunds denied", f"for 日本語 {long} refund") == expected


def test_counts_are_capped_and_long_texts_keep_their_order() -> None:
    text = [*range(400), *[7] * 1_000]
    blob = terms.pack(text)
    lists = terms.unpack([blob])
    assert lists.counts.tolist() == [1] * 7 + [terms.MAX_COUNT] + [1] * 392
    assert lists.lengths.tolist() == [1_400]
    assert terms.in_order(blob).tolist() == text


@pytest.mark.parametrize("blob", [None, b"", b"\x01", b"\x02\0\0", b"\x01\0\0abc"])
def test_bytes_of_another_format_are_not_read(blob: bytes | None) -> None:
    assert not terms.is_readable(blob)
    assert terms.is_readable(terms.words_of("", ""))


def test_a_long_run_of_marks_is_cut() -> None:
    text = "a" + "\u0301\u0323" * 1_000 + "b \u200b c\u0327"
    assert len(tokenizer.composed(text)) < 60
    assert tokenizer.split(text) == [*tokenizer.split("a\u0301\u0323"), "b", "ç"]
