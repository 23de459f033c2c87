"""All open requests of one person are shown beside each other."""

from __future__ import annotations

import pytest

from gdpr.cases import actions, open_requests
from gdpr.models import CaseKind
from memory.rules import errors
from tests.gdpr import requests as make
from tests.world import World


def test_open_requests_come_by_deadline_without_the_case_itself(world: World) -> None:
    person, by = make.subject(world), world.actor("compliance")
    first, second, third = (
        make.opened(world, subject=person, kind=kind)
        for kind in ("access", "erasure", "portability")
    )
    make.opened(world, kind="access")
    actions.refuse(third, "no", by=by)
    actions.extend(first, 1, "Many rows", by=by)
    rows = open_requests.of_person(by, person.pk)
    assert [row.case.pk for row in rows] == [second.pk, first.pk]
    (row,) = open_requests.of_person(by, person.pk, besides=second.pk)
    assert row.case.pk == first.pk
    assert row.deadline.due_at > second.due_at


@pytest.mark.parametrize("role", ["viewer", "operator", "ada"])
def test_only_who_reads_cases_reads_them(world: World, role: str) -> None:
    case = make.opened(world)
    with pytest.raises(errors.Forbidden):
        open_requests.of_person(world.actor(role), case.subject_ref)


def test_another_workspace_has_none_of_them(world: World) -> None:
    case = make.opened(world)
    by = world.actor("stranger")
    assert open_requests.of_person(by, case.subject_ref) == []


def test_the_api_shows_them_with_the_case_and_with_the_person(world: World) -> None:
    person = make.subject(world)
    access = make.opened(world, subject=person, kind="access")
    erasure = make.opened(world, subject=person)
    client = world.api("compliance")
    body = client.get(f"/gdpr/cases/{erasure.pk}").data
    assert [(row["id"], row["kind"]) for row in body["other_open_cases"]] == [
        (access.pk, CaseKind.ACCESS)
    ]
    (warning,) = body["warnings"]
    assert (warning["code"], warning["case_id"]) == ("access_first", access.pk)
    other = client.get(f"/gdpr/cases/{access.pk}").data
    assert (len(other["other_open_cases"]), other["warnings"]) == (1, [])
    profile = client.get(f"/gdpr/subjects/{person.pk}").data
    assert {row["id"] for row in profile["open_cases"]} == {access.pk, erasure.pk}


def test_the_pages_of_case_and_person_list_them(world: World) -> None:
    person = make.subject(world)
    access = make.opened(world, subject=person, kind="access")
    erasure = make.opened(world, subject=person)
    page = world.page("compliance").get(f"/privacy/cases/{erasure.pk}/")
    (row,) = page.context["page"].others
    assert row.case == access
    text = page.content.decode()
    assert f'<a class="row" href="/privacy/cases/{access.pk}/">' in text
    subject = world.page("compliance").get(f"/privacy/subjects/{person.pk}/")
    assert len(subject.context["open_requests"]) == 2
