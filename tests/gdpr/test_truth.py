"""Of 700 rows with known owner, hers are erased, shared masked, others kept."""

from __future__ import annotations

import pytest
from django.urls import reverse

from gdpr import erasure
from gdpr.cases import dry_run
from gdpr.certificates import document as certificate_document
from gdpr.models import Case, CasePlan, CaseState, Certificate
from memory.files import erasure as file_erasure
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
    data = truth.build(world)
    own_count, shared_count, other = data.count()
    assert (own_count > 150, shared_count > 40, other > 500) == (True, True, True), (
        data.count()
    )
    others_before, shared_before = (
        truth.digest(data.other_rows),
        truth.digest(data.shared),
    )
    case = erasing.started(world, erasing.opened(world, data.subject))
    doubts = dry_run.doubts(CasePlan.objects.get(case=case))
    assert doubts["total"] == 0, doubts["rows"]
    erasure.run(case.workspace_id, case.pk)
    case = Case.objects.get(pk=case.pk)
    after = truth.digest(data.other_rows)
    assert {
        key for key in others_before if after.get(key) != others_before[key]
    } == set()
    _hers_are_gone(data)
    _shared_are_masked(data, shared_before)
    _lines(data)
    assert case.state == CaseState.COMPLETE, erasing.failure_text(case)
    document = certificate_document.parse(Certificate.objects.get(case=case).document)
    identifiers = document["content"]["residue"]["identifiers"]
    assert identifiers == {"sought_as_words": 3, "sought_in_links_and_fields": 8}
    page = world.page("owner")
    for name in PAGES:
        assert page.get(reverse(name)).status_code == 200, name


def _entries(keys: list[Key]) -> list[JournalEntry]:
    ids = [pk for model, pk in keys if model is JournalEntry]
    return list(JournalEntry.objects.filter(pk__in=ids))


def _hers_are_gone(data: Truth) -> None:
    intact = [row.summary for row in _entries(data.own_rows) if row.erased_at is None]
    assert intact == []
    rest = truth.digest(data.own_rows)
    assert {key for key in rest if key[0] is not JournalEntry} == set()


def _shared_are_masked(data: Truth, before: Digests) -> None:
    masked = truth.digest(data.shared)
    assert set(masked) == set(data.shared)
    assert {key for key in masked if masked[key] == before[key]} == set()
    for row in _entries(data.shared):
        assert (row.erased_at, "Will" in row.summary) == (None, False)


def _lines(data: Truth) -> None:
    file = MemoryFile.objects.get(tier=Tier.AGENT)
    text = list(file_erasure.texts(file))[-1][1].splitlines()
    assert [line for line in data.lines["others"] if line not in text] == []
    assert [line for line in data.lines["hers"] if line in text] == []
    drawers = [f"- Drawer {n} is [erased]'s and {truth.OTTO}'s" for n in range(5)]
    assert [line for line in drawers if line not in text] == []
