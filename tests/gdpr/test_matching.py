"""People are found in text however they are written, and nobody else is."""

from __future__ import annotations

import json
from collections.abc import Callable
from urllib.parse import quote

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from gdpr.matching import common_words, normalize, patterns, phones
from gdpr.matching.matcher import BLANK, Matcher, Name
from tests.effort import effort

CASES = [
    ("name", "Anna Müller", "spoke to ANNA  MULLER today", "ANNA  MULLER"),
    ("name", "ANNA MULLER", "with Anna Mu\u0308ller.", "Anna Mu\u0308ller"),
    ("name", "Anna Müller", "Müller, Anna: 12", "Müller, Anna"),
    ("name", "Anna Müller", "files/anna_müller.md", "anna_müller"),
    ("name", "Anna Müller", "Anna\n\tMüller", "Anna\n\tMüller"),
    ("name", "Anna Maria Roth", "ROTH , Anna-Maria", "ROTH , Anna-Maria"),
    ("name", "Strauß", "the STRAUSS file", "STRAUSS"),
    ("name", "STRAUSS", "die Strauß-Akte", "Strauß"),
    ("name", "Finn", "ﬁnn came", "ﬁnn"),
    ("name", "René", "Rene\u0301 came", "Rene\u0301"),
    ("name", "Anna", "👩‍💻Anna👩‍💻", "Anna"),
    ("name", "Łukasz", "lukasz came", "lukasz"),
    ("name", "O'Brien", "to O’Brien", "O’Brien"),
    ("name", "田中太郎", "昨日田中太郎さんが", "田中太郎"),
    ("name", "田中 太郎", "田中太郎さんが", "田中太郎"),
    ("name", "Anna", "王小明Anna来了", "Anna"),
    ("name", "김철수", "김철수는 왔다", "김철수"),
    ("name", "محمد علي", "قال مُحَمَّد عَلِي", "مُحَمَّد عَلِي"),
    ("name", "Nadia", "C:\\nadia\\x", "nadia"),
    ("name", "Anna", "line\\nAnna\\tgone", "Anna"),
    ("name", "Müller", "M\\u00fcller", "M\\u00fcller"),
    ("name", "Müller", "q=M%C3%BCller&x", "M%C3%BCller"),
    ("name", "Müller", "M&uuml;ller", "M&uuml;ller"),
    ("name", "Müller", "M\\\\u00fcller", "M\\\\u00fcller"),
    ("email", "Anna.B@Example.org", "<anna.b@example.org>", "anna.b@example.org"),
    ("email", "anna@example.org", "mailto:ANNA@example.org?x", "ANNA@example.org"),
    ("email", "anna@example.org", "q=%3Canna%40example.org%3E", "anna%40example.org"),
    ("email", "anna@example.org", "anna\\u0040example.org", "anna\\u0040example.org"),
    ("email", "anna@example.org", "x\\nanna@example.org", "anna@example.org"),
    ("email", "anna@example.org", "anna+a@example.org. So", "anna+a@example.org"),
    ("email", "anna@example.org", "anna@example.org.Then", "anna@example.org"),
    ("phone", "+49 170 1234567", "ring 0170/123 45 67 now", "0170/123 45 67"),
    ("phone", "0170 1234567", "+49 (0)170 1234567", "+49 (0)170 1234567"),
    ("phone", "+491701234567", "00491701234567", "00491701234567"),
    ("phone", "+491701234567", "on 2024-01-05 0170 1234567", "0170 1234567"),
    ("phone", "+491701234567", "٠١٧٠١٢٣٤٥٦٧", "٠١٧٠١٢٣٤٥٦٧"),
    ("handle", "@annab", "ping @AnnaB!", "@AnnaB"),
    ("handle", "annab", "ping annab.", "annab"),
    ("handle", "annab", "@annab@example.social", "@annab"),
    ("user_id", "u_42", "path/u_42.json", "u_42"),
    ("pattern", "ann*b", "saw annaliesb", "annaliesb"),
    ("pattern", "Proj. (Ann*", "proj.  (Annex) ok", "proj.  (Annex"),
]

NOT_FOUND = [
    ("name", "Anna Müller", "Hanna Müller"),
    ("name", "Anna Müller", "Anna Müllerin"),
    ("name", "Anna Müller", "Anna likes Müller"),
    ("name", "Gros", "Groß"),
    ("name", "가", "각"),
    ("name", "राम", "रामायण"),
    ("email", "anna@example.org", "john.anna@example.org"),
    ("email", "anna@example.org", "anna@example.orgx"),
    ("email", "anna@example.com", "anna@example.com.br"),
    ("phone", "+491701234567", "+441701234567"),
    ("phone", "+491701234567", "99991701234567"),
    ("phone", "+491701234567", "01701234567x"),
    ("handle", "annab", "annab-x"),
    ("handle", "anna", "anna@example.org"),
    ("user_id", "u_42", "u_421 xu_42 u_42_b"),
    ("pattern", "ann*b", "ann and b"),
    ("pattern", ".*", "everything at all"),
]


def matcher_of(kind: str, value: str) -> Matcher:
    return Matcher([Name("sub_1", kind, value)])


@pytest.mark.parametrize(("kind", "value", "text", "expected"), CASES)
def test_a_person_is_found_however_written(
    kind: str, value: str, text: str, expected: str
) -> None:
    matcher = matcher_of(kind, value)
    assert [text[s.start : s.end] for s in matcher.spans(text)] == [expected]
    assert matcher.names(text) == {"sub_1"}
    assert matcher.mask(text) == text.replace(expected, "[erased]")


@pytest.mark.parametrize(("kind", "value", "text"), NOT_FOUND)
def test_somebody_else_is_not_found(kind: str, value: str, text: str) -> None:
    matcher = matcher_of(kind, value)
    assert matcher.spans(text) == []
    assert matcher.mask(text) == text


def test_two_people_may_overlap_and_are_masked_as_one() -> None:
    matcher = Matcher([Name("a", "name", "Anna Roth"), Name("b", "name", "Roth Bau")])
    text = "from Anna Roth Bau."
    assert [(s.subject_id, s.start) for s in matcher.spans(text)] == [
        ("a", 5),
        ("b", 10),
    ]
    assert matcher.mask(text) == "from [erased]."


def test_of_one_person_the_longest_is_told() -> None:
    matcher = Matcher([Name("a", "name", "Anna"), Name("a", "name", "Anna Roth")])
    assert [s.end for s in matcher.spans("Anna Roth")] == [9]


def test_json_is_masked_in_values_and_keys_and_no_number_is_text() -> None:
    matcher = Matcher([Name("a", "user_id", "4242"), Name("a", "name", "Anna Roth")])
    value = {"4242": [4242, True, None, 1.5], "Anna Roth": {"x": "by Anna Roth"}}
    assert matcher.mask_json(value) == {
        "4242": [4242, True, None, 1.5],
        "[erased]": {"x": "by [erased]"},
    }
    payload = {"user_id": 4242, "owners": ["4242", 7], "seconds": 4242}
    masked = {"user_id": "[erased]", "owners": ["[erased]", 7], "seconds": 4242}
    assert matcher.mask_json(payload) == masked


def test_a_mark_that_names_somebody_is_not_used() -> None:
    assert matcher_of("name", "Erased").mask("it was erased") == f"it was {BLANK}"


def test_many_names_are_looked_up_not_searched() -> None:
    names = [Name(f"s{i}", "name", f"Given{i} Family{i}") for i in range(600)]
    matcher = Matcher(names)
    assert matcher.names("met given599 family599 there") == {"s599"}
    text = "Deployment of service nine failed at 95 % and was rolled back. " * 8
    texts = [text + str(number) for number in range(50)]

    def look(matcher: Matcher) -> float:
        return effort(lambda: [matcher.names(text) for text in texts])

    # Two hundred times as many names cost some three times as much, not two hundred.
    assert look(matcher) < 50 * look(Matcher(names[:3]))


def test_a_hostile_pattern_costs_little() -> None:
    matcher = matcher_of("pattern", "a*a*a*b")
    short, long = "a" * 5_000, "a" * 50_000
    assert matcher.spans(long) == []
    # Ten times as long: ten times the effort, not a hundred times.
    assert effort(lambda: matcher.spans(long)) < 50 * effort(
        lambda: matcher.spans(short)
    )
    assert patterns.shape("pattern", "a*b*c*d*e*f") is None


WORDS = st.sampled_from(
    "Anna anna ANNA Müller mu\u0308ller Strauß STRAUSS 田中太郎 김철수 ﬁ ß İ ı Σ ς "
    "anna@example.org ANNA%40example.org 0170 1234567 +49 @annab u_42 \\n \\u00fc "
    "%C3%BC \u200f \u200d \u0301 👩‍💻 x _ - . , ( ) [ ] erased \\ % & ; &uuml; "
    "\U0001d538 ᾳ".split()
)
TEXTS = st.one_of(
    st.text(max_size=60),
    st.lists(st.tuples(WORDS, st.sampled_from(["", " ", "", "\n"])), max_size=12).map(
        lambda parts: "".join(a + b for a, b in parts)
    ),
)
PEOPLE = Matcher(
    [
        Name("a", "name", "Anna Müller"),
        Name("a", "name", "Strauß"),
        Name("a", "email", "anna@example.org"),
        Name("a", "phone", "+49 170 1234567"),
        Name("b", "name", "田中太郎"),
        Name("b", "handle", "annab"),
        Name("b", "user_id", "u_42"),
        Name("b", "pattern", "ann*a"),
        Name("c", "name", "김철수"),
    ]
)


@given(TEXTS)
@settings(max_examples=400)
@example("王小明anna田中太郎anna")
def test_nothing_is_found_after_masking(text: str) -> None:
    assert PEOPLE.spans(PEOPLE.mask(text)) == []


@given(TEXTS)
@settings(max_examples=400)
def test_offsets_are_valid_and_ordered(text: str) -> None:
    spans = PEOPLE.spans(text)
    assert all(0 <= s.start < s.end <= len(text) for s in spans)
    assert spans == sorted(spans, key=lambda s: (s.start, -s.end, s.subject_id))
    if not spans:
        assert PEOPLE.mask(text) == text


@given(st.text(max_size=80))
@settings(max_examples=400)
def test_folding_at_once_is_folding_each_character(text: str) -> None:
    view = normalize.plain_view(text)
    assert normalize.fold(text) == view.text
    if view.starts is not None and view.ends is not None:
        assert len(view.text) == len(view.starts) == len(view.ends)


NAMES = st.lists(
    st.text(st.characters(categories=["Lu", "Ll"]), min_size=2, max_size=8),
    min_size=1,
    max_size=3,
).map(" ".join)


@given(NAMES, st.sampled_from([str.upper, str.lower, str.swapcase, str.casefold]))
@settings(max_examples=200)
def test_any_name_is_found_in_any_case_and_escape(
    name: str, change: Callable[[str], str]
) -> None:
    if not patterns.words(name) or common_words.is_common("name", name):
        return
    matcher = matcher_of("name", change(name))
    for text in (f"met {name}, so", json.dumps(f"met {name}, so"), quote(f" {name} ")):
        assert matcher.names(text) == {"sub_1"}


@given(st.text("0123456789", min_size=8, max_size=12), st.text(" -./", max_size=3))
def test_a_number_is_found_with_any_separators(digits: str, gap: str) -> None:
    line = phones.alias("+49" + digits)
    text = "tel " + gap.join("+49" + digits)
    matcher = matcher_of("phone", "+49" + digits)
    assert matcher.names("tel +49" + digits) == {"sub_1"}
    assert line.international
    if gap == " ":
        assert matcher.names(text.replace("+ ", "+")) == {"sub_1"}
