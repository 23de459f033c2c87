"""The pages of recipients: the list of a case, what officers do, who may."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.urls import reverse
from django.utils import timezone
from pytest_django import Settings

from gdpr.cases import dry_run
from gdpr.models import NoticeState, Recipient, RecipientContact
from gdpr.recipients import actions, contacts, sending
from tests.api import gdpr_operations
from tests.gdpr import erasing
from tests.gdpr import recipients as make
from tests.gdpr.erasing import NAME
from tests.world import World

pytestmark = pytest.mark.django_db
INDEX = "/privacy/recipients/"


def _list(case_id: str) -> str:
    return reverse("privacy:case_recipients", args=[case_id])


def _act(name: str, row: Recipient) -> str:
    return reverse(f"privacy:{name}", args=[row.case_id, row.pk])


def test_the_page_of_a_case_shows_them_with_the_plan(world: World) -> None:
    maria, hook = erasing.maria(world), make.hook(world)
    make.message(hook, f"{NAME} is red")
    make.hook(world, "https://older.example/in", days=90)
    case = erasing.opened(world, maria)
    dry_run.make(case, by=world.actor("compliance"))
    page = world.page("compliance")
    text = page.get(reverse("privacy:case", args=[case.id])).content.decode()
    assert "as the plan shows them" in text
    assert make.HOST in text
    text = page.get(_list(case.id)).content.decode()
    assert "Messages older than 30 days are not kept" in text
    assert "secret=1" not in text


def test_from_a_notice_by_hand_to_the_answer(world: World) -> None:
    case, (row,) = make.with_recipients(world, 1)
    sending.sweep()
    page = world.page("compliance")
    text = page.get(_list(case.id)).content.decode()
    assert "1 notice is open" in text
    assert "No address is noted, no mail server is set, or" in text
    letter = page.get(_act("notice_letter", row))
    assert letter["Content-Type"].startswith("text/plain")
    assert row.pk in letter.content.decode()
    page.post(_act("notify_recipient", row), {"way": "hand"})
    assert "1 answer is awaited" in page.get(_list(case.id)).content.decode()
    answer = {"answer": "carried_out", "answered_on": "2026-01-02", "note": "Done"}
    answered = page.post(_act("answer_of_recipient", row), answer)
    assert answered["Location"].endswith(f"#{row.pk}")
    text = page.get(_list(case.id)).content.decode()
    assert "They carried it out, 2 Jan 2026" in text
    assert "No notice is open" in text


def test_a_notice_that_is_not_possible(world: World) -> None:
    case, (row,) = make.with_recipients(world, 1)
    page = world.page("compliance")
    fields = {"ground": "disproportionate", "reason": "A closed shop"}
    page.post(_act("decline_notice", row), fields)
    assert "A closed shop" in page.get(_list(case.id)).content.decode()
    assert make.fresh(row).state == NoticeState.NOT_POSSIBLE


@pytest.mark.parametrize(
    ("name", "fields"),
    [
        ("decline_notice", {"ground": "not_possible", "reason": ""}),
        ("answer_of_recipient", {"answer": "refused", "answered_on": "soon"}),
        ("answer_of_recipient", {"answer": "refused"}),
        ("notify_recipient", {"way": "mail"}),
        ("notify_recipient", {"way": "pigeon"}),
    ],
)
def test_a_refusal_says_why_and_changes_nothing(
    world: World, name: str, fields: dict[str, str]
) -> None:
    _, (row,) = make.with_recipients(world, 1)
    answer = world.page("compliance").post(_act(name, row), fields, follow=True)
    assert "notice red" in answer.content.decode() or answer.context["messages"]
    assert make.fresh(row).state == NoticeState.WAITING


def test_adding_one_keeps_what_was_typed_when_it_is_refused(world: World) -> None:
    case = gdpr_operations.case(world)
    page = world.page("compliance")
    fields = {"name": "Print shop", "received": "No. 4711", "language": "de"}
    answer = page.post(_list(case.id), fields | {"email": "nobody"})
    assert answer.status_code == 422
    assert 'value="No. 4711"' in answer.content.decode()
    page.post(_list(case.id), fields | {"email": "dpo@print.example"})
    assert Recipient.objects.get().name == "Print shop"
    assert RecipientContact.objects.get().language == "de"


def test_text_of_people_is_escaped(world: World) -> None:
    case = gdpr_operations.case(world)
    make.by_hand(world, case, name="<b>shop</b>", received="<script>x</script>")
    text = world.page("compliance").get(_list(case.id)).content.decode()
    assert "<b>shop" not in text
    assert "<script>x" not in text


def test_overdue_answers_are_on_the_list_of_cases(world: World) -> None:
    _, (row,) = make.with_recipients(world, 1)
    actions.notify_by_hand(row, by=world.actor("compliance"))
    long_ago = timezone.now() - timedelta(days=15)
    Recipient.objects.update(notified_at=long_ago)
    page = world.page("compliance")
    cases = page.get(reverse("privacy:cases")).content.decode()
    assert "The answer of 1 recipient is overdue" in cases
    text = page.get(INDEX).content.decode()
    assert "The answer of 1 recipient is overdue" in text
    assert row.name in text
    stranger = world.page("stranger")
    assert row.name not in stranger.get(INDEX).content.decode()
    assert "No notice is open" in stranger.get(INDEX).content.decode()


def test_an_address_lets_the_page_offer_a_letter(
    world: World, settings: Settings
) -> None:
    settings.MAIL_SERVER = True
    case, (row,) = make.with_recipients(world, 1)
    sending.sweep()
    page = world.page("compliance")
    assert 'value="mail"' not in page.get(_list(case.id)).content.decode()
    fields = {"name": row.name, "email": "dpo@shop.example", "language": "en"}
    assert page.post(INDEX, fields).status_code == 302
    assert 'value="mail"' in page.get(_list(case.id)).content.decode()
    page.post(_act("notify_recipient", row), {"way": "mail"})
    assert make.fresh(row).state == NoticeState.QUEUED
    contact = RecipientContact.objects.get()
    page.post(reverse("privacy:remove_recipient_contact", args=[contact.pk]))
    assert not RecipientContact.objects.exists()


def test_an_admin_changes_how_long_an_answer_may_take(world: World) -> None:
    url = reverse("privacy:answer_days")
    assert world.page("compliance").post(url, {"days": "5"}).status_code == 403
    page = world.page("owner")
    assert page.post(url, {"days": "0"}).status_code == 422
    page.post(url, {"days": "5"})
    assert contacts.answer_days(world.acme.id) == 5


@pytest.mark.parametrize(
    ("person", "listing", "acting", "index"),
    [
        ("owner", 200, 302, 200),
        ("compliance", 200, 302, 200),
        ("operator", 403, 403, 403),
        ("viewer", 403, 403, 403),
        ("stranger", 404, 404, 200),
    ],
)
def test_who_sees_and_who_acts(
    world: World, person: str, listing: int, acting: int, index: int
) -> None:
    case, (row,) = make.with_recipients(world, 1)
    page = world.page(person)
    assert page.get(_list(case.id)).status_code == listing
    assert page.get(INDEX).status_code == index
    letter = page.get(_act("notice_letter", row)).status_code
    assert letter == (200 if acting == 302 else acting)
    for name in ("notify_recipient", "decline_notice", "answer_of_recipient"):
        assert page.post(_act(name, row), {"way": "hand"}).status_code == acting
    assert page.post(_list(case.id), {}).status_code in (acting, 422)


def test_one_added_by_hand_stands_beside_those_that_the_plan_shows(
    world: World,
) -> None:
    make.hook(world, "https://older.example/in", days=90)
    case = erasing.opened(world, erasing.maria(world))
    make.by_hand(world, case)
    dry_run.make(case, by=world.actor("compliance"))
    text = world.page("compliance").get(_list(case.id)).content.decode()
    assert "older.example" in text
    assert "Print shop" in text
