"""Sentences that were stored in English, and their words in the reader's language.

What a job, a check or a delivery leaves behind is stored in English. A sentence without
values is found as it is; one with values by its template, which says where they stand.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from functools import cache
from typing import Final

from memory.rules.translation import gettext

VALUE: Final = re.compile(r"\{(\w+)\}")
# A value of this name is a sentence itself.
SENTENCE: Final = "why"
# A value of this name is a number.
COUNT: Final = "count"


def translated(
    text: str, templates: Iterable[str] = (), shown: Callable[[str], str] = str
) -> str:
    """Return a stored sentence in the reader's language; an unknown one as it is.

    ``templates`` are marked with ``gettext_noop``, with values like ``{count}``, which
    ``shown`` writes as the reader does.
    """
    if not text:
        return ""
    full_text = gettext(text)
    if full_text != text:
        return full_text
    for template in templates:
        match = _pattern(template).fullmatch(text)
        if match is not None:
            values = {name: shown(value) for name, value in match.groupdict().items()}
            if SENTENCE in values:
                values[SENTENCE] = translated(match[SENTENCE], templates, shown)
            return gettext(template).format(**values)
    return text


def is_made_from(template: str, text: str) -> bool:
    """Whether a stored sentence is a template with values."""
    return _pattern(template).fullmatch(text) is not None


def _form(name: str) -> str:
    return r"[\d.,]+" if name == COUNT else ".+?"


@cache
def _pattern(template: str) -> re.Pattern[str]:
    # Every second part is the name of a value.
    parts = VALUE.split(template)
    parts[::2] = [re.escape(part) for part in parts[::2]]
    parts[1::2] = [f"(?P<{name}>{_form(name)})" for name in parts[1::2]]
    return re.compile("".join(parts), re.DOTALL)
