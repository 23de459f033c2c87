"""Of seven hundred rows of known truth, hers go, shared ones are masked, others stay."""

from __future__ import annotations

import pytest
from django.urls import reverse

from gdpr import cascade, planning
from gdpr.models import Case, CasePlan, CaseState, Certificate
from gdpr.rules import signing
from memory.models import JournalEntry, MemoryFile
from memory.rules.tiers import Tier
from tests.gdpr import erasing, truth
from tests.world import World

pytestmark = pytest.mark.slow
PAGES = ("home", "health:page", "jobs:board", "privacy:cases")


def test_common_aliases_take_nothing_of_others(shared_world: World) -> None:
    world = shared_world
    built = truth.build(world)
    mine, both, other = built.count()
    assert (mine > 130, both > 40, other > 500) == (True, True, True), built.count()
    before = {name: truth.digest(getattr(built, name)) for name in ("shared", "others")}
    case = erasing.started(world, erasing.opened(world, built.who))
    plan = CasePlan.objects.get(case=case)
    assert planning.doubts(plan)["total"] == 0, planning.doubts(plan)["rows"]
    cascade.run(case.workspace_id, case.pk)
    case = Case.objects.get(pk=case.pk)
    after = truth.digest(built.others)
    assert {
        key for key in before["others"] if after.get(key) != before["others"][key]
    } == set()
    left = truth.digest(built.hers)
    gone = {pk for model, pk in built.hers if model is JournalEntry}
    erased = JournalEntry.objects.filter(pk__in=gone, erased_at__isnull=False)
    assert erased.count() == len(gone), JournalEntry.objects.filter(
        pk__in=gone, erased_at=None
    ).values_list("summary", "payload_text")[:5]
    assert {key for key in left if key[0] is not JournalEntry} == set()
    masked = truth.digest(built.shared)
    assert set(masked) == set(built.shared)
    same = {key for key in masked if masked[key] == before["shared"][key]}
    assert same == set()
    for row in JournalEntry.objects.filter(
        pk__in=[pk for m, pk in built.shared if m is JournalEntry]
    ):
        assert row.erased_at is None
        assert "Will" not in row.summary
    text = _notes()
    assert [line for line in built.lines["others"] if line not in text] == []
    assert [line for line in built.lines["hers"] if line in text] == []
    assert all(
        f"- Drawer {n} is [erased]'s and {truth.OTTO}'s" in text for n in range(5)
    )
    assert case.state == CaseState.COMPLETE, erasing.told(case)
    document = signing.parse(Certificate.objects.get(case=case).document)
    told = document["content"]["residue"]["identifiers"]
    assert told == {"sought_as_words": 3, "sought_in_links_and_fields": 8}
    page = world.page("compliance")
    for name in PAGES:
        assert page.get(reverse(name)).status_code == 200, name


def _notes() -> list[str]:
    from memory.files import erasing as files

    file = MemoryFile.objects.get(tier=Tier.AGENT)
    return list(files.texts(file))[-1][1].splitlines()
