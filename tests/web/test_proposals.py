"""Deciding about proposed rules: through the API, through the pages, at once."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from django.db import connections
from django.utils import timezone
from pytest_django import Settings

from episodic.consolidation import approval, proposals
from episodic.consolidation import run as consolidation
from episodic.index import sweep as index
from episodic.models import ConsolidationProposal, Embedding, MemoryRelation
from episodic.summarisers.base import Rule
from memory.files import commit, tools, versions, writer
from memory.files.paths import Owner
from memory.journal import append as journal
from memory.models import JournalEntry, MemoryVersion
from memory.rules import errors
from memory.rules.entries import NewEntry
from memory.rules.tiers import Place, Tier
from tests.world import ATTACK, World

PATTERN = "Refund without a receipt"


@pytest.fixture(autouse=True)
def _own_folder(tmp_path: Path, settings: Settings) -> None:
    """Keep learned files of one test from the next."""
    settings.DATA_DIR = tmp_path


def proposed(world: World, pattern: str = PATTERN) -> ConsolidationProposal:
    """Return a rule that waits, with two witnesses."""
    rows = [world.entry(f"Refund {n} denied: no receipt") for n in range(2)]
    evidence = tuple(row.id for row in rows)
    rule = Rule(pattern, "Ask for the bank line.", 0.8, evidence)
    return consolidation.propose(world.crews["support"], rule, "test")


def learned(world: World) -> str:
    """Return today's learned file of support."""
    place = Place(Tier.LEARNED, timezone.now().date().isoformat())
    return writer.current_text(Owner(world.crews["support"]), place)


def approve(world: World, proposal: ConsolidationProposal, **extra: Any) -> Any:
    body = {"version": proposal.version} | extra
    return world.api("operator").post(f"/proposals/{proposal.id}/approve", body)


# ── Approving ────────────────────────────────────────────────────────────────
def test_what_is_shown_is_what_is_written(world: World) -> None:
    for pattern in (PATTERN, "Colour of the toner"):
        proposal = proposed(world, pattern)
        change = proposals.change(proposal)
        assert approve(world, proposal).status == 200
        assert learned(world) == change.after
        proposal.refresh_from_db()
        assert proposal.content_hash == proposals.digest(proposal.text)
        assert proposal.text in learned(world)


def test_an_approval_leaves_its_traces(world: World) -> None:
    proposal = proposed(world)
    reply = approve(world, proposal).data
    assert reply["state"] == "approved"
    assert reply["decided_by"]
    version = MemoryVersion.objects.get(pk=reply["learned_version"])
    assert version.committed
    assert versions.read(version).decode() == learned(world)
    entry = JournalEntry.objects.get(entry_type="memory.consolidated")
    assert entry.refs["source_entry_ids"] == proposal.evidence
    edges = MemoryRelation.objects.filter(src=entry, relation="supports")
    assert set(edges.values_list("dst_id", flat=True)) == set(proposal.evidence)


def test_agents_of_the_crew_find_what_was_learned(world: World) -> None:
    approve(world, proposed(world))
    ada, bob = world.actor("ada"), world.actor("bob")
    arguments = {"q": "bank line", "tier": "learned"}
    hits = tools.call("memory.search", arguments, by=ada).metadata["hits"]
    assert hits[0]["source"].startswith("learned/")
    today = {"tier": "learned", "key": timezone.now().date().isoformat()}
    read = tools.call("memory.read", today, by=ada)
    assert PATTERN in read.content
    assert tools.call("memory.search", arguments, by=bob).metadata["hits"] == []
    write = {"tier": "learned", "content": "x", "mode": "append"}
    assert not tools.call("memory.write", write, by=ada).ok


def test_an_edited_rule_is_learned_as_edited(world: World) -> None:
    proposal = proposed(world)
    text = "## Refunds\r\n\r\nAlways ask first.\n\n\n"
    assert approve(world, proposal, text=text).data["was_edited"]
    assert learned(world) == "## Refunds\n\nAlways ask first.\n"
    proposal.refresh_from_db()
    assert proposal.content_hash == proposals.digest(proposal.text)


@pytest.mark.parametrize(
    ("text", "status", "code"),
    [
        (" \n", 422, "bad_text"),
        (ATTACK, 422, "held_text"),
        ("x" * 4_001, 422, None),
    ],
)
def test_a_text_that_cannot_be_learned(
    world: World, text: str, status: int, code: str | None
) -> None:
    proposal = proposed(world)
    reply = approve(world, proposal, text=text)
    assert reply.status == status
    assert code is None or reply.code == code
    proposal.refresh_from_db()
    assert proposal.is_pending
    assert learned(world) == ""


def test_a_failed_write_decides_nothing(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    proposal = proposed(world)

    def fail(name: str) -> None:
        if name == "rename":
            raise errors.Unavailable(reason="the disk")

    monkeypatch.setattr(commit, "step", fail)
    with pytest.raises(errors.Unavailable):
        approval.approve(proposal, version=1, by=world.actor("operator"))
    proposal.refresh_from_db()
    assert proposal.is_pending
    assert learned(world) == ""
    assert not JournalEntry.objects.filter(entry_type="memory.consolidated").exists()
    monkeypatch.undo()
    assert approve(world, proposal).status == 200
    assert learned(world).count(PATTERN) == 1


def test_evidence_that_is_gone_stops_an_approval(world: World) -> None:
    proposal = proposed(world)
    deleted = JournalEntry.objects.filter(pk=proposal.evidence[0])
    deleted.update(erased_at=timezone.now())
    assert approve(world, proposal).code == "evidence_gone"
    assert learned(world) == ""


def test_a_text_changed_in_the_table_is_not_learned(world: World) -> None:
    proposal = proposed(world)
    ConsolidationProposal.objects.update(text="## Something else\n")
    assert approve(world, proposal).code == "text_changed"


# ── Who is first ─────────────────────────────────────────────────────────────
def test_the_second_decision_is_told_who_was_first(world: World) -> None:
    proposal = proposed(world)
    assert approve(world, proposal, version=7).code == "stale_version"
    assert approve(world, proposal).status == 200
    second = approve(world, proposal)
    assert (second.status, second.code) == (409, "already_decided")
    assert "operator" in second.data["detail"]
    body = {"version": 2, "reason": "no"}
    late = world.api("owner").post(f"/proposals/{proposal.id}/reject", body)
    assert late.status == 409
    assert learned(world).count(PATTERN) == 1


def test_of_many_approvals_at_once_one_writes(shared_world: World) -> None:
    proposal = proposed(shared_world)
    by = shared_world.actor("operator")

    def go(_: int) -> bool:
        try:
            approval.approve(proposal, version=1, by=by)
        except errors.AppError:
            return False
        finally:
            connections.close_all()
        return True

    with ThreadPoolExecutor(4) as pool:
        assert sum(pool.map(go, range(4))) == 1
    assert learned(shared_world).count(PATTERN) == 1


def test_rejecting_needs_a_reason_and_keeps_it(world: World) -> None:
    proposal = proposed(world)
    path = f"/proposals/{proposal.id}/reject"
    blank = world.api("operator").post(path, {"version": 1, "reason": " "})
    assert blank.code == "reason_required"
    reply = world.api("operator").post(path, {"version": 1, "reason": "Too trivial"})
    assert reply.data["reason"] == "Too trivial"
    assert reply.data["state"] == "rejected"
    assert learned(world) == ""
    entry = JournalEntry.objects.get(entry_type="memory.consolidation_rejected")
    assert entry.payload["reason"] == "Too trivial"


# ── Reading ──────────────────────────────────────────────────────────────────
def test_the_list_has_pages_and_ends(world: World) -> None:
    words = ("Toner", "Parcel", "Camera")
    ids = [proposed(world, f"{word} is lost").id for word in words]
    api, listed_ids = world.api("viewer"), []
    query: dict[str, Any] = {"limit": 1, "state": "pending"}
    for _ in range(3):
        page = api.get("/proposals", query).data
        listed_ids += [item["id"] for item in page["items"]]
        query["cursor"] = page["next_cursor"]
    assert page["next_cursor"] is None
    assert listed_ids == ids[::-1]
    assert api.get("/proposals", {"state": "odd"}).status == 422
    assert world.api("stranger").get("/proposals").data["items"] == []


def test_one_proposal_tells_everything(world: World) -> None:
    proposal = proposed(world)
    when = timezone.now()
    for entry_id in proposal.evidence:
        Embedding.objects.create(
            entry_id=entry_id,
            workspace=world.acme,
            reference_count=4,
            last_referenced_at=when,
        )
    data = world.api("viewer").get(f"/proposals/{proposal.id}").data
    assert data["diff"][-1]["kind"] == "added"
    assert [row["id"] for row in data["entries"]] == proposal.evidence
    assert (data["recalls"], data["queries"]) == (4, 1)
    assert data["signals"]["frequency"] > 0
    assert world.api("stranger").get(f"/proposals/{proposal.id}").status == 404


# ── Pages ────────────────────────────────────────────────────────────────────
def form_of(proposal: ConsolidationProposal) -> dict[str, Any]:
    """Return what the form on a proposal's page sends."""
    return {
        "version": proposal.version,
        "text": proposal.text.replace("\n", "\r\n"),
        "seen_text": proposal.content_hash,
        "seen_evidence": proposal.evidence,
    }


def at(proposal: ConsolidationProposal, rest: str = "") -> str:
    return f"/proposals/{proposal.id}/{rest}"


def test_the_pages_show_and_decide(world: World) -> None:
    proposal, page = proposed(world), world.page("operator")
    text = page.get("/proposals/").content.decode()
    assert "1 proposed rule waits for a decision" in text
    detail = page.get(at(proposal)).content.decode()
    assert f"+ ## {PATTERN}" in detail
    assert proposal.evidence[0] in detail
    reply = page.post(at(proposal, "approve/"), form_of(proposal), follow=True)
    text = reply.content.decode()
    assert "Learned, in" in text
    assert "No proposed rule waits" in text
    assert (
        f"/proposals/{proposal.id}/"
        in page.get("/proposals/?state=approved").content.decode()
    )
    assert page.get("/proposals/?state=odd").status_code == 422


def test_a_conflict_is_shown_with_who_decided(world: World) -> None:
    proposal = proposed(world)
    preset = "Only one incident, told twice"
    reject = {"version": 1, "preset": preset, "reason": "see j"}
    world.page("owner").post(at(proposal, "reject/"), reject)
    reply = world.page("operator").post(at(proposal, "approve/"), {"version": 1})
    assert reply.status_code == 409
    text = reply.content.decode()
    assert "Your decision was not carried out" in text
    assert "owner@acme.example" in text
    assert "Only one incident, told twice: see j" in text
    late = world.page("operator").post(at(proposal, "reject/"), {"version": "x"})
    assert late.status_code == 422


@pytest.mark.parametrize(("person", "status"), [("viewer", 403), ("stranger", 404)])
def test_who_may_not_decide(world: World, person: str, status: int) -> None:
    proposal, page = proposed(world), world.page(person)
    for act in ("approve/", "reject/"):
        body = {"version": 1, "reason": "x"}
        assert page.post(at(proposal, act), body).status_code == status
    assert page.get(at(proposal)).status_code == (200 if person == "viewer" else 404)
    if person == "viewer":
        assert "formaction=" not in page.get(at(proposal)).content.decode()
        assert page.post("/proposals/run/").status_code == 403


def test_a_run_from_the_page_tells_what_it_did(world: World) -> None:
    for n in range(10):
        world.entry(f"Refund {n} refused without receipt")
    page = world.page("operator")
    text = page.post("/proposals/run/", follow=True).content.decode()
    assert "support: 10 entries, 1 proposed" in text
    assert "billing: 0 new of the 10 entries it takes; they wait" in text


def test_hostile_rules_are_shown_as_text(world: World) -> None:
    evil = "<script>alert(1)</script> <img src=x onerror=alert(1)>"
    proposal = proposed(world, evil)
    page = world.page("operator")
    for path in ("/proposals/", at(proposal)):
        text = page.get(path).content.decode()
        assert "<script>alert" not in text
        assert "<img src=x" not in text


@pytest.mark.parametrize("mode", ["hybrid", "dense", "sparse"])
def test_recall_of_every_agent_of_the_crew_reaches_an_approved_rule(
    world: World, mode: str
) -> None:
    approve(world, proposed(world))
    rule = JournalEntry.objects.get(entry_type="memory.consolidated")
    world.entry("Learned: refund without a receipt", by="lena")
    no_rule = NewEntry(
        entry_type="memory.consolidated",
        summary=f"No rule found beside {PATTERN}",
        payload={"rules_count": 0},
        crew_id=world.crews["support"].id,
    )
    run = journal.append(no_rule, by=world.system())
    index.sweep()
    body = {"query": f"Learned: {PATTERN}", "scope": "own", "mode": mode}

    def reached(person: str) -> set[str]:
        reply = world.api(person).post("/episodic/recall", body)
        return {hit["entry_id"] for hit in reply.data["hits"]}

    assert rule.id in reached("ada")
    assert run.id not in reached("ada")
    assert rule.id in reached("lena")
    assert rule.id not in reached("bob")
    assert rule.id not in reached("olga")
    crew_only = JournalEntry.objects.filter(agent_id=world.agents["lena"].id)
    assert not reached("ada") & set(crew_only.values_list("id", flat=True))
    hits = world.api("ada").post("/memory/search/hybrid", {"query": PATTERN})
    assert rule.id in {hit.get("entry_id") for hit in hits.data["hits"]}
