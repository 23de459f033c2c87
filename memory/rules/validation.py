"""Validation of a journal entry, for the API, the pages and every import."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

from memory.rules import entries, errors
from memory.rules.entries import NewEntry


def _check_type(new: NewEntry) -> None:
    if not entries.is_type(new.entry_type):
        raise errors.bad_field(
            "entry_type",
            "entry_type is lower-case words joined by dots, such as peer.escalation.",
            code="bad_entry_type",
        )


def _check_summary(new: NewEntry) -> None:
    if not new.summary.strip():
        message = "summary must not be empty."
        raise errors.bad_field("summary", message, code="empty_summary")
    if not entries.is_storable(new.summary):
        message = "summary holds a NUL or half a surrogate pair."
        raise errors.bad_field("summary", message, code="bad_text")
    size = len(new.summary.encode())
    if size > entries.SUMMARY_BYTES:
        raise errors.TooLarge(what="summary", limit=entries.SUMMARY_BYTES, size=size)


def _check_json(name: str, value: dict[str, Any], limit: int) -> None:
    if not value:
        return
    if entries.depth(value) > entries.JSON_DEPTH:
        message = f"{name} may nest {entries.JSON_DEPTH} levels deep."
        raise errors.bad_field(name, message, code="too_deep")
    if any("\x00" in text for text in entries.texts(value)):
        raise errors.bad_field(name, f"{name} holds a NUL.", code="bad_text")
    try:
        size = len(entries.canonical(value).encode())
    except UnicodeEncodeError:
        message = f"{name} holds half a surrogate pair."
        raise errors.bad_field(name, message, code="bad_text") from None
    except (ValueError, TypeError):
        message = f"{name} is not valid JSON."
        raise errors.bad_field(name, message, code="bad_json") from None
    if size > limit:
        raise errors.TooLarge(what=name, limit=limit, size=size)


def _check_ids(new: NewEntry) -> None:
    for name in ("mission_id", "trace_id", "span_id"):
        value = getattr(new, name)
        if value is None:
            continue
        if not value or len(value) > entries.ID_CHARS or not entries.is_storable(value):
            message = f"{name} is 1 to {entries.ID_CHARS} characters."
            raise errors.bad_field(name, message, code="bad_id")


def _check_ts(new: NewEntry, now: datetime) -> None:
    if new.ts is None:
        return
    if new.ts.tzinfo is None:
        message = "ts needs a time zone, such as a final Z."
        raise errors.bad_field("ts", message, code="naive_ts")
    if new.ts > now + timedelta(seconds=entries.FUTURE_SECONDS):
        raise errors.bad_field("ts", "ts lies in the future.", code="ts_in_future")
    if new.ts < datetime(entries.EARLIEST_YEAR, 1, 1, tzinfo=UTC):
        message = f"ts lies before the year {entries.EARLIEST_YEAR}."
        raise errors.bad_field("ts", message, code="ts_too_early")


def check_subjects(subjects: Sequence[str]) -> None:
    """Raise Invalid for names of people that are too many, too long or no text."""
    if len(subjects) > entries.SUBJECTS:
        message = f"An entry names {entries.SUBJECTS} people at most."
        raise errors.bad_field("subjects", message, code="too_many")
    for alias in subjects:
        short = len(alias.strip()) > 0 and len(alias) <= entries.SUBJECT_CHARS
        if not short or not entries.is_storable(alias):
            message = f"A subject is 1 to {entries.SUBJECT_CHARS} characters."
            raise errors.bad_field("subjects", message, code="bad_subject")


def check(new: NewEntry, now: datetime) -> None:
    """Raise Invalid or TooLarge with the field at fault."""
    _check_type(new)
    _check_summary(new)
    _check_json("payload", new.payload, entries.JSON_BYTES)
    _check_json("refs", new.refs, entries.REFS_BYTES)
    _check_ids(new)
    _check_ts(new, now)
    check_subjects(new.subjects)


def check_offered(new: NewEntry) -> None:
    """Raise Invalid for a type that only the system itself writes.

    Such entries are trusted, or left out of search, because no caller can append one.
    """
    if new.entry_type.startswith(entries.RESERVED):
        detail = "Entries of this type are written by the system alone."
        raise errors.bad_field("entry_type", detail, code="reserved_type")
