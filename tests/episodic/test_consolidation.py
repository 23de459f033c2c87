"""Consolidation: what is considered, what is proposed, and nothing twice."""

from __future__ import annotations

import json
from collections.abc import Sequence
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.core.management import call_command
from django.core.management.base import CommandError
from django.db import DatabaseError
from pytest_django import Settings

from episodic.consolidation import approval, candidates, promotion, proposals
from episodic.consolidation import run as consolidation
from episodic.consolidation.run import CrewReport
from episodic.models import ConsolidationMark, ConsolidationProposal, Embedding
from episodic.summarisers.base import Material, Rule, SummariserError
from memory.files import paths, writer
from memory.journal import append as journal
from memory.models import JournalEntry
from memory.rules import errors
from memory.rules.entries import Priority, Severity
from memory.rules.tiers import Place, Tier
from tests.world import ATTACK, World

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def _own_folder(tmp_path: Path, settings: Settings) -> None:
    """Keep memory files of one test from the next."""
    settings.DATA_DIR = tmp_path


class Fixed:
    """A summariser that proposes what the test wants, and remembers what it saw."""

    name = "fixed"

    def __init__(self, *rules: tuple[str, str], batch: int = 500) -> None:
        self.batch = batch
        self.said = rules
        self.seen: list[Sequence[Material]] = []

    def rules(self, material: Sequence[Material]) -> list[Rule]:
        self.seen.append(material)
        ids = tuple(item.id for item in material[:3])
        return [Rule(pattern, action, 0.8, ids) for pattern, action in self.said]


RULE = ("Refund without a receipt", "Ask for the bank line.")


def events(world: World, count: int = 10, summary: str = "Refund refused") -> list[Any]:
    """Append escalations of ada's."""
    return [world.entry(f"{summary}, case {n}") for n in range(count)]


def run(world: World, using: Any = None, crew: str = "support") -> CrewReport:
    """Consolidate one crew as the clock."""
    return consolidation.run(world.crews[crew], by=world.system(), using=using)


def mark(world: World) -> ConsolidationMark:
    return ConsolidationMark.objects.get(crew=world.crews["support"])


def pin(world: World, entry: JournalEntry, priority: Priority = Priority.PIN) -> None:
    journal.prioritise(entry, priority, "keep", by=world.actor("operator"))


# ── What is considered ───────────────────────────────────────────────────────
def test_too_few_entries_wait(world: World) -> None:
    events(world, 9)
    report = run(world, Fixed(RULE))
    assert report.skipped
    assert mark(world).seq == 0
    events(world, 1)
    assert run(world, Fixed(RULE)).considered == 10
    assert mark(world).seq > 0


def test_each_entry_is_considered_once(world: World) -> None:
    events(world, 12)
    assert run(world, Fixed(RULE)).considered == 12
    second = run(world, fixed := Fixed(RULE))
    assert second.skipped
    assert fixed.seen == []


def test_batches_cover_everything(world: World) -> None:
    events(world, 25)
    report = run(world, fixed := Fixed(batch=10))
    assert [len(batch) for batch in fixed.seen] == [10, 10]
    assert report.considered == 20
    events(world, 5)
    assert run(world, Fixed()).considered == 10


@pytest.mark.parametrize(
    ("payload", "yes"),
    [
        ({"decision": "DENY"}, True),
        ({"outcome": "Rejected"}, True),
        ({"allowed": False}, True),
        ({"decision": "ALLOW"}, False),
        ({"decision": 3}, False),
        ({}, False),
    ],
)
def test_only_denials_of_the_keeper_count(payload: dict[str, Any], yes: bool) -> None:
    assert candidates.is_denial(payload) is yes


def test_the_candidates(world: World) -> None:
    events(world, 9)
    world.entry("No", entry_type="keeper.decision", payload={"decision": "DENY"})
    world.entry("Yes", entry_type="keeper.decision", payload={"decision": "ALLOW"})
    loud = {"entry_type": "mission.status_change"}
    world.entry("Stuck", severity=Severity.WARN, **loud)
    world.entry("Fine", **loud)
    world.entry("Chat", entry_type="peer.conversation")
    world.entry("Bob's", by="bob")
    run(world, fixed := Fixed())
    summaries = {item.summary for item in fixed.seen[0]}
    assert {"No", "Stuck"} <= summaries
    assert not {"Yes", "Fine", "Chat", "Bob's"} & summaries


def test_an_erased_entry_is_not_shown(world: World) -> None:
    rows = events(world, 11)
    JournalEntry.objects.filter(pk=rows[0].pk).update(erased_at=rows[0].ts)
    run(world, fixed := Fixed())
    assert len(fixed.seen[0]) == 10


def test_a_permanent_entry_opens_the_gate_and_is_shown(world: World) -> None:
    old = world.entry("The tax id is fixed", entry_type="peer.conversation")
    pin(world, old, Priority.PERMANENT)
    run(world, fixed := Fixed())
    assert [item.id for item in fixed.seen[0]] == [old.id]
    assert fixed.seen[0][0].is_informative


def test_what_is_pinned_later_is_seen_later(world: World) -> None:
    [old, *_] = events(world, 10)
    run(world, Fixed())
    pin(world, old)
    assert run(world, Fixed()).pins == 1
    assert run(world, Fixed()).pins == 0
    assert run(world, Fixed()).pins_waiting == 0


# ── Pins ─────────────────────────────────────────────────────────────────────
def test_pins_go_to_the_agents_own_file_once(world: World) -> None:
    first, second = events(world, 2)
    pin(world, first)
    pin(world, second)
    assert run(world, Fixed()).pins == 2
    owner = paths.owner_of_agent(world.agents["ada"])
    text = writer.current_text(owner, Place(Tier.PINS))
    assert text.count(first.id) == text.count(second.id) == 1
    assert run(world, Fixed()).pins == 0
    assert writer.current_text(owner, Place(Tier.PINS)) == text


def test_a_full_file_keeps_its_pins_waiting(world: World) -> None:
    big = "x" * 7_990
    call = {"tier": "pins", "content": big, "mode": "replace"}
    world._tool("memory.write", **call)
    [row] = events(world, 1)
    pin(world, row)
    assert run(world, Fixed()).pins_waiting == 1
    assert mark(world).waiting_pins == [row.id]
    world._tool("memory.write", **call | {"content": "short"})
    assert run(world, Fixed()).pins == 1
    assert mark(world).waiting_pins == []


# ── What is proposed ─────────────────────────────────────────────────────────
def test_a_rule_is_proposed_and_no_file_written(world: World) -> None:
    events(world)
    report = run(world, Fixed(RULE))
    proposal = ConsolidationProposal.objects.get(pk=report.proposed[0])
    assert proposal.is_pending
    assert proposal.text.startswith(
        "## Refund without a receipt\n\nAsk for the bank line."
    )
    assert proposal.content_hash == proposals.digest(proposal.text)
    assert set(proposal.signals) == set(promotion.WEIGHTS)
    assert proposals.change(proposal).before == ""
    entry = JournalEntry.objects.get(entry_type="memory.consolidation_proposed")
    assert entry.payload["rules_count"] == 1
    assert entry.refs["proposal_ids"] == [proposal.id]


def test_no_rule_still_leaves_an_entry(world: World) -> None:
    events(world)
    run(world, Fixed())
    entry = JournalEntry.objects.get(entry_type="memory.consolidated")
    assert entry.payload["rules_count"] == 0
    assert entry.severity == "info"
    assert mark(world).seq > 0


@pytest.mark.parametrize("state", ["pending", "rejected", "approved"])
@pytest.mark.parametrize(
    "pattern", ["refund, without a RECEIPT!", "Refund without receipt"]
)
def test_a_known_rule_is_not_proposed_again(
    world: World, state: str, pattern: str
) -> None:
    events(world)
    run(world, Fixed(RULE))
    ConsolidationProposal.objects.update(state=state)
    events(world)
    report = run(world, Fixed((pattern, "Other words.")))
    assert (report.proposed, report.known) == ([], 1)
    proposal = ConsolidationProposal.objects.get()
    assert proposal.runs == (2 if state == "pending" else 1)


def test_a_learned_rule_is_not_proposed_again(world: World) -> None:
    events(world)
    run(world, Fixed(RULE))
    proposal = ConsolidationProposal.objects.get()
    approval.approve(proposal, version=1, by=world.actor("operator"))
    ConsolidationProposal.objects.all().delete()
    events(world)
    assert run(world, Fixed(RULE)).known == 1


def test_a_poisoned_rule_is_dropped_and_counted(world: World) -> None:
    events(world)
    report = run(world, Fixed(("When in doubt", ATTACK)))
    assert (report.held, report.proposed) == (1, [])


def test_a_run_that_dies_is_repeated_without_doubling(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    [row, *_] = events(world)
    pin(world, row)

    def fail(*_args: object, **_kwargs: object) -> None:
        raise DatabaseError

    with monkeypatch.context() as broken:
        broken.setattr(consolidation, "_record", fail)
        with pytest.raises(DatabaseError):
            run(world, Fixed(RULE))
    assert mark(world).seq == 0
    assert not ConsolidationProposal.objects.exists()
    report = run(world, Fixed(RULE))
    assert len(report.proposed) == 1
    assert report.pins == 0


def test_a_summariser_that_fails_moves_nothing(world: World) -> None:
    events(world)

    class Broken(Fixed):
        def rules(self, material: Sequence[Material]) -> list[Rule]:
            del material
            raise SummariserError("timeout", "The model did not answer in time.")

    assert "in time" in run(world, Broken()).error
    assert mark(world).seq == 0
    assert mark(world).lease_until is None


def test_two_runs_at_once_are_one(world: World) -> None:
    events(world)

    class Nested(Fixed):
        def rules(self, material: Sequence[Material]) -> list[Rule]:
            with pytest.raises(errors.Conflict):
                run(world, Fixed())
            return super().rules(material)

    assert len(run(world, Nested(RULE)).proposed) == 1


def test_a_named_chat_model_is_used(settings: Settings) -> None:
    assert consolidation.summariser().name == "extractive"
    settings.CONSOLIDATE_MODEL = "tiny"
    assert consolidation.summariser().name == "ollama:tiny"


# ── Vectors, the clock and the command ───────────────────────────────────────
def test_stored_vectors_are_used(world: World) -> None:
    for n in range(10):
        world.indexed(f"Refund refused, case {n}")
    run(world, fixed := Fixed())
    assert all(item.vector is not None for item in fixed.seen[0])
    assert Embedding.objects.filter(state="indexed").count() >= 10


def test_the_clock_waits_for_vectors(world: World) -> None:
    events(world)
    assert consolidation.on_schedule(world.acme.id) == []
    assert [d for d in consolidation.begin() if d.considered] == []
    world.indexed("Refund refused, case 11")
    assert max(crew_report.considered for crew_report in consolidation.begin()) == 11
    assert consolidation.begin() == []


def test_the_command_tells_what_it_did(world: World) -> None:
    events(world)
    out = StringIO()
    call_command("consolidate", workspace="acme", as_json=True, stdout=out)
    crews = json.loads(out.getvalue())["workspaces"]["acme"]
    by_crew = {crew["crew"]: crew for crew in crews}
    assert by_crew["support"]["considered"] == 10
    assert by_crew["billing"]["skipped"]
    out = StringIO()
    call_command("consolidate", workspace="acme", crew="support", stdout=out)
    assert out.getvalue().startswith("acme/support: waits")
    for wrong in ({"workspace": "nowhere"}, {"workspace": "acme", "crew": "nobody"}):
        with pytest.raises(CommandError):
            call_command("consolidate", stdout=out, **wrong)
