"""The page of the scanner rules without scripts: find, draft, review, save."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from pytest_django import Settings

from memory import scanner
from memory.files import policy, quarantine
from tests.memory.files import kit
from tests.memory.files.test_quarantine import hold_text
from tests.world import World

PATH = "/quarantine/rules/"
REVIEW = f"{PATH}policy/"
RULE = "override.instructions"
OTHER = "override.bare_previous"
SELECTED = re.compile(r'<option value="([^"]+)" selected')


@pytest.fixture(autouse=True)
def data_dir(tmp_path: Path, settings: Settings) -> Path:
    """A folder of its own for the files of each test."""
    settings.DATA_DIR = tmp_path
    return tmp_path


def text_of(world: World, user: str, **params: str | list[str]) -> str:
    """Return the page's markup."""
    return world.page(user).get(PATH, params).content.decode()


def test_the_list_is_found_sorted_and_turned(world: World) -> None:
    rule = hold_text(world).findings[0]["rule"]
    first = text_of(world, "operator")
    assert first.count("data-row") == 25
    total = len(scanner.rules())
    assert f"{total} rules, page 1 of {-(-total // 25)}" in first
    assert "data-row" in text_of(world, "operator", page="6")
    narrow = text_of(world, "operator", q=RULE)
    assert (narrow.count("data-row"), f"1 rule of {total}" in narrow) == (1, True)
    assert "No rule matches" in text_of(world, "operator", q="<script>zeppelin")
    assert "<script>zeppelin" not in text_of(world, "operator", q="<script>zeppelin")
    hit = text_of(world, "operator", state="hit")
    assert rule in hit
    assert "By day, at most 1 on one day" in hit
    assert (
        text_of(world, "operator", state="nonsense", page="x").count("data-row") == 25
    )


def test_few_decisions_are_said_as_such(world: World) -> None:
    assert "no decision yet" in text_of(world, "operator")
    case = hold_text(world)
    rule = case.findings[0]["rule"]
    body = {"decision": "discard", "version": case.version, "reason": "An attack"}
    world.page("operator").post(f"/quarantine/{case.id}/decision/", body)
    html = text_of(world, "operator", q=rule)
    assert "1 of 1 confirmed" in html
    assert "too few for a share" in html


def test_an_operator_sees_and_may_not_change(world: World) -> None:
    html = text_of(world, "operator", set=f"{RULE}:off")
    assert 'name="set"' not in html
    assert 'name="tick"' not in html
    assert "not saved" not in html
    page, body = world.page("operator"), {"set": f"{RULE}:off", "base": f"{RULE}:hold"}
    assert page.get(REVIEW, body).status_code == 403
    assert page.post(REVIEW, body).status_code == 403
    assert world.page("viewer").get(PATH).status_code == 403
    assert quarantine.rule_modes(world.acme.id) == {}


def test_a_draft_goes_along_from_page_to_page(world: World) -> None:
    draft = [f"{RULE}:off", "tier:daily:block", f"{OTHER}:hold"]
    html = text_of(world, "owner", set=draft, page="2")
    assert "2 changes, not saved" in html
    assert f'<input name="set" type="hidden" form="bench" value="{RULE}:off">' in html
    assert f'<input name="set" type="hidden" form="try" value="{RULE}:off">' in html
    assert "tier:daily:block" in SELECTED.findall(html)
    assert f"{RULE}:off" in SELECTED.findall(text_of(world, "owner", set=draft))
    assert text_of(world, "owner", set="no.rule:off").count("data-row") == 0


def test_many_rules_are_set_at_once(world: World) -> None:
    html = text_of(world, "owner", apply="ticked", tick=[RULE, OTHER], to="observe")
    assert "2 changes, not saved" in html
    html = text_of(world, "owner", apply="all", family="secrets", to="off")
    assert "6 changes, not saved" in html
    assert "changes, not saved" not in text_of(
        world, "operator", apply="all", family="secrets", to="off"
    )


def test_setting_many_rules_reads_held_texts_no_more_often(world: World) -> None:
    page = world.page("owner")
    reads = []
    for params in ({}, {"apply": "all", "to": "observe"}):
        with CaptureQueriesContext(connection) as queries:
            html = page.get(PATH, params).content.decode()
        reads.append(sum('"findings"' in query["sql"] for query in queries))
    assert reads[0] == reads[1] > 0
    assert f"{RULE}:observe" in SELECTED.findall(html)


def test_an_edit_swaps_only_the_draft(world: World) -> None:
    headers = {"HX-Request": "true", "HX-Target": "draft"}
    params = {"set": [f"{RULE}:off"], "q": "instructions", "here": "1"}
    response = world.page("owner").get(PATH, params, headers=headers)
    html = response.content.decode()
    assert "data-row" not in html
    assert "1 change, not saved" in html
    address = f"{PATH}?q=instructions&set={RULE}:off"
    assert response["HX-Replace-Url"] == address
    assert f"{RULE}:off" in SELECTED.findall(
        world.page("owner").get(address).content.decode()
    )


def test_a_draft_is_reviewed_and_saved_once(world: World) -> None:
    page = world.page("owner")
    draft = [f"{RULE}:off", "tier:daily:block"]
    review = page.get(REVIEW, {"set": draft}).content.decode()
    assert "2 changes, not saved" in review
    assert "− hold" in review
    assert "+ block" in review
    base = [f"{RULE}:hold", "tier:daily:"]
    assert all(f'name="base" type="hidden" value="{pair}"' in review for pair in base)
    replayed = page.get(REVIEW, {"set": draft, "replay": "1"}).content.decode()
    assert "Replayed on" in replayed
    assert quarantine.rule_modes(world.acme.id) == {}

    saved = page.post(REVIEW, {"set": draft, "base": base}, follow=True)
    assert "2 changes saved" in saved.content.decode()
    assert quarantine.rule_modes(world.acme.id) == {RULE: "off"}
    assert "Nothing to save" in page.get(REVIEW, {"set": draft}).content.decode()

    again = page.post(REVIEW, {"set": draft, "base": base}, follow=True)
    assert again.redirect_chain == [(PATH, 302)]
    assert not list(again.context["messages"])


def test_a_conflict_shows_the_diff_again(world: World) -> None:
    page = world.page("owner")
    policy.set_rule(RULE, "block", by=world.actor("owner"))
    body = {"set": [f"{RULE}:off", f"{OTHER}:off"]}
    body["base"] = [f"{RULE}:hold", f"{OTHER}:hold"]
    response = page.post(REVIEW, body)
    html = response.content.decode()
    assert response.status_code == 409
    assert "nothing was saved" in html
    assert "was hold when you looked and is block now" in html
    assert f'name="base" type="hidden" value="{RULE}:block"' in html
    assert quarantine.rule_modes(world.acme.id) == {RULE: "block"}

    body["base"][0] = f"{RULE}:block"
    assert page.post(REVIEW, body).status_code == 302
    assert quarantine.rule_modes(world.acme.id) == {RULE: "off", OTHER: "off"}


def test_a_forged_draft_is_refused(world: World) -> None:
    page = world.page("owner")
    for pair in ("no.rule:off", f"{RULE}:explode", "tier:daily:explode", "", ":"):
        body = {"set": pair, "base": f"{RULE}:hold"}
        assert page.post(REVIEW, body).status_code == 422, pair
        assert page.get(REVIEW, body).status_code == 422, pair


def test_a_stranger_s_policy_is_their_own(world: World) -> None:
    hold_text(world)
    policy.set_rule(RULE, "off", by=world.actor("owner"))
    html = text_of(world, "stranger", state="changed")
    assert "No rule matches" in html
    assert "By day" not in text_of(world, "stranger", sort="hits")
    body = {"set": f"{OTHER}:off", "base": f"{OTHER}:hold"}
    assert world.page("stranger").post(REVIEW, body).status_code == 302
    assert quarantine.rule_modes(world.acme.id) == {RULE: "off"}


def test_a_text_is_tried_with_the_unsaved_changes(world: World) -> None:
    rules = {finding.rule for finding in scanner.scan(kit.POISON).findings}
    body = {"text": kit.POISON, "source": "web"}
    body_with = body | {"set": [f"{rule}:off" for rule in rules]}
    html = world.page("owner").post(PATH, body_with).content.decode()
    assert ">Clean<" in html
    assert "Without them: held" in html
    assert "changes, not saved" in html
    for action, words in (("block", "Refused"), ("redact", "Redacted")):
        line = body | {"set": f"source:web:{action}"}
        assert f">{words}<" in world.page("owner").post(PATH, line).content.decode()
    unless = world.page("owner").post(PATH, body | {"set": "tier:daily:allow"})
    assert "unless its tier is set otherwise" in unless.content.decode()


def test_the_list_takes_the_same_queries_with_more_held_texts(world: World) -> None:
    page = world.page("owner")
    page.get(PATH)
    with CaptureQueriesContext(connection) as before:
        page.get(PATH)
    hold_text(world)
    hold_text(world, label="pins.md")
    with CaptureQueriesContext(connection) as after:
        page.get(PATH)
    assert len(after) == len(before)
