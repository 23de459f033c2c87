"""Decided texts for the tests of what decisions teach."""

from __future__ import annotations

from datetime import date, timedelta
from typing import Final

from memory import scanner
from memory.models import HeldFile, ProposalKind, ScannerProposal
from memory.review import decide as review
from memory.review import proposal_job
from memory.review.decide import Decision
from memory.scanner.model import Family, Rule
from tests.memory.files import kit
from tests.memory.files.test_quarantine import hold_text
from tests.world import World

FIRST_DAY: Final = date(2026, 1, 1)
SECRET: Final = "The key of the till is sk_" + "live_51Q9fDemoNotARealKey0a4f2a7c."


def lone_rules() -> list[Rule]:
    """Return the rules whose examples are held because of each alone."""
    return [
        rule
        for rule in scanner.rules()
        if rule.family is Family.PERSISTENCE
        and [f.rule for f in scanner.scan(text_of(rule, 1)).findings] == [rule.id]
        and scanner.scan(text_of(rule, 1)).is_held
    ]


def lone_rule() -> Rule:
    """Return the first of them."""
    return lone_rules()[0]


def text_of(rule: Rule, number: int) -> str:
    """Return a text in which a rule matches, another for each number."""
    return f"# Report {number}\n\nTea was sold.\n\n{rule.fires}\n"


def label(number: int) -> str:
    """Return the name of a daily file."""
    return f"daily/{FIRST_DAY + timedelta(days=number)}.md"


def decided(
    world: World,
    decision: Decision,
    *,
    text: str = kit.POISON,
    number: int = 0,
    by: str = "operator",
) -> HeldFile:
    """Return a text of some day that was held and decided."""
    case = hold_text(world, text, label(number))
    reason = "Looked at"
    return review.decide(case, decision, version=1, reason=reason, by=world.actor(by))


def decide_texts(
    world: World, count: int, decision: Decision = Decision.RELEASE, first: int = 0
) -> list[HeldFile]:
    """Return decided texts, held for the lone rule, each of another day."""
    rule = lone_rule()
    return [
        decided(world, decision, text=text_of(rule, number), number=number)
        for number in range(first, first + count)
    ]


def propose(world: World) -> list[ScannerProposal]:
    """Run the nightly job; return what waits then."""
    proposal_job.run(world.acme.id)
    rows = ScannerProposal.objects.filter(workspace=world.acme, state="pending")
    return list(rows.order_by("kind", "subject"))


def of_kind(world: World, kind: ProposalKind) -> list[ScannerProposal]:
    """Run the nightly job; return what waits of one kind."""
    return [row for row in propose(world) if row.kind == kind]
