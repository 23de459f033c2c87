"""The page Questions: what found nothing first, and what one can do about it."""

from __future__ import annotations

import re
from html import unescape
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest

from episodic.models import LoggedQuestion, RecallCheck
from episodic.recall import questions
from memory.web import agent_field
from tests.episodic.test_questions import ago, logged
from tests.world import World

PATH = "/recall/questions/"


def page(world: World, person: str = "operator", **query: Any) -> str:
    response = world.page(person).get(PATH, query)
    assert response.status_code == 200, response.content
    return str(response.content.decode())


def links(text: str, words: str = "") -> list[str]:
    """Return the addresses of the explorer on a page, in order."""
    hrefs = re.findall(r'href="(/recall/\?[^"]+)"', text)
    return [unescape(href) for href in hrefs if words in href]


def test_what_found_nothing_comes_first_and_together(world: World) -> None:
    for _ in range(3):
        logged(world, "Where is the tent?", unanswered=True)
    logged(world, "Where is the tent?", by="lena", unanswered=True)
    logged(world, "Who parked the submarine?", unanswered=True)
    logged(world, "Which refund?")
    text = page(world)
    assert "5 of 6 questions found nothing" in text
    tent, submarine = text.index("Where is the tent?"), text.index("the submarine?")
    assert tent < submarine
    assert re.search(r'data-label="Times">4<', text)
    assert "<bdi>ada</bdi>, <bdi>lena</bdi>" in text
    assert "Which refund?" not in text
    assert "Which refund?" in page(world, show="all")


def test_one_click_opens_the_explorer_with_the_question(world: World) -> None:
    world.indexed("Refund denied")
    text = 'Is "tent" & <b>stove</b> + ü in stock?'
    ada = world.agents["ada"]
    logged(world, text, unanswered=True, scope="crew_shared", mode="dense", k=9)
    href = links(page(world))[0]
    assert parse_qs(urlsplit(href).query) == {
        "query": [text], "agent_id": [ada.id], "scope": ["crew_shared"],
        "mode": ["dense"], "k": ["9"],
    }  # fmt: skip
    response = world.page("operator").get(href)
    assert response.status_code == 200
    assert "What would ada recall?" in response.content.decode()


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({"agent_id": "agent_gone"}, {}),
        ({"agent_id": None, "crew_id": "crew_gone", "scope": "crew_shared"}, {}),
        ({"agent_id": None, "crew_id": None, "scope": "workspace"}, {}),
        ({"agent_id": None, "scope": "crew_shared"}, {"crew_id", "scope"}),
    ],
)
def test_who_is_gone_is_left_out_of_the_question(
    world: World, fields: dict[str, Any], expected: set[str]
) -> None:
    logged(world, "tent", unanswered=True, **fields)
    href = links(page(world))[0]
    assert parse_qs(urlsplit(href).query).keys() == {"query", *expected}
    assert world.page("operator").get(href).status_code == 200


def test_one_click_from_a_recall_check(world: World) -> None:
    row = world.entry("A tent", entry_type="exec.command")
    logged(world, "zeppelin", unanswered=True)
    href = next(href for href in links(page(world)) if href.endswith("#h-check"))
    form = world.page("operator").get(href).content.decode()
    # Nothing came back, so the entry that should have is named by its id.
    assert 'id="h-check"' in form
    assert "Ids of the entries that the answer has to hold" in form
    data = {"query": "zeppelin", "agent_id": world.agents["ada"].id, "scope": "own",
            "name": "tents", "more": row.id}  # fmt: skip
    world.page("operator").post("/recall/checks/save/", data)
    check = RecallCheck.objects.get()
    assert (check.question["query"], check.expected) == ("zeppelin", [row.id])
    assert "#h-check" not in page(world, "viewer")


def test_slow_and_degraded_are_lists_of_their_own(world: World) -> None:
    logged(world, "a slow one", latency_ms=questions.SLOW_MS + 1)
    logged(world, "a degraded one", degraded="words only")
    assert "a slow one" in (slow := page(world, show="slow"))
    assert "a degraded one" not in slow
    assert "250 ms or longer" in slow
    assert "a degraded one" in (degraded := page(world, show="degraded"))
    assert "a slow one" not in degraded
    lena = world.agents["lena"].id
    assert "No question is like this." in page(world, show="slow", agent_id=lena)


@pytest.mark.parametrize(
    "query", [{"show": "magic"}, {"agent_id": "x"}, {"cursor": "x"}]
)
def test_a_wrong_address_is_refused(world: World, query: dict[str, str]) -> None:
    logged(world)
    assert world.page("viewer").get(PATH, query).status_code == 422


def test_hundreds_of_questions_have_pages(world: World) -> None:
    for number in range(100):
        logged(world, f"nothing {number:03}", unanswered=True)
    for show in ("unanswered", "all"):
        collected: list[str] = []
        path = f"{PATH}?show={show}"
        for _ in range(3):
            text = world.page("viewer").get(path).content.decode()
            collected += re.findall(r"<bdi>nothing (\d{3})</bdi>", text)
            older = re.search(r'href="([^"]+)" rel="next"', text)
            if older is None:
                break
            path = PATH + unescape(older[1])
        assert sorted(collected) == [f"{number:03}" for number in range(100)]


# ── Whose memory was asked ───────────────────────────────────────────────────
def test_an_agent_is_typed_and_an_address_with_an_id_still_works(world: World) -> None:
    logged(world, "Where is the tent?", unanswered=True)
    lena = world.agents["lena"]
    assert "Where is the tent?" in page(world, agent_id="ada")
    for agent_name in ("lena", "support/lena", lena.id):
        text = page(world, agent_id=agent_name)
        assert "Every question found something." in text
        assert re.search(r'name="agent_id" value="(support/)?lena"', text)
    assert "No agent here has this name." in wrong(world, agent_id="zeppelin")


def wrong(world: World, **query: str) -> str:
    response = world.page("viewer").get(PATH, query)
    assert response.status_code == 422
    return str(response.content.decode())


def test_not_every_agent_is_a_suggestion(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    logged(world)
    monkeypatch.setattr(agent_field, "SUGGESTIONS", 2)
    text = page(world)
    assert 'list="agents"' in text
    names = text.partition('<datalist id="agents">')[2].partition("</datalist>")[0]
    assert names.count("<option ") == 2
    assert "<select" not in text


def test_hostile_text_is_text(world: World) -> None:
    logged(world, "<script>alert(1)</script> \u202edrawkcab", unanswered=True)
    logged(world, "x" * 4_000, unanswered=True)
    for show in ("unanswered", "all"):
        text = page(world, show=show)
        assert "<script>alert" not in text
        assert "&lt;script&gt;alert" in text
        assert "x" * 201 not in re.sub(r'href="[^"]+"', "", text)


# ── Off, and empty ───────────────────────────────────────────────────────────
def test_off_says_how_to_switch_it_on_and_whom_to_ask(world: World) -> None:
    text = page(world, "owner")
    assert "The recall log is off" in text
    assert 'href="/workspace/settings/"' in text
    text = page(world, "viewer")
    assert "owner@acme.example" in text
    assert "Open the settings" not in text
    world.set(recall_log=True)
    assert "Nothing was asked yet." in page(world, "viewer")
    logged(world, asked_at=ago(days=2))
    world.set(recall_log=False)
    assert "Nothing new is kept" in page(world, "viewer")


def test_only_an_admin_empties_the_log(world: World) -> None:
    logged(world, unanswered=True)
    for person in ("viewer", "operator", "compliance"):
        assert "Empty the log" not in page(world, person)
        response = world.page(person).post(f"{PATH}empty/")
        assert response.status_code == 403
    assert world.page("stranger").post(f"{PATH}empty/").status_code == 302
    assert LoggedQuestion.objects.count() == 1
    assert "Empty the log" in page(world, "owner")
    assert world.page("owner").get(f"{PATH}empty/").status_code == 405
    response = world.page("owner").post(f"{PATH}empty/", follow=True)
    assert "1 question" in response.content.decode()
    assert not LoggedQuestion.objects.exists()


def test_a_stranger_sees_their_own_and_nobody_signs_in(world: World) -> None:
    logged(world, "Where is the tent?", unanswered=True)
    assert "Where is the tent?" not in page(world, "stranger")
    assert world.page("nobody").get(PATH).status_code == 302


def test_recall_and_health_lead_there(world: World) -> None:
    for path in ("/recall/", "/health/"):
        text = world.page("viewer").get(path).content.decode()
        assert f'href="{PATH}"' in text
