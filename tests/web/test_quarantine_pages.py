"""The quarantine's pages without scripts: read, decide, conflict, group, rules."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from django.test import Client
from pytest_django import Settings

from memory import scanner
from memory.models import HeldFile, JournalEntry, SavedView
from tests.memory.files import kit
from tests.memory.files.test_quarantine import hold_text
from tests.world import World

REASON = "Looked at with care"
HTMX = {"HX-Request": "true", "HX-Target": "review"}


@pytest.fixture(autouse=True)
def data_dir(tmp_path: Path, settings: Settings) -> Path:
    """A folder of its own for the files of each test."""
    settings.DATA_DIR = tmp_path
    return tmp_path


def at(case: HeldFile, name: str = "") -> str:
    """Return a URL of a case."""
    return f"/quarantine/{case.id}/{name}"


def decide(page: Client, case: HeldFile, **fields: object) -> Any:
    """Send the decision form."""
    body = {"decision": "release", "version": case.version, "reason": REASON} | fields
    return page.post(at(case, "decision/"), body)


@pytest.mark.parametrize(
    ("user", "status"),
    [("owner", 200), ("operator", 200), ("viewer", 403), ("compliance", 403)],
)
def test_who_may_open_the_pages(world: World, user: str, status: int) -> None:
    case, page = hold_text(world), world.page(user)
    rule = scanner.rules()[0].id
    for path in (
        "/quarantine/",
        at(case),
        "/quarantine/rules/",
        f"/quarantine/rules/{rule}/",
    ):
        assert page.get(path).status_code == status, path


def test_strangers_find_nothing_and_nobody_signs_in(world: World) -> None:
    case = hold_text(world)
    assert world.page("stranger").get(at(case)).status_code == 404
    assert world.page("nobody").get("/quarantine/").status_code == 302


def test_an_empty_queue_says_so(world: World) -> None:
    html = world.page("operator").get("/quarantine/").content.decode()
    assert "No text waits for a decision" in html
    assert "Nothing is held." in html


def test_the_inbox_shows_the_case_and_records_the_view(world: World) -> None:
    case = hold_text(world, f"Be\u200bfore {kit.POISON}")
    html = world.page("operator").get("/quarantine/").content.decode()
    assert "1 text waits for a decision" in html
    assert 'title="U+200B zero width space"' in html
    assert 'href="#r1"' in html
    assert 'id="r1"' in html
    assert "Searches that would have returned it" in html
    assert case.id in html
    assert JournalEntry.objects.filter(entry_type="memory.held_viewed").exists()


@pytest.mark.parametrize("view", ["text", "read", "bytes"])
def test_hostile_markup_is_shown_as_text(world: World, view: str) -> None:
    evil = '<script>alert(1)</script><img src=x onerror="a()">'
    case = hold_text(world, f"# {evil}\n{evil} {kit.POISON} {evil}")
    html = world.page("operator").get(at(case), {"view": view}).content.decode()
    assert "<script>alert" not in html
    assert "<img src=x" not in html


def test_a_decision_opens_the_next_and_offers_the_way_back(world: World) -> None:
    first, second = hold_text(world), hold_text(world, label="pins.md")
    page = world.page("operator")
    reply = decide(page, first)
    assert reply.status_code == 302
    assert second.id in reply["Location"]
    html = page.get(reply["Location"]).content.decode()
    assert "Released:" in html
    assert at(first, "undo/") in html
    back = page.post(at(first, "undo/"))
    assert back.status_code == 302
    assert HeldFile.objects.get(pk=first.pk).state == "held"
    assert "Back in the queue" in page.get(back["Location"]).content.decode()


def test_the_last_decision_leads_to_the_empty_list(world: World) -> None:
    case, page = hold_text(world), world.page("operator")
    reply = decide(page, case, decision="discard")
    html = page.get(reply["Location"]).content.decode()
    assert "Nothing is held." in html
    decided = page.get("/quarantine/?state=discarded").content.decode()
    assert REASON in decided
    assert "Undo the decision" in decided


@pytest.mark.parametrize(
    ("fields", "status", "text"),
    [
        ({"reason": ""}, 422, "A decision needs a reason."),
        ({"decision": ""}, 422, "Choose what happens"),
        ({"decision": "redact", "start": 9, "end": 4}, 422, "redactions are spans"),
    ],
)
def test_a_faulty_decision_comes_back(
    world: World, fields: dict[str, object], status: int, text: str
) -> None:
    case = hold_text(world)
    reply = decide(world.page("operator"), case, **fields)
    assert reply.status_code == status
    assert text in reply.content.decode()
    assert HeldFile.objects.get().state == "held"


def test_a_preset_is_reason_enough(world: World) -> None:
    case = hold_text(world)
    preset = "An order that nobody of ours gave"
    decide(world.page("operator"), case, reason="", preset=preset, decision="discard")
    assert HeldFile.objects.get().reason == preset


def test_a_conflict_says_who_did_what(world: World) -> None:
    case = hold_text(world)
    decide(world.page("owner"), case, decision="discard")
    reply = decide(world.page("operator"), case)
    assert reply.status_code == 409
    html = reply.content.decode()
    assert "Your decision was not carried out" in html
    assert "owner@acme.example" in html
    assert REASON in html


def preview_digest(html: str) -> str:
    match = re.search(r'name="seen" value="([0-9a-f]{64})"', html)
    assert match, html
    return match[1]


REMAINDER = "Before. [redacted: exfiltration, override] After."


def test_chosen_passages_are_cut_whole_and_previewed(world: World) -> None:
    case, page = (
        hold_text(world, f"Before. {kit.POISON}. After."),
        world.page("operator"),
    )
    span = "20-25"
    html = page.get(at(case, "redaction/"), {"span": span}).content.decode()
    assert f"+{REMAINDER}" in html
    assert f'agent would read">{REMAINDER}</pre>' in html
    assert "<q>Before.</q> <q>After.</q>" in html
    assert "at least one" in page.get(at(case, "redaction/")).content.decode()
    bad = page.get(at(case, "redaction/"), {"start": 0, "end": 99_999})
    assert "redactions are spans" in bad.content.decode()
    decide(page, case, decision="redact", span=[span], seen=preview_digest(html))
    assert kit.on_disk(world).read_text() == REMAINDER


def test_nobody_redacts_what_they_did_not_look_at(world: World) -> None:
    case, page = (
        hold_text(world, f"Before. {kit.POISON}. After."),
        world.page("operator"),
    )
    for digest in ("", "0" * 64):
        reply = decide(page, case, decision="redact", span=["20-25"], seen=digest)
        assert reply.status_code == 409
        assert not kit.on_disk(world).exists()
    # The page comes back with the preview, and can be decided from there.
    html = reply.content.decode()
    assert REMAINDER in html
    decide(page, case, decision="redact", span=["20-25"], seen=preview_digest(html))
    assert HeldFile.objects.get().state == "redacted"


def test_the_page_of_a_case_shows_what_an_agent_would_read(world: World) -> None:
    kit.write(world, "What was there.\n")
    case = hold_text(world, f"Before. {kit.POISON}. After.")
    HeldFile.objects.filter(pk=case.pk).update(mode="append")
    page = world.page("operator")
    html = page.get(at(case)).content.decode()
    assert f'agent would read">What was there.\n{REMAINDER}</pre>' in html
    decide(page, case, decision="redact", seen=preview_digest(html))
    assert kit.on_disk(world).read_text() == f"What was there.\n{REMAINDER}"


def test_a_rest_that_is_not_clean_comes_back_with_its_reason(world: World) -> None:
    text = f"A fine line.\n{kit.POISON}.\n"
    case, page = hold_text(world, text), world.page("operator")
    html = page.get(at(case, "redaction/"), {"span": "0-5"}).content.decode()
    assert "The rest is held" in html
    form_data = {"decision": "redact", "span": ["0-5"], "seen": preview_digest(html)}
    reply = decide(page, case, **form_data)
    assert reply.status_code == 422
    assert "Nothing was released." in reply.content.decode()
    assert HeldFile.objects.get().state == "held"


@pytest.mark.parametrize("name", ["", "alike/"])
def test_no_decision_is_the_one_to_press(world: World, name: str) -> None:
    case = hold_text(world)
    hold_text(world, label="pins.md")
    html = world.page("operator").get(at(case, name)).content.decode()
    form = html[html.index('class="decision"') - 4_000 :]
    deciding = re.findall(r'<button[^>]*name="decision"[^>]*>', form)
    assert len(deciding) == 5
    assert not any("primary" in button or "checked" in button for button in deciding)
    # Enter in a field presses the first button of a form: that one is disabled, so that
    # no text is released by accident.
    first = re.search(r'<button type="submit"[^>]*>', form[form.index("csrf") :])
    assert first is not None
    assert first[0] == '<button type="submit" disabled hidden>'


def test_a_claim_shows_in_the_list(world: World) -> None:
    case, page = hold_text(world), world.page("operator")
    assert page.post(at(case, "claim/")).status_code == 302
    html = world.page("owner").get("/quarantine/").content.decode()
    assert "operator@acme.example works on it" in html
    assert world.page("owner").post(at(case, "claim/")).status_code == 409


def test_a_group_is_decided_once_and_reported_each(world: World) -> None:
    first, second = hold_text(world), hold_text(world, label="pins.md")
    page = world.page("operator")
    inbox = page.get("/quarantine/").content.decode()
    assert "Decide both at once" in inbox
    html = page.get(at(first, "alike/")).content.decode()
    assert f"{second.id}:1" in html
    ids = [f"{first.id}:1", f"{second.id}:1"]
    body = {"items": ids, "decision": "discard", "reason": REASON}
    report = page.post(at(first, "alike/"), body).content.decode()
    assert report.count("band green") == 2
    second_html = page.post(at(first, "alike/"), body).content.decode()
    assert second_html.count("not changed") == 2
    response = page.post(at(first, "alike/"), {"decision": "discard", "reason": REASON})
    assert response.status_code == 422


def test_a_group_decision_is_undone_for_exactly_the_unchanged(world: World) -> None:
    first, second = hold_text(world), hold_text(world, label="pins.md")
    page = world.page("operator")
    ids = [f"{first.id}:1", f"{second.id}:1"]
    body = {"items": ids, "decision": "discard", "reason": REASON}
    report = page.post(at(first, "alike/"), body).content.decode()
    assert "2 texts decided" in report
    assert f'name="items" value="{first.id}:2:"' in report
    page.post(at(second, "undo/"))
    again = page.post(at(second, "decision/"), body | {"version": 3})
    assert again.status_code == 302
    undo = {"items": [f"{first.id}:2", f"{second.id}:2"], "undo": "1"}
    report = page.post(at(first, "alike/"), undo).content.decode()
    assert "changed since you looked at it" in report
    states = dict(HeldFile.objects.values_list("pk", "state"))
    assert states == {first.id: "held", second.id: "discarded"}


def test_a_text_that_changed_since_it_was_ticked_is_not_decided(world: World) -> None:
    first, second = hold_text(world), hold_text(world, label="pins.md")
    HeldFile.objects.filter(pk=second.pk).update(version=2)
    ids = [f"{first.id}:1", f"{second.id}:1", "a/b:1"]
    body = {"items": ids, "decision": "discard", "reason": REASON}
    report = world.page("operator").post(at(first, "alike/"), body).content.decode()
    assert report.count("not changed") == 2
    states = dict(HeldFile.objects.values_list("pk", "state"))
    assert states == {first.id: "discarded", second.id: "held"}


def test_filters_are_kept_saved_and_forgotten(world: World) -> None:
    hold_text(world)
    page = world.page("operator")
    html = page.get("/quarantine/?state=held&source=tool").content.decode()
    assert "Save this view" in html
    page.post("/quarantine/filters/?state=held&source=tool", {"name": "Tools"})
    saved_filter = SavedView.objects.get()
    assert saved_filter.query == "state=held&source=tool"
    assert "Tools" in page.get("/quarantine/").content.decode()
    refusal = page.post("/quarantine/filters/", {"name": " "}, follow=True)
    assert "A name has between 1 and 60 characters." in refusal.content.decode()
    other = world.page("owner")
    assert (
        other.post(f"/quarantine/filters/{saved_filter.id}/forget/").status_code == 404
    )
    page.post(f"/quarantine/filters/{saved_filter.id}/forget/")
    assert not SavedView.objects.exists()
    none = page.get("/quarantine/?state=held&q=zzzz").content.decode()
    assert "Nothing matches the filter." in none


def test_htmx_gets_the_region_alone(world: World) -> None:
    case = hold_text(world)
    reply = world.page("operator").get(at(case), headers=HTMX)
    html = reply.content.decode()
    assert "<html" not in html
    assert 'id="review"' in html


def test_a_rescan_tells_what_it_did(world: World) -> None:
    kit.write(world, "Good text.")
    page = world.page("operator")
    assert "nothing new is held" in page.post("/quarantine/rescan/").content.decode()
    target = {"HX-Request": "true", "HX-Target": "rescan"}
    part = page.post("/quarantine/rescan/", headers=target).content.decode()
    assert "<html" not in part
    assert page.get("/quarantine/rescan/").status_code == 302


def test_the_rail_counts_for_those_who_may_see_it(world: World) -> None:
    hold_text(world)
    count = '<span class="count" id="waiting">1 held</span>'
    assert count in world.page("operator").get("/").content.decode()
    assert 'id="waiting"' not in world.page("viewer").get("/").content.decode()


# ── The rules page ───────────────────────────────────────────────────────────
def test_the_rules_page_says_what_fires_and_what_it_cannot_see(world: World) -> None:
    page = world.page("operator")
    html = page.get("/quarantine/rules/").content.decode()
    assert "What these rules cannot see" in html
    assert scanner.rules()[0].id in html
    result_html = page.post("/quarantine/rules/", {"text": kit.POISON, "source": "web"})
    assert "<strong" in result_html.content.decode()
    assert ">Held<" in result_html.content.decode()
    assert not HeldFile.objects.exists()
    empty = page.post("/quarantine/rules/", {"text": "", "source": "web"})
    assert empty.status_code == 422


def test_a_rule_is_switched_after_a_replay(world: World) -> None:
    hold_text(world)
    rule = scanner.scan(kit.POISON).findings[0].rule
    path, admin = f"/quarantine/rules/{rule}/", world.page("owner")
    preview = admin.get(path, {"mode": "off"}).content.decode()
    assert "Replayed on" in preview
    assert "Set to off" in preview
    assert (
        "Set to off"
        not in world.page("operator").get(path, {"mode": "off"}).content.decode()
    )
    assert world.page("operator").post(path, {"mode": "off"}).status_code == 403
    assert admin.post(path, {"mode": "off"}).status_code == 302
    assert "is set to off" in admin.get(path).content.decode()
    assert admin.post(path, {"mode": "x"}).status_code == 422
    assert admin.get("/quarantine/rules/no.rule/").status_code == 404
