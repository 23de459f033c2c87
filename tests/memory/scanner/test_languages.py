"""The word lists: their form, and what they do for sentences of each language."""

from __future__ import annotations

import re
import tomllib
import unicodedata
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import pytest

from memory import scanner
from memory.scanner import concepts, gate, registry, word_lists
from memory.scanner.folding import folded

FILES: Final = sorted(word_lists.FOLDER.glob("*.txt"))
SENTENCES: Final[dict[str, dict[str, Any]]] = tomllib.loads(
    Path(__file__).with_name("languages.toml").read_text(encoding="utf-8")
)
# The languages that have words for everything.
COMPLETE: Final = "de fr es it pt nl pl ru uk tr zh ja en ar hi".split()
ACTS: Final = frozenset(
    "override reveal send_out keep_forever hide change approve run_tool become".split()
)
# Asked of a sentence by code; all other concepts are asked of it by rules.
BY_CODE: Final = frozenset({"must", "negation", "report"})
# Words of one letter, in alphabets whose letters are no words.
ONE_LETTER: Final = {("en", "reader", "u"), ("nl", "reader", "u")}
ALPHABETS: Final = ("LATIN", "CYRILLIC", "GREEK", "ARABIC")
# Their words are read in another way than they are written, so they are not found.
UNREAD: Final = {
    ("en", "run", "rm -rf"), ("ja-latn", "secret", "api_key"),
    ("ja-latn", "secret", "ﾊﾟｽﾜｰﾄﾞ"), ("pt", "reveal", "conta-*"),
    ("pt", "reveal", "conte-*"), ("ru", "secret", "фраз*-парол*"),
    ("uk", "secret", "фраз*-парол*"), ("zh-latn", "secret", "api_key"),
}  # fmt: skip
# An apostrophe at the end of a word is no part of it.
CUT_APOSTROPHE: Final = re.compile(r"'(?!\w)|(?<!\w)'")


def _rows(path: Path) -> list[tuple[str, list[str]]]:
    lines = path.read_text(encoding="utf-8").splitlines()
    pairs = (line.partition(": ") for line in lines if not line.startswith("#"))
    return [(name, forms.split(", ")) for name, _, forms in pairs]


def _forms(path: Path) -> Iterator[tuple[str, str]]:
    for name, forms in _rows(path):
        if name != "verb":
            yield from ((name, form) for form in forms)


def _used() -> set[str]:
    """Every concept that a line of a rule names."""
    names: set[str] = set(BY_CODE)
    for rule in registry.RULES:
        for line in rule.combinations:
            terms = (word.lstrip("^>!") for word in line.split() if word[0] not in "/+")
            names.update(name for term in terms for name in term.split("|"))
    return names


files = pytest.mark.parametrize("path", FILES, ids=[path.stem for path in FILES])


@files
def test_a_file_says_where_the_verb_stands_and_each_concept_once(path: Path) -> None:
    rows = _rows(path)
    names = Counter(name for name, _ in rows)
    assert rows[0][0] == "verb"
    assert dict(rows)["verb"] in (["first"], ["last"], ["any"])
    assert [name for name, count in names.items() if count > 1] == []


@files
def test_a_file_has_only_concepts_that_rules_name(path: Path) -> None:
    assert {name for name, _ in _forms(path)} - _used() == set()


@files
def test_a_form_stands_once_in_its_concept(path: Path) -> None:
    forms = Counter(_forms(path))
    assert [form for form, count in forms.items() if count > 1] == []


@files
def test_a_form_is_words_with_marks_of_endings_and_gaps(path: Path) -> None:
    faults = []
    for name, form in _forms(path):
        words = form.split(" ")
        parts = [part.strip("*") for part in re.split("[ -]", form) if part != ".."]
        is_gap_inside = ".." not in (words[0], words[-1])
        is_marked = not any("*" in part for part in parts) and any(parts)
        is_plain = form == form.lower() and not set(form) & set(':;!?[](){}|"')
        if not (is_gap_inside and is_marked and is_plain):
            faults.append((name, form))
    assert faults == []


@files
def test_a_folded_form_stays_as_it_is(path: Path) -> None:
    assert [f for _, f in _forms(path) if folded(folded(f)) != folded(f)] == []
    assert [form for _, form in _forms(path) if not folded(form).strip("*. ")] == []


@files
def test_no_form_is_a_single_letter(path: Path) -> None:
    short = {
        (path.stem, name, form)
        for name, form in _forms(path)
        if len(letter := folded(form).strip("*")) == 1
        and unicodedata.name(letter, "").startswith(ALPHABETS)
    }
    assert short - ONE_LETTER == set()


def _text(form: str) -> str:
    """A text that has the form: any ending is none, a beginning or a gap is short."""
    start = "x" * 10 if form.startswith("*") else ""
    return start + " ".join(form.replace("..", " ").replace("*", "").split())


def _passes_gate(form: str, language: str, bit: int) -> bool:
    """Whether a sentence with the form is read in its language at all."""
    if language in word_lists.UNSPACED:
        return True
    masks = map(gate.concepts_in, gate.masks(_text(folded(form))))
    return any(
        dict(word_lists.by_language(mask | word_lists.ALL_MARKS))[language] & bit
        for mask in masks
    )


@files
def test_every_form_is_found(path: Path) -> None:
    language = path.stem
    unread = set()
    for name, form in _forms(path):
        sentence = concepts.read(_text(folded(form)), [language])
        items = sentence.occurrences.get(language, [])
        bit = word_lists.BITS[name]
        is_read = any(item.concepts & bit for item in items)
        if not is_read or not _passes_gate(form, language, bit):
            unread.add((language, name, form))
    unread = {row for row in unread if not CUT_APOSTROPHE.search(row[2])}
    assert unread - UNREAD == set()


@pytest.mark.parametrize("language", COMPLETE)
def test_a_language_of_the_twelve_has_words_for_everything(language: str) -> None:
    names = {name for name, _ in _forms(word_lists.FOLDER / f"{language}.txt")}
    assert _used() - set(word_lists.SHAPES) - names == set()


# ── Sentences ────────────────────────────────────────────────────────────────
def _sentences(kind: str, flaw: str) -> list[Any]:
    return [
        pytest.param(row[kind], row.get(flaw, False), id=f"{language}-{act}")
        for language, acts in SENTENCES.items()
        for act, row in acts.items()
    ]


@pytest.mark.parametrize(("text", "is_missed"), _sentences("attack", "missed"))
def test_an_order_is_held_unless_it_is_known_as_missed(
    text: str, is_missed: bool
) -> None:
    assert scanner.scan(text, tier="AGENT").is_held != is_missed


@pytest.mark.parametrize(("text", "is_wrong"), _sentences("honest", "wrong"))
def test_an_honest_sentence_is_not_unless_that_is_known(
    text: str, is_wrong: bool
) -> None:
    assert scanner.scan(text, tier="AGENT").is_held == is_wrong


def test_each_language_has_a_sentence_for_every_act() -> None:
    assert all(set(SENTENCES[language]) == ACTS for language in COMPLETE)


def test_few_flaws_are_known() -> None:
    rows = [row for acts in SENTENCES.values() for row in acts.values()]
    held_count = sum(not row.get("missed") for row in rows)
    wrong = sum(bool(row.get("wrong")) for row in rows)
    assert (held_count >= 125, wrong <= 5, len(rows)) == (True, True, 164)
