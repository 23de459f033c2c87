"""Stored English sentences in the reader's language.

What a plan, a report of what is left or a certificate says is stored in English, and a
certificate is signed as it stands. A page shows its reading, which is made here and
never stored. A text that is not known here stays as it is.
"""

from __future__ import annotations

import re
from datetime import date
from typing import Final

from django.conf import settings
from django.utils import translation
from django.utils.formats import date_format
from django.utils.translation import pgettext_lazy

from gdpr.certificates import limits, statement, version_1
from gdpr.data_map import letters, memory_files, process
from gdpr.erasure import finish, runner
from gdpr.models import CaseKind
from gdpr.verification import (
    byte_search,
    postgres,
    read_paths,
    search,
    second_search,
    server_files,
    sqlite,
    statements,
    write_ahead_log,
)
from memory.figures import grouped
from memory.rules.stored_sentences import translated

# Sentences with values in them; all others are looked up as they are.
TEMPLATES: Final = (
    *version_1.TEMPLATES,
    limits.BACKUPS,
    limits.BACKUPS_RECTIFIED,
    limits.BACKUPS_RECORDED,
    limits.RECIPIENTS,
    limits.SEALED_FOR_PROVIDER,
    statement.ERASED,
    statement.ERASED_EXCEPT,
    statement.RECTIFIED,
    statement.RECTIFIED_EXCEPT,
    statement.DONE,
    statement.IN_PART,
    statement.TRACES,
    statement.DECIDED,
    statement.BY_RULE,
    statement.UNSOUGHT,
    letters.PROOF,
    memory_files.NAMED_LINES,
    memory_files.DOUBTFUL_LINES,
    process.QUESTIONS,
    finish.UNCONFIRMED,
    runner.FAULT,
    byte_search.TOO_SHORT,
    postgres.REWRITTEN,
    postgres.LOCKED,
    read_paths.RECALLED,
    statements.ASKED,
    statements.AS_WORDS,
    statements.IN_FIELDS,
    statements.BYTES,
    statements.UNPACKED,
    statements.SAMPLED,
    statements.SHARED,
    statements.SKIPPED,
    statements.NOT_OPENED,
    statements.SEALED,
    statements.UNREAD,
    second_search.SECOND,
    server_files.SERVER_LOG,
    server_files.OTHER_DATABASES,
    write_ahead_log.ROTATED,
    write_ahead_log.SEARCHED,
    write_ahead_log.HELD,
    search.STRINGS,
    search.STALE_WORDS,
    sqlite.ZEROED,
    sqlite.NO_SPACE,
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
    "imports": pgettext_lazy("stored data", "Imports"),
    "intake": pgettext_lazy("stored data", "Requests by the form"),
    "retention": pgettext_lazy("stored data", "Retention"),
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
    "letters": pgettext_lazy("stored data", "Letters"),
    "letter_templates": pgettext_lazy("stored data", "Texts of letters"),
    "decisions": pgettext_lazy("stored data", "Decisions"),
    "recipients": pgettext_lazy("stored data", "Recipients"),
    "cases": pgettext_lazy("stored data", "Cases"),
    "vectors": pgettext_lazy("stored data", "Vectors"),
    "relations": pgettext_lazy("stored data", "Relations"),
    "map": pgettext_lazy("stored data", "Map"),
    "word_index": pgettext_lazy("stored data", "Word index"),
    "word index": pgettext_lazy("stored data", "Word index"),
    "caches": pgettext_lazy("stored data", "Caches"),
    "logs": pgettext_lazy("stored data", "Logs"),
    "subjects": pgettext_lazy("stored data", "Subjects"),
    "tables": pgettext_lazy("stored data", "Tables"),
}
_END: Final = re.compile(r"(?<=[.!?]) ")


def of(text: str) -> str:
    """Return a stored text in the reader's language, sentence by sentence."""
    if not text or translation.get_language() == settings.LANGUAGE_CODE:
        return text
    parts, reading, at = _END.split(text), list[str](), 0
    while at < len(parts):
        # What is known as one message may hold several sentences: the longest first.
        for end in range(len(parts), at, -1):
            known_text = _known(" ".join(parts[at:end]), end - at)
            if known_text:
                break
        reading.append(known_text or parts[at])
        at = end
    return " ".join(reading)


def _known(text: str, sentences: int) -> str:
    """Return the reading of one message, or empty when there is none."""
    if text in PLACES:
        return str(PLACES[text])
    # A value has no end of a sentence in it: it would swallow the next message.
    templates = [item for item in TEMPLATES if len(_END.split(item)) == sentences]
    reading = translated(text, templates, _value)
    return "" if reading == text else reading


def _value(text: str) -> str:
    """Return a number, a day or a kind of request as the reader writes it."""
    if text.isdecimal():
        return grouped(int(text))
    if text in CaseKind.values:
        return str(CaseKind(text).label)
    try:
        return date_format(date.fromisoformat(text), "DATE_FORMAT")
    except ValueError:
        return text
