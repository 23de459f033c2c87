"""A case worked on with German pages: shown in German, stored in English."""

from __future__ import annotations

import re
from datetime import timedelta
from typing import Any

from django.utils import timezone, translation

from gdpr.cases import reminder_email
from gdpr.cases.transitions import stored_label
from gdpr.models import Case, CaseEvent, CaseState, Ground
from gdpr.web import case_words
from memory.models import JournalEntry, User
from tests.gdpr import requests as make
from tests.gdpr.erasing import NAME, lived_in, maria, opened
from tests.world import World

GERMAN = {"Accept-Language": "de"}


def get(world: World, path: str) -> str:
    answer = world.page("compliance").get(f"/privacy/{path}", headers=GERMAN)
    assert answer.status_code == 200
    return re.sub(r"\s+", " ", str(answer.content.decode()))


def post(world: World, path: str, **body: Any) -> str:
    browser = world.page("compliance")
    answer = browser.post(f"/privacy/{path}", body, headers=GERMAN, follow=True)
    assert answer.status_code == 200, answer.content.decode()
    return re.sub(r"\s+", " ", str(answer.content.decode()))


def of_plan(page: str) -> str:
    values: list[str] = re.findall(r'name="(?:of_plan|plan_hash)" value="(\w+)"', page)
    return values[0]


def test_what_is_done_on_german_pages_is_stored_in_english(world: World) -> None:
    lived_in(world)
    person = maria(world)
    case = opened(world, person)
    path = f"cases/{case.pk}/"
    post(world, f"{path}identity/", how="Code per E-Mail")
    page = post(world, f"{path}plan/")
    row_id = case.plans.get().rows["journal"][0][0]
    post(
        world,
        f"{path}decide/",
        of_plan=of_plan(page),
        decide="spare",
        ground="must_stay",
        reason="Frist läuft noch",
        row=f"journal {row_id}",
    )
    review = (timezone.now() + timedelta(days=30)).date().isoformat()
    post(
        world,
        f"subjects/{person.pk}/hold/",
        reason="Prozess",
        review_on=review,
        scope="all",
    )
    hold = person.holds.get()
    post(world, f"holds/{hold.pk}/release/", reason="Beendet")
    post(world, f"{path}extend/", months=1, reason="Viele Anträge")
    stored_text = set(
        CaseEvent.objects.filter(case=case).values_list("text", flat=True)
    )
    assert stored_text == {
        "Received",
        "Goes on without an identity check",
        "Identity verified",
        "Plan 1 made",
        "Plan 2 made",
        "1 row kept by decision: the law or a claim needs it",
        "On hold",
        "A hold was released",
        "Resumed: planned",
        "Extended by 1",
    }
    page = get(world, path)
    for words in (
        "Plan 2 erstellt",
        "1 Zeile nach Entscheidung behalten: Recht oder Rechtsansprüche verlangen es",
        "Fortgesetzt: geplant",
        "Frist um 1 Monat verlängert",
    ):
        assert words in page
    body = str(case.plans.order_by("-number")[0].body)
    assert "It names nobody else: its text is erased" in body
    assert "Zeile" not in body
    journal = JournalEntry.objects.values_list("summary", flat=True)
    assert not any(re.search(r"Fall|Plan \d+ erstellt|gelöscht", s) for s in journal)


def test_the_phrase_that_a_german_page_shows_is_the_one_to_type(world: World) -> None:
    lived_in(world)
    case = opened(world, maria(world))
    page = post(world, f"cases/{case.pk}/plan/")
    assert "Zur Bestätigung" in page
    [phrase] = re.findall(r'class="phrase">([^<]+)<', page)
    post(world, f"cases/{case.pk}/execute/", plan_hash=of_plan(page), phrase=phrase)
    assert Case.objects.get(pk=case.pk).state == CaseState.RUNNING


def test_a_refusal_says_in_german_what_to_do(world: World) -> None:
    lived_in(world)
    case = opened(world, maria(world))
    page = post(world, f"cases/{case.pk}/plan/")
    answer = world.page("compliance").post(
        f"/privacy/cases/{case.pk}/execute/",
        {"plan_hash": of_plan(page), "phrase": "falsch"},
        headers=GERMAN,
    )
    text = answer.content.decode()
    assert answer.status_code == 422
    assert "Es wurde nichts geändert." in text
    assert "Die Zeichenfolge ändert sich mit dem Plan." in text


def test_labels_are_stored_in_english_whoever_asks() -> None:
    with translation.override("de"):
        assert str(CaseState.PLANNED.label) == "Geplant"
        assert stored_label(CaseState.PLANNED) == "Planned"
        assert stored_label(Ground.MUST_STAY) == "The law or a claim needs it"


def test_every_text_that_a_timeline_stores_is_known(world: World) -> None:
    """A new text of an event would be shown in English on German pages."""
    lived_in(world)
    case = opened(world, maria(world))
    post(world, f"cases/{case.pk}/assign/", assignee="owner@acme.example")
    post(world, f"cases/{case.pk}/assign/", assignee="")
    post(world, f"cases/{case.pk}/comment/", text=NAME)
    post(world, f"cases/{case.pk}/refuse/", reason="Unbegründet")
    with translation.override("de"):
        words = [case_words.event(row) for row in CaseEvent.objects.filter(case=case)]
    assert sorted(words) == sorted(
        [
            "Abgelehnt",
            NAME,
            "Zuweisung aufgehoben",
            "Zugewiesen",
            "Eingegangen",
            "Geht ohne Identitätsprüfung weiter",
        ]
    )


def test_the_digest_is_in_the_language_of_each_recipient(
    world: World, mailoutbox: list[Any], settings: Any
) -> None:
    settings.MAIL_SERVER = True
    User.objects.filter(email="owner@acme.example").update(language="de")
    make.opened(world, received_at=timezone.now() - timedelta(days=40))
    assert reminder_email.send(world.acme.id).counts == {"cases": 1, "mails": 2}
    bodies = {mail.to[0]: f"{mail.subject}\n{mail.body}" for mail in mailoutbox}
    german = bodies["owner@acme.example"]
    assert "1 Fall in acme verlangt Ihre Aufmerksamkeit, 1 überfällig" in german
    assert "Löschung, eingegangen" in german
    english = bodies["compliance@acme.example"]
    assert "1 case needs attention in acme, 1 overdue" in english
    assert "Erasure, received" in english
