"""Verification of priorities: each is explained by its ledger and a witness."""

from __future__ import annotations

import pytest

from memory.journal import append as journal
from memory.journal import erasure
from memory.models import JournalEntry, PriorityChange
from memory.rules import permissions
from memory.rules.entries import Priority
from tests import factories
from tests.memory.chains import kinds, tamper, verify
from tests.world import World


def test_a_priority_without_a_ledger_is_a_break(world: World) -> None:
    tamper(world.entry(), priority="permanent")
    assert kinds(world) == {"priority_break"}


def test_a_forged_ledger_has_no_witness(world: World) -> None:
    row = world.entry()
    tamper(row, priority="pin")
    PriorityChange.objects.create(
        workspace=world.acme, entry=row, number=1, previous="normal", priority="pin"
    )
    assert kinds(world) == {"priority_break"}


@pytest.mark.parametrize("field", ["previous", "priority"])
def test_a_changed_ledger_is_a_break(world: World, field: str) -> None:
    row = world.entry()
    journal.prioritise(row, Priority.PIN, "", by=world.actor("operator"))
    PriorityChange.objects.filter(entry=row).update(**{field: "high"})
    assert "priority_break" in kinds(world)


@pytest.mark.sqlite
def test_a_ledger_row_of_another_workspace_explains_nothing(world: World) -> None:
    """PostgreSQL refuses such a row."""
    row = world.entry()
    journal.prioritise(row, Priority.PIN, "", by=world.actor("operator"))
    assert verify(world).ok
    PriorityChange.objects.filter(entry=row).update(workspace=world.other)
    assert kinds(world) == {"priority_break"}


@pytest.mark.parametrize("by", ["agent", "other workspace", "another step"])
def test_only_the_record_of_the_change_is_its_witness(world: World, by: str) -> None:
    row = world.entry()
    tamper(row, priority="pin")
    PriorityChange.objects.create(
        workspace=world.acme, entry=row, number=1, previous="normal", priority="pin"
    )
    payload = {
        "target_entry_id": row.id,
        "new_priority": "pin",
        "number": 2 if by == "another step" else 1,
    }
    if by == "agent":
        world.entry(entry_type="memory.priority", payload=payload)
    else:
        shop = world.other if by == "other workspace" else world.acme
        witness = factories.new(entry_type="memory.priority_changed", payload=payload)
        journal.write([witness], by=permissions.system(shop.id))
    assert kinds(world) == {"priority_break"}


def test_a_redacted_witness_counts_while_its_seal_holds(world: World) -> None:
    row = world.entry()
    journal.prioritise(row, Priority.PIN, "Jan", by=world.actor("operator"))
    witness = JournalEntry.objects.get(entry_type="memory.priority_changed")
    left = {**witness.payload, "reason": "[erased]"}
    remains = erasure.Remains(witness.summary, left, witness.refs, {})
    erasure.redact(world.acme.id, {witness.id: remains})
    report = verify(world)
    assert (report.breaks, report.redacted) == ([], 1)
    tamper(witness, seal="0" * 64)
    assert kinds(world) == {"content_break", "priority_break"}


def test_a_priority_is_judged_by_what_the_ledger_says_now(world: World) -> None:
    row, other = world.entry(), world.entry()
    journal.prioritise(other, Priority.PIN, "", by=world.actor("operator"))
    tamper(row, priority="pin")
    breaks = [(fault.kind, fault.entry_id) for fault in verify(world).breaks]
    assert breaks == [("priority_break", row.id)]
    tamper(row, priority="normal")
    # A step that leads back to where it began is a change too.
    for priority in (Priority.HIGH, Priority.NORMAL):
        journal.prioritise(row, priority, "", by=world.actor("operator"))
    assert verify(world).ok
    PriorityChange.objects.filter(entry=row, number=2).delete()
    assert kinds(world) == {"priority_break"}


def test_a_witness_with_broken_words_does_not_stop_the_walk(world: World) -> None:
    row = world.entry()
    journal.prioritise(row, Priority.PIN, "", by=world.actor("operator"))
    entry = JournalEntry.objects.filter(entry_type="memory.priority_changed")
    for broken in ("nonsense", '{"number":"x"}', "[]", '{"number":[1]}'):
        entry.update(payload_text=broken)
        assert kinds(world) == {"content_break", "priority_break"}
