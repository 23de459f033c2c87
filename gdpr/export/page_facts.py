"""What the pages of a bundle say beside the data: names of agents, zone, request."""

from __future__ import annotations

from typing import Any

from gdpr.cases import privacy_settings
from gdpr.data_map import row_text
from gdpr.data_map.base import Person
from gdpr.models import Case
from memory.journal import append as journal
from memory.models import Agent, Crew


def of(person: Person, case: Case | None) -> dict[str, Any]:
    """Return the fields of a collection that only pages show."""
    return {
        "names": _names(person),
        "time_zone": privacy_settings.of(person.workspace_id).time_zone,
        "case": _request(case) if case is not None else {},
    }


def _names(person: Person) -> dict[str, str]:
    """Return the names of agents and crews by their ids, other people masked."""
    rows = {"workspace_id": person.workspace_id}
    agents = Agent.objects.filter(**rows).values_list("pk", "name")
    crews = Crew.objects.filter(**rows).values_list("pk", "name")
    return {
        row_id: row_text.without_others(person, name)
        for row_id, name in (*agents, *crews)
    }


def _request(case: Case) -> dict[str, str]:
    received_at = journal.stamp(case.received_at)
    return {"id": case.id, "kind": case.kind, "received_at": received_at}
