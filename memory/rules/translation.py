"""Words in the reader's language, for modules that know no framework.

Without a translator, as in a command or a worker, a text stays English. The app sets
Django's at start. Only what a person reads at once is translated: what is stored,
signed, logged or sent to a program stays English.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

Singular = Callable[[str], str]
Plural = Callable[[str, str, int], str]
Language = Callable[[], str | None]

ENGLISH: Final = "en"


def _english(text: str) -> str:
    return text


def _english_plural(singular: str, plural: str, number: int) -> str:
    return singular if number == 1 else plural


def _english_only() -> str:
    return ENGLISH


_singular: Singular = _english
_plural: Plural = _english_plural
_language: Language = _english_only


def install(singular: Singular, plural: Plural, language: Language) -> None:
    """Take these as the translators, and the language, of everything that follows."""
    global _singular, _plural, _language
    _singular, _plural, _language = singular, plural, language


def gettext(text: str) -> str:
    """Return a text in the language of this thread's request."""
    return _singular(text)


def ngettext(singular: str, plural: str, number: int) -> str:
    """Return the form of a text that goes with a number, in the reader's language."""
    return _plural(singular, plural, number)


def gettext_noop(text: str) -> str:
    """Return the text as it is, marked for translation where it is shown."""
    return text


def within_sentence(label: str) -> str:
    """Return a label as it stands within a sentence: in English without its capital.

    German nouns keep theirs.
    """
    language = _language() or ENGLISH
    is_english = language.partition("-")[0] == ENGLISH
    return label[:1].lower() + label[1:] if is_english else label


def pgettext_noop(_context: str, text: str) -> str:
    """Return the text as it is, marked like ``gettext_noop`` with what it is about."""
    return text
