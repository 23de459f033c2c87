"""Words of letters on pages: occasions, languages, and events of a case's timeline."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from django.utils.translation import get_language_info, gettext, gettext_noop, pgettext

from gdpr.letters import built_in
from gdpr.models import CaseEvent, CaseKind, LetterOccasion

# Texts of events; each is followed by the letter's occasion.
EVENTS: Final = (
    gettext_noop("Letter kept, not sent yet"),
    gettext_noop("Letter removed, never sent"),
    gettext_noop("Letter sent by mail"),
    gettext_noop("Letter noted as sent by post"),
)


def occasion(value: str) -> str:
    return str(LetterOccasion(value).label)


def kind(value: str) -> str:
    """Return a kind of request, or that a text is for every one."""
    return str(CaseKind(value).label) if value else pgettext("letter", "Every kind")


def language(code: str) -> str:
    """Return what a language is called here, with its code; the code for another."""
    try:
        info: dict[str, Any] = get_language_info(code.lower())
    except KeyError:
        return code
    return f"{info['name_translated']} ({code})"


def language_choices(codes: list[str]) -> list[tuple[str, str]]:
    return [(code, language(code)) for code in codes]


def event_words(row: CaseEvent) -> Iterator[str]:
    """Yield the words of an event about a letter, none for another event."""
    if row.text in EVENTS and row.data.get("occasion") in LetterOccasion.values:
        yield f"{gettext(row.text)}: {occasion(row.data['occasion'])}"


def is_built_in(code: str) -> bool:
    return code in built_in.LANGUAGES
