"""Masked counts in stored plans and results are repaired; the pages work."""

from __future__ import annotations

import importlib
from datetime import timedelta

import pytest
from django.apps import apps
from django.db import connection
from django.urls import reverse
from django.utils import timezone

from episodic.models import HealthSnapshot
from gdpr.cases import dry_run
from gdpr.matching import mask_repair
from gdpr.models import Case, CasePlan
from memory.models import JobRun
from tests.gdpr import erasing
from tests.world import World

MARK = "[erased]"
PAGES = ("home", "health:page", "jobs:board", "privacy:cases")


def _damaged(world: World) -> Case:
    now = timezone.now()
    for back in range(3):
        details = {
            "coverage": {"indexed": MARK, "embeddable": 42, "missing": [{MARK: 3}]},
            "freshness": {"median_days": MARK, "entries": MARK},
            "coherence": {"entries": 7, "near": 0.5, "background": 0.1},
            "model": "hashing",
        }
        HealthSnapshot.objects.create(
            workspace=world.acme,
            date=(now - timedelta(days=back)).date(),
            computed_at=now,
            score=50.0,
            coverage=50.0,
            freshness=40.0,
            coherence=60.0,
            details=details,
        )
    JobRun.objects.create(
        workspace=world.acme, name="episodic.index.decay", slot="s", state="done",
        ended_at=now, counts={"rows": MARK, "changed": 4},
    )  # fmt: skip
    world.entry("otto.sommer@canary.example likes boats")
    case = erasing.opened(world, erasing.otto(world))
    plan = dry_run.make(case, by=world.actor("compliance"))
    body = plan.body
    body["total"]["delete"] = body["holders"][0]["keep"] = MARK
    body["holders"][0]["samples"] = [{"fate": MARK, "id": "x", "text": "", "at": None}]
    CasePlan.objects.filter(pk=plan.pk).update(body=body)
    return Case.objects.get(pk=case.pk)


@pytest.mark.django_db
def test_the_upgrade_makes_every_page_answer_again(world: World) -> None:
    case = _damaged(world)
    before = CasePlan.objects.get(case=case).rows
    migration = importlib.import_module("gdpr.migrations.0008_numbers_again")
    migration.repair(apps, connection.schema_editor())
    page = world.page("owner")
    for name in PAGES:
        assert page.get(reverse(name)).status_code == 200, name
    page_text = page.get(reverse("privacy:case", args=[case.id]))
    assert page_text.status_code == 200
    plan = CasePlan.objects.get(case=case)
    deleted = sum(row[1] == "delete" for rows in before.values() for row in rows)
    assert plan.body["total"]["delete"] == deleted > 0
    assert plan.body["holders"][0]["samples"] == []
    snapshot = HealthSnapshot.objects.first()
    assert snapshot is not None
    assert set(snapshot.details) == {"coherence", "model"}
    assert JobRun.objects.get(slot="s").counts == {"changed": 4}


def test_a_plan_whose_keys_were_masked_is_put_right_as_well() -> None:
    body = {"holders": [{MARK: "journal", "delete": 1}, MARK], "total": {}}
    plan = mask_repair.plan(body, {"journal": [["j_1", "delete"]]}, "h")
    assert (plan["holders"], plan["total"]["rows"]) == ([], 0)
