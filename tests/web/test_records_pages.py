"""The records' pages: permissions, filters, edit, supersede, forget."""

from __future__ import annotations

import re
from typing import Any

import pytest

from memory import records
from memory.models import JournalEntry, Record
from memory.records import Provenance
from memory.records.drafts import Draft
from tests.world import ATTACK, World


@pytest.fixture
def row(world: World) -> Record:
    return world.record("Refunds end at $200, <b>always</b>.")


def text(answer: Any) -> str:
    return re.sub(r"\s+", " ", answer.content.decode())


def edit(world: World, row: Record, user: str = "operator", **fields: Any) -> Any:
    body = {
        "content": "Refunds end at $300.",
        "kind": row.kind,
        "confidence": "0.5",
        "expires_at": "",
        "reason": "new rule",
        "version": str(row.version),
        **fields,
    }
    return world.page(user).post(f"/records/{row.id}/edit/", body)


@pytest.mark.parametrize("user", ["owner", "operator", "compliance", "viewer"])
def test_everybody_reads_and_operators_change(
    world: World, row: Record, user: str
) -> None:
    page = world.page(user)
    listing = text(page.get("/records/"))
    assert "Refunds end at $200, &lt;b&gt;always&lt;/b&gt;." in listing
    detail = text(page.get(f"/records/{row.id}/"))
    may = user in ("owner", "operator")
    assert ("Forget this record" in detail) is may
    assert ("Edit the statement" in detail) is may
    assert edit(world, row, user).status_code == (302 if may else 403)


def test_the_history_shows_what_changed(world: World, row: Record) -> None:
    detail = text(world.page("viewer").get(f"/records/{row.id}/"))
    assert "<del>$100.</del>" in detail
    assert "<ins>$200, &lt;b&gt;always&lt;/b&gt;.</ins>" in detail
    assert "jan@example.com" in detail
    assert f"/journal/{row.current_entry_id}/" in detail


def test_a_stranger_finds_nothing(world: World, row: Record) -> None:
    page = world.page("stranger")
    assert page.get(f"/records/{row.id}/").status_code == 404
    assert "No record" not in text(page.get("/records/"))
    assert "Nothing is remembered" in text(page.get("/records/"))
    for act in ("edit", "supersede", "forget"):
        assert page.post(f"/records/{row.id}/{act}/", {}).status_code == 404
    assert world.page("nobody").get("/records/").status_code == 302


@pytest.mark.parametrize(
    ("query", "is_listed"),
    [
        ("q=refunds", True),
        ("q=zeppelin", False),
        ("user=u1", True),
        ("user=u2", False),
        ("type=statement", True),
        ("state=superseded", False),
        ("state=all", True),
        ("provenance=operator_curated", False),
        ("external_id=refund-limit", True),
    ],
)
def test_the_filters(world: World, row: Record, query: str, is_listed: bool) -> None:
    page = text(world.page("viewer").get(f"/records/?{query}"))
    assert (f"/records/{row.id}/" in page) is is_listed
    assert ("No record matches" in page) is not is_listed


@pytest.mark.parametrize(
    "query", ["type=nothing", "agent_id=agent_0", f"q={'x' * 600}"]
)
def test_a_filter_at_fault_is_told(world: World, row: Record, query: str) -> None:
    answer = world.page("viewer").get(f"/records/?{query}")
    assert answer.status_code == 422
    assert "A filter is invalid" in text(answer)


def test_an_edit_is_the_next_version_by_a_person(world: World, row: Record) -> None:
    assert edit(world, row).status_code == 302
    row.refresh_from_db()
    assert (row.content, row.version, row.confidence) == (
        "Refunds end at $300.",
        3,
        0.5,
    )
    assert row.provenance == Provenance.OPERATOR_CURATED
    detail = text(world.page("viewer").get(f"/records/{row.id}/"))
    assert "operator@acme.example" in detail
    assert "Why: <bdi>new rule</bdi>" in detail


def test_a_stale_edit_keeps_what_was_typed(world: World, row: Record) -> None:
    answer = edit(world, row, version="1", content="My words.")
    assert answer.status_code == 409
    assert "My words." in text(answer)
    row.refresh_from_db()
    assert row.version == 2


@pytest.mark.parametrize(
    "fields",
    [{"content": ""}, {"confidence": "2"}, {"expires_at": "soon"}, {"kind": ""},
     {"version": "x"}],
)  # fmt: skip
def test_a_bad_edit_is_told_beside_its_field(
    world: World, row: Record, fields: dict[str, str]
) -> None:
    answer = edit(world, row, **fields)
    assert answer.status_code == 422
    row.refresh_from_db()
    assert row.version == 2


def test_a_held_edit_names_its_case(world: World, row: Record) -> None:
    answer = edit(world, row, content=ATTACK)
    assert answer.status_code == 409
    assert "waits for review" in text(answer)


def test_a_successor_takes_the_place(world: World, row: Record) -> None:
    body = {"content": "No refunds.", "reason": "law"}
    answer = world.page("operator").post(f"/records/{row.id}/supersede/", body)
    assert answer.status_code == 302
    old = text(world.page("viewer").get(f"/records/{row.id}/"))
    assert "Replaced by" in old
    new = text(world.page("viewer").get(answer["Location"]))
    assert "Supersedes" in new
    assert "No refunds." in text(world.page("viewer").get("/records/"))
    response = world.page("operator").post(f"/records/{row.id}/supersede/", body)
    assert response.status_code == 409


def test_forgetting_needs_a_reason_and_leaves_no_words(
    world: World, row: Record
) -> None:
    path = f"/records/{row.id}/forget/"
    operator = world.page("operator")
    assert operator.post(path, {"reason": " "}).status_code == 422
    assert operator.post(path, {"reason": "asked for"}).status_code == 302
    detail = text(world.page("viewer").get(f"/records/{row.id}/"))
    assert "Refunds end" not in detail
    assert "A forgotten record" in detail
    assert "asked for" in detail
    listing = text(world.page("viewer").get("/records/?state=forgotten"))
    assert row.id in listing
    assert not JournalEntry.objects.filter(summary__contains="Refunds end").exists()


def test_a_long_list_has_pages(world: World) -> None:
    ada = world.actor("ada")
    for number in range(45):
        draft = Draft(content=f"Statement {number}.", owner=records.owner_for(ada))
        records.insert(draft, provenance="agent_extracted", by=ada)
    page = world.page("viewer")
    first = text(page.get("/records/"))
    assert "45 records" in first
    [href] = re.findall(r'href="([^"]*cursor=[^"]*)" rel="next"', first)
    second = text(page.get("/records/" + href.replace("&amp;", "&")))
    assert "5 records on this page" in second
    assert 'rel="next"' not in second
