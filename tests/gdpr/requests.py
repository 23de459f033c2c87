"""Builders of subjects, cases and plans."""

from __future__ import annotations

from typing import Any, Final

from django.utils import timezone

from gdpr.cases import leases, privacy_settings
from gdpr.cases import workflow as cases
from gdpr.cases.workflow import NewCase, PlanDraft
from gdpr.certificates.issue import Facts
from gdpr.models import Case, CaseKind, CaseState, Subject
from memory.models import JournalEntry
from memory.rules import permissions
from memory.rules.permissions import Actor
from tests.world import World

HASH = "9b1e44d0" + "0" * 56
OTHER_HASH = "aaaa1111" + "0" * 56
BODY = {
    "holders": [
        {"name": "journal", "title": "Journal entries", "delete": 2, "redact": 1,
         "keep": 0, "why": "linked", "samples": ["Maria asked for a refund"]},
    ],
    "total": {"delete": 2, "redact": 1, "keep": 0},
}  # fmt: skip
ROWS = {"journal": [["j_1", "delete"], ["j_2", "delete"], ["j_3", "redact"]]}
RUNNER = "worker-1"
# What an erasure needs that nobody's identity is verified for.
UNIDENTIFIED: Final[dict[str, Any]] = {
    "identity_ground": "own_decision",
    "identity_reason": "A test asks for it",
}


def subject(world: World, workspace_id: str = "") -> Subject:
    return Subject.objects.create(
        workspace_id=workspace_id or world.acme.id,
        display_name="Maria Keller",
        created_by="test",
    )


def opened(world: World, role: str = "compliance", **fields: Any) -> Case:
    by = world.actor(role)
    person = fields.pop("subject", None) or subject(world, by.workspace_id)
    kind = CaseKind(fields.pop("kind", "erasure"))
    if kind is CaseKind.ERASURE:
        fields = UNIDENTIFIED | fields
    new = NewCase(
        subject_id=person.id,
        kind=kind,
        reason=fields.pop("reason", "Consent withdrawn"),
        **fields,
    )
    return cases.open_case(new, by=by)


def planned(case: Case, by: Actor, plan_hash: str = HASH) -> Case:
    cases.keep_plan(case, PlanDraft(plan_hash, BODY, ROWS), by=by)
    return fresh(case)


def running(world: World, role: str = "compliance", **fields: Any) -> Case:
    """Return a running case, claimed by ``ME``."""
    by = world.actor(role)
    case = planned(opened(world, role, **fields), by)
    typed = cases.phrase(case, HASH)
    case = cases.execute(case, HASH, typed, by=by)
    claimed = leases.claim(case.workspace_id, case.id, RUNNER)
    assert claimed is not None
    return claimed


def fresh(case: Case) -> Case:
    """Return a case, read again from the database."""
    return Case.objects.get(pk=case.pk)


def system_actor(world: World) -> Actor:
    return permissions.system(world.acme.id, "gdpr")


def settings(world: World, **fields: Any) -> None:
    """Change the workspace's privacy settings."""
    fields.setdefault("reason", "A test asks for it")
    privacy_settings.change(privacy_settings.Change(**fields), by=world.actor("owner"))


def entries(world: World, entry_type: str) -> list[JournalEntry]:
    """Return journal entries of a type, oldest first."""
    rows = JournalEntry.objects.filter(workspace_id=world.acme.id)
    return list(rows.filter(entry_type=entry_type).order_by("seq"))


def facts(result: str = "complete", **fields: Any) -> Facts:
    now = timezone.now()
    defaults: dict[str, Any] = {
        "result": result,
        "started_at": now,
        "finished_at": now,
        "holders": {"journal": {"deleted": 2, "redacted": 1, "kept": 0}},
        "plan_hash": HASH,
        "rows_digest": "d" * 64,
        "residue": {
            "searches": 2418, "files": 1204, "bytes_searched": 612_000_000, "found": 0,
            "checkpoint": [0, 0, 0], "methods": ["raw bytes", "word index"],
        },
        "journal": {"ok": True, "entries": 9, "erased": 2, "redacted": 1,
                    "head_hash": "e" * 64},
        "ledger_action": "ga_0000000000000000",
    }  # fmt: skip
    return Facts(**{**defaults, **fields})


def searched(case: Case, by: Actor) -> Case:
    """Move a running case to verifying."""
    verifying = leases.to_verifying(case, RUNNER, by=by)
    assert verifying.state == CaseState.VERIFYING
    return verifying
