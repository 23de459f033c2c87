"""Placeholders of letters: a fixed list of names in braces, nothing else.

A text that people edit is never a template language: what stands in braces is looked up
in the list and replaced once, and what was filled in is not read again.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from django.utils.translation import gettext, gettext_noop

from memory.rules import errors

_BRACES: Final = re.compile(r"\{([^{}\n]{0,60})\}|[{}]")
_PLACEHOLDER: Final = re.compile(r"\{([a-z_]+)\}")


@dataclass(frozen=True, slots=True)
class Placeholder:
    """A name, what stands for it, and whether a letter needs it.

    A line in which every placeholder is empty is left out, unless one is needed.
    """

    name: str
    description: str
    is_needed: bool = False

    @property
    def as_text(self) -> str:
        """The placeholder as it stands in a text."""
        return f"{{{self.name}}}"

    @property
    def as_gap(self) -> str:
        """The placeholder as it stands in a letter for which it has no value."""
        return f"[{self.name}]"


ALL: Final = (
    Placeholder("greeting", gettext_noop("The salutation, with the name if known")),
    Placeholder("name", gettext_noop("The person’s name")),
    Placeholder("request", gettext_noop("What was asked for, with its article")),
    Placeholder("case_id", gettext_noop("The number of the case")),
    Placeholder("ticket", gettext_noop("The ticket, if the case has one")),
    Placeholder("received_on", gettext_noop("The day the request arrived")),
    Placeholder("due_on", gettext_noop("The day one month after it arrived")),
    Placeholder("extended_until", gettext_noop("The later day"), is_needed=True),
    Placeholder(
        "reason",
        gettext_noop("Why it was extended or refused, as noted in the case"),
        is_needed=True,
    ),
    Placeholder("controller", gettext_noop("The controller"), is_needed=True),
    Placeholder(
        "controller_contact", gettext_noop("Contact of the controller"), is_needed=True
    ),
    Placeholder("dpo_contact", gettext_noop("The data protection officer")),
    Placeholder("certificate_id", gettext_noop("The number of the certificate")),
    Placeholder("verdict", gettext_noop("What the certificate says, in words")),
    Placeholder("exceptions", gettext_noop("What stays, and why, a line each")),
    Placeholder("check_page", gettext_noop("The address of the public check page")),
    Placeholder("check_code", gettext_noop("The code for that page")),
    Placeholder(
        "recipients",
        gettext_noop("Whom data went to or may have gone to, and who was told"),
    ),
    Placeholder("today", gettext_noop("The day of the letter")),
    Placeholder(
        "letter_days", gettext_noop("For how many days a letter is kept once sent")
    ),
)
BY_NAME: Final = {item.name: item for item in ALL}


def require_known(text: str, field: str) -> None:
    """Raise Invalid for a brace that is no placeholder of the list."""
    for match in _BRACES.finditer(text):
        name = match[1]
        if name is None:
            detail = gettext("A single brace: braces are for placeholders alone.")
            raise errors.Invalid(detail, code="bad_placeholder", field=field)
        if name not in BY_NAME:
            detail = gettext("There is no placeholder {placeholder}.").format(
                placeholder=match[0]
            )
            raise errors.Invalid(detail, code="unknown_placeholder", field=field)


def has(text: str, name: str) -> bool:
    """Whether a text has a placeholder."""
    return BY_NAME[name].as_text in text


def left_open(text: str) -> list[str]:
    """Return the placeholders of the list that stand in square brackets in a letter."""
    return [item.as_gap for item in ALL if item.as_gap in text]


def fill(text: str, values: Mapping[str, str]) -> tuple[str, list[str]]:
    """Return a text with its values, and the needed ones that are missing.

    A missing one stands in square brackets.
    """
    gaps: dict[str, None] = {}

    def filled(match: re.Match[str]) -> str:
        name = match[1]
        if values.get(name):
            return values[name]
        if name in BY_NAME and not BY_NAME[name].is_needed:
            return ""
        gaps[name] = None
        return f"[{name}]"

    lines = [
        _PLACEHOLDER.sub(filled, line)
        for line in text.split("\n")
        if not _is_empty(line, values)
    ]
    return re.sub(r"\n{3,}", "\n\n", "\n".join(lines)).strip(), list(gaps)


def _is_empty(line: str, values: Mapping[str, str]) -> bool:
    """Whether a line has nothing but placeholders to say, and none has a value."""
    names = _PLACEHOLDER.findall(line)
    return bool(names) and not any(
        values.get(name) or name not in BY_NAME or BY_NAME[name].is_needed
        for name in names
    )
