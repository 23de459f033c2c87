"""Words of a case's page that are stored in English, in the reader's language.

The timeline, the reasons in a plan and the steps of a run are stored in English, for
programs and for every reader. What people wrote themselves stays as they wrote it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from django.utils.formats import number_format
from django.utils.translation import gettext, gettext_noop, ngettext

from gdpr.models import CaseEvent, CaseState, Ground, Verdict

# The texts of events, with the values that stand in them.
EVENTS: Final = (
    gettext_noop("Received"),
    gettext_noop("Identity verified"),
    gettext_noop("Plan {number} made"),
    gettext_noop("Plan {number} approved"),
    gettext_noop("Run {number} started"),
    gettext_noop("Without a second person: {reason}"),
    gettext_noop("On hold"),
    gettext_noop("A hold was released"),
    gettext_noop("Searching for what is left"),
    gettext_noop("Complete"),
    gettext_noop("Partial: something is left"),
    gettext_noop("Refused"),
    gettext_noop("Extended by {months}"),
    gettext_noop("Assigned"),
    gettext_noop("Unassigned"),
    gettext_noop("{fault}; see the server's log"),
)
SENTENCE_END: Final = re.compile(r"(?<=\.) ")


def number(value: int) -> str:
    """Return a whole number as the reader writes it: 18,204."""
    return number_format(value, 0, use_l10n=True, force_grouping=True)


def rows(count: int) -> str:
    """Return a count of rows: 3 rows."""
    return ngettext("{count} row", "{count} rows", count).format(count=number(count))


def sentences(text: str) -> str:
    """Return stored sentences in the reader's language; unknown ones stay."""
    return " ".join(gettext(part) for part in SENTENCE_END.split(text)) if text else ""


def _pattern(text: str) -> re.Pattern[str]:
    return re.compile(re.sub(r"\\{(\w+)\\}", r"(?P<\1>.+)", re.escape(text)), re.DOTALL)


_EVENT_PATTERNS: Final = [(text, _pattern(text)) for text in EVENTS]


def event(row: CaseEvent) -> str:
    """Return the text of an event; a comment or a document's name stays as it is."""
    if row.kind in (CaseEvent.Kind.NOTE, CaseEvent.Kind.ATTACHMENT):
        return row.text
    return next(_event_words(row), row.text)


def _event_words(row: CaseEvent) -> Iterator[str]:
    data = row.data
    if data.get("verb") == "resume":
        state = CaseState(row.state).label.lower()
        yield gettext("Resumed: {state}").format(state=state)
    elif "verdict" in data:
        yield _decision(data["verdict"], int(data.get("rows") or 0), data.get("ground"))
    elif "hold_id" in data:
        place = row.text.rpartition(": ")[0]
        yield gettext("{place}: deferred by hold {hold}").format(
            place=gettext(place), hold=data["hold_id"]
        )
    for text, pattern in _EVENT_PATTERNS:
        match = pattern.fullmatch(row.text)
        if match:
            yield gettext(text).format(**match.groupdict())


def _decision(verdict: str, count: int, ground: str | None) -> str:
    if verdict == Verdict.SPARED and ground in Ground.values:
        return gettext("{rows} kept by decision: {ground}").format(
            rows=rows(count), ground=Ground(ground).label
        )
    return gettext("{rows} decided to be this person’s").format(rows=rows(count))
