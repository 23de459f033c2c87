"""Former versions of records, and records as of a moment."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any

from django.db.models import Q, QuerySet
from django.utils.dateparse import parse_datetime

from memory import lookup
from memory.files.paths import Owner
from memory.models import (
    Agent,
    JournalEntry,
    Record,
    RecordEntry,
    RecordEvent,
    RecordStatus,
    User,
)
from memory.records import sql_filters
from memory.records.access import alive, in_scope, owner_for, reach
from memory.records.chain import CONTENT_EVENTS
from memory.records.redaction import may_show
from memory.records.types import Criteria, Version
from memory.rules.entries import ActorType
from memory.rules.permissions import Actor
from memory.rules.translation import gettext


def _words(entry: JournalEntry) -> str:
    return str(entry.payload.get("content", entry.summary))


def _facts(link: RecordEntry, record: Record) -> dict[str, Any]:
    """Return a version's fields; old versions without them in refs use the record's."""
    refs = link.entry.refs
    due = parse_datetime(refs["expires_at"]) if refs.get("expires_at") else None
    has_facts = "confidence" in refs
    return {
        "kind": refs.get("kind", record.kind),
        "provenance": refs.get("provenance", record.provenance),
        "confidence": refs["confidence"] if has_facts else record.confidence,
        "metadata": refs.get("metadata", {}) if has_facts else record.metadata,
        "expires_at": due if has_facts else record.expires_at,
    }


# ── History ──────────────────────────────────────────────────────────────────
def _version(link: RecordEntry, record: Record, text: str) -> Version:
    entry, refs = link.entry, link.entry.refs
    facts = _facts(link, record)
    facts.pop("expires_at")
    return Version(
        id=f"{record.id}:{link.version}",
        number=link.version,
        content=text,
        created_at=entry.ts,
        parent_id=f"{record.id}:{link.version - 1}" if link.version > 1 else None,
        event=link.event or RecordEvent.UPDATED,
        author=entry.actor_id,
        author_type=entry.actor_type,
        reason=refs.get("reason", ""),
        entry_id=entry.id,
        valid_to=link.valid_to,
        other_id=refs.get("superseded_by"),
        **facts,
    )


def _blank(version: Version) -> Version:
    """Return a version without content, metadata and reason."""
    return replace(version, content="", metadata={}, reason="")


def versions(record: Record) -> list[Version]:
    """Return a record's versions, oldest first; an end repeats the content that ended.

    A version whose entry is erased or restricted has no content. For people: agents use
    ``history``.
    """
    links = RecordEntry.objects.filter(
        workspace_id=record.workspace_id, record=record
    ).select_related("entry")
    result: list[Version] = []
    text, is_blank = "", False
    for link in links.order_by("version"):
        entry = link.entry
        is_withheld = entry.restricted_at is not None or entry.erased_at is not None
        if link.event in CONTENT_EVENTS or link.event is None:
            text, is_blank = _words(entry), is_withheld
        version = _version(link, record, text)
        if is_withheld:
            version = _blank(version)
        elif is_blank:
            # The reason is the end's own and is shown.
            version = replace(_blank(version), reason=version.reason)
        result.append(version)
    return result


def history(record_id: str, *, owner: Owner | None, by: Actor) -> list[Version]:
    """Return the versions of a record that is current or superseded.

    For an agent an expired record is NotFound, and an unsafe version has no content.
    """
    if owner is None and by.is_agent:
        owner = owner_for(by)
    rows = reach(owner, by=by).exclude(status=RecordStatus.FORGOTTEN)
    if by.is_agent:
        rows = rows.filter(alive())
    record = lookup.required(rows, pk=record_id)
    version_list = versions(record)
    if by.is_agent:
        return [v if may_show(record, v.content) else _blank(v) for v in version_list]
    return version_list


def authors(versions_: Sequence[Version], *, by: Actor) -> dict[str, str]:
    """Return entry id → the author of a version, for display.

    A person who is no longer a member is not named.
    """
    ids = {version.author for version in versions_}
    agents = Agent.objects.filter(workspace_id=by.workspace_id, pk__in=ids)
    people = User.objects.filter(
        memberships__workspace_id=by.workspace_id, pk__in=ids
    ).values_list("pk", "email")
    names = {**dict(agents.values_list("pk", "slug")), **dict(people)}
    fallback = {ActorType.USER.value: gettext("a former member")}
    return {
        version.entry_id: names.get(
            version.author, fallback.get(version.author_type, version.author)
        )
        for version in versions_
    }


# ── As of a moment ───────────────────────────────────────────────────────────
def links_at(
    criteria: Criteria, moment: datetime, *, by: Actor
) -> QuerySet[RecordEntry]:
    """Return the links of the versions that were current at a moment.

    Records forgotten since are left out: their content is erased.
    """
    rows = in_scope(criteria, by=by).exclude(status=RecordStatus.FORGOTTEN)
    if criteria.filter is not None:
        rows = rows.filter(
            sql_filters.conditions(criteria.filter, sql_filters.VERSION_INDEPENDENT)
        )
    links = RecordEntry.objects.filter(
        Q(valid_to=None) | Q(valid_to__gt=moment),
        workspace_id=by.workspace_id,
        record__in=rows.values("pk"),
        event__in=CONTENT_EVENTS,
        valid_from__lte=moment,
        entry__erased_at=None,
        entry__restricted_at=None,
    )
    return links.select_related("entry", "record__crew__workspace", "record__agent")


def record_at(link: RecordEntry) -> Record:
    """Return a record as it was in a version: a copy that is never saved."""
    version = copy.copy(link.record)
    version.content, version.version = _words(link.entry), link.version
    for name, value in _facts(link, link.record).items():
        setattr(version, name, value)
    version.updated_at, version.status = link.entry.ts, RecordStatus.CURRENT
    version.superseded_by = None
    version.current_entry = link.entry
    return version


def is_match(record: Record, criteria: Criteria, moment: datetime) -> bool:
    """Whether a record as of a moment matches, by its fields of that time."""
    if record.expires_at is not None and record.expires_at <= moment:
        return False
    if criteria.kinds and record.kind not in criteria.kinds:
        return False
    if criteria.provenances and record.provenance not in criteria.provenances:
        return False
    if criteria.text and criteria.text.casefold() not in record.content.casefold():
        return False
    return record.confidence >= criteria.min_confidence
