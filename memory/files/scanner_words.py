"""The scanner's short words as a page shows them; programs keep the stored ones."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from django.utils.functional import lazy
from django.utils.text import capfirst
from django.utils.translation import pgettext_lazy

if TYPE_CHECKING:
    from django.utils.functional import _StrPromise

WORDS: Final[dict[str, _StrPromise]] = {
    # Families of rules.
    "override": pgettext_lazy("scanner", "override"),
    "exfiltration": pgettext_lazy("scanner", "exfiltration"),
    "persistence": pgettext_lazy("scanner", "persistence"),
    "tool_abuse": pgettext_lazy("scanner", "tool abuse"),
    "role_play": pgettext_lazy("scanner", "role play"),
    "hidden_text": pgettext_lazy("scanner", "hidden text"),
    "secrets": pgettext_lazy("scanner", "secrets"),
    "policy": pgettext_lazy("scanner", "policy"),
    # What the scanner does not look for: names on the list of suppressed ones.
    "suppressed": pgettext_lazy("scanner", "suppressed person"),
    # Severities, and levels of a risk.
    "low": pgettext_lazy("scanner", "low"),
    "medium": pgettext_lazy("scanner", "medium"),
    "high": pgettext_lazy("scanner", "high"),
    # Verdicts.
    "clean": pgettext_lazy("scanner", "clean"),
    "suspicious": pgettext_lazy("scanner", "suspicious"),
    # Modes of a rule, and what a policy does.
    "off": pgettext_lazy("scanner", "off"),
    "observe": pgettext_lazy("scanner", "observe"),
    "hold": pgettext_lazy("scanner", "hold"),
    "block": pgettext_lazy("scanner", "block"),
    "allow": pgettext_lazy("scanner", "allow"),
    "redact": pgettext_lazy("scanner", "redact"),
    # States of a case.
    "held": pgettext_lazy("scanner", "held"),
    "claimed": pgettext_lazy("scanner", "claimed"),
    "released": pgettext_lazy("scanner", "released"),
    "redacted": pgettext_lazy("scanner", "redacted"),
    "discarded": pgettext_lazy("scanner", "discarded"),
}


def _key(value: str) -> str:
    return value.replace(" ", "_").lower()


def is_word(value: str) -> bool:
    """Return whether it is a word of the scanner, however it is written."""
    return _key(value) in WORDS


def word(value: str) -> str:
    """Return a word of the scanner in the reader's language; others as they are.

    A family may be written with blanks; a word with a capital letter keeps it.
    """
    if not is_word(value):
        return value
    text = str(WORDS[_key(value)])
    return capfirst(text) if value[:1].isupper() else text


word_lazy = lazy(word, str)
