"""Builders of addresses and letters."""

from __future__ import annotations

from typing import Any, Final

from django.db import connection, models

from gdpr.cases import correspondence
from gdpr.cases.correspondence import Address
from gdpr.letters import drafts, keeping
from gdpr.letters.keeping import NewLetter
from gdpr.models import Case, Letter
from gdpr.processing import controller
from tests.world import World

PERSON: Final = "Mara Holt-Zwiebelkuchen"
EMAIL: Final = "mara.holt@example.org"
ADDRESS: Final = Address(name=PERSON, email=EMAIL, language="de")


def addressed(world: World, case: Case, **fields: str) -> Case:
    """Keep an address in a case."""
    values = {"name": PERSON, "email": EMAIL, "language": "de", **fields}
    correspondence.keep(case, Address(**values), by=world.actor("compliance"))
    return case


def answering(world: World) -> None:
    """Name who answers for the processing: a letter has to say who writes."""
    values = {
        "controller": "Fairlead Ltd",
        "controller_contact": "Quay 1, Bergen",
        "dpo_contact": "dpo@fairlead.example",
    }
    controller.change(values, by=world.actor("owner"))


def letter(
    world: World, case: Case, occasion: str = "received", **fields: Any
) -> Letter:
    """Keep the draft of a letter as it is, or with other words."""
    by = world.actor("compliance")
    if case.workspace_id == world.acme.id:
        answering(world)
    draft = drafts.make(case, occasion, by=by)
    values: dict[str, Any] = {
        "occasion": occasion,
        "language": draft.language,
        "subject": draft.subject,
        "body": draft.body,
        **fields,
    }
    return keeping.keep(case, NewLetter(**values), by=by)


def raw_rows(model: type[models.Model]) -> bytes:
    """Return every column of a table's rows, as the database has them."""
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT * FROM {model._meta.db_table}")
        rows = cursor.fetchall()
    cells = (cell for row in rows for cell in row)
    return b"\n".join(
        bytes(cell) if isinstance(cell, (bytes, memoryview)) else str(cell).encode()
        for cell in cells
    )
