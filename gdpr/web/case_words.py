"""Words of a case's page: its timeline, and what to do about a refusal.

The timeline is stored in English, for programs and for every reader, and shown in the
reader's language. What people wrote themselves stays as they wrote it.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from django.conf import settings
from django.urls import reverse
from django.utils import translation
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import gettext, gettext_noop, ngettext

from gdpr.cases import bulk
from gdpr.cases.open_requests import SENTENCES, RequestWarning
from gdpr.cases.transitions import ERASED
from gdpr.models import CaseEvent, CaseState, Ground, Verdict
from gdpr.web import letter_words
from memory.figures import grouped
from memory.rules import errors
from memory.rules.stored_sentences import translated
from memory.rules.translation import within_sentence

# Texts of events that are the names of states.
STATES: Final = {
    "Received": CaseState.RECEIVED,
    "On hold": CaseState.ON_HOLD,
    "Complete": CaseState.COMPLETE,
    "Refused": CaseState.REFUSED,
}
# The other texts, with the values that stand in them.
EVENTS: Final = (
    gettext_noop("Identity verified"),
    gettext_noop("Goes on without an identity check"),
    gettext_noop("Plan {number} made"),
    gettext_noop("Plan {number} approved"),
    gettext_noop("Run {number} started"),
    gettext_noop("Without a second person: {reason}"),
    gettext_noop("A hold was released"),
    gettext_noop("Searching for what is left"),
    gettext_noop("Partial: something is left"),
    gettext_noop("Assigned"),
    gettext_noop("Unassigned"),
    bulk.REMINDED,
    bulk.NOT_MAILED,
    gettext_noop("{name}; see the server's log"),
)
# What to do about a refusal, by its error code.
ADVICE: Final = {
    "stale_version": gettext_noop(
        "What you see below is the case as it is now. Look, then decide."
    ),
    "stale_plan": gettext_noop(
        "Nothing was touched. Make the dry run again and read the new plan."
    ),
    "wrong_phrase": gettext_noop(
        "The phrase changes with the plan. Copy it from above the field."
    ),
    "wrong_state": gettext_noop("What you see below is the case as it is now."),
    "same_person": gettext_noop(
        "Ask a colleague with the compliance role to open this page."
    ),
    "approval_required": gettext_noop(
        "Ask a colleague with the compliance role to approve it."
    ),
    "on_hold": gettext_noop("Release the hold first, or wait for its review."),
    "already_extended": gettext_noop("A deadline is extended once."),
    "doubtful_rows": gettext_noop(
        "Decide on the doubtful rows first; they are above the plan."
    ),
    "reason_required": gettext_noop(
        "Write it into the field, and choose why it stays."
    ),
    "no_rows": gettext_noop(
        "Tick the rows that you mean, or use a button for all of them."
    ),
    "identity_required": gettext_noop("Write down how it was verified, then plan."),
    "identity_ground_required": gettext_noop(
        "Write down how it was verified, or choose a ground and say why."
    ),
    "not_a_person": gettext_noop("Sign in and approve it on this page."),
}


def rows(count: int) -> str:
    """Return a count of rows: 3 rows."""
    return ngettext("{count} row", "{count} rows", count).format(count=grouped(count))


def written(text: str) -> str:
    """Return what a person wrote as it is, or in the reader's words that it is gone."""
    return gettext("[erased]") if text == ERASED else text


def event(row: CaseEvent) -> str:
    """Return the text of an event; a comment or a document's name stays as it is."""
    is_own = row.kind in (CaseEvent.Kind.NOTE, CaseEvent.Kind.ATTACHMENT)
    if is_own or row.text == ERASED:
        return written(row.text)
    if letter := next(letter_words.event_words(row), ""):
        return letter
    if translation.get_language() == settings.LANGUAGE_CODE:
        return row.text
    return next(_event_words(row), "") or translated(row.text, EVENTS)


def _event_words(row: CaseEvent) -> Iterator[str]:
    data = row.data
    if row.text in STATES:
        yield str(STATES[row.text].label)
    elif data.get("verb") == "resume":
        state = within_sentence(str(CaseState(row.state).label))
        yield gettext("Resumed: {state}").format(state=state)
    elif data.get("verb") == "extend":
        months = int(data.get("months") or 0)
        yield ngettext(
            "Deadline extended by {count} month",
            "Deadline extended by {count} months",
            months,
        ).format(count=months)
    elif "verdict" in data:
        yield _decision(data["verdict"], int(data.get("rows") or 0), data.get("ground"))
    elif "words" in data:
        count = int(data["words"])
        yield ngettext(
            "Waits for a decision on {count} word",
            "Waits for a decision on {count} words",
            count,
        ).format(count=grouped(count))
    elif "hold_id" in data:
        place = row.text.rpartition(": ")[0]
        yield gettext("{place}: deferred by hold {hold}").format(
            place=gettext(place), hold=data["hold_id"]
        )


def _decision(verdict: str, count: int, ground: str | None) -> str:
    if verdict == Verdict.SPARED and ground in Ground.values:
        return gettext("{rows} kept by decision: {ground}").format(
            rows=rows(count), ground=Ground(ground).label
        )
    return gettext("{rows} decided to be this person’s").format(rows=rows(count))


def advice(refusal: errors.AppError) -> str:
    """Return what to do about a refusal; empty when nothing is known."""
    text = ADVICE.get(refusal.problem_code)
    return gettext(text) if text else ""


def linked(warning: RequestWarning) -> SafeString:
    """Return a warning with a link to the request that it names."""
    address = reverse("privacy:case", args=[warning.case.pk])
    link = format_html('<a class="id" href="{}">{}</a>', address, warning.case.pk)
    return format_html(gettext(SENTENCES[warning.code]), id=link)
