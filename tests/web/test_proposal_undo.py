"""An approval is undone: the rule leaves its learned file, the others stay."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import pytest
import time_machine
from django.utils import timezone
from pytest_django import Settings

from episodic.consolidation import approval, undo
from episodic.models import ConsolidationProposal, MemoryRelation
from memory.files import commit, editing, writer
from memory.files.paths import Owner
from memory.files.writer import Request
from memory.models import JournalEntry, MemoryVersion
from memory.rules import errors
from memory.rules.tiers import Place, Tier, WriteMode
from tests.memory.files import kit
from tests.web.test_proposals import at, form_of, learned, proposed
from tests.world import World


@pytest.fixture(autouse=True)
def _own_folder(tmp_path: Path, settings: Settings) -> None:
    """Keep learned files of one test from the next."""
    settings.DATA_DIR = tmp_path


def approved(world: World, pattern: str) -> ConsolidationProposal:
    proposal = proposed(world, pattern)
    by = world.actor("operator")
    return approval.approve(proposal, version=proposal.version, by=by)


def take_back(world: World, rule: ConsolidationProposal) -> ConsolidationProposal:
    return undo.undo(rule, version=rule.version, by=world.actor("operator"))


def write(world: World, text: str, mode: WriteMode = WriteMode.REPLACE) -> None:
    """Write today's learned file of support as a person."""
    place = Place(Tier.LEARNED, timezone.now().date().isoformat())
    request = Request(Owner(world.crews["support"]), place, text, mode, "operator")
    writer.write(request, by=world.actor("operator"))


def test_an_undone_approval_leaves_the_file_as_it_was(world: World) -> None:
    approved(world, "Toner is out")
    before = learned(world)
    rule = take_back(world, approved(world, "Parcel is lost"))
    assert learned(world) == before
    assert (rule.is_pending, rule.version, rule.learned_label) == (True, 3, "")
    version = MemoryVersion.objects.order_by("number").last()
    assert version is not None
    assert (version.source, rule.id in version.note) == ("undo", True)


def test_the_only_rule_of_a_file_leaves_none(world: World) -> None:
    take_back(world, approved(world, "Toner is out"))
    assert learned(world) == ""


@pytest.mark.parametrize("index", [0, 1, 2])
def test_each_of_several_rules_can_go(world: World, index: int) -> None:
    rules = [approved(world, f"{word} is out") for word in ("Ink", "Toner", "Paper")]
    take_back(world, rules[index])
    rest = [rule.text for rule in rules if rule is not rules[index]]
    assert learned(world) == "\n".join(rest)


def test_what_was_learned_leaves_recall(world: World) -> None:
    rule = approved(world, "Toner is out")
    entries = JournalEntry.objects.filter(entry_type="memory.consolidated")
    relations = MemoryRelation.objects.filter(relation="supports")
    assert (entries.get().retired_at, relations.count()) == (None, 2)
    take_back(world, rule)
    assert entries.get().retired_at is not None
    assert not relations.exists()
    entry = JournalEntry.objects.get(entry_type="memory.consolidation_undone")
    assert entry.payload == {"was": "approved", "undone_by": "operator@acme.example"}
    assert entry.actor_id == world.people["operator"].id


def test_what_was_learned_leaves_recall_without_its_relations(world: World) -> None:
    rule = approved(world, "Toner is out")
    # As an erasure of its evidence leaves it.
    MemoryRelation.objects.filter(relation="supports").delete()
    take_back(world, rule)
    entry = JournalEntry.objects.get(entry_type="memory.consolidated")
    assert entry.retired_at is not None


def test_the_scanner_does_not_judge_the_other_rules_again(world: World) -> None:
    rule = approved(world, "Toner is out")
    place = Place(Tier.LEARNED, timezone.now().date().isoformat())
    suspect = f"{learned(world)}\n{kit.POISON}\n"
    request = Request(
        Owner(world.crews["support"]), place, suspect, WriteMode.REPLACE, "operator"
    )
    writer.write_released(request, by=world.actor("operator"))
    take_back(world, rule)
    assert learned(world).strip() == kit.POISON


def test_an_edited_text_waits_again_as_it_was_approved(world: World) -> None:
    proposal, page = proposed(world), world.page("operator")
    text = "## Toner\n\nOrder two.\n"
    page.post(at(proposal, "approve/"), form_of(proposal) | {"text": text})
    reply = page.post(at(proposal, "undo/"), {"version": 2}, follow=True)
    html = reply.content.decode()
    assert "Waits again" in html
    assert "Order two." in html
    proposal.refresh_from_db()
    page.post(at(proposal, "approve/"), form_of(proposal))
    proposal.refresh_from_db()
    assert (learned(world), proposal.was_edited) == (text, True)


@pytest.mark.parametrize("change", ["Two", "## Toner is out"])
def test_a_rule_that_changed_in_the_file_stays(world: World, change: str) -> None:
    rule = approved(world, "Toner is out")
    old, new = (rule.text, change) if change == "Two" else (change, "## Ink is out")
    text = learned(world).replace(old, new)
    write(world, text)
    with pytest.raises(undo.NotAsLearned):
        take_back(world, rule)
    assert learned(world) == text
    page = world.page("operator")
    html = page.get(at(rule)).content.decode()
    assert "was changed where the rule stands" in html
    assert f"/files/{rule.crew_id}/{rule.learned_label}/versions/" in html
    assert 'data-key-label="Undo"' not in html
    reply = page.post(at(rule, "undo/"), {"version": rule.version})
    assert reply.status_code == 409
    rule.refresh_from_db()
    assert rule.state == "approved"


def test_words_added_elsewhere_in_the_file_stay(world: World) -> None:
    rule = approved(world, "Toner is out")
    write(world, "By hand.\n", WriteMode.APPEND)
    take_back(world, rule)
    assert learned(world) == "By hand.\n"


@pytest.mark.parametrize(
    ("present", "text"), [("a\nb\nb\n", "b\n"), ("ab\n", "b\n"), ("a\n", "")]
)
def test_a_text_is_taken_out_only_when_it_is_certain(present: str, text: str) -> None:
    with pytest.raises(errors.Conflict):
        editing.without(present, text)


def test_an_undo_that_fails_leaves_everything(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    rule, other = approved(world, "Toner is out"), approved(world, "Ink is out")
    before = learned(world)

    def fail(step: str) -> None:
        if step == "settled":
            raise RuntimeError

    monkeypatch.setattr(commit, "step", fail)
    with pytest.raises(RuntimeError):
        take_back(world, rule)
    assert learned(world) == before
    rule.refresh_from_db()
    assert rule.state == "approved"
    monkeypatch.undo()
    take_back(world, rule)
    assert learned(world) == other.text


def test_a_second_undo_changes_nothing(world: World) -> None:
    rule, page = approved(world, "Toner is out"), world.page("operator")
    body = {"version": rule.version}
    assert page.post(at(rule, "undo/"), body).status_code == 302
    assert page.post(at(rule, "undo/"), body).status_code == 409


def test_an_approval_of_long_ago_stays(world: World) -> None:
    rule = approved(world, "Toner is out")
    with (
        time_machine.travel(timezone.now() + timedelta(days=31)),
        pytest.raises(errors.Conflict),
    ):
        take_back(world, rule)
    assert learned(world) == rule.text


def test_many_approvals_are_undone_from_the_list(world: World) -> None:
    rules = [approved(world, f"{word} is out") for word in ("Ink", "Toner")]
    page = world.page("operator")
    html = page.get("/proposals/?state=approved").content.decode()
    assert "Undo the ticked approvals" in html
    body = {"items": [f"{rule.id}:2" for rule in rules], "undo": "1"}
    html = page.post("/proposals/many/?state=approved", body).content.decode()
    assert "2 proposals wait again" in html
    assert learned(world) == ""


@pytest.mark.parametrize(
    ("person", "status"), [("viewer", 403), ("compliance", 403), ("stranger", 404)]
)
def test_who_may_not_undo(world: World, person: str, status: int) -> None:
    rule, page = approved(world, "Toner is out"), world.page(person)
    assert page.post(at(rule, "undo/"), {"version": 2}).status_code == status
    assert learned(world) == rule.text
