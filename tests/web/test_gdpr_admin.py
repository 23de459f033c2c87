"""Cases and holds in the Django admin: no free text, actions call the services."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.contrib.admin.utils import quote
from django.test import Client
from django.utils import timezone

from gdpr.cases import legal_holds
from gdpr.cases.legal_holds import NewHold
from gdpr.models import LetterTemplate, Recipient, RecipientContact
from memory.models import User
from tests.gdpr import letter_kit, recipients
from tests.gdpr import requests as make
from tests.world import World


@pytest.fixture
def staff(world: World) -> Client:
    """Return a client of the owner, who may use the admin."""
    User.objects.filter(pk=world.people["owner"].pk).update(
        is_staff=True, is_superuser=True
    )
    return world.page("owner")


def text(response: Any) -> str:
    return str(response.content.decode())


def test_a_cases_words_stay_on_its_own_page(world: World, staff: Client) -> None:
    case = make.planned(
        make.opened(world, reason="Maria left", requester="Maria Keller"),
        world.actor("compliance"),
    )
    plan = case.plans.get()
    for path in (
        "case/", f"case/{quote(case.pk)}/change/", "caseplan/",
        f"caseplan/{plan.pk}/change/", f"subject/{quote(case.subject_ref)}/change/",
    ):  # fmt: skip
        page = staff.get(f"/admin/gdpr/{path}")
        assert page.status_code == 200
        assert "Maria" not in text(page)


def test_cases_are_taken_and_left_through_the_service(
    world: World, staff: Client
) -> None:
    own_case, foreign_case = make.opened(world), make.opened(world, "stranger")
    form = {"action": "take", "_selected_action": [own_case.pk, foreign_case.pk]}
    page = text(staff.post("/admin/gdpr/case/", form, follow=True))
    assert "You are no member of this workspace" in page
    assert make.fresh(own_case).assignee == "owner@acme.example"
    assert make.fresh(foreign_case).assignee == ""
    assert len(make.entries(world, "gdpr.case_assigned")) == 1
    staff.post("/admin/gdpr/case/", {**form, "action": "leave"})
    assert make.fresh(own_case).assignee == ""


def test_a_hold_is_released_through_the_service(world: World, staff: Client) -> None:
    person = make.subject(world)
    new = NewHold(reason="Audit", review_at=timezone.now() + timedelta(days=3))
    by = world.actor("compliance")
    row = legal_holds.place(person, new, by=by, places=frozenset())
    case = make.opened(world, subject=person)
    assert case.state == "on_hold"
    form = {"action": "release", "_selected_action": [row.pk]}
    staff.post("/admin/gdpr/hold/", form)
    row.refresh_from_db()
    assert row.released_by == "owner@acme.example"
    assert make.fresh(case).state == "received"


def test_rows_are_not_changed_by_hand(world: World, staff: Client) -> None:
    case = make.opened(world)
    path = f"/admin/gdpr/case/{quote(case.pk)}"
    assert staff.post(f"{path}/change/", {"state": "complete"}).status_code == 403
    assert staff.post(f"{path}/delete/", {"post": "yes"}).status_code == 403
    assert make.fresh(case).state == "received"


def test_letters_and_recipients_are_listed_without_their_words(
    world: World, staff: Client
) -> None:
    case = letter_kit.addressed(world, make.opened(world))
    letter = letter_kit.letter(world, case)
    LetterTemplate.objects.create(
        workspace=world.acme, occasion="received", language="en", subject="Own words",
        body="Hello", changed_by="owner",
    )  # fmt: skip
    values = {"received": "Customer Q4711", "email": "dpo@print.example"}
    row = recipients.by_hand(world, case, **values)
    Recipient.objects.update(sealed="U0VBTEVE", answer_note="Their Q4711 too")
    pages: dict[str, str | int] = {
        "letter": letter.pk,
        "correspondence": case.pk,
        "lettertemplate": LetterTemplate.objects.get().pk,
        "recipient": row.pk,
        "recipientcontact": RecipientContact.objects.get().pk,
    }
    for name, key in pages.items():
        for path in (f"{name}/", f"{name}/{quote(key)}/change/"):
            page = staff.get(f"/admin/gdpr/{path}")
            assert page.status_code == 200
            for words in (
                "Q4711",
                "U0VBTEVE",
                letter_kit.PERSON,
                "memoryview",
                "b&#x27",
            ):
                assert words not in text(page)
