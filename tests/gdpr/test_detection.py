"""The detector of people: what it finds, what it leaves alone, and what it costs."""

from __future__ import annotations

import subprocess
import sys
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from episodic.embedders import base, onnx
from gdpr.detection import name_lists, people, rampart_model
from gdpr.detection.find import PIECE, find
from gdpr.detection.spans import Kind, Span, without_overlaps
from tests.gdpr import detection_sentences


def _covers(text: str, spans: Sequence[Span], start: int, end: int) -> bool:
    """Whether every letter and digit of a place is in a span."""
    return all(
        any(span.start <= place < span.end for span in spans)
        for place in range(start, end)
        if text[place].isalnum()
    )


def _words(text: str, *, sure: bool | None = None) -> list[tuple[str, str]]:
    return [
        (span.kind.value, text[span.start : span.end])
        for span in find(text)
        if sure is None or span.surely is sure
    ]


# ── How well ─────────────────────────────────────────────────────────────────
def test_people_are_found_in_five_languages() -> None:
    total: Counter[str] = Counter()
    hits: Counter[str] = Counter()
    surely: Counter[str] = Counter()
    for sentence in detection_sentences.sentences():
        spans = find(sentence.text)
        sure_spans = [span for span in spans if span.surely]
        for start, end, kind in sentence.marks:
            total[kind] += 1
            hits[kind] += _covers(sentence.text, spans, start, end)
            surely[kind] += _covers(sentence.text, sure_spans, start, end)
    assert {kind: hits[kind] / total[kind] for kind in total} == pytest.approx(
        dict.fromkeys(total, 1.0), abs=0.05
    )
    assert surely["name"] / total["name"] >= 0.8
    assert surely["email"] == total["email"]
    assert surely["number"] == total["number"]


def test_texts_about_work_name_nobody() -> None:
    lines = detection_sentences.NOBODY.strip().splitlines()
    assert {line: _words(line) for line in lines if find(line)} == {}


# ── How surely ───────────────────────────────────────────────────────────────
@pytest.mark.parametrize(
    ("text", "word", "sure"),
    [
        ("Decided with Lena Bergqvist yesterday", "Lena Bergqvist", True),
        ("Bitte Frau Schmidt-Hoffmann anrufen", "Schmidt-Hoffmann", True),
        ("Ask Priya about the invoice.", "Priya", False),
        ("Call me at +46 70 123 45 67 today", "+46 70 123 45 67", True),
        ("Try 0151 23456789 tomorrow", "0151 23456789", False),
        ("Telefon: 0151 23456789", "0151 23456789", True),
        ("PESEL 44051401359", "44051401359", True),
        ("write to info@acme.example", "info@acme.example", False),
        ("<td>Ingrid</td><td>name=Priya</td>", "Ingrid", False),
        ("customer:Lena Bergqvist(34)", "Lena Bergqvist", True),
        ("ping @lena_b about it", "@lena_b", False),
        ("Anschrift: 80331 München", "80331 München", False),
        ("Petros: Γιώργος Παπαδόπουλος ρώτησε", "Γιώργος Παπαδόπουλος", True),
    ],
)
def test_the_form_of_a_word_says_how_sure_it_is(
    text: str, word: str, *, sure: bool
) -> None:
    assert word in [match for _, match in _words(text, sure=sure)]


@pytest.mark.parametrize(
    "text",
    ["44051401360", "1234 5678 9012 3456", "DE00370400440532013000", "12345678A"],
)
def test_a_number_with_wrong_check_digits_is_nobodys(text: str) -> None:
    assert _words(f"It says {text} there") == []


def test_of_two_that_overlap_the_sure_one_stays() -> None:
    unsure = Span(0, 9, Kind.NAME, surely=False)
    sure = Span(4, 7, Kind.EMAIL, surely=True)
    phone = Span(10, 12, Kind.PHONE, surely=False)
    assert without_overlaps([phone, unsure, sure]) == [sure, phone]


# ── Any text ─────────────────────────────────────────────────────────────────
@given(st.text(max_size=200))
@settings(max_examples=40, deadline=None)
def test_spans_are_in_order_and_inside_the_text(text: str) -> None:
    spans = find(text)
    ends = [0, *(place for span in spans for place in (span.start, span.end))]
    assert ends == sorted(ends)
    assert ends[-1] <= len(text)


def test_a_name_is_found_wherever_a_long_text_is_cut() -> None:
    name = "Lena Bergqvist"
    for at in range(PIECE - 24, PIECE + 2, 3):
        text = "-- " * (at // 3) + f"asked {name} again. "
        assert name in [word for _, word in _words(text)]


@pytest.mark.parametrize("unit", ["1", "1 ", "\n", "山", ".", "Я"])
def test_a_hostile_text_costs_no_model(
    unit: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What the model cannot read is not given to it."""

    def refuse(*_: object) -> None:
        raise AssertionError(unit)

    monkeypatch.setattr(rampart_model._Model, "read", refuse)
    text = unit * (100_000 // len(unit))
    assert find(text) == []


# ── What the model need not read ─────────────────────────────────────────────
DULL = "The deploy was slow and it had to wait for a free port. "


def test_a_sentence_that_can_name_nobody_costs_no_model(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def refuse(*_: object) -> None:
        raise AssertionError

    monkeypatch.setattr(rampart_model._Model, "read", refuse)
    assert find(DULL * 20 + "It ran 12 times\nand the API was down.") == []
    with pytest.raises(AssertionError):
        find(DULL + "It asked Ingrid.")


def test_what_the_model_skips_hides_nobody() -> None:
    """As much is found between dull sentences as where the model reads them all."""
    lines = list(detection_sentences.sentences())
    hits = 0
    for sentence in lines:
        text = DULL + sentence.text + " " + DULL
        spans = find(text)
        hits += sum(
            _covers(text, spans, len(DULL) + start, len(DULL) + end)
            for start, end, _ in sentence.marks
        )
    total = sum(len(sentence.marks) for sentence in lines)
    assert hits >= total - 1


@pytest.mark.parametrize(
    "words",
    ["ask ingrid", "Mr LANGLEY", "LENA BERGQVIST", "Mark left", "JJ left",
     "it is 80331 münchen", "und Ingrid"],
)  # fmt: skip
def test_what_may_name_somebody_is_read(words: str) -> None:
    assert people.may_name(words.split())


def test_the_lists_are_there() -> None:
    """They are read from attributes of Faker's classes, which an update may rename."""
    names = name_lists.lists()
    assert len(names.first) > 10_000 and len(names.surnames) > 15_000
    assert {"ingrid", "wojciech", "андрей"} <= names.first
    assert {"müller", "kowalski", "szymański"} <= names.surnames


# ── The model ────────────────────────────────────────────────────────────────
def test_a_changed_model_is_refused(tmp_path: Path) -> None:
    onnx.checked(rampart_model.FOLDER)
    for path in rampart_model.FOLDER.iterdir():
        (tmp_path / path.name).write_bytes(path.read_bytes())
    (tmp_path / "config.json").write_text("{}")
    with pytest.raises(base.Damaged):
        onnx.checked(tmp_path)


def test_the_model_is_loaded_by_the_first_text_only() -> None:
    code = (
        "import sys; from gdpr.detection import find\n"
        "assert 'onnxruntime' not in sys.modules, 'at import'\n"
        "assert not any(name.startswith('faker.') for name in sys.modules)\n"
        "find.find('Anna Nowak')\n"
        "assert 'onnxruntime' in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
