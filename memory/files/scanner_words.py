"""The scanner's short words as a page shows them; programs keep the stored ones."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from django.utils.translation import pgettext_lazy

if TYPE_CHECKING:
    from django.utils.functional import _StrPromise

WORDS: Final[dict[str, _StrPromise]] = {
    # Families of rules, as they are stored and with blanks.
    "override": pgettext_lazy("scanner", "override"),
    "exfiltration": pgettext_lazy("scanner", "exfiltration"),
    "persistence": pgettext_lazy("scanner", "persistence"),
    "tool_abuse": pgettext_lazy("scanner", "tool_abuse"),
    "tool abuse": pgettext_lazy("scanner", "tool abuse"),
    "role_play": pgettext_lazy("scanner", "role_play"),
    "role play": pgettext_lazy("scanner", "role play"),
    "hidden_text": pgettext_lazy("scanner", "hidden_text"),
    "hidden text": pgettext_lazy("scanner", "hidden text"),
    "secrets": pgettext_lazy("scanner", "secrets"),
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
    "Off": pgettext_lazy("scanner", "Off"),
    "Observe": pgettext_lazy("scanner", "Observe"),
    "Hold": pgettext_lazy("scanner", "Hold"),
    "Block": pgettext_lazy("scanner", "Block"),
    "allow": pgettext_lazy("scanner", "allow"),
    "redact": pgettext_lazy("scanner", "redact"),
    # States of a case.
    "held": pgettext_lazy("scanner", "held"),
    "claimed": pgettext_lazy("scanner", "claimed"),
    "released": pgettext_lazy("scanner", "released"),
    "redacted": pgettext_lazy("scanner", "redacted"),
    "discarded": pgettext_lazy("scanner", "discarded"),
}


def word(value: str) -> str:
    """Return a word of the scanner in the reader's language; others as they are."""
    return str(WORDS.get(value, value))
