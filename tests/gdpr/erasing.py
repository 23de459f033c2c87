"""Builders of subjects with data in every place, and of cases about them."""

from __future__ import annotations

import json
from typing import Any

from django.db import connection

from gdpr import erasure
from gdpr.cases import dry_run, leases, row_decisions
from gdpr.cases import workflow as cases
from gdpr.cases.row_decisions import Decision
from gdpr.cases.workflow import NewCase
from gdpr.models import Alias, Case, CaseKind, CasePlan, Subject, Verdict
from memory.files import tools
from memory.rules.tokenizer import fold
from tests.gdpr.requests import UNIDENTIFIED
from tests.world import World

WORD = "zanzibarquokkafeather"
MAIL = "maria.lopez@canary.example"
NAME = "Maria Lopez-Quintanilla"
OTHER = "otto.sommer@canary.example"


def subject(world: World, *aliases: tuple[str, str], display_name: str = "") -> Subject:
    """Return a subject with names; aliases are (kind, value)."""
    subject_row = Subject.objects.create(
        workspace=world.acme, display_name=display_name, created_by="test"
    )
    for kind, value in aliases:
        Alias.objects.create(
            workspace=world.acme,
            subject=subject_row,
            kind=kind,
            value=value,
            folded=fold(value),
            added_by="test",
        )
    return subject_row


def maria(world: World) -> Subject:
    return subject(world, ("email", MAIL), ("name", NAME), display_name=NAME)


def otto(world: World) -> Subject:
    """Return another subject, who is kept."""
    return subject(world, ("email", OTHER), display_name="Otto Sommer")


def lived_in(world: World) -> dict[str, Any]:
    """Write journal entries, files and records about Maria and Otto."""
    own_entry = world.indexed(f"{MAIL} asked about {WORD}", payload={"text": WORD * 2})
    shared_entry = world.indexed(f"{NAME} wrote to {OTHER} about boats")
    other = world.indexed(f"{OTHER} likes ordinary harbours")
    tools.call(
        "memory.write",
        {
            "tier": "AGENT",
            "content": f"- {NAME} prefers {WORD}\n- {OTHER} met {MAIL}\n- Boats",
            "mode": "append",
        },
        by=world.actor("ada"),
    )
    return {"mine": own_entry, "both": shared_entry, "other": other}


def leave_bytes() -> None:
    """Leave words in free pages of SQLite's file, which only a full rewrite clears."""
    with connection.cursor() as cursor:
        cursor.execute("PRAGMA secure_delete = OFF")
        cursor.execute("CREATE TABLE foreign_notes (id INTEGER, text TEXT)")
        cursor.executemany(
            "INSERT INTO foreign_notes VALUES (%s, %s)",
            [(n, f"{WORD} {MAIL} " + "x" * 900) for n in range(50)],
        )
        cursor.execute("DROP TABLE foreign_notes")
        cursor.execute("PRAGMA secure_delete = ON")


def opened(
    world: World, person: Subject, kind: CaseKind = CaseKind.ERASURE, **fields: Any
) -> Case:
    """Return a case opened by a compliance officer; nobody's identity is verified."""
    if kind is CaseKind.ERASURE:
        fields = UNIDENTIFIED | fields
    new = NewCase(subject_id=person.id, kind=kind, reason=f"Asked by {MAIL}", **fields)
    return cases.open_case(new, by=world.actor("compliance"))


def started(world: World, case: Case) -> Case:
    """Plan a case and set it running."""
    by = world.actor("compliance")
    plan = dry_run.make(case, by=by)
    fresh = Case.objects.get(pk=case.pk)
    phrase = cases.phrase(fresh, plan.plan_hash)
    return erasure.start(fresh, plan.plan_hash, phrase, by=by)


def planned(world: World, case: Case) -> CasePlan:
    return dry_run.make(case, by=world.actor("compliance"))


def plan_and_decide(
    world: World,
    case: Case,
    verdict: Verdict,
    *rows: tuple[str, str],
    ground: str = "somebody_else",
) -> CasePlan:
    """Plan a case and decide on rows: the given ones, or all undecided."""
    by = world.actor("compliance")
    plan = dry_run.make(Case.objects.get(pk=case.pk), by=by)
    decision = Decision(
        verdict=verdict,
        rows=rows,
        all_doubtful=not rows,
        ground=ground,
        reason=f"Not {NAME}",
    )
    return row_decisions.decide(
        Case.objects.get(pk=case.pk), plan.plan_hash, decision, by=by
    )


def erased(world: World, person: Subject, kind: CaseKind = CaseKind.ERASURE) -> Case:
    """Open, plan and run a case; return it at its end."""
    case = started(world, opened(world, person, kind))
    erasure.run(case.workspace_id, case.pk)
    return Case.objects.get(pk=case.pk)


def failure_text(case: Case) -> str:
    """Return the state of a case, for messages of failing tests."""
    steps = [(s.name, s.state, s.fault) for s in leases.steps(case) if s.fault]
    return json.dumps([case.state, case.result, steps], default=str)
