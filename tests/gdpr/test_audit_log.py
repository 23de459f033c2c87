"""The audit log: a row before the action, its end after it, and no name in it."""

from __future__ import annotations

from typing import Any

import pytest
from django.db import IntegrityError, transaction

from gdpr import audit_log
from gdpr.audit_log import AuditLogQuery
from gdpr.cases import actions
from gdpr.models import ActionKind, ActionStatus, GdprAction
from memory.rules import errors
from tests.gdpr import requests as make
from tests.world import World

pytestmark = pytest.mark.django_db
DELETE, EXPORT = ActionKind.DELETE, ActionKind.EXPORT


def begin_action(world: World, role: str = "compliance", **fields: Any) -> GdprAction:
    """Begin an erasure."""
    fields_of_row = {
        "case_ref": "c_1",
        "reason": "Consent withdrawn",
        "scope": {"run": 1},
    }
    action = fields.pop("action", DELETE)
    subject = fields.pop("subject_ref", "sub_1")
    return audit_log.begin(
        subject, action, by=world.actor(role), **{**fields_of_row, **fields}
    )


def test_a_row_says_who_did_what_to_whom_and_why(world: World) -> None:
    row = begin_action(world)
    by = world.actor("compliance")
    assert (row.status, row.completed_at) == ("in_progress", None)
    assert (row.actor_id, row.subject_ref, row.reason) == (
        by.id, "sub_1", "Consent withdrawn",
    )  # fmt: skip
    assert row.id.startswith("ga_")


def test_an_erasure_without_a_reason_is_not_begun(world: World) -> None:
    for reason in ("", "  \n"):
        with pytest.raises(errors.Invalid) as refusal:
            begin_action(world, reason=reason)
        assert refusal.value.problem_code == "reason_required"
    assert not GdprAction.objects.exists()
    assert begin_action(world, action=EXPORT, reason="").action == "export"


def test_the_database_says_so_too(world: World) -> None:
    with pytest.raises(IntegrityError), transaction.atomic():
        GdprAction.objects.create(
            workspace=world.acme, subject_ref="s", actor_id="a", action="delete"
        )
    with pytest.raises(IntegrityError), transaction.atomic():
        GdprAction.objects.create(
            workspace=world.acme, subject_ref="s", actor_id="a", action="peek"
        )


def test_a_runner_that_follows_a_dead_one_finds_the_row(world: World) -> None:
    first = begin_action(world)
    assert begin_action(world).id == first.id
    assert begin_action(world, scope={"run": 2}).id != first.id
    assert begin_action(world, case_ref="", scope={}).id != first.id
    assert begin_action(world, case_ref="", scope={}).id != first.id
    assert GdprAction.objects.count() == 4


def test_what_ended_keeps_its_end(world: World) -> None:
    row = begin_action(world)
    finished = audit_log.finish(row, ActionStatus.COMPLETED, scope={"journal": 2})
    assert (finished.status, finished.scope) == ("completed", {"run": 1, "journal": 2})
    late = audit_log.finish(row, ActionStatus.FAILED, error="no")
    assert (late.status, late.error, late.completed_at) == (
        "completed", "", finished.completed_at,
    )  # fmt: skip


def test_the_row_outlives_the_person_and_the_officer(world: World) -> None:
    person = make.subject(world)
    row = begin_action(world, subject_ref=person.id)
    person.delete()
    world.people["compliance"].delete()
    assert audit_log.action(world.actor("owner"), row.id).subject_ref == row.subject_ref


def test_the_list_pages_and_filters(world: World) -> None:
    rows = [begin_action(world, case_ref=f"c_{n}") for n in range(5)]
    audit_log.finish(rows[0], ActionStatus.PARTIAL)
    by = world.actor("owner")
    ids, cursor = [], None
    while True:
        page = audit_log.list_actions(by, AuditLogQuery(), limit=2, cursor=cursor)
        ids += [row.id for row in page.items]
        if (cursor := page.next_cursor) is None:
            break
    assert ids == [row.id for row in reversed(rows)]
    partial = audit_log.list_actions(by, AuditLogQuery(status="partial")).items
    assert [row.id for row in partial] == [rows[0].id]
    assert audit_log.list_actions(by, AuditLogQuery(case_id="c_3")).items == [rows[3]]
    assert audit_log.list_actions(by, AuditLogQuery(subject_id="sub_2")).items == []


def test_who_may_read_it(world: World) -> None:
    row = begin_action(world)
    for role in ("operator", "viewer", "ada"):
        with pytest.raises(errors.Forbidden):
            audit_log.list_actions(world.actor(role), AuditLogQuery())
    stranger = world.actor("stranger")
    assert audit_log.list_actions(stranger, AuditLogQuery()).items == []
    with pytest.raises(errors.NotFound):
        audit_log.action(stranger, row.id)


def test_a_row_that_waits_for_a_run_is_taken_over_by_it(world: World) -> None:
    pending = begin_action(world, scope={audit_log.WAITS: 1})
    run = begin_action(world, scope={"run": 1, "plan_hash": "h"})
    assert run.id == pending.id
    assert GdprAction.objects.get().scope == {"run": 1, "plan_hash": "h"}
    assert begin_action(world, scope={"run": 2}).id != pending.id


def test_a_row_that_waits_for_a_run_ends_with_a_refused_case(world: World) -> None:
    case = make.opened(world)
    pending = begin_action(world, case_ref=case.id, scope={audit_log.WAITS: 1})
    actions.refuse(case, "Not this person", by=world.actor("compliance"))
    pending.refresh_from_db()
    assert (pending.status, pending.completed_at is None) == ("failed", False)
