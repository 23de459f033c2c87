"""Of seven hundred rows of known truth, hers go, shared are masked, others stay."""

from __future__ import annotations

import pytest
from django.urls import reverse

from gdpr import erasure
from gdpr.cases import dry_run
from gdpr.certificates import document as certificate_document
from gdpr.models import Case, CasePlan, CaseState, Certificate
from memory.files import erasure as texts
from memory.models import JournalEntry, MemoryFile
from memory.rules.tiers import Tier
from tests.gdpr import erasing, truth
from tests.gdpr.truth import Key, Truth
from tests.world import World

pytestmark = pytest.mark.slow
PAGES = ("home", "health:page", "jobs:board", "privacy:cases")
Digests = dict[Key, str]


def test_common_aliases_take_nothing_of_others(shared_world: World) -> None:
    world = shared_world
    built = truth.build(world)
    mine, both, other = built.count()
    assert (mine > 150, both > 40, other > 500) == (True, True, True), built.count()
    others, shared = truth.digest(built.others), truth.digest(built.shared)
    case = erasing.started(world, erasing.opened(world, built.who))
    doubts = dry_run.doubts(CasePlan.objects.get(case=case))
    assert doubts["total"] == 0, doubts["rows"]
    erasure.run(case.workspace_id, case.pk)
    case = Case.objects.get(pk=case.pk)
    after = truth.digest(built.others)
    assert {key for key in others if after.get(key) != others[key]} == set()
    _hers_are_gone(built)
    _shared_are_masked(built, shared)
    _lines(built)
    assert case.state == CaseState.COMPLETE, erasing.told(case)
    document = certificate_document.parse(Certificate.objects.get(case=case).document)
    told = document["content"]["residue"]["identifiers"]
    assert told == {"sought_as_words": 3, "sought_in_links_and_fields": 8}
    page = world.page("owner")
    for name in PAGES:
        assert page.get(reverse(name)).status_code == 200, name


def _entries(keys: list[Key]) -> list[JournalEntry]:
    ids = [pk for model, pk in keys if model is JournalEntry]
    return list(JournalEntry.objects.filter(pk__in=ids))


def _hers_are_gone(built: Truth) -> None:
    kept = [row.summary for row in _entries(built.hers) if row.erased_at is None]
    assert kept == []
    left = truth.digest(built.hers)
    assert {key for key in left if key[0] is not JournalEntry} == set()


def _shared_are_masked(built: Truth, before: Digests) -> None:
    masked = truth.digest(built.shared)
    assert set(masked) == set(built.shared)
    assert {key for key in masked if masked[key] == before[key]} == set()
    for row in _entries(built.shared):
        assert (row.erased_at, "Will" in row.summary) == (None, False)


def _lines(built: Truth) -> None:
    file = MemoryFile.objects.get(tier=Tier.AGENT)
    text = list(texts.texts(file))[-1][1].splitlines()
    assert [line for line in built.lines["others"] if line not in text] == []
    assert [line for line in built.lines["hers"] if line in text] == []
    drawers = [f"- Drawer {n} is [erased]'s and {truth.OTTO}'s" for n in range(5)]
    assert [line for line in drawers if line not in text] == []
