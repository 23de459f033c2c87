"""What is allowed rests on reviewers and on proposals; each takes back only its own."""

from __future__ import annotations

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from memory.models import Clearance, HeldFile, JournalEntry, ScannerProposal
from memory.review import decide as review
from memory.review import proposals
from memory.review.decide import Decision
from tests.memory.files import kit, learning
from tests.memory.files.test_quarantine import hold_text
from tests.memory.files.test_scanner_proposals import approve, writes
from tests.world import World

# Of the same fingerprint, which only a person who says so lets pass.
HIDDEN = f"<!-- {kit.POISON} -->"


def approved(world: World, text: str = kit.POISON) -> ScannerProposal:
    """Return the approved proposal of a text that was released three times."""
    for number in range(3):
        learning.decided(world, Decision.RELEASE, text=text, number=number)
    return approve(world, learning.propose(world)[0])


def allow(world: World, text: str, number: int) -> HeldFile:
    """Let a reviewer allow a text for good."""
    decision = Decision.RELEASE_AND_ALLOW
    return learning.decided(world, decision, text=text, number=number)


def allow_case(world: World, case: HeldFile) -> None:
    decision, by = Decision.RELEASE_AND_ALLOW, world.actor("operator")
    review.decide(case, decision, version=1, reason="A drill", by=by)


def undo(world: World, case: HeldFile | None) -> None:
    assert case is not None
    review.undo(case, by=world.actor("operator"))


def test_an_undone_allowance_leaves_what_an_admin_approved(world: World) -> None:
    approved(world)
    case = allow(world, HIDDEN, 8)
    assert writes(world, HIDDEN, 30)
    undo(world, case)
    assert not writes(world, HIDDEN, 31)
    assert writes(world, kit.POISON, 32)
    assert not Clearance.objects.get().allows_all


def test_an_undone_release_lets_the_approved_proposal_wait_again(world: World) -> None:
    row = approved(world)
    undo(world, row.held)
    row.refresh_from_db()
    assert (row.state, row.decided_by, row.decided_at) == ("pending", "", None)
    entry = JournalEntry.objects.get(entry_type="scanner.proposal_taken_back")
    assert entry.payload["previous"] == "approved"
    assert entry.actor_id == world.actor("operator").id
    assert entry.refs == {"proposal_id": row.id, "held_id": row.held_id}
    assert not writes(world, kit.POISON, 30)


def test_an_undone_release_beside_the_example_leaves_the_approval(world: World) -> None:
    row = approved(world)
    other = next(name for name in row.evidence["cases"] if name != row.held_id)
    undo(world, HeldFile.objects.get(pk=other))
    row.refresh_from_db()
    assert row.state == "approved"
    assert writes(world, kit.POISON, 30)


@pytest.mark.parametrize("is_example", [True, False], ids=["example", "approval"])
def test_what_a_reviewer_allowed_stays_when_the_proposal_goes(
    world: World, is_example: bool
) -> None:
    row = approved(world)
    case = allow(world, HIDDEN, 8)
    if is_example:
        undo(world, row.held)
    else:
        proposals.undo(row, version=row.version, by=world.actor("owner"))
    clearance = Clearance.objects.get()
    assert (clearance.held_id, clearance.allows_all) == (case.id, True)
    undo(world, case)
    assert not Clearance.objects.exists()


def test_of_two_reviewers_who_allow_a_text_one_takes_back_the_own(
    world: World,
) -> None:
    cases = [hold_text(world, text, learning.label(number))
             for number, text in enumerate((kit.POISON, HIDDEN))]  # fmt: skip
    for case in cases:
        allow_case(world, case)
    undo(world, cases[0])
    assert writes(world, kit.POISON, 30)
    undo(world, cases[1])
    assert not writes(world, kit.POISON, 31)


def test_of_texts_with_unseen_characters_the_last_that_was_allowed_passes(
    world: World,
) -> None:
    texts = [f"{kit.POISON}{unseen}" for unseen in ("", "\u200b", "\u200c")]
    cases = [hold_text(world, text, learning.label(number))
             for number, text in enumerate(texts)]  # fmt: skip
    for case in cases:
        allow_case(world, case)

    def passing(first: int) -> list[bool]:
        return [writes(world, text, n) for n, text in enumerate(texts, first)]

    assert passing(30) == [True, False, True]
    undo(world, cases[2])
    assert passing(40) == [True, True, False]
    undo(world, cases[1])
    assert passing(50) == [True, False, False]


def test_who_allows_a_text_locks_the_workspace_before_the_case(world: World) -> None:
    case = hold_text(world)
    with CaptureQueriesContext(connection) as queries:
        allow_case(world, case)
    statements = [query["sql"] for query in queries.captured_queries]
    tables = [sql.partition(' FROM "')[2].partition('"')[0] for sql in statements]
    assert tables.index("workspaces") < tables.index("held_files")
