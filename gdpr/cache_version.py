"""A stamp per workspace that changes with its people, so that caches are dropped."""

from __future__ import annotations

from typing import Any, Final

from django.db import connection

from gdpr.models import PeopleStamp
from gdpr.models.subjects import make_stamp

_LOOK: Final = "SELECT stamp FROM gdpr_people_stamps WHERE workspace_id = %s"


def bump(workspace_id: str) -> None:
    """Change the stamp of a workspace; call it inside the transaction of the change."""
    PeopleStamp.objects.update_or_create(
        workspace_id=workspace_id, defaults={"stamp": make_stamp()}
    )


def current(workspace_id: str) -> str | None:
    """Return the stamp; None where nobody was ever registered.

    Plain SQL: every write calls this, and building a query costs more than running it.
    """
    with connection.cursor() as cursor:
        cursor.execute(_LOOK, [workspace_id])
        row = cursor.fetchone()
    return None if row is None else str(row[0])


def locked_stamp(workspace_id: str) -> str | None:
    """Return the stamp and lock it until the transaction ends."""
    rows = PeopleStamp.objects.select_for_update().filter(pk=workspace_id)
    return rows.values_list("stamp", flat=True).first()


def on_save(instance: Any, **_: Any) -> None:
    """Signal handler: an alias, subject or suppression was saved."""
    bump(instance.workspace_id)


def on_delete(instance: Any, **_: Any) -> None:
    """Signal handler: a row was deleted, perhaps together with its workspace."""
    rows = PeopleStamp.objects.filter(pk=instance.workspace_id)
    rows.update(stamp=make_stamp())
