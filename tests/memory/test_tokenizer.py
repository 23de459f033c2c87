"""Words: cutting, stop words, phrases, and names compared without case and accents."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory.rules import tokenizer

TEXT = st.text(max_size=200)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("deployment-42 failed!", ["deployment", "42", "failed"]),
        ("foo AND bar", ["foo", "and", "bar"]),
        ("snake_case", ["snake", "case"]),
        ("Rozhodnutí žurnálu", ["rozhodnutí", "žurnálu"]),
        ("日本語 テスト", ["日本語", "テスト"]),
        ('🚀 *** "" ()', []),
        ("", []),
    ],
)
def test_text_is_cut_into_lower_case_words(text: str, expected: list[str]) -> None:
    assert tokenizer.split(text) == expected


def test_a_decomposed_accent_does_not_cut_a_word_in_two() -> None:
    composed = unicodedata.normalize("NFC", "příkazů")
    assert tokenizer.split(unicodedata.normalize("NFD", composed)) == [composed]


@given(TEXT)
def test_words_hold_only_letters_and_digits(text: str) -> None:
    assert all(
        unicodedata.category(char)[0] in "LNM"
        for word in tokenizer.split(text)
        for char in word
    )


def test_stop_words_go_unless_nothing_else_is_left() -> None:
    assert tokenizer.without_stop_words(["why", "was", "the", "refund", "refund"]) == [
        "refund"
    ]
    assert tokenizer.without_stop_words(["to", "be", "or", "not", "to", "be"]) == [
        "to",
        "be",
        "or",
        "not",
    ]


@given(st.lists(st.sampled_from(["the", "refund", "of", "receipt", "a"])))
def test_telling_words_are_known_and_said_once(given_words: list[str]) -> None:
    words = tokenizer.without_stop_words(given_words)
    assert len(words) == len(set(words))
    assert set(words) <= set(given_words)
    assert bool(words) == bool(given_words)


def test_quoted_parts_are_phrases_and_the_rest_single_words() -> None:
    quoted, single = tokenizer.phrases('late "lost receipt" and "***" odd"')
    assert quoted == [["lost", "receipt"]]
    assert single == ["late", "and", "odd"]


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("José  Müller", "jose muller"),
        ("STRASSE", "straße"),
        ("  Anna\tNovák ", "anna novak"),
        ("ﬁn", "fin"),
    ],
)
def test_names_compare_without_case_accents_and_spaces(first: str, second: str) -> None:
    assert tokenizer.fold(first) == tokenizer.fold(second)


@given(TEXT)
def test_folding_twice_changes_nothing(text: str) -> None:
    once = tokenizer.fold(text)
    assert tokenizer.fold(once) == once
