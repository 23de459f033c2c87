"""Several admins, and the nightly job, at the same proposal at once."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial

from django.db import connections

from memory import workspace_settings
from memory.models import JournalEntry, ProposalKind, ScannerProposal
from memory.review import proposal_job, proposal_search, proposals
from memory.rules import errors
from memory.workspace_settings import declarations
from tests.memory.files import learning
from tests.world import World


def succeeds(act: Callable[[], object], _number: int = 0) -> bool:
    """Whether an act is carried out, on a connection of its own."""
    try:
        act()
    except errors.AppError:
        return False
    finally:
        connections.close_all()
    return True


def test_what_was_approved_while_the_job_read_is_not_proposed_again(
    world: World,
) -> None:
    learning.decide_texts(world, 10)
    by = world.system()
    read_before = proposal_search.candidates(by)
    for row in learning.propose(world):
        proposals.approve(row, version=row.version, by=world.actor("owner"))
    assert proposal_job.store(read_before, by=by) == ([], 0)
    assert not ScannerProposal.objects.filter(state="pending").exists()


def test_of_many_decisions_at_once_one_is_carried_out(shared_world: World) -> None:
    world, by = shared_world, shared_world.actor("owner")
    learning.decide_texts(world, 10)
    (row,) = learning.of_kind(world, ProposalKind.WEIGHT)
    approve = partial(proposals.approve, row, version=1, by=by)
    decline = partial(proposals.decline, row, version=1, reason="No", by=by)
    night = partial(proposal_job.run, world.acme.id)
    acts = [approve, decline, night, approve, decline]
    with ThreadPoolExecutor(5) as pool:
        results = list(pool.map(succeeds, acts))
    assert sum(result for act, result in zip(acts, results, strict=True)
               if act is not night) == 1  # fmt: skip
    assert results[2]
    row.refresh_from_db()
    setting = declarations.SCANNER_WEIGHTS
    weights = workspace_settings.value(world.acme.id, setting)
    assert weights == ({row.subject: row.after} if row.state == "approved" else {})
    decided = JournalEntry.objects.filter(entry_type__startswith="scanner.proposal_")
    assert [entry.entry_type for entry in decided] == [f"scanner.proposal_{row.state}"]
