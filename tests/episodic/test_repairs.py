"""Repairs: one act each, what it is expected to bring, and what it brought."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.utils import timezone

from episodic.consolidation import approval
from episodic.consolidation import run as consolidation
from episodic.health import accepted, causes, fixes, outcomes, repairs
from episodic.health import snapshots as health
from episodic.health.metrics import table as metrics
from episodic.health.repairs import Repair
from episodic.index import sweep as index
from episodic.models import (
    AcceptedCause,
    ConsolidationProposal,
    HealthSnapshot,
    MemoryRelation,
)
from episodic.summarisers.base import Rule
from memory.models import JournalEntry
from memory.rules import errors
from tests import factories
from tests.world import World

WORDS = (
    "amber bridge canoe delta",
    "harbour iris jungle kettle",
    "opal prairie quartz river",
    "saddle timber umbrella violet",
    "walnut yonder zephyr acorn",
    "basalt clover dune estuary",
)


def measured(world: World) -> HealthSnapshot:
    """Measure acme and return the snapshot of the workspace."""
    return next(row for row in health.take(world.acme.id) if not row.crew_id)


def listed(world: World, person: str = "operator") -> dict[str, Repair]:
    row = health.latest(world.actor(person))
    found = repairs.of(world.actor(person), row, causes.of(row))
    return {repair.kind: repair for repair in found}


def alike(world: World, count: int = 6) -> None:
    for n in range(count):
        world.entry("Parcel lost by the courier", ts=factories.ago(n))
    index.sweep()


def proposed(world: World) -> ConsolidationProposal:
    """Index entries that are all different, and propose a rule from two of them."""
    rows = [world.indexed(text) for text in WORDS]
    rule = Rule(
        "Bridges close early", "Ask first.", 0.9, tuple(row.id for row in rows[:2])
    )
    return consolidation.propose(world.crews["support"], rule, "test")


# ── What is expected, and what comes ─────────────────────────────────────────
def test_the_gain_of_indexing_is_expected_as_it_is_measured(world: World) -> None:
    alike(world)
    for _ in range(2):
        world.entry("Parcel lost by the courier")
    index.discover(world.acme.id)
    measured(world)
    repair = listed(world)["index"]
    assert repair.title == "Index 2 entries"
    assert repair.gain is not None
    fixes.fix("index", world.actor("operator"))
    after = health.latest(world.actor("viewer"))
    assert after.coverage == 100
    assert repair.gain.after == pytest.approx(after.score, abs=3)
    assert "index" not in listed(world)


def test_the_gain_of_linking_is_expected_as_it_is_measured(world: World) -> None:
    alike(world)
    MemoryRelation.objects.all().delete()
    measured(world)
    repair = listed(world)["link"]
    assert repair.gain is not None
    fixes.fix("link", world.actor("operator"))
    after = health.latest(world.actor("viewer"))
    # The oldest entry has none older: it is reached by the others' links.
    assert repair.title == "Link 5 entries"
    assert repair.gain.after == pytest.approx(after.score, abs=3)


def test_the_gain_of_a_review_is_expected_as_it_is_measured(world: World) -> None:
    proposal = proposed(world)
    before = measured(world)
    assert before.reachability == 0
    repair = listed(world)["proposals"]
    assert (repair.title, repair.action.method) == ("Review 1 proposal", "GET")
    assert repair.gain is not None
    values = metrics.values(before) | {"reachability": 42.9}
    assert repair.gain.after == metrics.score(values)
    by = world.actor("operator")
    approval.approve(proposal, version=proposal.version, by=by)
    index.sweep()
    fixes.fix("recompute", by)
    after = health.latest(by)
    assert after.reachability == 42.9
    assert repair.gain.after == pytest.approx(after.score, abs=5)
    (outcome,) = outcomes.latest(by, "")
    assert (outcome.kind, outcome.text) == (
        "proposals",
        "1 rule approved, among other changes",
    )
    assert (outcome.before, outcome.after) == (before.score, after.score)
    # What was expected of this rule stands beside it, as it was before the approval.
    assert outcome.expected == repair.gain.after


def test_erased_evidence_is_no_gain(world: World) -> None:
    proposal = proposed(world)
    measured(world)
    JournalEntry.objects.filter(pk=proposal.evidence[0]).update(
        erased_at=timezone.now()
    )
    repair = listed(world)["proposals"]
    assert (repair.points, repair.causes) == (0.0, ())


def test_unread_entries_offer_a_search_and_read_ones_do_not(world: World) -> None:
    for number in range(10):
        world.indexed(" ".join(f"{word}{number}" for word in WORDS[0].split()))
    measured(world)
    repair = listed(world)["consolidate"]
    assert repair.title == "Look for rules in 10 unread entries"
    assert repair.gain is None
    fixes.fix("consolidate", world.actor("operator"))
    assert "consolidate" not in listed(world)


def test_an_outcome_names_the_act_the_person_and_both_scores(world: World) -> None:
    alike(world)
    MemoryRelation.objects.all().delete()
    before = measured(world)
    by = world.actor("operator")
    fixes.fix("link", by)
    (outcome,) = outcomes.latest(world.actor("viewer"), "")
    assert (outcome.kind, outcome.before) == ("link", before.score)
    assert outcome.after == health.latest(by).score
    assert outcome.by == by.id
    assert outcomes.latest(world.actor("stranger"), "") == []


# ── Accepted causes ──────────────────────────────────────────────────────────
def alone(world: World) -> causes.Cause:
    """Return a cause that no repair cures at once."""
    for text in WORDS:
        world.indexed(text)
    (cause,) = [c for c in causes.of(measured(world)) if c.metric == "reachability"]
    return cause


def test_an_accepted_cause_keeps_its_points_and_the_score(world: World) -> None:
    cause, by = alone(world), world.actor("operator")
    score = health.latest(by).score
    item = accepted.accept(by, None, cause.metric, cause.key, "  Seasonal notes  ")
    assert (item.reason, item.accepted_by) == ("Seasonal notes", by.label)
    assert item.until - item.accepted_at == pytest.approx(
        timedelta(days=90), abs=timedelta(seconds=5)
    )
    row = health.recompute(by)
    assert row.score == score
    flags = {
        (c.metric, c.key): c.accepted for c in accepted.marked(row, causes.of(row))
    }
    assert flags.pop((cause.metric, cause.key)) is True
    assert not any(flags.values())
    entry = JournalEntry.objects.get(entry_type="memory.health_cause_accepted")
    assert entry.payload["reason"] == "Seasonal notes"
    assert entry.actor_id == by.id


def test_an_acceptance_ends_and_can_be_taken_back(world: World) -> None:
    cause, by = alone(world), world.actor("operator")
    item = accepted.accept(by, None, cause.metric, cause.key, "for now")
    AcceptedCause.objects.update(until=timezone.now())
    assert accepted.current(world.acme.id, "") == []
    accepted.accept(by, None, cause.metric, cause.key, "again")
    assert [row.id for row in accepted.current(world.acme.id, "")] == [item.id]
    accepted.revoke(by, item.id)
    assert accepted.current(world.acme.id, "") == []
    assert JournalEntry.objects.filter(
        entry_type="memory.health_cause_reopened"
    ).exists()


@pytest.mark.parametrize(
    ("reason", "error"),
    [("", errors.Invalid), ("  ", errors.Invalid), ("x" * 501, errors.TooLarge),
     ("a\x00b", errors.Invalid)],
)  # fmt: skip
def test_a_reason_is_needed(
    world: World, reason: str, error: type[errors.AppError]
) -> None:
    cause = alone(world)
    with pytest.raises(error):
        accepted.accept(world.actor("operator"), None, cause.metric, cause.key, reason)
    assert not AcceptedCause.objects.exists()


def test_who_may_accept_and_what(world: World) -> None:
    cause = alone(world)
    for person in ("viewer", "compliance", "ada"):
        with pytest.raises(errors.Forbidden):
            accepted.accept(world.actor(person), None, cause.metric, cause.key, "why")
    by = world.actor("operator")
    with pytest.raises(errors.NotFound):
        accepted.accept(by, None, cause.metric, "type:nothing", "why")
    item = accepted.accept(by, None, cause.metric, cause.key, "why")
    with pytest.raises(errors.NotFound):
        accepted.revoke(world.actor("stranger"), item.id)


def test_what_a_repair_cures_cannot_be_accepted(world: World) -> None:
    alike(world)
    MemoryRelation.objects.all().delete()
    measured(world)
    cause = listed(world)["link"].causes[0]
    with pytest.raises(errors.Conflict):
        accepted.accept(world.actor("operator"), None, cause.metric, cause.key, "why")


def test_an_agent_reports_no_gain(world: World) -> None:
    payload = {"repair": "link", "text": "1 relation", "score_before": 10, "score": 99}
    world.api("ada").post(
        "/journal",
        {"entry_type": outcomes.REPAIRED, "summary": "Repaired", "payload": payload},
    )
    assert JournalEntry.objects.filter(entry_type=outcomes.REPAIRED).exists()
    assert outcomes.latest(world.actor("owner"), world.crews["support"].pk) == []
