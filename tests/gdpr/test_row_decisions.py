"""Decisions on rows hold after archiving; a key with a name is deleted as a whole."""

from __future__ import annotations

import pytest

from gdpr.cases import decided_rows
from gdpr.models import RowVerdict, Subject, Verdict
from memory.accounts import api_keys
from tests.gdpr import erasing, kit
from tests.world import World

pytestmark = pytest.mark.django_db


@pytest.fixture
def subject(world: World) -> Subject:
    return kit.subject(world, {"email": erasing.MAIL})


def test_a_key_of_somebody_who_shares_a_name_goes_and_is_not_masked(
    world: World, subject: Subject
) -> None:
    kit.subject(world, {"email": erasing.MAIL})
    issued = api_keys.issue_agent_key(
        world.agents["ada"], end_user=erasing.MAIL, by=world.actor("owner")
    )
    match = kit.matches_in("keys", subject)[str(issued.key.pk)]
    assert match.fate == "delete"


def test_an_entry_that_was_archived_since_still_counts_as_spared(
    world: World, subject: Subject
) -> None:
    case = erasing.opened(world, subject)
    RowVerdict.objects.create(
        workspace=world.acme, case=case, place="journal", row_id="j_1",
        verdict=Verdict.SPARED, ground="must_stay", reason="A claim", decided_by="x",
    )  # fmt: skip
    kept_rows = decided_rows.kept(case, {"archive": [["j_1", "keep"]]})
    assert kept_rows == {("journal", "must_stay"): 1}
