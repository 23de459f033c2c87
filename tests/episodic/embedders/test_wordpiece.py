"""WordPiece in plain Python against the package tokenizers."""

from __future__ import annotations

import functools
import itertools
import unicodedata
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from episodic.embedders import onnx, wordpiece

if TYPE_CHECKING:
    from collections.abc import Callable

PARTS = wordpiece.read(onnx.MINILM / onnx.TOKENIZER)
OWN_TOKENIZER = wordpiece.WordPiece(PARTS)
CLS, SEP, UNK = 101, 102, 100

HORRORS = [
    *("", " ", "\t\n\r\x0b\x0c\x1c\x85\xa0\u2028\u3000", "\0", "\ufffd", "\ufeffx"),
    *("Ünïcödé Ångström İstanbul ẞ ﬁ ﷽", "ΌΣΟΣ ΟΔΟΣ σς", "e\u0301\u0302\u0323", "ガガ"),
    *(
        "中文字符と日本語",
        "한국어 조선",
        "हिन्दी में",
        "עברית ערבית",
        "ภาษาไทย",
        "🙂🏽👩‍👩‍👧 ok",
    ),
    *("a\u200bb\u200dc\u202ed\u2066e", "x\U000e0041y", "\ue000\U0010fffd", "\u180e"),
    *("a" * 100, "a" * 101, "é" * 100, "é" * 101, "ab\u0301" * 60, "," * 300),
    *("[CLS] a [SEP][SEP] b [MASK]", "[C[CLS]LS]", "[cls]", "[UNK][PAD]", "##ing ##"),
    *("don't re-use foo_bar@x.org $5.00 50% 1,000,000", "x " * 400, "`~^|<>=+"),
    *("\u166d\u1734a\u0898b\U000111c9c", "\u061d\u2e52", "a\u0378b", "\U00013430"),
]

SUBJECTS = (
    "Rhea",
    "agent finance-7",
    "Zoë Łukasiewicz",
    "the on-call engineer",
    "李雷",
)
VERBS = ("escalated", "refused to re-open", "double-checked", "summarised (again)")
OBJECTS = (
    "invoice INV-20391",
    "the HTTP 502s",
    "a €1,250.50 refund",
    "`rm -rf` in prod",
)
REASONS = (
    "because the supplier's bank account changed two days before payment.",
    "; see journal j_3f0a9c77 and crew/ops/2031-04-30!",
    "— «не сейчас», said the reviewer… naïve reconciliation.",
)


@functools.cache
def reference_encoder() -> Callable[[str], list[int]]:
    tokenizers: Any = pytest.importorskip(
        "tokenizers", reason="the package tokenizers, which ours is compared with"
    )
    reference = tokenizers.Tokenizer.from_file(str(onnx.MINILM / onnx.TOKENIZER))
    reference.no_padding()
    reference.enable_truncation(wordpiece.LIMIT)

    def encode(text: str) -> list[int]:
        ids: list[int] = reference.encode(text).ids
        return ids

    return encode


@pytest.mark.parametrize("text", HORRORS, ids=ascii)
def test_horrors_get_the_same_ids(text: str) -> None:
    assert OWN_TOKENIZER.encode(text) == reference_encoder()(text)


def test_journal_texts_get_the_same_ids() -> None:
    for parts in itertools.product(SUBJECTS, VERBS, OBJECTS, REASONS):
        text = " ".join(parts)
        assert OWN_TOKENIZER.encode(text) == reference_encoder()(text)
        assert OWN_TOKENIZER.encode(text * 9) == reference_encoder()(text * 9)


def test_every_character_gets_the_same_ids() -> None:
    reference = reference_encoder()
    letters = (chr(code) for code in range(0x110000) if not 0xD800 <= code < 0xE000)
    assigned = (x for x in letters if unicodedata.category(x) not in ("Cn", "Co"))
    while texts := [f"a{x}b e{x} " for x in itertools.islice(assigned, 16)]:
        text = "".join(texts)
        assert OWN_TOKENIZER.encode(text) == reference(text), ascii(text)


@settings(max_examples=1500)
@given(st.text(max_size=60))
@example("[SEP")
def test_any_text_gets_the_same_ids(text: str) -> None:
    assert OWN_TOKENIZER.encode(text) == reference_encoder()(text)


WORDLIKE = st.text("abcdeéÉßΣİ \u0301\u0345.,-[]#中が🙂\u200b", max_size=40)


@settings(max_examples=1500)
@given(st.lists(st.one_of(WORDLIKE, st.sampled_from(HORRORS)), max_size=5).map("".join))
def test_mixed_texts_get_the_same_ids(text: str) -> None:
    assert OWN_TOKENIZER.encode(text) == reference_encoder()(text)


def test_known_ids_without_the_package() -> None:
    assert OWN_TOKENIZER.encode("Hello, world!") == [CLS, 7592, 1010, 2088, 999, SEP]
    assert OWN_TOKENIZER.encode("embeddings") == [CLS, 7861, 8270, 4667, 2015, SEP]
    assert OWN_TOKENIZER.encode("") == [CLS, SEP]
    assert OWN_TOKENIZER.encode("x" * 101) == [CLS, UNK, SEP]


@given(st.text(st.characters(codec=None), max_size=400))
def test_ids_are_framed_and_never_too_many(text: str) -> None:
    ids = OWN_TOKENIZER.encode(text)
    assert 2 <= len(ids) <= wordpiece.LIMIT
    assert (ids[0], ids[-1]) == (CLS, SEP)


def test_lone_surrogates_are_dropped() -> None:
    assert OWN_TOKENIZER.encode("a\ud800b") == OWN_TOKENIZER.encode("ab")


def test_the_table_of_characters_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(wordpiece, "KNOWN_CHARACTERS", 3)
    table = wordpiece.Characters(str.upper)
    assert "abcdef".translate(table) == "ABCDEF"
    assert len(table) == 3


def small(**normalizer: object) -> wordpiece.WordPiece:
    words = ["[UNK]", "[CLS]", "[SEP]", "a", "A", "á", "Á", "一", "##一", "b"]
    switches = dict.fromkeys(("lowercase", "strip_accents", "clean_text"), False)
    return wordpiece.WordPiece(
        {
            "model": {
                "vocab": {word: at for at, word in enumerate(words)},
                "unk_token": "[UNK]",
                "continuing_subword_prefix": "##",
                "max_input_chars_per_word": 100,
            },
            "normalizer": switches | {"handle_chinese_chars": False} | normalizer,
            "post_processor": {
                "type": "BertProcessing",
                "cls": ["[CLS]", 1],
                "sep": ["[SEP]", 2],
            },
            "added_tokens": [],
        },
        limit=4,
    )


def test_a_model_may_switch_each_step_off() -> None:
    assert small().encode("Á a A") == [1, 6, 3, 2]
    assert small(lowercase=True).encode("Á A") == [1, 5, 3, 2]
    assert small(strip_accents=True).encode("Á A") == [1, 4, 4, 2]
    assert small().encode("一一") == [1, 7, 8, 2]
    assert small(handle_chinese_chars=True).encode("一一") == [1, 7, 7, 2]
    assert small().encode("a\x01") == [1, 0, 2]
    assert small(clean_text=True).encode("a\x01") == [1, 3, 2]


def test_accents_follow_the_case_when_nothing_is_said() -> None:
    assert small(lowercase=True, strip_accents=None).encode("Á") == [1, 3, 2]


def test_only_plain_wordpiece_is_understood() -> None:
    assert wordpiece.understands(PARTS)
    odd = {"content": "[X]", "id": 1, "special": False}
    for change in (
        {"model": {"type": "BPE"}},
        {"normalizer": None},
        {"pre_tokenizer": {"type": "Metaspace"}},
        {"added_tokens": [odd]},
    ):
        assert not wordpiece.understands(PARTS | change)
