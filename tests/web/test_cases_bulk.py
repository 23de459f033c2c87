"""Many cases at once: assigning, its undo, and the decision in reach on a case."""

from __future__ import annotations

import re
from typing import Any

import pytest

from gdpr.cases import actions, bulk
from gdpr.models import Case
from memory.rules import errors
from memory.rules.bulk import LIMIT, Pick
from tests.gdpr import requests as make
from tests.world import World

MANY = "/privacy/cases/many/"
OWNER = "owner@acme.example"
COMPLIANCE = "compliance@acme.example"


@pytest.fixture
def cases(world: World) -> list[Case]:
    rows = [make.opened(world) for _ in range(3)]
    return [actions.assign(rows[0], OWNER, by=world.actor("compliance")), *rows[1:]]


def act(world: World, rows: list[Case], user: str = "compliance", **fields: str) -> Any:
    picks = [f"{row.id}:{make.fresh(row).version}" for row in rows]
    return world.page(user).post(MANY, {"items": picks, **fields})


def assignees(cases: list[Case]) -> list[str]:
    return [make.fresh(case).assignee for case in cases]


def test_cases_are_assigned_and_exactly_those_go_back(
    world: World, cases: list[Case]
) -> None:
    html = act(world, cases, assignee=COMPLIANCE).content.decode()
    assert "3 cases assigned" in html
    assert assignees(cases) == [COMPLIANCE] * 3
    undo = re.findall(r'name="items" value="([^"]+:[^"]*:[^"]*)"', html)
    assert undo[0].endswith(f":{OWNER}")
    actions.comment(cases[1], "still the same", by=world.actor("owner"))
    actions.assign(make.fresh(cases[2]), OWNER, by=world.actor("owner"))
    reply = world.page("compliance").post(MANY, {"items": undo, "undo": "1"})
    html = reply.content.decode()
    assert "2 cases are assigned as before" in html
    assert "The case changed since you read it." in html
    assert assignees(cases) == [OWNER, "", OWNER]
    entries = make.entries(world, "gdpr.case_assigned")
    assert len(entries) == 7
    assert OWNER not in str([entry.payload for entry in entries])


def test_a_second_submit_changes_nothing(world: World, cases: list[Case]) -> None:
    picks = {"items": [f"{case.id}:{case.version}" for case in cases]}
    page = world.page("owner")
    page.post(MANY, {**picks, "assignee": COMPLIANCE})
    html = page.post(MANY, {**picks, "assignee": COMPLIANCE}).content.decode()
    assert "0 cases assigned" in html
    assert html.count("not changed") == 3


def test_a_closed_case_is_refused_by_itself(world: World, cases: list[Case]) -> None:
    actions.refuse(cases[0], "no", by=world.actor("compliance"))
    html = act(world, cases, assignee=COMPLIANCE).content.decode()
    assert "2 cases assigned" in html
    assert "The case is refused" in html


@pytest.mark.parametrize("assignee", ["x" * 255, "a\0b"])
def test_who_cannot_be_stored_is_refused(
    world: World, cases: list[Case], assignee: str
) -> None:
    html = act(world, cases, assignee=assignee).content.decode()
    assert html.count("not changed") == 3
    assert assignees(cases) == [OWNER, "", ""]


def test_ticks_are_required_and_bounded(world: World) -> None:
    answer = act(world, [], assignee=OWNER)
    assert answer.status_code == 422
    assert 'role="alert"' in answer.content.decode()
    picks = [Pick(f"c_{number}", "1") for number in range(LIMIT + 1)]
    with pytest.raises(errors.Invalid):
        bulk.assign(world.actor("compliance"), picks, OWNER)


def test_who_may_assign(world: World, cases: list[Case]) -> None:
    for user in ("viewer", "operator"):
        assert act(world, cases, user, assignee=OWNER).status_code == 403
    html = act(world, cases, "stranger", assignee="olga").content.decode()
    assert html.count("not changed") == 3
    assert OWNER not in html
    assert assignees(cases) == [OWNER, "", ""]


def test_the_bar_of_a_case_names_what_it_waits_for(
    world: World, cases: list[Case]
) -> None:
    def bar(case: Case, user: str = "compliance") -> str:
        html = world.page(user).get(f"/privacy/cases/{case.id}/").content.decode()
        found = re.search(r'class="decision reach".*?</div>\n</div>', html, re.DOTALL)
        return found[0] if found else ""

    case = cases[1]
    assert 'form="next-form">Make the dry run' in bar(case)
    make.planned(case, world.actor("compliance"))
    assert 'href="#h-next">Carry it out' in bar(case)
    actions.refuse(make.fresh(case), "no", by=world.actor("compliance"))
    assert bar(case) == ""


def test_a_case_goes_back_to_nobody_who_has_left(
    world: World, cases: list[Case]
) -> None:
    picks = [Pick(cases[1].id, str(cases[1].version), "left@acme.example")]
    items = bulk.undo(world.actor("compliance"), picks)
    assert [item.code for item in items] == ["assignee_gone"]
    assert assignees(cases)[1] == ""


@pytest.mark.parametrize(
    ("many", "listing"),
    [
        (MANY, "/privacy/cases/"),
        ("/records/many/", "/records/"),
        ("/proposals/many/", "/proposals/"),
        ("/workspace/members/many/", "/workspace/members/"),
    ],
)
def test_the_address_of_an_act_on_many_leads_to_its_list(
    world: World, many: str, listing: str
) -> None:
    reply = world.page("owner").get(many)
    assert (reply.status_code, reply.headers["Location"]) == (302, listing)
