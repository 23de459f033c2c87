"""The vocabulary of time expressions, English and German, in lower case.

A word that also means something else ("may", "sun", "second") is marked here; the
grammar beside it reads it as time only in a position that leaves no doubt.
"""

from __future__ import annotations

import re
from typing import Final


def _table(rows: str) -> dict[str, int]:
    """Return word → number of its row, from 1; a row has the words of one meaning."""
    lines = [line.split() for line in rows.strip().splitlines()]
    return {word: number for number, words in enumerate(lines, 1) for word in words}


MONTHS: Final = _table(
    """
    january januar jänner jan
    february februar feb
    march märz maerz mar
    april apr
    may mai
    june juni jun
    july juli jul
    august aug
    september sept sep
    october oktober oct okt
    november nov
    december dezember dec dez
    """
)
# Names of months that mean nothing else, also without a word like "in" before them.
CERTAIN_MONTHS: Final = frozenset(
    "january januar jänner february februar märz maerz july juli september"
    " october oktober november december dezember".split()
)
WEEKDAYS: Final = _table(
    """
    monday montag
    tuesday dienstag
    wednesday mittwoch
    thursday donnerstag
    friday freitag
    saturday samstag sonnabend
    sunday sonntag
    """
)
# Only after "last" or "this": "sun", "sat" and "wed" are other words as well.
SHORT_WEEKDAYS: Final = _table(
    "mon\n tue tues\n wed\n thu thur thurs\n fri\n sat\n sun"
)
PARTS_OF_DAY: Final = frozenset(
    "morning noon afternoon evening night morgen früh vormittag mittag nachmittag"
    " abend nacht".split()
)
DAYS_BACK: Final = {
    "today": 0, "heute": 0, "tonight": 0, "yesterday": 1, "gestern": 1,
    "vorgestern": 2,
}  # fmt: skip
RECENTLY: Final = frozenset("recently lately kürzlich neulich".split())

MINUTE, HOUR, DAY, WEEK, MONTH, QUARTER, YEAR = (
    "minute", "hour", "day", "week", "month", "quarter", "year",
)  # fmt: skip
_UNITS: Final = {
    MINUTE: "minute minutes min mins minuten",
    HOUR: "hour hours h hr hrs stunde stunden",
    DAY: "day days d tag tage tagen",
    WEEK: "week weeks woche wochen",
    MONTH: "month months monat monate monaten",
    QUARTER: "quarter quarters quartal quartale quartalen",
    YEAR: "year years jahr jahre jahren",
}
UNITS: Final = {word: unit for unit, row in _UNITS.items() for word in row.split()}
WEEKENDS: Final = frozenset({"weekend", "wochenende"})
NUMBERS: Final = {
    word: number
    for number, row in enumerate(
        (
            "a an one ein eine einem einer einen", "two zwei", "three drei",
            "four vier", "five fünf", "six sechs", "seven sieben", "eight acht",
            "nine neun", "ten zehn", "eleven elf", "twelve zwölf",
        ),
        1,
    )
    for word in row.split()
} | {"couple": 2, "few": 3, "several": 3, "paar": 3, "einigen": 3}  # fmt: skip
ORDINALS: Final = {
    "first": 1, "second": 2, "third": 3, "fourth": 4, "erste": 1, "ersten": 1,
    "zweite": 2, "zweiten": 2, "dritte": 3, "dritten": 3, "vierte": 4, "vierten": 4,
}  # fmt: skip

_ENDINGS: Final = ("e", "en", "er", "em", "es")


def _inflected(stems: str) -> set[str]:
    return {stem + ending for stem in stems.split() for ending in _ENDINGS}


LAST: Final = frozenset(
    {"last", "past", "previous"} | _inflected("letzt vorig vergangen")
)
BEFORE_LAST: Final = frozenset(_inflected("vorletzt"))
THIS: Final = frozenset({"this", "current"} | _inflected("dies aktuell"))
# What follows these is no time of the past, or no one time.
NEVER: Final = frozenset(
    {"next", "every", "each", "upcoming"} | _inflected("nächst kommend jed")
)
ARTICLES: Final = frozenset("the dem den der das die".split())
SINCE: Final = frozenset({"since", "seit", "ab"})
AFTER: Final = frozenset({"after", "nach"})
BEFORE: Final = frozenset({"before", "vor"})
UNTIL: Final = frozenset({"until", "till", "bis"})
OPENERS: Final = SINCE | AFTER | BEFORE | UNTIL
BETWEEN: Final = frozenset({"between", "zwischen"})
FROM: Final = BETWEEN | {"from", "von", "vom"}
TO: Final = frozenset({"to", "through", "until", "till", "bis", "-", "–", "—"})
AND: Final = frozenset({"and", "und"})
ON: Final = frozenset({"on", "am"})
LEADS: Final = (
    OPENERS
    | FROM
    | ON
    | frozenset("in im of during early late mid anfang mitte ende zum".split())
)
# "may" the verb and "march" the walk, in lower case, are months after these only.
DOUBTFUL_MONTHS: Final = frozenset("may march mar dec sep".split())
DOUBTLESS_LEADS: Final = frozenset(
    "in im since seit during before until till bis ab mid between zwischen".split()
)
# Before "8.5." and "8.5.23", which are otherwise version numbers.
DAY_LEADS: Final = frozenset("am on vom zum dem den".split())
PLURALS: Final = frozenset(
    "hours days weeks months years stunden tage tagen wochen monate monaten jahre"
    " jahren".split()
)
# First, second and last third of a month, a quarter or a year.
THIRDS: Final = {
    "early": 0, "anfang": 0, "beginning": 0, "start": 0, "mid": 1, "mitte": 1,
    "middle": 1, "late": 2, "ende": 2, "end": 2,
}  # fmt: skip
# Before a year in figures: fewer, because a count looks the same.
YEAR_LEADS: Final = OPENERS | frozenset("in during from early late year jahr".split())
# Verbs and pronouns that end in "s": after a year, another word with that ending is
# what is counted ("in 2021 rows").
NOT_COUNTED: Final = frozenset("was is has does as his this us its".split())

YEAR_NUMBER: Final = re.compile(r"(?:19[7-9][0-9]|20[0-9]{2})\Z")
ORDINAL: Final = re.compile(r"([0-9]{1,2})(?:st|nd|rd|th)\Z")
SHORT_NUMBER: Final = re.compile(r"([0-9]{1,2})\Z")
NUMBER: Final = re.compile(r"([0-9]{1,4})\Z")
WITH_UNIT: Final = re.compile(r"([0-9]{1,4})(h|hr|hrs|d|min)\Z")
DAY_RANGE: Final = re.compile(r"([0-9]{1,2})\.?[-–—]([0-9]{1,2})\Z")
QUARTER_NAME: Final = re.compile(r"q([1-4])\Z")
QUARTER_YEAR: Final = re.compile(
    r"(?:q([1-4])[-/]([0-9]{4})|([0-9]{4})[-/]?q([1-4]))\Z"
)

ISO_DATE: Final = re.compile(
    r"([0-9]{4})([-/])([0-9]{1,2})\2([0-9]{1,2})(?:t[0-9].*)?\Z"
)
ISO_MONTH: Final = re.compile(r"([0-9]{4})-(0[1-9]|1[0-2])\Z")
DOTTED: Final = re.compile(r"([0-9]{1,2})\.([0-9]{1,2})(?:\.([0-9]{4}|[0-9]{2}))?\Z")
SLASHED: Final = re.compile(r"([0-9]{1,2})/([0-9]{1,2})/([0-9]{4})\Z")
MONTH_YEAR: Final = re.compile(r"([0-9]{1,2})[/.]([0-9]{4})\Z")

# A token that begins with none of these, with no digit and no "q" begins no expression.
TRIGGERS: Final = frozenset().union(
    MONTHS, WEEKDAYS, DAYS_BACK, RECENTLY, NUMBERS, ORDINALS, LAST, BEFORE_LAST, THIS,
    NEVER, OPENERS, FROM, THIRDS, ("day", "week", "month", "quarter", "year"),
)  # fmt: skip


def is_of_calendar(word: str) -> bool:
    """Whether a word of an expression belongs to a date: a month, a year, "q2", "3rd".

    A plain count ("the last 3 days", "24h") does not.
    """
    if not any(character.isdigit() for character in word):
        return word in MONTHS or word in ORDINALS
    is_count = NUMBER.match(word) or WITH_UNIT.match(word)
    return not is_count or YEAR_NUMBER.match(word) is not None
