"""Words: cutting, stop words, phrases, and names compared without case and accents."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory.rules import tokenizer

TEXT = st.text(max_size=200)


@pytest.mark.parametrize(
    ("text", "found"),
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
def test_text_is_cut_into_lower_case_words(text: str, found: list[str]) -> None:
    assert tokenizer.split(text) == found


def test_a_decomposed_accent_does_not_cut_a_word_in_two() -> None:
    whole = unicodedata.normalize("NFC", "příkazů")
    assert tokenizer.split(unicodedata.normalize("NFD", whole)) == [whole]


@given(TEXT)
def test_words_hold_only_letters_and_digits(text: str) -> None:
    assert all(
        unicodedata.category(char)[0] in "LNM"
        for word in tokenizer.split(text)
        for char in word
    )


def test_stop_words_go_unless_nothing_else_is_left() -> None:
    assert tokenizer.telling(["why", "was", "the", "refund", "refund"]) == ["refund"]
    assert tokenizer.telling(["to", "be", "or", "not", "to", "be"]) == [
        "to",
        "be",
        "or",
        "not",
    ]


@given(st.lists(st.sampled_from(["the", "refund", "of", "receipt", "a"])))
def test_telling_words_are_known_and_said_once(given_words: list[str]) -> None:
    told = tokenizer.telling(given_words)
    assert len(told) == len(set(told))
    assert set(told) <= set(given_words)
    assert bool(told) == bool(given_words)


def test_quoted_parts_are_phrases_and_the_rest_single_words() -> None:
    quoted, single = tokenizer.phrases('late "lost receipt" and "***" odd"')
    assert quoted == [["lost", "receipt"]]
    assert single == ["late", "and", "odd"]


@pytest.mark.parametrize(
    ("left", "right"),
    [
        ("José  Müller", "jose muller"),
        ("STRASSE", "straße"),
        ("  Anna\tNovák ", "anna novak"),
        ("ﬁn", "fin"),
    ],
)
def test_names_compare_without_case_accents_and_spaces(left: str, right: str) -> None:
    assert tokenizer.fold(left) == tokenizer.fold(right)


@given(TEXT)
def test_folding_twice_changes_nothing(text: str) -> None:
    once = tokenizer.fold(text)
    assert tokenizer.fold(once) == once
