"""The pages of letters: from the suggestion to what went out, without scripts."""

from __future__ import annotations

import re
from typing import Any

import pytest
from django.core import mail as django_mail
from django.urls import reverse
from django.utils import timezone

from gdpr.cases import actions
from gdpr.letters import sending
from gdpr.models import Case, Letter, LetterTemplate
from memory.accounts import mail
from tests.gdpr import letter_kit
from tests.gdpr import requests as make
from tests.gdpr.letter_kit import EMAIL, PERSON
from tests.web.test_privacy_pages import text
from tests.world import World

pytestmark = pytest.mark.django_db
TEXT = {"occasion": "received", "kind": "", "language": "en"}


def url(name: str, *args: str) -> str:
    return reverse(f"privacy:{name}", args=args)


def fields(answer: Any) -> dict[str, str]:
    """Return subject and body of the form on a page."""
    return {
        name: str(answer.context["form"][name].value()) for name in ("subject", "body")
    }


def test_from_the_suggestion_to_the_mail(world: World, settings: Any) -> None:
    settings.MAIL_SERVER = True
    case, page = make.opened(world), world.page("compliance")
    actions.extend(case, 1, "Complex", by=world.actor("compliance"))
    case_url = url("case", case.id)
    assert "The extension was not announced" in text(page.get(case_url))
    assert "A letter is due" in text(page.get(url("cases")))
    address = {"name": PERSON, "email": EMAIL, "language": "de"}
    page.post(url("correspondence", case.id), address)
    assert EMAIL in text(page.get(case_url))
    query = {"occasion": "extended", "language": "de"}
    draft = page.get(url("new_letter", case.id), query)
    assert "Nobody is named who answers for it" in text(draft)
    letter_kit.answering(world)
    draft = page.get(url("new_letter", case.id), query)
    answer = page.post(url("new_letter", case.id), {**query, **fields(draft)})
    letter = Letter.objects.get()
    assert answer["Location"] == url("letter", case.id, letter.id)
    content = text(page.get(answer["Location"]))
    assert PERSON in content
    assert "E-mail is not confidential" in content
    assert letter.language == "de"
    page.post(url("send_letter", case.id, letter.id))
    assert [message.to for message in django_mail.outbox] == [[EMAIL]]
    content = text(page.get(case_url))
    assert "Letter sent by mail" in content
    assert "was not announced" not in content
    assert "A letter is due" not in text(page.get(url("cases")))


def test_a_letter_with_an_open_placeholder_offers_no_way_out(
    world: World, settings: Any
) -> None:
    settings.MAIL_SERVER = True
    case = letter_kit.addressed(world, make.opened(world))
    letter = letter_kit.letter(world, case, body="Yours, [controller]")
    content = text(world.page("compliance").get(url("letter", case.id, letter.id)))
    assert "still has [controller] in it" in content
    assert url("send_letter", case.id, letter.id) not in content
    assert url("letter_posted", case.id, letter.id) not in content
    assert url("remove_letter", case.id, letter.id) in content


def test_a_letter_as_a_file(world: World) -> None:
    case = letter_kit.addressed(world, make.opened(world), post="Quay 1\nBergen")
    letter = sending.by_post(
        letter_kit.letter(world, case), by=world.actor("compliance")
    )
    answer = world.page("compliance").get(url("letter_file", case.id, letter.id))
    assert answer["Content-Type"] == "text/plain; charset=utf-8"
    assert f'filename="{letter.id}.txt"' in answer["Content-Disposition"]
    assert answer.content.decode().startswith("Quay 1\nBergen\n\nIhr Antrag")


def test_what_a_letter_says_is_no_markup(world: World) -> None:
    case = make.opened(world)
    letter = letter_kit.letter(world, case, body="<script>alert(1)</script> & more")
    answer = world.page("compliance").get(url("letter", case.id, letter.id))
    assert b"<script>alert(1)" not in answer.content
    assert b"&lt;script&gt;" in answer.content


def test_a_faulty_letter_keeps_what_was_typed(world: World) -> None:
    case, page = make.opened(world), world.page("compliance")
    query = {"occasion": "received", "language": "en"}
    typed = {**query, "subject": "Fine", "body": "rings \x07 a bell"}
    answer = page.post(url("new_letter", case.id), typed)
    assert answer.status_code == 422
    assert "rings" in text(answer)
    assert not Letter.objects.exists()


def test_a_letter_of_another_state_leads_back(world: World) -> None:
    case = make.opened(world)
    answer = world.page("compliance").get(
        url("new_letter", case.id), {"occasion": "done"}, follow=True
    )
    assert "not in the state that this letter tells of" in text(answer)


def test_a_second_letter_is_asked_about(world: World) -> None:
    case, page = make.opened(world), world.page("compliance")
    sending.by_post(letter_kit.letter(world, case), by=world.actor("compliance"))
    query = {"occasion": "received", "language": "en"}
    draft = page.get(url("new_letter", case.id), query)
    assert "was sent already" in text(draft)
    typed = {**query, **fields(draft)}
    answer = page.post(url("new_letter", case.id), typed)
    assert answer.status_code == 409
    assert page.post(url("new_letter", case.id), {**typed, "repeat": "on"})["Location"]


def test_a_mail_server_that_is_down_is_said_on_the_page(
    world: World, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.MAIL_SERVER = True

    def down(*_: object) -> int:
        raise TimeoutError

    monkeypatch.setattr(mail, "send", down)
    case = letter_kit.addressed(world, make.opened(world))
    letter, page = letter_kit.letter(world, case), world.page("compliance")
    answer = page.post(url("send_letter", case.id, letter.id), follow=True)
    assert "The mail did not go out" in text(answer)
    assert "Send it by e-mail" in text(answer)
    page.post(url("remove_letter", case.id, letter.id))
    assert not Letter.objects.exists()


def test_an_interrupted_mail_asks_a_person(world: World, settings: Any) -> None:
    settings.MAIL_SERVER = True
    case = letter_kit.addressed(world, make.opened(world))
    letter, page = letter_kit.letter(world, case), world.page("compliance")
    Letter.objects.update(claimed_at=timezone.now() - 2 * sending.CLAIM)
    assert "Perhaps sent" in text(page.get(url("case", case.id)))
    content = text(page.get(url("letter", case.id, letter.id)))
    assert "nobody knows whether the mail went out" in content
    page.post(url("send_letter", case.id, letter.id), {"repeat": "1"})
    assert len(django_mail.outbox) == 1


def test_a_faulty_address_is_shown_in_its_form(world: World) -> None:
    case, page = make.opened(world), world.page("compliance")
    answer = page.post(
        url("correspondence", case.id), {"email": "nowhere", "name": "Mara"}
    )
    assert answer.status_code == 422
    assert "not an e-mail address" in text(answer)
    assert 'value="Mara"' in text(answer)


def test_an_address_of_another_key_is_said(world: World) -> None:
    case = letter_kit.addressed(world, make.opened(world))
    row = case.correspondence
    row.sealed = b"x" * 60
    row.save()
    content = world.page("compliance").get(url("case", case.id))
    assert "cannot be read any more" in text(content)


# ── Texts ────────────────────────────────────────────────────────────────────
def test_a_text_from_preview_to_the_built_in_one(world: World) -> None:
    page, address = world.page("compliance"), url("letter_text")
    content = page.get(address, TEXT)
    assert "{controller_contact}" in text(content)
    words = {
        "subject": "Ours {case_id}",
        "body": "{greeting} we got it.",
        "version": "0",
    }
    preview = page.post(address, {**TEXT, **words, "act": "preview"})
    assert "Dear Maria Keller, we got it." in text(preview)
    assert not LetterTemplate.objects.exists()
    page.post(address, {**TEXT, **words, "act": "save"})
    assert "starts from your own text" in text(page.get(url("letter_texts")))
    stale = page.post(address, {**TEXT, **words, "act": "save"})
    assert (stale.status_code, "since you read it" in text(stale)) == (409, True)
    page.post(address, {**TEXT, "version": "1", "act": "reset"})
    assert not LetterTemplate.objects.exists()


def test_an_unknown_placeholder_is_said(world: World) -> None:
    words = {"subject": "A", "body": "{__class__}", "version": "0", "act": "save"}
    answer = world.page("compliance").post(url("letter_text"), {**TEXT, **words})
    assert answer.status_code == 422
    assert "There is no placeholder {__class__}." in text(answer)


def test_another_language_is_added_by_its_code(world: World) -> None:
    page = world.page("compliance")
    content = text(page.get(url("letter_texts"), {"language": "fr"}))
    assert "The program brings no text in this language" in content
    assert page.get(url("letter_texts"), {"language": "no, thanks"}).status_code == 422
    assert page.get(url("letter_text"), {**TEXT, "occasion": "x"}).status_code == 422


# ── Who may ──────────────────────────────────────────────────────────────────
@pytest.mark.parametrize(
    ("person", "of_case", "texts"),
    [
        ("owner", 200, 200),
        ("compliance", 200, 200),
        ("operator", 403, 403),
        ("viewer", 403, 403),
        ("stranger", 404, 200),
    ],
)
def test_who_sees_letters(world: World, person: str, of_case: int, texts: int) -> None:
    case = make.opened(world)
    letter, page = letter_kit.letter(world, case), world.page(person)
    occasion = {"occasion": "received"}
    for name, args, data in (
        ("letter", (case.id, letter.id), {}),
        ("letter_file", (case.id, letter.id), {}),
        ("new_letter", (case.id,), occasion),
    ):
        assert page.get(url(name, *args), data).status_code == of_case, name
    for name in ("letter_texts", "letter_text"):
        assert page.get(url(name), TEXT).status_code == texts, name
    if of_case != 200:
        for name in ("send_letter", "letter_posted", "remove_letter"):
            answer = page.post(url(name, case.id, letter.id))
            assert answer.status_code == of_case, name
        assert page.post(url("correspondence", case.id)).status_code == of_case


def test_a_letter_belongs_to_its_case(world: World) -> None:
    case = make.opened(world)
    letter = letter_kit.letter(world, make.opened(world))
    page = world.page("compliance")
    assert page.get(url("letter", case.id, letter.id)).status_code == 404
    assert Case.objects.count() == 2


def test_the_settings_have_the_days(world: World) -> None:
    content = text(world.page("owner").get(url("settings")))
    assert re.search(r'name="letter_days" value="1095"', content)
