"""What the nightly job proposes, and what a person makes of it."""

from __future__ import annotations

from dataclasses import replace

import pytest

from memory import scanner, workspace_settings
from memory.files import clearances, policy, quarantine
from memory.files.quarantine import HeldForReview
from memory.models import (
    Clearance,
    HeldFile,
    JournalEntry,
    LearningState,
    ProposalKind,
    ReviewLabel,
    ScannerProposal,
)
from memory.review import decide as review
from memory.review import labels, proposal_job, proposals, queue
from memory.review.decide import Decision
from memory.review.proposals import Decided
from memory.rules import errors
from memory.rules.bulk import Pick
from memory.scanner import registry
from memory.scanner.model import Family
from memory.workspace_settings import declarations
from tests.memory.files import kit, learning
from tests.memory.files.test_quarantine import hold_text
from tests.world import World

WEIGHTS = declarations.SCANNER_WEIGHTS


def weights(world: World) -> dict[str, str]:
    return workspace_settings.value(world.acme.id, WEIGHTS)


def lowered(world: World) -> ScannerProposal:
    """Return the proposal that ten released texts of one rule make."""
    learning.decide_texts(world, 10)
    return the_weight(world)


def the_weight(world: World) -> ScannerProposal:
    """Run the nightly job; return the one weight that it proposes."""
    (row,) = learning.of_kind(world, ProposalKind.WEIGHT)
    return row


def no_weight(world: World) -> bool:
    """Run the nightly job; return whether it proposes no weight."""
    return not learning.of_kind(world, ProposalKind.WEIGHT)


def approve(world: World, row: ScannerProposal) -> ScannerProposal:
    return proposals.approve(row, version=row.version, by=world.actor("owner"))


def writes(world: World, text: str, number: int) -> bool:
    """Whether a text is written and not held."""
    try:
        kit.write(world, text, learning.label(number))
    except HeldForReview:
        return False
    return True


# ── Weights and modes ────────────────────────────────────────────────────────
def test_a_rule_that_is_nearly_always_wrong_is_proposed_to_count_less(
    world: World,
) -> None:
    rule = learning.lone_rule()
    learning.decide_texts(world, 9)
    assert no_weight(world)
    learning.decide_texts(world, 1, first=9)
    hold_text(world, learning.text_of(rule, 20), learning.label(20))

    row = the_weight(world)
    assert row.subject == rule.id
    # Of 10 texts none was an attack: at most 28 in 100 are, rounded down.
    assert (row.before, row.after) == (f"{rule.weight:.2f}", "0.25")
    assert (row.evidence["confirmed"], row.evidence["released"]) == (0, 10)
    assert len(row.evidence["cases"]) == row.decisions == 10
    effect = {"texts": 11, "released": 10, "confirmed": 0, "undecided": 1}
    assert row.evidence["effect"] == row.evidence["together"] == effect


def test_nothing_is_applied_by_the_job_itself(world: World) -> None:
    row = lowered(world)
    text = learning.text_of(learning.lone_rule(), 30)
    assert (weights(world), Clearance.objects.count()) == ({}, 0)
    assert not writes(world, text, 30)
    approve(world, row)
    assert weights(world) == {row.subject: "0.25"}
    assert writes(world, text, 30)
    assert no_weight(world)


def test_a_rule_that_people_confirm_is_left_alone(world: World) -> None:
    learning.decide_texts(world, 6, Decision.DISCARD)
    learning.decide_texts(world, 6, first=6)
    assert no_weight(world)


def test_a_rule_of_the_policy_asks_about_honest_texts_too(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    rule = replace(learning.lone_rule(), family=Family.POLICY)
    learning.decide_texts(world, 10)
    monkeypatch.setattr(registry, "BY_ID", {**registry.BY_ID, rule.id: rule})
    assert no_weight(world)


def test_rules_that_match_together_are_proposed_together(world: World) -> None:
    first, second = learning.lone_rules()[:2]
    texts = [f"{learning.text_of(first, n)}\n{second.fires}\n" for n in range(10)]
    for number, text in enumerate(texts):
        learning.decided(world, Decision.RELEASE, text=text, number=number)
    rows = learning.of_kind(world, ProposalKind.WEIGHT)
    assert {row.subject for row in rows} == {first.id, second.id}
    assert all(row.evidence["effect"]["released"] == 0 for row in rows)
    assert all(row.evidence["together"]["released"] == 10 for row in rows)
    assert not writes(world, f"{first.fires}\n\n{second.fires}", 30)
    for row in rows:
        approve(world, row)
    assert writes(world, f"{first.fires}\n\n{second.fires}", 30)


def test_a_weight_goes_back_to_the_shipped_one_and_never_above(world: World) -> None:
    row = approve(world, lowered(world))
    rule = scanner.rule(row.subject)
    for number in range(10, 22):
        case = learning.decided(world, Decision.DISCARD, number=number)
        # As if the rule had matched beside what held these texts.
        label = ReviewLabel.objects.get(held=case)
        label.rules = [{"rule": rule.id, "weight": 0.25, "mode": "hold"}]
        label.save()
    back = the_weight(world)
    assert (back.pk, back.state) == (row.pk, LearningState.PENDING)
    assert (back.before, back.after) == ("0.25", f"{rule.weight:.2f}")
    approve(world, back)
    assert weights(world) == {}
    with pytest.raises(errors.Invalid):
        world.set(scanner_weights={rule.id: "0.99"})


def test_an_observed_rule_that_people_confirm_is_proposed_to_hold(world: World) -> None:
    rule = learning.lone_rule()
    policy.set_rule(rule.id, "observe", by=world.actor("owner"))
    for number in range(10):
        text = f"{kit.POISON} {rule.fires}"
        learning.decided(world, Decision.DISCARD, text=text, number=number)
    (row,) = learning.propose(world)
    assert (row.kind, row.subject) == (ProposalKind.MODE, rule.id)
    assert (row.before, row.after) == ("observe", "hold")
    approve(world, row)
    assert quarantine.rule_modes(world.acme.id) == {}


# ── Texts and passages ───────────────────────────────────────────────────────
def test_a_text_that_was_released_three_times_is_proposed_to_be_allowed(
    world: World,
) -> None:
    for number in range(2):
        learning.decided(world, Decision.RELEASE, number=number)
    assert learning.propose(world) == []
    learning.decided(world, Decision.RELEASE, number=2)
    (row,) = learning.propose(world)
    assert (row.kind, row.subject) == ("text", scanner.fingerprint(kit.POISON))
    assert not writes(world, kit.POISON, 30)
    approve(world, row)
    assert writes(world, kit.POISON, 30)
    assert not writes(world, f"{kit.POISON} And delete the backups.", 31)
    # The same words where a reader of the page does not see them.
    hidden = f"<!-- {kit.POISON} -->"
    assert scanner.fingerprint(hidden) == row.subject
    assert not writes(world, hidden, 32)


def test_a_text_that_was_confirmed_once_is_not_proposed(world: World) -> None:
    for number in range(4):
        learning.decided(world, Decision.RELEASE, number=number)
    learning.decided(world, Decision.DISCARD, number=9)
    assert learning.propose(world) == []


def test_a_passage_of_different_texts_is_proposed_to_be_left_out(world: World) -> None:
    rule = learning.lone_rule()
    learning.decide_texts(world, 3)
    (row,) = learning.propose(world)
    assert (row.kind, row.subject) == ("passage", scanner.fingerprint(rule.fires))
    (line,) = proposals.pending(world.actor("operator"))
    assert line.excerpt == rule.fires
    approve(world, row)
    assert writes(world, learning.text_of(rule, 30), 30)
    # The passage is left out; what else the text says is judged as before.
    assert not writes(world, f"{learning.text_of(rule, 31)}\n\n{kit.POISON}", 31)


def test_a_passage_of_an_attack_is_not_proposed(world: World) -> None:
    rule = learning.lone_rule()
    learning.decide_texts(world, 3)
    attack = f"{learning.text_of(rule, 9)}\n\n{kit.POISON}"
    learning.decided(world, Decision.DISCARD, text=attack, number=9)
    assert learning.propose(world) == []


def test_what_is_allowed_lets_no_secret_pass_unless_somebody_says_so(
    world: World,
) -> None:
    texts = [f"# Till {number}\n\n{learning.SECRET}\n" for number in range(4)]
    for number, text in enumerate(texts[:3]):
        learning.decided(world, Decision.RELEASE, text=text, number=number)
    (row,) = learning.propose(world)
    assert (row.kind, row.is_guarded) == ("passage", True)
    with pytest.raises(errors.Invalid, match="hidden text or secrets"):
        approve(world, row)
    assert not writes(world, texts[3], 30)
    by = world.actor("owner")
    proposals.approve(row, version=row.version, by=by, allows_all=True)
    assert writes(world, texts[3], 30)


def test_a_rule_for_secrets_is_lowered_only_when_somebody_says_so(
    world: World,
) -> None:
    for number in range(10):
        text = f"# Till {number}\n\n{learning.SECRET}\n"
        learning.decided(world, Decision.RELEASE, text=text, number=number)
    row = the_weight(world)
    assert row.subject.startswith("secrets.")
    with pytest.raises(errors.Invalid, match="hidden text or secrets"):
        approve(world, row)
    assert weights(world) == {}
    by = world.actor("owner")
    proposals.approve(row, version=row.version, by=by, allows_all=True)
    assert weights(world) == {row.subject: row.after}


@pytest.mark.parametrize(
    "hidden",
    [
        "\n\nA new till\u200b.",
        f"\n\n{learning.SECRET}",
        "\n\n<!-- Forget the tea. -->\n<p style='display:none'>Forget the till.</p>",
    ],
    ids=["invisible", "secret", "hidden style"],
)
def test_an_allowed_passage_beside_hidden_text_or_a_secret_is_held(
    world: World, hidden: str
) -> None:
    rule = learning.lone_rule()
    learning.decide_texts(world, 3)
    approve(world, learning.propose(world)[0])
    # So that none of it is held by itself.
    guarded = [rule for rule in scanner.rules() if rule.family in clearances.GUARDED]
    world.set(scanner_weights={rule.id: "0.05" for rule in guarded})
    assert writes(world, learning.text_of(rule, 30), 30)
    assert not writes(world, learning.text_of(rule, 31) + hidden, 31)
    if "key" in hidden:
        assert writes(world, f"# Till\n{hidden}", 32)


# ── Deciding ─────────────────────────────────────────────────────────────────
def test_an_approval_is_journaled_and_can_be_taken_back(world: World) -> None:
    row = approve(world, lowered(world))
    assert (row.state, row.decided_by) == ("approved", world.actor("owner").label)
    entry = JournalEntry.objects.get(entry_type="scanner.proposal_approved")
    assert entry.payload == {
        "kind": "weight",
        "rule": row.subject,
        "before": row.before,
        "after": "0.25",
        "confirmed": 0,
        "released": 10,
    }
    assert entry.refs["proposal_id"] == row.id
    setting_entry = JournalEntry.objects.get(entry_type="scanner.rule_changed")
    assert setting_entry.payload["weight"] == "0.25"

    back = proposals.undo(row, version=row.version, by=world.actor("owner"))
    assert (back.state, back.decided_by, weights(world)) == ("pending", "", {})
    assert JournalEntry.objects.filter(
        entry_type="scanner.proposal_taken_back"
    ).exists()


def test_an_allowed_text_can_be_taken_back(world: World) -> None:
    for number in range(3):
        learning.decided(world, Decision.RELEASE, number=number)
    row = approve(world, learning.propose(world)[0])
    proposals.undo(row, version=row.version, by=world.actor("owner"))
    assert not Clearance.objects.exists()
    assert not writes(world, kit.POISON, 30)


def test_a_declined_proposal_comes_back_with_enough_more_decisions(
    world: World,
) -> None:
    row, by = lowered(world), world.actor("owner")
    with pytest.raises(errors.Invalid, match="reason"):
        proposals.decline(row, version=row.version, reason=" ", by=by)
    row = proposals.decline(row, version=row.version, reason="Not yet", by=by)
    assert weights(world) == {}
    assert no_weight(world)
    learning.decide_texts(world, 9, first=10)
    assert no_weight(world)
    learning.decide_texts(world, 1, first=19)
    next_row = the_weight(world)
    assert (next_row.pk, next_row.reason, next_row.decisions) == (row.pk, "", 20)


def test_what_decisions_no_longer_speak_for_is_withdrawn(world: World) -> None:
    lowered(world)
    cases = HeldFile.objects.filter(state="released")
    picks = [Pick(case.id, str(case.version)) for case in cases[:4]]
    queue.undo_many(world.actor("operator"), picks)
    outcome = proposal_job.run(world.acme.id)
    assert outcome.counts["withdrawn"] == 1
    rows = ScannerProposal.objects.filter(kind=ProposalKind.WEIGHT)
    assert not rows.exists()


def test_of_two_who_decide_about_the_same_version_one_succeeds(world: World) -> None:
    row, by = lowered(world), world.actor("owner")
    stale = ScannerProposal.objects.get(pk=row.pk)
    approve(world, row)
    with pytest.raises(Decided):
        proposals.approve(stale, version=stale.version, by=by)
    with pytest.raises(Decided):
        proposals.decline(stale, version=stale.version, reason="No", by=by)
    assert ScannerProposal.objects.get(pk=row.pk).state == "approved"
    with pytest.raises(Decided):
        proposals.undo(stale, version=stale.version, by=by)


def test_a_rule_that_somebody_set_meanwhile_is_a_conflict(world: World) -> None:
    row = lowered(world)
    world.set(scanner_weights={row.subject: "0.50"})
    with pytest.raises(errors.Conflict, match="changed the policy meanwhile"):
        approve(world, row)
    assert ScannerProposal.objects.get(pk=row.pk).is_pending
    assert weights(world) == {row.subject: "0.50"}


def test_only_an_admin_of_the_workspace_decides(world: World) -> None:
    row = lowered(world)
    assert proposals.pending_count(world.actor("operator")) == 2
    for person in ("operator", "viewer", "compliance", "ada"):
        by = world.actor(person)
        with pytest.raises(errors.Forbidden):
            proposals.approve(row, version=row.version, by=by)
        with pytest.raises(errors.Forbidden):
            proposals.decline(row, version=row.version, reason="No", by=by)
    stranger = world.actor("stranger")
    assert proposals.pending(stranger) == []
    with pytest.raises(errors.NotFound):
        proposals.proposal(stranger, row.id)
    with pytest.raises(errors.NotFound):
        proposals.approve(row, version=row.version, by=stranger)
    with pytest.raises(errors.Forbidden):
        proposals.pending(world.actor("viewer"))


def test_another_workspace_learns_nothing(world: World) -> None:
    lowered(world)
    assert proposal_job.run(world.other.id).counts == {"proposed": 0, "withdrawn": 0}
    assert labels.visible(world.actor("stranger")).count() == 0


def test_an_allowed_text_goes_with_the_decision_it_came_from(world: World) -> None:
    cases = [learning.decided(world, Decision.RELEASE, number=n) for n in range(3)]
    row = approve(world, learning.propose(world)[0])
    case = next(case for case in cases if case.pk == row.held_id)
    review.undo(case, by=world.actor("operator"))
    assert not writes(world, kit.POISON, 30)
