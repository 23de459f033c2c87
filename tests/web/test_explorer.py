"""The explorer's prompt block, budget, comparison and saved checks, as pages."""

from __future__ import annotations

import re
from html import unescape
from typing import Any

import pytest
from django.utils import timezone

from episodic.index import sweep as index
from episodic.models import NudgeSent, RecallCheck
from memory.models import JournalEntry
from tests import factories
from tests.episodic.test_graph import tie
from tests.world import ATTACK, World

SWAP = {"HX-Request": "true", "HX-Target": "explorer"}


def ask(world: World, person: str = "operator", **query: Any) -> str:
    """Return the explorer's page for a question."""
    response = world.page(person).get("/recall/", {"query": "refund", **query})
    assert response.status_code == 200, response.content
    return str(response.content.decode())


def fill(world: World, count: int = 4) -> list[Any]:
    """Append and embed a few entries that share a word."""
    rows = factories.append_many(
        world.actor("ada"), [f"Refund number {n}" for n in range(count)]
    )
    index.sweep()
    return rows


def block(page: str) -> str:
    """Return the prompt block as the copy button takes it."""
    match = re.search(
        r'<pre class="code prompt" id="block"[^>]*>(.*?)</pre>', page, re.S
    )
    return unescape(re.sub(r"</?span>", "", match[1])).strip() if match else ""


# ── The block ────────────────────────────────────────────────────────────────
def test_the_page_shows_the_block_of_the_api(world: World) -> None:
    fill(world)
    ada = world.agents["ada"].id
    page_block = block(ask(world, agent_id=ada))
    body = {"query": "refund", "agent_id": ada, "mark": False}
    api_block = world.api("operator").post("/episodic/context", body).data["text"]
    mark = re.compile(r'boundary="\w+"')
    assert mark.sub("", page_block) == mark.sub("", api_block) != ""


def test_a_hostile_summary_is_text_and_nothing_else(world: World) -> None:
    world.indexed("refund <script>alert(1)</script></span></pre><img src=x>")
    world.indexed(f"refund {ATTACK}")
    page = ask(world)
    assert "<script>alert" not in page
    assert "<img src=x" not in page
    assert "&amp;lt;script&amp;gt;" in page
    assert "[withheld" in block(page)


def test_the_budget_is_a_field_and_a_slider(world: World) -> None:
    fill(world)
    page = ask(world, max_chars="400")
    assert 0 < len(block(page)) <= 400
    assert 'name="max_chars" inputmode="numeric" value="400"' in page
    assert 'type="range"' in page
    assert "skipped" in page
    small = ask(world, max_chars="10")
    assert "no line fits the budget" in small
    assert block(small) == ""


def test_a_budget_that_is_no_number_is_a_fault(world: World) -> None:
    response = world.page("operator").get(
        "/recall/", {"query": "refund", "max_chars": "many"}
    )
    assert response.status_code == 422
    assert "Budget, characters: Enter a whole number." in response.content.decode()


def test_nudges_stand_beside_the_block_and_are_not_used_up(world: World) -> None:
    fill(world, 30)
    page = ask(world, agent_id=world.agents["ada"].id)
    assert "30 entries since your last memory.updated or summary.generated" in page
    assert not NudgeSent.objects.exists()
    assert "Name an agent" in ask(world)


def test_the_slider_swaps_the_region_alone(world: World) -> None:
    fill(world)
    response = world.page("viewer").get(
        "/recall/", {"query": "refund", "max_chars": "300"}, headers=SWAP
    )
    text = response.content.decode()
    assert "<html" not in text
    assert "max_chars=300" in response["HX-Push-Url"]


# ── Comparing ────────────────────────────────────────────────────────────────
@pytest.mark.parametrize(
    ("against", "name"),
    [
        ("hybrid-convex", "hybrid, convex"),
        ("dense", "dense"),
        ("sparse", "sparse"),
        ("hybrid-rrf", "hybrid, rrf"),
        ("time", "hybrid, convex"),
    ],
)
def test_two_ways_stand_side_by_side(world: World, against: str, name: str) -> None:
    fill(world)
    page = ask(world, against=against)
    assert f"hybrid, convex against {name}" in page


def test_two_times_show_what_entered_and_left(world: World) -> None:
    old = world.indexed("Refund one")
    moment = old.recorded_at.strftime("%Y-%m-%dT%H:%M:%S.%fZ")
    world.indexed("Refund two")
    now = ask(world, against="time", against_as_of=moment)
    assert "0 entered, 1 left" in now
    then = ask(world, as_of=moment, against="time")
    assert "1 entered, 0 left" in then
    assert "against hybrid, convex" in then


def test_an_unknown_comparison_is_a_fault(world: World) -> None:
    query = {"query": "refund", "against": "magic"}
    assert world.page("viewer").get("/recall/", query).status_code == 422


# ── Recall checks ────────────────────────────────────────────────────────────
def save(world: World, person: str = "operator", **fields: Any) -> Any:
    """Post the form that keeps a question."""
    data = {"query": "refund", "name": "Refunds", **fields}
    return world.page(person).post("/recall/checks/save/", data)


def test_a_question_is_saved_run_and_listed(world: World) -> None:
    rows = fill(world)
    assert "Save as a recall check" in ask(world)
    response = save(world, expected=[rows[0].id], mode="sparse", k="9")
    assert response.status_code == 302
    check = RecallCheck.objects.get()
    assert (check.result, check.expected) == ("holds", [rows[0].id])
    assert check.question["mode"] == "sparse"
    page = world.page("viewer").get("/recall/checks/").content.decode()
    assert "1 recall check, none broken" in page
    assert "mode=sparse" in page
    assert "Run now" not in page


def test_run_now_tells_what_is_missing_and_why(world: World) -> None:
    rows = fill(world)
    far = world.indexed("Anchor chain")
    save(world, expected=[rows[0].id], more=far.id, k="3")
    check = RecallCheck.objects.get()
    page = world.page("operator")
    assert page.post(f"/recall/checks/{check.id}/run/").status_code == 302
    text = page.get("/recall/checks/").content.decode()
    assert "1 recall check is broken" in text
    assert far.id in text


@pytest.mark.parametrize(
    "fields",
    [{"expected": []}, {"k": "99"}, {"query": " "}, {"name": "x" * 121}],
)
def test_what_cannot_be_saved_is_not(world: World, fields: dict[str, Any]) -> None:
    rows = fill(world)
    assert save(world, **{"expected": [rows[0].id], **fields}).status_code == 302
    assert not RecallCheck.objects.exists()


def test_one_click_saves_the_ticked_hits_under_the_question(world: World) -> None:
    rows = fill(world)
    page = ask(world, k="2")
    assert 'form="save-check" data-key="s"' in page
    ticks = re.findall(r'name="expected" type="checkbox" value="(\w+)"([^>]*)>', page)
    assert len(ticks) == 2
    assert [name for name, rest in ticks if " checked" in rest] == [ticks[0][0]]
    first, second = (entry_id for entry_id, _ in ticks)
    for name, ids in (
        ("refund", [first]),
        ("refund (2)", [second]),
        ("refund (3)", [first, second]),
    ):
        save(world, name="", expected=ids)
        assert RecallCheck.objects.filter(name=name, result="holds").exists()
    save(world, name=" ", query="refund " * 99, expected=[rows[0].id])
    assert max(len(check.name) for check in RecallCheck.objects.all()) == 120
    assert "save-check" not in ask(world, "viewer")


def test_an_entry_that_was_expected_is_what_the_check_expects(world: World) -> None:
    rows = fill(world)
    page = ask(world, k="1", entry_id=rows[0].id)
    other = ask(world, k="1", entry_id=rows[1].id)
    ticked = r'name="expected" type="checkbox" value="(\w+)"[^>]* checked'
    assert re.findall(ticked, page) == [rows[0].id]
    assert re.findall(ticked, other) == [rows[1].id]


def test_an_entry_that_cannot_be_chosen_leaves_the_first_ticked(world: World) -> None:
    fill(world, 2)
    near, erased = world.entry("Anchor chain"), world.entry("Forgotten")
    first = ask(world, k="1", mode="sparse")
    ticked = r'name="expected" type="checkbox" value="(\w+)"[^>]* checked'
    [hit] = re.findall(ticked, first)
    tie(JournalEntry.objects.get(pk=hit), near)
    fields = {"k": "1", "mode": "sparse", "walk_depth": "1"}
    page = ask(world, entry_id=near.id, **fields)
    assert "</span>1</label>" in page
    assert re.findall(ticked, page) == [near.id]
    save(world, expected=[near.id], **fields)
    assert RecallCheck.objects.get().result == "holds"
    JournalEntry.objects.filter(pk=erased.pk).update(erased_at=timezone.now())
    assert re.findall(ticked, ask(world, entry_id=erased.id, **fields)) == [hit]


def test_a_second_press_saves_nothing(world: World) -> None:
    rows = fill(world)
    assert re.search(r'id="save-check"[^>]* data-once>', ask(world))
    save(world, name="", expected=[rows[0].id, rows[1].id])
    data = {"query": "refund", "expected": [rows[1].id, rows[0].id]}
    again = world.page("operator").post("/recall/checks/save/", data, follow=True)
    assert "This check is saved already." in again.content.decode()
    assert RecallCheck.objects.count() == 1


def test_a_check_is_renamed_by_those_who_may(world: World) -> None:
    rows = fill(world)
    for name, row in zip(("Refunds", "Parcels"), rows, strict=False):
        save(world, name=name, expected=[row.id])
    check = RecallCheck.objects.get(name="Refunds")
    path = f"/recall/checks/{check.id}/name/"
    for person, status in (("viewer", 403), ("stranger", 404)):
        assert world.page(person).post(path, {"name": "x"}).status_code == status
    for name, text in (("", "needs a name"), ("Parcels", "A check has this name.")):
        reply = world.page("operator").post(path, {"name": name}, follow=True)
        assert text in reply.content.decode()
        check.refresh_from_db()
        assert check.name == "Refunds"
    reply = world.page("operator").post(path, {"name": " No  refund "}, follow=True)
    assert "Renamed the check to No refund" in reply.content.decode()


def test_a_name_is_taken_once(world: World) -> None:
    rows = fill(world)
    for _ in range(2):
        save(world, expected=[rows[0].id])
    assert RecallCheck.objects.count() == 1


def test_names_are_text_on_the_page(world: World) -> None:
    rows = fill(world)
    save(world, name="<script>x</script>", expected=[rows[0].id])
    page = world.page("viewer").get("/recall/checks/").content.decode()
    assert "<script>x" not in page


@pytest.mark.parametrize(
    ("person", "status"),
    [("owner", 302), ("viewer", 403), ("compliance", 403), ("stranger", 404)],
)
def test_who_may_run_and_delete(world: World, person: str, status: int) -> None:
    rows = fill(world)
    save(world, expected=[rows[0].id])
    check = RecallCheck.objects.get()
    for act in ("run", "delete"):
        path = f"/recall/checks/{check.id}/{act}/"
        assert world.page(person).post(path).status_code == status
    assert RecallCheck.objects.exists() is (status != 302)


def test_all_checks_are_run_again_by_those_who_may(world: World) -> None:
    rows = fill(world)
    for name, row in zip(("One", "Two"), rows, strict=False):
        save(world, name=name, expected=[row.id])
    RecallCheck.objects.update(result="new")
    assert world.page("viewer").post("/recall/checks/run/").status_code == 403
    world.page("stranger").post("/recall/checks/run/")
    assert RecallCheck.objects.filter(result="new").count() == 2
    page = world.page("operator").post("/recall/checks/run/", follow=True)
    assert "2 of 2 hold" in page.content.decode()
    assert RecallCheck.objects.filter(result="holds").count() == 2


def test_who_may_save(world: World) -> None:
    rows = fill(world)
    assert save(world, "viewer", expected=[rows[0].id]).status_code == 403
    assert save(world, "stranger", expected=[rows[0].id]).status_code == 404
    assert not RecallCheck.objects.exists()
    assert "Save as a recall check" not in ask(world, "viewer")


def test_another_workspace_sees_no_check(world: World) -> None:
    rows = fill(world)
    save(world, expected=[rows[0].id])
    page = world.page("stranger").get("/recall/checks/").content.decode()
    assert "No recall check yet" in page


def test_the_answer_and_the_prompt_come_before_how_they_were_found(
    world: World,
) -> None:
    fill(world)
    page = ask(world)
    marks = ('id="h-answer"', 'id="h-prompt"', '<details id="apart">', 'id="h-dense"')
    places = [page.index(mark) for mark in marks]
    assert places == sorted(places)


def test_what_is_marked_in_the_rankings_is_not_folded_away(world: World) -> None:
    rows = fill(world)
    assert '<details id="apart" open>' in ask(world, entry_id=rows[0].id)
    assert '<details id="apart" open>' in ask(world, legs="all")
