"""Words in the reader's language, for modules that know no framework.

Without a translator, as in a command or a worker, a text stays English. The app sets
Django's at start. Only what a person reads at once is translated: what is stored,
signed, logged or sent to a program stays English.
"""

from __future__ import annotations

from collections.abc import Callable

Singular = Callable[[str], str]
Plural = Callable[[str, str, int], str]


def _english(text: str) -> str:
    return text


def _english_plural(singular: str, plural: str, number: int) -> str:
    return singular if number == 1 else plural


_singular: Singular = _english
_plural: Plural = _english_plural


def install(singular: Singular, plural: Plural) -> None:
    """Take these two as the translators of everything that follows."""
    global _singular, _plural
    _singular, _plural = singular, plural


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
    """Return a label as it stands within a sentence; for a state, which is no noun."""
    return label[:1].lower() + label[1:]


def pgettext_noop(_context: str, text: str) -> str:
    """Return the text as it is, marked like ``gettext_noop`` with what it is about."""
    return text
