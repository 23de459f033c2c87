"""Stored English sentences in the reader's language.

What a plan, a report of what is left or a certificate says is stored in English, and a
certificate is signed as it stands. A page shows its reading, which is made here and
never stored. A text that is not known here stays as it is.
"""

from __future__ import annotations

import re
from datetime import date
from functools import cache
from typing import Any, Final

from django.conf import settings
from django.utils import translation
from django.utils.formats import date_format, number_format
from django.utils.translation import gettext, pgettext_lazy

from gdpr.certificates import issue
from gdpr.data_map import memory_files, process
from gdpr.erasure import finish, runner
from gdpr.models import CaseKind
from gdpr.verification import byte_search, postgres, read_paths, search

# Sentences with values in them; all others are looked up as they are.
TEMPLATES: Final = (
    issue.BACKUPS,
    issue.BACKUPS_RECTIFIED,
    issue.IN_PART,
    issue.ERASED,
    issue.SEARCHED_BUT,
    issue.IN_FIELDS,
    issue.DONE,
    memory_files.NAMED_LINES,
    memory_files.DOUBTFUL_LINES,
    process.QUESTIONS,
    finish.UNCONFIRMED,
    runner.FAULT,
    byte_search.TOO_SHORT,
    postgres.REWRITTEN,
    postgres.LOCKED,
    read_paths.RECALLED,
    search.AS_WORDS,
    search.IN_FIELDS,
    search.STRINGS,
    search.STALE_WORDS,
)
# The places by their names in certificates and reports.
PLACES: Final = {
    "exports": pgettext_lazy("stored data", "Exports"),
    "idempotency": pgettext_lazy("stored data", "Idempotency"),
    "deliveries": pgettext_lazy("stored data", "Deliveries"),
    "recall_checks": pgettext_lazy("stored data", "Recall checks"),
    "recall_log": pgettext_lazy("stored data", "Recall log"),
    "proposals": pgettext_lazy("stored data", "Proposals"),
    "health": pgettext_lazy("stored data", "Health"),
    "jobs": pgettext_lazy("stored data", "Jobs"),
    "providers": pgettext_lazy("stored data", "Providers"),
    "filters": pgettext_lazy("stored data", "Filters"),
    "gateway": pgettext_lazy("stored data", "Gateway"),
    "webhooks": pgettext_lazy("stored data", "Webhooks"),
    "keys": pgettext_lazy("stored data", "Keys"),
    "tenancy": pgettext_lazy("stored data", "Tenancy"),
    "admin_log": pgettext_lazy("stored data", "Admin log"),
    "sessions": pgettext_lazy("stored data", "Sessions"),
    "logins": pgettext_lazy("stored data", "Logins"),
    "records": pgettext_lazy("stored data", "Records"),
    "held": pgettext_lazy("stored data", "Held"),
    "files": pgettext_lazy("stored data", "Files"),
    "strays": pgettext_lazy("stored data", "Strays"),
    "priorities": pgettext_lazy("stored data", "Priorities"),
    "archive": pgettext_lazy("stored data", "Archive"),
    "journal": pgettext_lazy("stored data", "Journal"),
    "decisions": pgettext_lazy("stored data", "Decisions"),
    "cases": pgettext_lazy("stored data", "Cases"),
    "vectors": pgettext_lazy("stored data", "Vectors"),
    "relations": pgettext_lazy("stored data", "Relations"),
    "map": pgettext_lazy("stored data", "Map"),
    "word_index": pgettext_lazy("stored data", "Word index"),
    "word index": pgettext_lazy("stored data", "Word index"),
    "caches": pgettext_lazy("stored data", "Caches"),
    "logs": pgettext_lazy("stored data", "Logs"),
    "subjects": pgettext_lazy("stored data", "Subjects"),
}
_END: Final = re.compile(r"(?<=[.!?]) ")
_VALUE: Final = re.compile(r"\\\{(\w+)\\\}")


def of(text: str) -> str:
    """Return a stored text in the reader's language, sentence by sentence."""
    if not text or translation.get_language() == settings.LANGUAGE_CODE:
        return text
    parts, said, at = _END.split(text), list[str](), 0
    while at < len(parts):
        # What is known as one message may hold several sentences: the longest first.
        for end in range(len(parts), at, -1):
            known = _known(" ".join(parts[at:end]))
            if known:
                break
        said.append(known or parts[at])
        at = end
    return " ".join(said)


def _known(text: str) -> str:
    """Return the reading of one message, or empty when there is none."""
    if text in PLACES:
        return str(PLACES[text])
    translated = gettext(text)
    if translated != text:
        return translated
    for template, pattern in _patterns():
        match = pattern.fullmatch(text)
        if match is not None:
            values = {key: _value(value) for key, value in match.groupdict().items()}
            return gettext(template).format(**values)
    return ""


@cache
def _patterns() -> tuple[tuple[str, re.Pattern[str]], ...]:
    """Return each English sentence with values, and what finds it."""
    return tuple(
        (text, re.compile(_VALUE.sub(r"(?P<\1>\\S+?)", re.escape(text))))
        for text in TEMPLATES
    )


def _value(text: str) -> Any:
    """Return a number, a day or a kind of request as the reader writes it."""
    if text.isdecimal():
        return number_format(int(text), use_l10n=True, force_grouping=True)
    if text in CaseKind.values:
        return CaseKind(text).label
    try:
        return date_format(date.fromisoformat(text), "DATE_FORMAT")
    except ValueError:
        return text
