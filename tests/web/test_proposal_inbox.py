"""The inbox of proposed rules: what was read is learned; many at once; undo."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
import time_machine
from django.utils import timezone
from pytest_django import DjangoAssertNumQueries, Settings

from episodic.consolidation import approval, bulk, proposals, undo
from episodic.consolidation.approval import Seen
from episodic.models import ConsolidationProposal
from memory.models import JournalEntry
from memory.rules import errors
from memory.rules.bulk import Pick
from tests.web.test_proposals import at, form_of, learned, proposed
from tests.world import ATTACK, World

HTMX = {"HX-Request": "true", "HX-Target": "review"}
REASON = "Too trivial"


@pytest.fixture(autouse=True)
def _own_folder(tmp_path: Path, settings: Settings) -> None:
    """Keep learned files of one test from the next."""
    settings.DATA_DIR = tmp_path


def reject(world: World, proposal: ConsolidationProposal) -> ConsolidationProposal:
    by = world.actor("operator")
    return approval.reject(proposal, version=proposal.version, reason=REASON, by=by)


def picks(*rows: ConsolidationProposal) -> dict[str, Any]:
    """Return what the ticks of rows send."""
    return {"items": [f"{row.id}:{row.version}" for row in rows], "preset": REASON}


# ── What was read is learned ─────────────────────────────────────────────────
def test_the_text_of_the_field_is_learned(world: World) -> None:
    plain, edited = proposed(world), proposed(world, "Toner is out")
    page = world.page("operator")
    page.post(at(plain, "approve/"), form_of(plain))
    page.post(at(edited, "approve/"), form_of(edited) | {"text": "## Other\r\n"})
    assert learned(world) == f"{plain.text}\n## Other\n"
    plain.refresh_from_db()
    edited.refresh_from_db()
    assert (plain.was_edited, edited.was_edited) == (False, True)


def test_a_text_that_changed_since_it_was_read_is_shown(world: World) -> None:
    proposal, page = proposed(world), world.page("operator")
    form = form_of(proposal)
    text = proposal.text.replace("Ask for", "Never ask for")
    proposal.text, proposal.content_hash = text, proposals.digest(text)
    proposal.save()
    reply = page.post(at(proposal, "approve/"), form)
    html = reply.content.decode()
    assert reply.status_code == 409
    assert "<del>− Ask for the bank line.</del>" in html
    assert "<ins>+ Never ask for the bank line.</ins>" in html
    assert learned(world) == ""


def test_evidence_that_changed_since_it_was_read_is_shown(world: World) -> None:
    proposal, page = proposed(world), world.page("operator")
    third = world.entry("Refund 3 denied: no receipt")
    proposal.evidence.append(third.id)
    proposal.save()
    form = form_of(proposal)
    JournalEntry.objects.filter(pk=third.pk).update(erased_at=timezone.now())
    reply = page.post(at(proposal, "approve/"), form)
    assert reply.status_code == 409
    assert f"No longer there: {third.id}." in reply.content.decode()
    assert learned(world) == ""
    form["seen_evidence"] = proposal.evidence[:2]
    assert page.post(at(proposal, "approve/"), form).status_code == 302


def test_a_page_that_says_nothing_of_what_was_read_learns_nothing(
    world: World,
) -> None:
    proposal = proposed(world)
    body = {"version": 1, "text": proposal.text}
    reply = world.page("operator").post(at(proposal, "approve/"), body)
    assert reply.status_code == 409
    assert learned(world) == ""


def test_the_service_compares_the_digest(world: World) -> None:
    proposal, by = proposed(world), world.actor("operator")
    seen = Seen("0" * 64, tuple(proposal.evidence))
    with pytest.raises(approval.NotSeen):
        approval.approve(proposal, version=1, by=by, seen=seen)
    proposal.refresh_from_db()
    assert proposal.is_pending
    seen = Seen(proposal.content_hash, tuple(proposal.evidence))
    assert not approval.approve(proposal, version=1, by=by, seen=seen).is_pending


def test_a_proposal_that_is_too_long_is_not_learned_unedited(world: World) -> None:
    text = f"## Long\n\n{'x' * approval.TEXT_CHARS}\n"
    proposal, page = proposed(world), world.page("operator")
    proposal.text, proposal.content_hash = text, proposals.digest(text)
    proposal.save()
    with pytest.raises(errors.TooLarge):
        approval.approve(proposal, version=1, by=world.actor("operator"))
    assert "longer than 4,000 characters" in page.get(at(proposal)).content.decode()
    assert page.post(at(proposal, "approve/"), form_of(proposal)).status_code == 413


def test_a_text_that_the_scanner_holds_says_so(world: World) -> None:
    proposal, page = proposed(world), world.page("operator")
    form = form_of(proposal) | {"text": ATTACK}
    reply = page.post(at(proposal, "approve/"), form)
    assert reply.status_code == 422
    html = reply.content.decode()
    assert "The scanner would hold this text" in html
    assert "would hold the proposed text" not in html
    proposal.text, proposal.content_hash = ATTACK, proposals.digest(ATTACK)
    proposal.save()
    assert "would hold the proposed text" in page.get(at(proposal)).content.decode()


# ── The list ─────────────────────────────────────────────────────────────────
def test_a_decision_opens_the_next(world: World) -> None:
    last, middle, first = (proposed(world, f"{w} is lost") for w in ("A1", "B2", "C3"))
    page = world.page("operator")
    reply = page.post(at(first, "approve/"), form_of(first))
    assert at(middle) in reply["Location"]
    reply = page.post(at(middle, "reject/"), form_of(middle) | {"reason": REASON})
    assert at(last) in reply["Location"]
    html = page.get(reply["Location"]).content.decode()
    assert "Rejected; it is not proposed again" in html
    assert at(middle, "undo/") in html


def test_the_list_is_filtered(world: World) -> None:
    toner, parcel = proposed(world, "Toner is out"), proposed(world, "Parcel is lost")
    page = world.page("viewer")

    def listed(query: str) -> set[str]:
        html = page.get(f"/proposals/?{query}").content.decode()
        return {row.id for row in (toner, parcel) if f"{at(row)}?" in html}

    assert listed("") == {toner.id, parcel.id}
    assert listed("q=toner") == {toner.id}
    assert listed(f"crew={world.crews['billing'].id}") == set()
    assert listed(f"crew={world.crews['support'].id}") == {toner.id, parcel.id}
    assert listed("agent=ada") == {toner.id, parcel.id}
    for other in ("lena", "bob", "olga", "nobody", "%00"):
        everything = {toner.id, parcel.id} if other == "%00" else set()
        assert listed(f"agent={other}") == everything
    long_ago = timezone.now() - timedelta(days=8)
    ConsolidationProposal.objects.filter(pk=toner.pk).update(created_at=long_ago)
    assert listed("age=week") == {parcel.id}
    assert listed("age=older&agent=ada") == {toner.id}
    assert page.get("/proposals/?age=century").status_code == 422
    reject(world, parcel)
    assert listed("state=rejected") == {parcel.id}
    assert listed("q=%25%00") == set()


def test_a_title_is_the_first_clause(world: World) -> None:
    proposal = proposed(world, "Toner is out; order two. Never one.")
    assert proposal.title == "Toner is out"
    assert len(proposed(world, "word " * 80).title) <= 120


def test_a_long_list_costs_no_query_per_row(
    world: World, django_assert_max_num_queries: DjangoAssertNumQueries
) -> None:
    for n in range(12):
        proposed(world, f"Case {n}{n} of kind {n * 7}")
    page = world.page("operator")
    with django_assert_max_num_queries(30):
        page.get("/proposals/")


def test_htmx_gets_the_region(world: World) -> None:
    proposal = proposed(world)
    html = world.page("viewer").get(at(proposal), headers=HTMX).content.decode()
    assert "<html" not in html
    assert 'id="review"' in html


# ── Undo ─────────────────────────────────────────────────────────────────────
def test_a_rejection_is_undone(world: World) -> None:
    proposal, page = reject(world, proposed(world)), world.page("operator")
    reply = page.post(at(proposal, "undo/"), {"version": 2}, follow=True)
    assert "Waits again" in reply.content.decode()
    proposal.refresh_from_db()
    assert (proposal.is_pending, proposal.version) == (True, 3)
    assert (proposal.decided_by, proposal.reason) == ("", "")
    entry = JournalEntry.objects.get(entry_type="memory.consolidation_undone")
    assert entry.payload["undone_by"] == "operator@acme.example"
    assert page.post(at(proposal, "undo/"), {"version": 2}).status_code == 409
    assert page.post(at(proposal, "approve/"), form_of(proposal)).status_code == 302


def test_a_rejection_of_long_ago_stays(world: World) -> None:
    proposal = reject(world, proposed(world))
    with time_machine.travel(timezone.now() + timedelta(days=31)):
        assert not proposal.is_undoable
        with pytest.raises(errors.Conflict):
            undo.undo_rejection(proposal, version=2, by=world.actor("operator"))


# ── Many ─────────────────────────────────────────────────────────────────────
def test_many_are_rejected_and_exactly_those_come_back(world: World) -> None:
    rows = [proposed(world, f"{word} is lost") for word in ("Toner", "Parcel", "Key")]
    page = world.page("operator")
    reject(world, rows[2])
    html = page.post("/proposals/many/", picks(*rows)).content.decode()
    assert "2 proposals rejected" in html
    assert html.count("not changed") == 1
    assert f'value="{rows[0].id}:2:"' in html
    assert page.post("/proposals/many/", picks(*rows)).content.decode().count(
        "not changed"
    ) == len(rows)
    body = {"items": [f"{row.id}:2" for row in rows[:2]], "undo": "1"}
    html = page.post("/proposals/many/", body).content.decode()
    assert "2 proposals wait again" in html
    states = ConsolidationProposal.objects.values_list("pk", "state")
    assert dict(states) == {
        rows[0].id: "pending",
        rows[1].id: "pending",
        rows[2].id: "rejected",
    }


@pytest.mark.parametrize("body", [{"preset": REASON}, {"items": ["x:1"]}])
def test_a_bulk_without_ticks_or_reason_says_so(
    world: World, body: dict[str, object]
) -> None:
    proposed(world)
    reply = world.page("operator").post("/proposals/many/", body)
    assert reply.status_code == 422
    assert 'role="alert"' in reply.content.decode()


def test_what_another_workspace_owns_is_not_found(world: World) -> None:
    proposal = proposed(world)
    picked = [Pick(proposal.id, "1")]
    results = bulk.reject(world.actor("stranger"), picked, reason=REASON)
    assert [(item.ok, item.title) for item in results] == [(False, "")]
    reply = world.page("viewer").post("/proposals/many/", picks(proposal))
    assert reply.status_code == 403
    proposal.refresh_from_db()
    assert proposal.is_pending


@pytest.mark.parametrize(("person", "status"), [("viewer", 403), ("stranger", 404)])
def test_who_may_not_undo(world: World, person: str, status: int) -> None:
    proposal, page = reject(world, proposed(world)), world.page(person)
    assert page.post(at(proposal, "undo/"), {"version": 2}).status_code == status
