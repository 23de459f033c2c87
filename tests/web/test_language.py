"""Pages are in the reader's language, answers to programs in English."""

from __future__ import annotations

import pytest
from django.conf import settings
from django.test import Client
from django.utils import translation

from memory.accounts import languages
from memory.models import User
from memory.rules import errors
from tests.world import World

GERMAN = {"Accept-Language": "de-AT,de;q=0.9,en;q=0.5"}


def language_of(browser: Client, path: str = "/", **headers: str) -> str:
    """Return the language a page says that it is in."""
    response = browser.get(path, headers=headers)
    html = response.content.decode()
    assert f'<html lang="{response.headers["Content-Language"]}">' in html
    assert "Accept-Language" in response.headers["Vary"]
    return response.headers["Content-Language"]


def choose(browser: Client, code: str, way_back: str = "/health/") -> str:
    data = {"language": code, "next": way_back}
    return browser.post("/language/", data).headers["Location"]


def test_a_page_is_in_the_language_of_the_browser(world: World) -> None:
    browser = world.page("viewer")
    assert language_of(browser) == "en"
    assert language_of(browser, **GERMAN) == "de"
    assert language_of(browser, **{"Accept-Language": "fr"}) == "en"


@pytest.mark.parametrize("person", ["viewer", "operator", "compliance", "owner"])
def test_a_choice_counts_on_every_device_until_it_is_taken_back(
    world: World, person: str
) -> None:
    browser = world.page(person)
    assert choose(browser, "de") == "/health/"
    assert language_of(browser) == "de"
    other_device = world.page(person)
    assert language_of(other_device) == "de"

    choose(other_device, "")
    assert language_of(other_device) == "en"
    assert language_of(other_device, **GERMAN) == "de"


def test_before_signing_in_the_choice_is_in_a_cookie(db: None) -> None:
    browser = Client()
    assert choose(browser, "de", "/accounts/login/") == "/accounts/login/"
    cookie = browser.cookies[settings.LANGUAGE_COOKIE_NAME]
    assert cookie["httponly"] and not cookie["max-age"]
    assert language_of(browser, "/accounts/login/") == "de"


def test_the_choice_of_one_person_is_not_the_next_one_s(world: World) -> None:
    browser = world.page("viewer")
    choose(browser, "de")
    browser.force_login(world.people["operator"])
    assert language_of(browser) == "en"


@pytest.mark.parametrize("way_back", ["https://evil.example/", "//evil.example", ""])
def test_the_way_back_is_one_of_our_pages(world: World, way_back: str) -> None:
    assert choose(world.page("viewer"), "de", way_back) == "/"


def test_the_answer_to_a_form_leads_back_to_the_page_of_the_form(
    world: World,
) -> None:
    case = world.held()
    page = f"http://testserver/quarantine/{case.id}/?state=held"
    browser = world.page("operator")
    answer = browser.post(
        f"/quarantine/{case.id}/decision/",
        {"decision": "discard", "version": case.version},
        headers={"Referer": page},
    )
    assert answer.status_code == 422
    html = answer.content.decode()
    assert f'name="next" value="{page}"' in html
    assert choose(browser, "de", page) == page


def test_another_language_is_refused_and_changes_nothing(world: World) -> None:
    browser = world.page("viewer")
    for code in ("fr", "de-x", "'\"><script>", "x" * 5_000):
        response = browser.post("/language/", {"language": code})
        assert response.status_code == 422
        assert Client().post("/language/", {"language": code}).status_code == 422
    assert not User.objects.exclude(language="").exists()


def test_an_error_page_is_in_the_language_of_the_person(world: World) -> None:
    browser = world.page("viewer")
    choose(browser, "de")
    for path in ("/journal/j_0000000000000000/", "/no/such/address/"):
        response = browser.get(path)
        assert response.status_code == 404
        assert '<html lang="de">' in response.content.decode()


def test_a_program_gets_english_whatever_it_asks_for(world: World) -> None:
    world.page("owner").post("/language/", {"language": "de"})
    for path in ("/journal/j_0000000000000000", "/health/nobody", "/records?limit=x"):
        plain = world.api("ada").get(path)
        german = world.api("ada", **GERMAN).get(path)
        assert (german.status, german.body) == (plain.status, plain.body)
    session = world.session("owner").get("/journal/j_0000000000000000")
    assert "There is nothing here" in session.data["detail"]


def test_a_mail_is_in_the_language_of_its_reader(world: World) -> None:
    person = world.people["viewer"]
    languages.choose(person, "de")
    with translation.override("en"):
        with languages.mail_language(person):
            assert translation.get_language() == "de"
        with languages.mail_language(world.people["owner"]):
            assert translation.get_language() == "en"
        with translation.override("de"), languages.mail_language(None):
            assert translation.get_language() == "en"


def test_the_service_refuses_a_language_that_is_not_there(world: World) -> None:
    with pytest.raises(errors.Invalid):
        languages.choose(world.people["viewer"], "tlh")
