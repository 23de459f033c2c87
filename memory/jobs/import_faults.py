"""Why lines of an upload were refused: stored in English, worded for the reader."""

from __future__ import annotations

from typing import Final

from django.utils.translation import gettext_noop

from memory.rules.stored_sentences import translated

# The first that fits is taken: a longer one stands before what it contains.
FAULTS: Final = (
    gettext_noop("an object names a key twice"),
    gettext_noop("the line is longer than {count} bytes"),
    gettext_noop("the JSON nests too deep or holds more than {count} values"),
    gettext_noop("the JSON nests too deep"),
    gettext_noop("not UTF-8 at byte {count}"),
    gettext_noop("not JSON: {why}"),
    gettext_noop("not a JSON object"),
    gettext_noop("{name} is not JSON"),
    gettext_noop("a text holds half of a character"),
    gettext_noop("unknown field"),
    gettext_noop("{name} is required and is text"),
    gettext_noop("{name} is text"),
    gettext_noop("{name} is an object"),
    gettext_noop("subjects is a list of texts"),
    gettext_noop("ts is not a time such as 2026-11-21T09:30:00Z"),
    gettext_noop("severity is one of {values}"),
    gettext_noop("agent needs crew"),
    gettext_noop("there is no such crew"),
    gettext_noop("there is no such agent in that crew"),
    gettext_noop("subject_suppressed: {why}"),
    gettext_noop("crew: {why}"),
    gettext_noop("agent: {why}"),
    # What the rules of entries say.
    gettext_noop(
        "entry_type is lower-case words joined by dots, such as peer.escalation."
    ),
    gettext_noop("summary must not be empty."),
    gettext_noop("summary holds a NUL or half a surrogate pair."),
    gettext_noop("{what} may hold {limit} bytes; this one has {size}."),
    gettext_noop("{name} may nest {count} levels deep."),
    gettext_noop("{name} holds a NUL."),
    gettext_noop("{name} holds half a surrogate pair."),
    gettext_noop("{name} is not valid JSON."),
    gettext_noop("ts needs a time zone, such as a final Z."),
    gettext_noop("ts lies in the future."),
    gettext_noop("ts lies before the year {year}."),
    gettext_noop("An entry names {count} people at most."),
    gettext_noop("A subject is 1 to {count} characters."),
    gettext_noop("{name} is 1 to {count} characters."),
    # What Python's reader of JSON says.
    gettext_noop("Expecting value"),
    gettext_noop("Expecting ',' delimiter"),
    gettext_noop("Expecting ':' delimiter"),
    gettext_noop("Expecting property name enclosed in double quotes"),
    gettext_noop("Extra data"),
    gettext_noop("Unterminated string starting at"),
    gettext_noop("Invalid control character at"),
    gettext_noop("Invalid \\escape"),
    gettext_noop("Invalid \\uXXXX escape"),
    gettext_noop("Unexpected UTF-8 BOM (decode using utf-8-sig)"),
    gettext_noop("a number is too long"),
)


def worded(stored: str) -> str:
    """Return why a line was refused, in the reader's language."""
    return translated(stored, FAULTS)
