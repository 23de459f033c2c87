"""Doubtful rows say which form of the name stands there, and are decided on by it."""

from __future__ import annotations

from typing import Any

import pytest
from django.urls import reverse
from django.utils import translation

from gdpr.cases import dry_run
from gdpr.cases import workflow as cases
from gdpr.matching import forms
from gdpr.models import Case, RowVerdict, Subject
from gdpr.web import readings
from memory.models import JournalEntry
from tests.gdpr import erasing, kit
from tests.world import World

pytestmark = pytest.mark.django_db


@pytest.fixture
def zoe(world: World) -> Subject:
    return kit.subject(world, {"name": "Zorélle Quaxbørgsen"})


def _rows(world: World) -> dict[str, list[JournalEntry]]:
    return {
        "surname": [world.entry(f"then Quaxbørgsen rang, {n}") for n in range(3)],
        "title_surname": [world.entry(f"Frau Quaxbørgsen rang, {n}") for n in range(2)],
    }


def _planned(world: World, subject: Subject) -> Case:
    case = erasing.opened(world, subject)
    erasing.planned(world, case)
    return Case.objects.get(pk=case.pk)


def test_a_doubtful_row_says_its_form(world: World, zoe: Subject) -> None:
    rows = _rows(world)
    world.record("The lease of Z. Quaxbørgsen ends")
    world.file("- Ms Quaxbørgsen likes tea\n- Boats")
    doubts = dry_run.doubts(cases.latest_plan(_planned(world, zoe)))
    count_by_form = {
        form: sum(map(len, ids.values())) for form, ids in doubts["by_form"].items()
    }
    # A record is noted in the journal as well.
    assert count_by_form == {"initial_surname": 2, "surname": 3, "title_surname": 3}
    ids = {row.id for row in rows["surname"]}
    reasons = {row["why"] for row in doubts["rows"] if row["id"] in ids}
    assert len(reasons) == 1
    assert reasons.pop().startswith("The surname alone. ")


def test_a_decision_takes_all_rows_of_a_form_or_of_a_place(
    world: World, zoe: Subject
) -> None:
    rows = _rows(world)
    world.record("The lease of Z. Quaxbørgsen ends")
    case = _planned(world, zoe)
    api, path = world.api("compliance"), f"/gdpr/cases/{case.id}/decisions"
    plan = cases.latest_plan(case)
    assert plan is not None
    spare: dict[str, Any] = {
        "plan_hash": plan.plan_hash,
        "verdict": "spared",
        "forms": ["surname"],
        "ground": "somebody_else",
        "reason": "Her brother",
    }
    following = api.post(path, spare).data
    assert following["doubtful_by_form"] == {"initial_surname": 2, "title_surname": 2}
    spared_ids = RowVerdict.objects.filter(verdict="spared")
    assert set(spared_ids.values_list("row_id", flat=True)) == {
        row.id for row in rows["surname"]
    }
    their_words = {
        "plan_hash": following["plan_hash"],
        "verdict": "theirs",
        "places": ["journal"],
    }
    last = api.post(path, their_words).data
    # The record goes with its entry.
    assert last["doubtful_by_form"] == {}
    unknown = {**their_words, "plan_hash": last["plan_hash"], "places": ["nowhere"]}
    assert api.post(path, unknown).code == "no_rows"


def test_the_page_offers_forms_and_places_to_tick(world: World, zoe: Subject) -> None:
    _rows(world)
    case = _planned(world, zoe)
    page = world.page("compliance")
    text = page.get(reverse("privacy:case", args=[case.id])).content.decode()
    assert 'name="form" value="surname"' in text
    assert 'name="place" value="journal"' in text
    plan = cases.latest_plan(case)
    assert plan is not None
    payload = {
        "of_plan": plan.plan_hash,
        "form": ["surname", "title_surname"],
        "decide": "theirs",
    }
    path = reverse("privacy:decide", args=[case.id])
    assert page.post(path, payload).status_code == 302
    assert RowVerdict.objects.filter(verdict="theirs").count() == 5


def test_the_forms_are_read_in_german() -> None:
    sentences = [form.sentence for form in (*forms.WRITTEN, *forms.ENCODED)]
    with translation.override("de"):
        english = [
            text
            for text in (*sentences, *forms.NOT_SOUGHT)
            if readings.of(text) == text
        ]
    assert english == []
