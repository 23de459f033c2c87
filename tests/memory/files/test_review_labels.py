"""Labels of decisions: written and undone with them, counted, exported, erased."""

from __future__ import annotations

import json
from typing import Any

import pytest

from memory import records
from memory.files import agreement, quarantine, scan_context
from memory.files.quarantine import HeldForReview
from memory.management.commands.scan import judge_lines
from memory.models import HeldFile, JournalEntry, Label, ReviewLabel
from memory.records import Provenance
from memory.records.drafts import Draft
from memory.review import decide as review
from memory.review import labels
from memory.review.decide import Decision
from memory.rules import errors
from tests.memory.files import kit, learning
from tests.memory.files.test_quarantine import hold_text
from tests.world import World


@pytest.mark.parametrize(
    ("decision", "label"),
    [
        (Decision.RELEASE, Label.HONEST),
        (Decision.RELEASE_AND_ALLOW, Label.HONEST),
        (Decision.REDACT, Label.ATTACK),
        (Decision.DISCARD, Label.ATTACK),
        (Decision.BLOCK_SOURCE, Label.ATTACK),
    ],
)
def test_each_decision_is_a_label(
    world: World, decision: Decision, label: Label
) -> None:
    case = learning.decided(world, decision, text=f"Tea is sold.\n\n{kit.POISON}")
    row = ReviewLabel.objects.get()
    assert (row.workspace_id, row.held_id) == (world.acme.id, case.id)
    assert (row.label, row.decision) == (label, decision)
    assert (row.tier, row.origin, row.writer) == ("daily", "tool", "own")
    assert (row.score, row.rules_version) == (case.score, case.rules_version)
    assert (row.decided_by, row.decided_at) == (case.decided_by, case.decided_at)
    weights: dict[str, float] = {}
    for finding in case.findings:
        weight = weights.get(finding["rule"], 0.0)
        weights[finding["rule"]] = max(weight, finding["weight"])
    assert {rule["rule"]: rule["weight"] for rule in row.rules} == weights


def test_a_label_is_part_of_the_decision(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    case = hold_text(world)

    def fails(*_: object, **__: object) -> None:
        raise errors.NotFound

    monkeypatch.setattr(quarantine, "record", fails)
    with pytest.raises(errors.NotFound):
        review.decide(
            case,
            Decision.DISCARD,
            version=1,
            reason="An attack",
            by=world.actor("operator"),
        )
    case.refresh_from_db()
    assert (case.state, ReviewLabel.objects.count()) == ("held", 0)


def test_an_undone_decision_has_no_label(world: World) -> None:
    case, operator = learning.decided(world, Decision.DISCARD), world.actor("operator")
    review.undo(case, by=operator)
    assert not ReviewLabel.objects.exists()
    case.refresh_from_db()
    version = case.version
    review.decide(case, Decision.RELEASE, version=version, reason="Ok", by=operator)
    assert ReviewLabel.objects.get().label == Label.HONEST


def test_a_text_held_for_a_name_says_nothing_of_the_rules(world: World) -> None:
    case = hold_text(world)
    HeldFile.objects.filter(pk=case.pk).update(family="suppressed")
    operator = world.actor("operator")
    review.decide(case, Decision.DISCARD, version=1, reason="A name", by=operator)
    assert not ReviewLabel.objects.exists()


# ── Figures ──────────────────────────────────────────────────────────────────
def test_a_rule_has_its_share_and_its_range(world: World) -> None:
    rule = learning.lone_rule().id
    learning.decide_texts(world, 2, Decision.DISCARD)
    counts = agreement.agreement(world.actor("operator"))[rule]
    assert (counts.confirmed, counts.released, counts.is_enough) == (2, 0, False)

    learning.decide_texts(world, 8, first=2)
    counts = agreement.agreement(world.actor("operator"))[rule]
    assert (counts.confirmed, counts.decided, counts.is_enough) == (2, 10, True)
    assert (counts.precision, counts.low, counts.high) == (20, 6, 51)
    assert agreement.agreement(world.actor("stranger")) == {}
    with pytest.raises(errors.Forbidden):
        agreement.agreement(world.actor("viewer"))


def test_a_rule_names_the_decisions_about_it(world: World) -> None:
    rule = learning.lone_rule().id
    cases = learning.decide_texts(world, 2)
    learning.decided(world, Decision.DISCARD, number=9)
    rows = labels.of_rule(world.actor("operator"), rule)
    assert [row.held_id for row in rows] == [cases[1].id, cases[0].id]
    assert labels.of_rule(world.actor("operator"), rule[:-1]) == []
    assert labels.of_rule(world.actor("stranger"), rule) == []


# ── Export ───────────────────────────────────────────────────────────────────
def exported(world: World, person: str = "operator") -> list[dict[str, Any]]:
    lines = labels.export(world.actor(person)).lines
    return [json.loads(line) for line in lines]


def test_the_export_has_each_label_with_its_text(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(labels, "PAGE", 2)
    cases = learning.decide_texts(world, 3)
    attack = learning.decided(world, Decision.DISCARD, number=9)
    rows = exported(world)
    assert [row["id"] for row in rows] == [attack.id, *(c.id for c in reversed(cases))]
    assert rows[0] | {"rules": [], "decided_at": "", "score": 0} == {
        "id": attack.id,
        "text": kit.POISON,
        "origin": "tool",
        "tier": "daily",
        "writer": "own",
        "label": "attack",
        "decision": "discard",
        "decided_at": "",
        "rules": [],
        "score": 0,
        "rules_version": attack.rules_version,
    }
    assert exported(world, "stranger") == []


def test_what_was_exported_can_be_scanned_again(world: World) -> None:
    learning.decided(world, Decision.DISCARD)
    lines = labels.export(world.actor("operator")).lines
    (verdict,) = judge_lines(lines)
    assert verdict["verdict"] == "held"


def test_an_exported_text_is_judged_again_as_what_it_was_judged_as(
    world: World,
) -> None:
    ada, operator = world.actor("ada"), world.actor("operator")
    with pytest.raises(HeldForReview):
        kit.append(world, kit.POISON, "CREW.md", by="lena")
    kit.append(world, "Calm.\n", "AGENT.md")
    kit.put(kit.on_disk(world), f"Calm.\n{kit.POISON}\n")
    kit.append(world, "Calm again.\n", "AGENT.md")
    for by, provenance in (
        (ada, Provenance.USER_REQUESTED),
        (operator, Provenance.OPERATOR_CURATED),
    ):
        draft = Draft(content=kit.POISON, owner=kit.owner(world))
        with pytest.raises(HeldForReview):
            records.save(draft, provenance=provenance, by=by)
        HeldFile.objects.filter(tier="records").update(fingerprint=provenance)
    cases = {case.id: case for case in HeldFile.objects.all()}
    for case in cases.values():
        review.decide(case, Decision.DISCARD, version=1, reason="No", by=operator)
    rows = exported(world)
    assert sorted(row["writer"] for row in rows) == [
        "operator", "teammate", "unknown", "user"
    ]  # fmt: skip
    lines = map(json.dumps, rows)
    for verdict in judge_lines(lines):
        context = scan_context.context_of(cases[verdict["id"]])
        assert verdict["context"] == context.as_map()


def test_every_export_is_in_the_journal(world: World) -> None:
    learning.decided(world, Decision.DISCARD)
    labels.export(world.actor("owner"))
    entry = JournalEntry.objects.get(entry_type=labels.EXPORTED)
    assert entry.payload == {"labels": 1}
    assert entry.actor_id == world.actor("owner").id
    for person in ("viewer", "compliance", "ada"):
        with pytest.raises(errors.Forbidden):
            labels.export(world.actor(person))
    assert JournalEntry.objects.filter(entry_type=labels.EXPORTED).count() == 1
