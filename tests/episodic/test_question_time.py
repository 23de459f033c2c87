"""Expressions of time in a question, and what looks like one."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from episodic.recall import question_time
from episodic.recall.question_time import MAX_MENTIONS, TimeMention
from episodic.recall.times import tokens, words
from episodic.recall.times.reader import Reader

# A Wednesday.
NOW = datetime(2024, 11, 20, 12, tzinfo=UTC)
Row = tuple[str, str | None, str | None]


def day(moment: datetime | None) -> str | None:
    """Return a moment as the tables write it: without the clock at midnight."""
    if moment is None:
        return None
    assert moment.utcoffset() == timedelta()
    return f"{moment:%Y-%m-%d %H:%M}".removesuffix(" 00:00")


def spans(question: str, now: datetime = NOW) -> list[tuple[str | None, str | None]]:
    """Return since and until of every mention."""
    return [(day(m.since), day(m.until)) for m in question_time.mentions(question, now)]


def check(rows: list[Row], subtests: pytest.Subtests) -> None:
    for text, since, until in rows:
        with subtests.test(text):
            results = spans(f"what did we decide {text}?")
            assert results == [(since, until)]


DATES: list[Row] = [
    ("on 2023-05-08", "2023-05-08", "2023-05-09"),
    ("at 2023-05-08T10:00Z", "2023-05-08", "2023-05-09"),
    ("on 8 May 2023", "2023-05-08", "2023-05-09"),
    ("on May 8th, 2023", "2023-05-08", "2023-05-09"),
    ("on the 8th of May", "2024-05-08", "2024-05-09"),
    ("on May 8", "2024-05-08", "2024-05-09"),
    ("on 8.5.2023", "2023-05-08", "2023-05-09"),
    ("am 8. Mai", "2024-05-08", "2024-05-09"),
    ("am 8.5.", "2024-05-08", "2024-05-09"),
    ("am 8.5.23", "2023-05-08", "2023-05-09"),
    ("on 25/12/2023", "2023-12-25", "2023-12-26"),
    ("on Friday, 15 November", "2024-11-15", "2024-11-16"),
    ("in 05/2023", "2023-05-01", "2023-06-01"),
    ("in 2023-05", "2023-05-01", "2023-06-01"),
    ("in May 2022", "2022-05-01", "2022-06-01"),
    ("im Jahr 2021", "2021-01-01", "2022-01-01"),
    ("in 2021", "2021-01-01", "2022-01-01"),
    ("in Q2 2024", "2024-04-01", "2024-07-01"),
    ("in 2024-Q2", "2024-04-01", "2024-07-01"),
    ("in the second quarter of 2023", "2023-04-01", "2023-07-01"),
    ("in early May", "2024-05-01", "2024-05-11"),
    ("Ende Mai", "2024-05-21", "2024-06-01"),
    ("in mid-May", "2024-05-11", "2024-05-21"),
]


def test_a_date_in_figures_or_words(subtests: pytest.Subtests) -> None:
    check(DATES, subtests)


RELATIVE: list[Row] = [
    ("today", "2024-11-20", "2024-11-21"),
    ("heute", "2024-11-20", "2024-11-21"),
    ("yesterday's", "2024-11-19", "2024-11-20"),
    ("gestern", "2024-11-19", "2024-11-20"),
    ("the day before yesterday", "2024-11-18", "2024-11-19"),
    ("yesterday evening", "2024-11-19", "2024-11-20"),
    ("last night", "2024-11-19 18:00", "2024-11-20 06:00"),
    ("last Friday", "2024-11-15", "2024-11-16"),
    ("last Wednesday", "2024-11-13", "2024-11-14"),
    ("letzten Freitag", "2024-11-15", "2024-11-16"),
    ("on Friday", "2024-11-15", "2024-11-16"),
    ("on Wednesday", "2024-11-20", "2024-11-21"),
    ("this Monday", "2024-11-18", "2024-11-19"),
    ("last week", "2024-11-11", "2024-11-18"),
    ("letzte Woche", "2024-11-11", "2024-11-18"),
    ("the week before last", "2024-11-04", "2024-11-11"),
    ("vorletzte Woche", "2024-11-04", "2024-11-11"),
    ("last weekend", "2024-11-16", "2024-11-18"),
    ("last month", "2024-10-01", "2024-11-01"),
    ("last quarter", "2024-07-01", "2024-10-01"),
    ("this year", "2024-01-01", "2025-01-01"),
    ("3 days ago", "2024-11-17", "2024-11-18"),
    ("vor 3 Tagen", "2024-11-17", "2024-11-18"),
    ("two weeks ago", "2024-11-03", "2024-11-10"),
    ("vor zwei Wochen", "2024-11-03", "2024-11-10"),
    ("a month ago", "2024-10-01", "2024-11-01"),
    ("3 hours ago", "2024-11-20 08:30", "2024-11-20 09:30"),
    ("in the last 10 days", "2024-11-10 12:00", "2024-11-20 12:00"),
    ("in den letzten zwei Wochen", "2024-11-06 12:00", "2024-11-20 12:00"),
    ("over the last week", "2024-11-13 12:00", "2024-11-20 12:00"),
    ("in the last 24h", "2024-11-19 12:00", "2024-11-20 12:00"),
    ("recently", "2024-11-13 12:00", "2024-11-20 12:00"),
]


def test_a_time_seen_from_now(subtests: pytest.Subtests) -> None:
    check(RELATIVE, subtests)


RANGES: list[Row] = [
    ("since March", "2024-03-01", None),
    ("seit gestern", "2024-11-19", None),
    ("after 8 May 2023", "2023-05-09", None),
    ("before June", None, "2024-06-01"),
    ("vor dem 8. Mai", None, "2024-05-08"),
    ("until last week", None, "2024-11-18"),
    ("between 3 and 7 May", "2024-05-03", "2024-05-08"),
    ("on 3-7 May", "2024-05-03", "2024-05-08"),
    ("from May 3 to 7", "2024-05-03", "2024-05-08"),
    ("from Monday to Friday", "2024-11-11", "2024-11-16"),
    ("between November and February", "2023-11-01", "2024-03-01"),
    ("zwischen Januar und März", "2024-01-01", "2024-04-01"),
    ("from 2021 to 2023", "2021-01-01", "2024-01-01"),
    ("between 2023-05-08 and 2023-06-01", "2023-05-08", "2023-06-02"),
]


def test_a_range_and_a_span_with_an_open_end(subtests: pytest.Subtests) -> None:
    check(RANGES, subtests)


def test_a_month_without_a_year_is_the_latest_that_is_not_in_the_future() -> None:
    assert spans("in November") == [("2024-11-01", "2024-12-01")]
    assert spans("in December") == [("2023-12-01", "2024-01-01")]
    assert spans("on 21 November") == [("2023-11-21", "2023-11-22")]
    assert spans("last November") == [("2023-11-01", "2023-12-01")]
    assert spans("on 29 February", datetime(2023, 5, 1, tzinfo=UTC)) == [
        ("2020-02-29", "2020-03-01")
    ]


def test_a_day_is_one_in_utc() -> None:
    late = datetime(2024, 11, 20, 23, tzinfo=timezone(timedelta(hours=-5)))
    assert spans("today", late) == [("2024-11-21", "2024-11-22")]


def test_figures_that_are_two_dates_are_read_both_ways() -> None:
    assert spans("on 8/5/2023") == [
        ("2023-08-05", "2023-08-06"),
        ("2023-05-08", "2023-05-09"),
    ]
    assert spans("on 5/5/2023") == [("2023-05-05", "2023-05-06")]


@pytest.mark.parametrize(
    "text", ["tomorrow", "next Friday", "this Friday", "in 2031", "on 2025-01-01"]
)
def test_the_future_is_no_preference(text: str) -> None:
    assert spans(f"what is planned {text}") == []


@pytest.mark.parametrize("month", ["may", "march"])
def test_a_month_that_is_a_verb_needs_a_sign_that_it_is_none(month: str) -> None:
    for text in ("we {} do it", "which 8 {} fail", "{} 5 users share it", "by {}"):
        assert spans(text.format(month)) == [], text
    for text in ("in {}", "since {}", "{} 8th", "8th of {}", "{} 2024", "on {} 8"):
        assert len(spans(text.format(month))) == 1, text


FALSE_ALARMS = """
    may I use the second key | May 5 users share a key | Can we march on
    how do I second that | the first of three | third party | a second attempt
    on sun hardware | she sat down | wed them | the fri library | augment it
    why does it run for 24 h | in 5 minutes | after 5 minutes | within 10 minutes
    the last 5 hits | the last 3 attempts | the last one | last seen | at last
    python 3.11 | 3.11.10 | since 10.2.11 | 10.2.1 | 10.0.0.1:8080 | HTTP/1.1
    v2023.05.08 | INV-2023-05-08 | CVE-2023-05 | ticket 20230508 | https://a.b/2023/05/08/
    1/2 | 3/4 of users | 24/7 | 12:30 | port 2023 | error 2024 | in 2021 rows | in 2048
    top 5 of 2023 rows | in 2000 cases | from 3 to 5 agents | between 3 and 7 hits
    between 1.2 and 1.3 | before the release | since then | before 10 retries
    every Friday | each May | a few days of work | 3 days retention | Friday freeze job
    end of file | start of the day | late binding | early return | mid size | Q4 model
    q4_0 | today() | did May decide | June wrote | April decided | in 31 April
    month over month | day one | week 3 | quarter of users | half a year ago
    vor allem | nach Hause | bis zu 5 | am Ende | am Server | 8. Versuch | jeden Freitag
    nächste Woche | in drei Tagen | letzte Version | diese Funktion | 2023-02-30
""".replace("\n", "|").split("|")


def test_what_is_no_time_is_left_alone(subtests: pytest.Subtests) -> None:
    for text in filter(None, map(str.strip, FALSE_ALARMS)):
        with subtests.test(text):
            assert question_time.mentions(text, NOW) == []
            assert question_time.mentions(f"tell me: {text} it is", NOW) == []


@pytest.mark.parametrize(
    ("text", "is_relative"),
    [
        ("last week", True),
        ("yesterday evening", True),
        ("two weeks ago", True),
        ("in the last 24h", True),
        ("since last Friday", True),
        ("between Monday and Tuesday", True),
        ("lately", True),
        ("vor 3 Tagen", True),
        ("last May", False),
        ("early May", False),
        ("on 8 May 2023", False),
        ("2024-05-08", False),
        ("in 2021", False),
        ("in Q2", False),
        ("the second quarter", False),
    ],
)
def test_a_time_seen_from_now_names_no_date(text: str, is_relative: bool) -> None:
    (mention,) = question_time.mentions(f"what was decided {text}", NOW)
    assert mention.is_relative is is_relative


def test_the_text_and_the_meaning_are_for_people() -> None:
    question = "What did lena decide last Friday, and since March?"
    first, second = question_time.mentions(question, NOW)
    assert (first.text, first.meaning) == ("last Friday", "Friday 15 November 2024")
    assert (second.text, second.meaning) == ("since March", "since 1 March 2024")
    assert question[first.start : first.end] == first.text
    meanings = {
        "in May": "May 2024",
        "in Q2": "Q2 2024",
        "in 2021": "2021",
        "last week": "11 November 2024 to 17 November 2024",
        "before June": "before 1 June 2024",
        "3 hours ago": "20 November 2024, 08:30 UTC to 20 November 2024, 09:30 UTC",
    }
    for text, meaning in meanings.items():
        (mention,) = question_time.mentions(text, NOW)
        assert mention.meaning == meaning


# ── Any text ─────────────────────────────────────────────────────────────────
_PIECES = [
    *sorted(words.TRIGGERS),
    *"8 5 31 0 2023 9999 8th 3-7 q2 2023-05-08 8/5/2023 8.5.2023 05/2023 24h".split(),
    *"ago of the and to - , . ? ! ( ) ’s Q2-2024 before last weeks".split(),
    "\u0301", "\u2028", "Ｍａｙ", "٣", "\x00", "İ",
]  # fmt: skip
TEXTS = st.one_of(
    st.text(max_size=200),
    st.lists(st.sampled_from(_PIECES), max_size=30).map(" ".join),
    st.lists(st.sampled_from(_PIECES), max_size=30).map("".join),
)
MOMENTS = st.datetimes(timezones=st.just(UTC))


def is_sound(mention: TimeMention, question: str) -> bool:
    order = (
        mention.since is None or mention.until is None or mention.since <= mention.until
    )
    inside = 0 <= mention.start < mention.end <= len(question)
    text = question[mention.start : mention.end]
    return order and inside and text == mention.text and bool(mention.meaning)


@given(TEXTS, MOMENTS)
@example("before the last 9999 years", datetime(1, 1, 1, tzinfo=UTC))
@example("this year", datetime(9999, 12, 31, 23, tzinfo=UTC))
def test_any_text_is_read_at_any_moment(question: str, now: datetime) -> None:
    results = question_time.mentions(question, now)
    assert len(results) <= MAX_MENTIONS
    assert all(is_sound(mention, question) for mention in results)


@pytest.mark.parametrize(
    "piece",
    [
        *"a.a.a 1/1/ 1-1- 8.5. May early vor last between".split(),
        "early ", "the last ", "3 and ", "May 3 ", "vor ein ", "between May 3 to ",
        "from ", "last Friday ", "8 of ", "a couple of ", "Friday ", "since since ",
    ],
)  # fmt: skip
def test_a_long_question_takes_steps_in_proportion(piece: str) -> None:
    def steps(size: int) -> int:
        question = (piece * size)[:size]
        reader = Reader(tokens.split(question), NOW)
        question_time.read_all(question, reader)
        assert reader.steps <= 300 * max(1, len(reader.tokens))
        return reader.steps

    assert steps(4_000) <= 5 * steps(1_000) + 300
