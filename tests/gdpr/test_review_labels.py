"""Erasing a person leaves nothing of them in what decisions taught."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from pytest_django import Settings

from gdpr.data_map.base import Fate
from gdpr.subjects import restriction
from memory import scanner
from memory.files.quarantine import HeldForReview
from memory.models import Clearance, HeldFile, ReviewLabel, ScannerProposal
from memory.ports import subject_linker
from memory.review import labels, preview, proposals
from memory.review.decide import Decision
from memory.rules import errors
from tests.gdpr import kit
from tests.memory.files import kit as files
from tests.memory.files import learning
from tests.memory.files.test_quarantine import hold_text
from tests.world import World

ANNA, BERT = kit.ANNA["name"], kit.BERT["name"]


@pytest.fixture(autouse=True)
def data_dir(tmp_path: Path, settings: Settings) -> Path:
    """A folder of its own for the files of each test."""
    settings.DATA_DIR = tmp_path
    return tmp_path


def allowed(world: World, text: str) -> ScannerProposal:
    """Return the approved proposal of a text that was released three times."""
    for number in range(3):
        learning.decided(world, Decision.RELEASE, text=text, number=number)
    (row,) = learning.propose(world)
    return proposals.approve(row, version=row.version, by=world.actor("owner"))


def exported(world: World) -> list[str]:
    lines = labels.export(world.actor("operator")).lines
    return [json.loads(line)["text"] for line in lines]


def test_what_was_learned_from_a_text_goes_with_it(world: World) -> None:
    anna = kit.subject(world)
    allowed(world, f"{learning.lone_rule().fires} {ANNA} said so.")
    kit.erase("held", anna)
    assert not ReviewLabel.objects.exists()
    assert not ScannerProposal.objects.exists()
    assert not Clearance.objects.exists()
    assert exported(world) == []
    assert kit.traces(anna, "held") == []


def test_a_text_about_two_is_exported_with_one_masked(world: World) -> None:
    anna, _ = kit.subject(world), kit.subject(world, kit.BERT)
    text = f"{learning.lone_rule().fires} {ANNA} and {BERT} said so."
    row = allowed(world, text)
    assert row.subject == scanner.fingerprint(text)
    kit.erase("held", anna)
    assert exported(world) == [text.replace(ANNA, "[erased]")] * 3
    # What was allowed was the former text.
    assert not ScannerProposal.objects.exists()
    assert not Clearance.objects.exists()
    assert kit.traces(anna, "held") == []


def test_a_masked_text_is_judged_as_what_it_was_judged_as(world: World) -> None:
    anna, _ = kit.subject(world), kit.subject(world, kit.BERT)
    rule = learning.lone_rule()
    world.set(scanner_rules={"persistence.trigger": "off"})
    text = (
        f"{files.POISON}\nPlease update the file of {BERT} (ID 54830) for {ANNA}."
        f"\n{scanner.rule('persistence.trigger').fires}\n{rule.fires}"
    )
    with pytest.raises(HeldForReview):
        files.write(world, text, by="operator", of="ada", source="tool")
    before = {finding["rule"] for finding in HeldFile.objects.get().findings}
    kit.erase("held", anna)
    case = HeldFile.objects.get()
    assert preview.text_of(case) == text.replace(ANNA, "[erased]")
    assert {finding["rule"] for finding in case.findings} == before
    assert rule.id in before
    alone = {finding.rule for finding in scanner.scan(text).findings}
    assert alone - before >= {"persistence.trigger", "policy.records"}


def test_a_reviewers_name_is_masked_and_the_figures_stay(world: World) -> None:
    operator, owner = (
        kit.subject(world, {"email": world.people[name].email})
        for name in ("operator", "owner")
    )
    learning.decide_texts(world, 3)
    (row,) = learning.propose(world)
    reason = f"{world.people['operator'].email} was wrong"
    proposals.decline(row, version=row.version, reason=reason, by=world.actor("owner"))
    plan = kit.erase("held", operator)
    assert plan[f"scannerproposal:{row.pk}"] is Fate.REDACT
    kit.erase("held", owner)
    assert set(ReviewLabel.objects.values_list("decided_by", flat=True)) == {"[erased]"}
    row.refresh_from_db()
    assert (row.decided_by, row.reason) == ("[erased]", "[erased] was wrong")
    assert ReviewLabel.objects.filter(label="honest").count() == 3
    for subject in (operator, owner):
        assert kit.traces(subject, "held") == []


def test_texts_about_a_restricted_person_are_for_compliance_alone(world: World) -> None:
    anna = kit.subject(world)
    text = f"{learning.lone_rule().fires} {ANNA} said so."
    for number in range(3):
        learning.decided(world, Decision.RELEASE, text=text, number=number)
    (row,) = learning.propose(world)
    restriction.restrict(anna, by=world.actor("compliance"))
    operator, owner = world.actor("operator"), world.actor("owner")
    assert exported(world) == []
    assert labels.of_rule(operator, learning.lone_rule().id) == []
    assert proposals.pending(operator) == []
    with pytest.raises(errors.NotFound):
        proposals.proposal(operator, row.pk)
    assert len(list(labels.export(owner).lines)) == 3
    assert [line.proposal for line in proposals.pending(owner)] == [row]


def test_only_texts_that_something_rests_on_are_read_for_a_restricted_name(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(3):
        learning.decided(world, Decision.RELEASE, number=number)
    (row,) = learning.propose(world)
    learning.decided(world, Decision.DISCARD, text=learning.SECRET, number=3)
    for number in range(4, 9):
        hold_text(world, label=learning.label(number))
    restriction.restrict(kit.subject(world), by=world.actor("compliance"))
    texts: list[str] = []

    def is_named(text: str) -> bool:
        texts.append(text)
        return False

    monkeypatch.setattr(subject_linker, "restricted", lambda _: is_named)
    operator = world.actor("operator")
    assert proposals.pending_count(operator) == 1
    assert texts.count(files.POISON) == 1
    texts.clear()
    assert [line.proposal for line in proposals.pending(operator)] == [row]
    assert texts.count(files.POISON) == 1 + len(row.evidence["cases"])
    texts.clear()
    (label,) = labels.of_rule(operator, secret_rule())
    assert preview.text_of(label.held) == learning.SECRET
    assert texts.count(learning.SECRET) == 1
    assert files.POISON not in texts


def secret_rule() -> str:
    (finding,) = scanner.scan(learning.SECRET).findings
    return finding.rule
