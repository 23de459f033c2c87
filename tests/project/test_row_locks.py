"""Who decides by what a row says has locked the row before they read it.

SQLite lets one writer in at a time by itself. On PostgreSQL two decisions at once would
both read the state before either, so each of these locks its row first.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from typing import Any

import pytest
from django.db import OperationalError, connection, transaction
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from gdpr import audit_log, suppression
from gdpr.cases import legal_holds
from gdpr.cases import workflow as cases
from gdpr.cases.legal_holds import NewHold
from gdpr.certificates import keys as signing_keys
from gdpr.models import ActionKind, ActionStatus, Hold, Suppression
from gdpr.subjects import registry as subjects
from gdpr.subjects import restriction
from gdpr.subjects.registry import NewAlias
from memory import records, webhooks, workspace_settings
from memory.accounts import invitations, workspaces
from memory.files import policy
from memory.integrations.gateway import settings as gateway_settings
from memory.journal import append as journal
from memory.models import Invitation, Membership, Workspace
from memory.records import Amendment, Provenance
from memory.records.drafts import Draft
from memory.review import decide as review
from memory.rules.entries import Priority
from memory.rules.permissions import Role
from tests.gdpr import kit, requests
from tests.world import World

pytestmark = pytest.mark.postgres

Act = Callable[[], object]


def _invited(world: World) -> Invitation:
    email = world.people["stranger"].email
    return invitations.invite(email, Role.VIEWER, by=world.actor("owner"))


def _accept(world: World) -> Act:
    invitation = _invited(world)
    path = invitations.link_path(invitation, by=world.actor("owner"))
    token = path.rstrip("/").rpartition("/")[2]
    person = world.people["stranger"]
    return lambda: invitations.accept(invitation.pk, person, token=token)


def _decline(world: World) -> Act:
    invitation = _invited(world)
    return lambda: invitations.decline(invitation.pk, world.people["stranger"])


def _role(world: World) -> Act:
    viewer, by = world.people["viewer"], world.actor("owner")
    return lambda: workspaces.set_member(viewer, Role.OPERATOR, by=by)


def _leave(world: World) -> Act:
    member = Membership.objects.get(user=world.people["viewer"])
    return lambda: workspaces.remove_member(member, by=world.actor("owner"))


def _setting(world: World) -> Act:
    by = world.actor("owner")
    return lambda: workspace_settings.change({"two_person": True}, by=by)


def _webhook(world: World) -> Act:
    by = world.actor("owner")
    return lambda: webhooks.create("https://hooks.example/in", by=by)


def _setup(world: World) -> Act:
    return lambda: gateway_settings.save({"mode": "curated"}, by=world.actor("owner"))


def _priority(world: World) -> Act:
    row, by = world.entry(), world.actor("operator")
    return lambda: journal.prioritise(row, Priority.PIN, "", by=by)


def _forget(world: World) -> Act:
    row = world.record()
    return lambda: records.forget(row, reason="x", by=world.actor("owner"))


def _amend(world: World) -> Act:
    row, ada = world.record(), world.actor("ada")
    change, provenance = Amendment(content="Refunds end."), Provenance.AGENT_EXTRACTED
    return lambda: records.amend(row, change, provenance=provenance, by=ada)


def _supersede(world: World) -> Act:
    row, ada = world.record(), world.actor("ada")
    draft = Draft(content="Refunds end.", owner=records.owner_for(ada))
    provenance = Provenance.AGENT_EXTRACTED
    return lambda: records.supersede([row], draft, provenance=provenance, by=ada)


def _claim(world: World) -> Act:
    held_text = world.held()
    return lambda: review.claim(held_text, by=world.actor("operator"))


def _approve(world: World) -> Act:
    case = requests.opened(world)
    case = requests.planned(case, world.actor("compliance"))
    return lambda: cases.approve(case, requests.HASH, by=world.actor("owner"))


def _open(world: World) -> Act:
    return lambda: requests.opened(world)


def _place(world: World) -> Callable[[], Hold]:
    by, soon = world.actor("compliance"), timezone.now() + timedelta(days=9)
    subject, new = kit.subject(world), NewHold(reason="Tax audit", review_at=soon)
    return lambda: legal_holds.place(subject, new, by=by, places=frozenset())


def _release(world: World) -> Act:
    row, by = _place(world)(), world.actor("compliance")
    return lambda: legal_holds.release(row, "Settled", by=by)


def _restrict(world: World) -> Act:
    subject = kit.subject(world)
    return lambda: restriction.restrict(subject, by=world.actor("compliance"))


def _alias(world: World) -> Act:
    subject, new = kit.subject(world), NewAlias("name", "Annie Kowalczyk")
    by = world.actor("compliance")
    return lambda: subjects.add_alias(subject.pk, new, by=by)


def _act_ends(world: World) -> Act:
    by = world.actor("compliance")
    row = audit_log.begin("sub_x", ActionKind.EXPORT, by=by)
    return lambda: audit_log.finish(row, ActionStatus.COMPLETED)


def _unsuppress(world: World) -> Act:
    suppression.suppress(kit.subject(world))
    row = Suppression.objects.all()[0]
    return lambda: suppression.lift(row.pk, "Came back", by=world.actor("compliance"))


def _signing_key(world: World) -> Act:
    signing_keys.current()
    return signing_keys.rotate


LOCKED: dict[str, tuple[Callable[[World], Act], ...]] = {
    "invitations": (_accept, _decline),
    "memberships": (_role, _leave),
    "workspaces": (_setting, _webhook, _setup, _open, _place),
    "journal_entries": (_priority,),
    "records": (_forget, _amend, _supersede),
    "held_files": (_claim,),
    "gdpr_cases": (_approve,),
    "gdpr_actions": (_act_ends,),
    "gdpr_holds": (_release,),
    "gdpr_subjects": (_restrict, _alias),
    "gdpr_suppressions": (_unsuppress,),
    "gdpr_signing_keys": (_signing_key,),
}


@pytest.mark.parametrize(
    ("table", "prepared"),
    [
        (table, decision)
        for table, decisions in LOCKED.items()
        for decision in decisions
    ],
)
def test_a_decision_locks_what_it_decides_by(
    world: World, table: str, prepared: Callable[[World], Act]
) -> None:
    act = prepared(world)
    with CaptureQueriesContext(connection) as queries:
        act()
    lock = f'FROM "{table}"'
    # Every append shares the workspace's key, when it holds the chain already: a lock
    # that kept it out, and then waited for the chain, would be a deadlock.
    mode = "FOR NO KEY UPDATE" if table == "workspaces" else "FOR UPDATE"
    statements = [query["sql"] for query in queries]
    assert any(lock in sql and mode in sql for sql in statements), statements


def _is_free(workspace_id: str) -> bool:
    """Whether another connection gets the lock of a workspace's row."""
    try:
        with transaction.atomic():
            Workspace.objects.select_for_update(nowait=True).get(pk=workspace_id)
    except OperationalError:
        return False
    finally:
        connection.close()
    return True


def test_a_table_of_rules_is_read_under_the_lock_it_is_written_under(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Between the two, nobody else adds a line that would be lost."""
    change, free = workspace_settings.change, []

    def changing(actor: Any, **fields: Any) -> Any:
        with ThreadPoolExecutor(1) as other:
            free.append(other.submit(_is_free, world.acme.pk).result())
        return change(actor, **fields)

    monkeypatch.setattr(workspace_settings, "change", changing)
    policy.save({"tier:AGENT": "block"}, by=world.actor("owner"))
    assert free == [False]
