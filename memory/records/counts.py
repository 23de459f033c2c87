"""Count records: how many, and by the values of a scope's names.

For an agent, unsafe records are not counted, as they are not listed.
"""

from __future__ import annotations

from itertools import islice

from django.db.models import Count

from memory.files.paths import Owner
from memory.models import Record
from memory.records.access import current_records, owner_for, select
from memory.records.reading import (
    COUNT_LIMIT,
    MAX_HIDDEN,
    columns_for_filter,
    facts_of,
    hidden_ids,
    scan,
    without_unsafe,
)
from memory.records.types import Criteria
from memory.rules import errors
from memory.rules.permissions import Actor
from memory.rules.scopes import NAMES


def count(criteria: Criteria, *, by: Actor) -> int:
    """Return how many records match; with a filter, of the first 50,000.

    Unsafe records are looked for among the first 50,000 too.
    """
    by.require("records.read")
    if criteria.as_of is not None:
        rows_read = islice(without_unsafe(scan(criteria, by=by), by), COUNT_LIMIT)
        return sum(row is not None for row, _ in rows_read)
    rows = select(criteria, by=by)
    hidden = hidden_ids(rows, by)
    columns, holds = columns_for_filter(criteria)
    if holds is None:
        return rows.count() - len(hidden)
    newest_first = rows.order_by("-updated_at", "id").values_list("pk", *columns)
    value_rows = newest_first[:COUNT_LIMIT].iterator()
    return sum(
        holds(facts_of(columns, values)) and key not in hidden
        for key, *values in value_rows
    )


def scopes(
    name: str, *, owner: Owner | None, by: Actor, limit: int = 1_000
) -> list[tuple[str, int]]:
    """Return the values of user, agent, namespace or thread, each with its count."""
    if name not in NAMES:
        raise errors.Invalid("A scope's name is not known.", code="bad_scope")
    column = f"scope_{name}"
    if owner is None and by.is_agent:
        owner = owner_for(by)
    rows = current_records(owner, by=by).exclude(**{column: ""}).order_by(column)
    if hidden := hidden_ids(rows, by):
        rows = rows.exclude(pk__in=list(hidden)[:MAX_HIDDEN])
    groups = rows.values(column).annotate(many=Count("pk"))
    return [(row[column], row["many"]) for row in groups[:limit]]


def kinds(*, by: Actor, limit: int = 100) -> list[str]:
    """Return the kinds of record in a workspace, for a filter's choices."""
    by.require("records.read")
    rows = Record.objects.filter(workspace_id=by.workspace_id).order_by("kind")
    return list(rows.values_list("kind", flat=True).distinct()[:limit])
