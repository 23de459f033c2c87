"""The texts and words that the program brings, by language."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date
from typing import Final

from django.utils import dateformat, translation

from gdpr.letters import english, german
from gdpr.models import CaseKind


@dataclass(frozen=True, slots=True, kw_only=True)
class RecipientWords:
    """What a letter says of recipients; ``{day}``, ``{name}``, ``{count}`` are values.

    ``kinds`` says what a recipient is, ``notices`` how far the notice to it is,
    ``grounds`` why there is none, ``answers`` what the recipient said.
    """

    heading: str
    kinds: Mapping[str, str]
    certain: str
    possible: str
    notices: Mapping[str, str]
    grounds: Mapping[str, str]
    answers: Mapping[str, str]
    more: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Language:
    """The words of a language; ``texts`` is (occasion, kind) → (subject, body)."""

    date: str
    greeting: str
    greeting_unknown: str
    requests: Mapping[CaseKind, str]
    verdicts: Mapping[str, str]
    exceptions: str
    recipients: RecipientWords
    texts: Mapping[tuple[str, str], tuple[str, str]]


LANGUAGES: Final = {
    "en": Language(
        date=english.DATE,
        greeting=english.GREETING,
        greeting_unknown=english.GREETING_UNKNOWN,
        requests=english.REQUESTS,
        verdicts=english.VERDICTS,
        exceptions=english.EXCEPTIONS,
        recipients=RecipientWords(**english.RECIPIENTS),
        texts=english.TEXTS,
    ),
    "de": Language(
        date=german.DATE,
        greeting=german.GREETING,
        greeting_unknown=german.GREETING_UNKNOWN,
        requests=german.REQUESTS,
        verdicts=german.VERDICTS,
        exceptions=german.EXCEPTIONS,
        recipients=RecipientWords(**german.RECIPIENTS),
        texts=german.TEXTS,
    ),
}
FALLBACK: Final = "en"


def base(code: str) -> str:
    """Return the language of a code without its region: de of de-AT."""
    return code.partition("-")[0]


def words(code: str) -> Language:
    """Return the words of a language; English for one that the program has not."""
    return LANGUAGES.get(base(code), LANGUAGES[FALLBACK])


def is_known(code: str) -> bool:
    return base(code) in LANGUAGES


def day(moment: date, code: str) -> str:
    """Return a day as the language writes it; year-month-day for an unknown one."""
    if not is_known(code):
        return moment.isoformat()[:10]
    with translation.override(base(code)):
        return dateformat.format(moment, words(code).date)
