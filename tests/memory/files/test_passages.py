"""Which passages are proposed to be allowed, and with which texts they are judged."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from memory import scanner
from memory.files import clearances, quarantine
from memory.files.quarantine import HeldForReview
from memory.models import HeldFile, ProposalKind, ReviewLabel
from memory.review import decide as review
from memory.review import passages, proposal_effect
from memory.review.decide import Decision
from tests.memory.files import kit, learning
from tests.memory.files.test_split_writes import FIRST, SECOND
from tests.world import World


def kinds(world: World) -> list[str]:
    """Run the nightly job; return the kinds of what it proposes."""
    return [row.kind for row in learning.propose(world)]


def age(case: HeldFile, days: int = 40) -> None:
    """Let a case and its decision be older than what the effect is counted on."""
    before = timezone.now() - timedelta(days=days)
    HeldFile.objects.filter(pk=case.pk).update(received_at=before, decided_at=before)
    ReviewLabel.objects.filter(held=case).update(decided_at=before)


def test_a_passage_of_an_attack_confirmed_long_ago_is_not_proposed(
    world: World,
) -> None:
    attack = f"{learning.text_of(learning.lone_rule(), 9)}\n\n{kit.POISON}"
    age(learning.decided(world, Decision.DISCARD, text=attack, number=9))
    learning.decide_texts(world, 3)
    assert kinds(world) == []


def test_a_text_confirmed_before_the_newest_decisions_is_not_proposed(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    age(learning.decided(world, Decision.DISCARD, number=9))
    for number in range(3):
        learning.decided(world, Decision.RELEASE, number=number)
    monkeypatch.setattr("memory.review.proposal_search.MAX_DECISIONS", 3)
    assert kinds(world) == []


def test_those_that_were_released_most_often_are_looked_at(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second = learning.lone_rules()[:2]
    texts = [learning.text_of(first, number) for number in range(3)]
    texts += [learning.text_of(second, number) for number in range(3, 7)]
    for number, text in enumerate(texts):
        learning.decided(world, Decision.RELEASE, text=text, number=number)
    rows = learning.of_kind(world, ProposalKind.PASSAGE)
    assert len(rows) == 2
    monkeypatch.setattr(passages, "MAX_PASSAGES", 1)
    (row,) = learning.of_kind(world, ProposalKind.PASSAGE)
    assert row.subject == scanner.fingerprint(second.fires)


def test_a_passage_without_which_no_text_passes_takes_no_place(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    rule, doubled = learning.lone_rules()[:2]
    texts = [learning.text_of(rule, number) for number in range(3)]
    pair = f"{doubled.fires}\n\n{kit.POISON}"
    texts += [f"# Report {number}\n\n{pair}\n" for number in range(3, 7)]
    for number, text in enumerate(texts):
        learning.decided(world, Decision.RELEASE, text=text, number=number)
    monkeypatch.setattr(passages, "MAX_PASSAGES", 1)
    subjects = {row.subject for row in learning.of_kind(world, ProposalKind.PASSAGE)}
    assert subjects == {scanner.fingerprint(rule.fires)}
    monkeypatch.setattr(passages, "MAX_JUDGED", 2)
    policy = quarantine.policy(world.acme.id)
    rows = proposal_effect.texts(world.acme.id, policy)
    assert passages.released(world.acme.id, policy, rows, 3) == []


def test_a_text_is_cut_and_judged_only_for_passages_that_it_has(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    rules = learning.lone_rules()[:3]
    for number in range(9):
        text = learning.text_of(rules[number // 3], number)
        learning.decided(world, Decision.RELEASE, text=text, number=number)
    policy = quarantine.policy(world.acme.id)
    texts = proposal_effect.texts(world.acme.id, policy)
    counts = {"cut": 0, "without": 0}
    for name, function in (("cut", "fingerprints"), ("without", "without")):
        real = getattr(clearances, function)

        def count_calls(*args: Any, name: str = name, real: Any = real) -> Any:
            counts[name] += 1
            return real(*args)

        monkeypatch.setattr(clearances, function, count_calls)
    rows = passages.released(world.acme.id, policy, texts, 3)
    assert [len(row.passing) for row in rows] == [3, 3, 3]
    # Each text twice to see what it has, and once for the one passage to leave out.
    assert counts == {"cut": 9 + 9 + 9, "without": 9}


def test_a_text_held_only_with_what_stood_there_is_not_proposed(world: World) -> None:
    operator = world.actor("operator")
    for number in range(3):
        kit.append(world, FIRST, learning.label(number))
        with pytest.raises(HeldForReview) as caught:
            kit.append(world, SECOND, learning.label(number))
        case = HeldFile.objects.get(pk=caught.value.fields["held_id"])
        review.decide(case, Decision.RELEASE, version=1, reason="A drill", by=operator)
    assert kinds(world) == []


# ── The writer ───────────────────────────────────────────────────────────────
def test_a_text_held_for_an_unknown_hand_counts_as_held(world: World) -> None:
    text = scanner.rule("persistence.trigger").fires
    kit.append(world, "Calm.\n")
    kit.put(kit.on_disk(world), f"Calm.\n{text}\n")
    kit.append(world, "Calm again.\n")
    assert not scanner.scan(f"Calm.\n{text}\n", source="disk", tier="AGENT").is_held
    policy = quarantine.policy(world.acme.id)
    (row,) = proposal_effect.texts(world.acme.id, policy)
    assert (row.source, row.writer, row.is_held) == ("disk", "unknown", True)
    assert row.is_held_by(policy)
    assert not row.is_held_without(scanner.fingerprint(text), policy)
