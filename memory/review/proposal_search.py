"""Changes of the scanner that reviewers' decisions speak for; nothing is changed here.

A weight is read as the share of attacks among the texts in which a rule matches. Where
people confirmed certainly less than half of them, a lower weight is proposed: the upper
end of the share's interval. None is higher than the shipped one, so that nothing
learned holds a text that the shipped rules let pass. What was released again and again
is proposed to be allowed: a text, or a sentence or line of otherwise different texts.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Final

from memory import scanner
from memory.files import agreement, clearances, quarantine
from memory.files.agreement import MAX_DECISIONS, Agreement
from memory.files.quarantine import Policy
from memory.models import Clearance, HeldState, Label, ProposalKind, ReviewLabel
from memory.review import labels, proposal_effect
from memory.review.proposal_effect import Effect, Text
from memory.rules import tokenizer
from memory.rules.permissions import Actor
from memory.scanner import registry
from memory.scanner.model import Mode, Rule

# Certainly low is an interval below the first, certainly high one above the second.
LOW: Final = 0.5
HIGH: Final = 0.7
STEPS: Final = 20
# So often a text has to be released before it is proposed to be allowed.
REPEATS: Final = 3
PASSAGE_WORDS: Final = 4
CASES: Final = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """A change with the decisions it rests on, and what it would have done."""

    kind: ProposalKind
    subject: str
    before: str
    after: str
    confirmed: int
    released: int
    cases: tuple[str, ...]
    effect: Effect
    is_guarded: bool = False
    held_id: str | None = None

    @property
    def decisions(self) -> int:
        """The number of decisions it rests on."""
        return self.confirmed + self.released


def candidates(actor: Actor) -> list[Candidate]:
    """Return every change that the decisions of a workspace speak for today."""
    policy = quarantine.policy(actor.workspace_id)
    texts = proposal_effect.texts(actor.workspace_id, policy)
    return [
        *_of_rules(actor, policy, texts),
        *_of_texts(actor, texts),
        *_of_passages(actor, policy, texts),
    ]


# ── Rules ────────────────────────────────────────────────────────────────────
def shown(weight: float) -> str:
    """Return a weight as it is stored and shown."""
    return f"{weight:.2f}"


def _of_rules(
    actor: Actor, policy: Policy, texts: Sequence[Text]
) -> Iterator[Candidate]:
    for rule_id, counts in sorted(agreement.agreement(actor).items()):
        rule = registry.BY_ID.get(rule_id)
        if rule is None or not counts.is_enough:
            continue
        change = _change(rule, counts, policy)
        if change is None:
            continue
        kind, before, after = change
        effect = proposal_effect.of_policy(texts, rule_id, _then(policy, rule, after))
        is_lower = kind is ProposalKind.WEIGHT and float(after) < float(before)
        if is_lower and not effect.released:
            continue
        yield Candidate(
            kind=kind,
            subject=rule_id,
            before=before,
            after=after,
            confirmed=counts.confirmed,
            released=counts.released,
            cases=tuple(row.held_id for row in labels.of_rule(actor, rule_id)),
            effect=effect,
        )


def _change(
    rule: Rule, counts: Agreement, policy: Policy
) -> tuple[ProposalKind, str, str] | None:
    """Return what a rule's figures speak for: the kind, before and after."""
    low, high = counts.interval
    mode = policy.modes.get(rule.id, Mode.HOLD)
    weight = policy.weights.get(rule.id, rule.weight)
    if mode == Mode.OBSERVE and low >= HIGH:
        return ProposalKind.MODE, Mode.OBSERVE.value, Mode.HOLD.value
    if mode != Mode.HOLD:
        return None
    if high < LOW:
        lower = max(math.floor(high * STEPS), 1) / STEPS
        if lower < weight:
            return ProposalKind.WEIGHT, shown(weight), shown(lower)
    elif weight < rule.weight:
        return ProposalKind.WEIGHT, shown(weight), shown(rule.weight)
    return None


def _then(policy: Policy, rule: Rule, after: str) -> Policy:
    if after == Mode.HOLD:
        return replace(policy, modes={**policy.modes, rule.id: after})
    return replace(policy, weights={**policy.weights, rule.id: float(after)})


# ── Texts and passages ───────────────────────────────────────────────────────
def _of_texts(actor: Actor, texts: Sequence[Text]) -> Iterator[Candidate]:
    """Yield the texts that were released again and again, and never confirmed."""
    rows = ReviewLabel.objects.filter(workspace_id=actor.workspace_id)
    newest = rows.order_by("-decided_at", "-pk")
    names = newest.values_list("held__fingerprint", "label", "held_id")[:MAX_DECISIONS]
    released: dict[str, list[str]] = defaultdict(list)
    confirmed: set[str] = set()
    for fingerprint, label, held_id in names:
        if label == Label.ATTACK:
            confirmed.add(fingerprint)
        else:
            released[fingerprint].append(held_id)
    by_id = {row.held_id: row for row in texts}
    for fingerprint, ids in sorted(released.items()):
        example = next((by_id[held_id] for held_id in ids if held_id in by_id), None)
        if example is None or fingerprint in confirmed or len(ids) < REPEATS:
            continue
        same = proposal_effect.of_allowing(texts, partial(_is_text, fingerprint))
        if same.released:
            ids.insert(0, ids.pop(ids.index(example.held_id)))
            yield from _allowing(actor, ProposalKind.TEXT, example.text, ids, same)


def _of_passages(
    actor: Actor, policy: Policy, texts: Sequence[Text]
) -> Iterator[Candidate]:
    """Yield sentences and lines with findings of otherwise different released texts."""
    holders: dict[str, dict[str, str]] = defaultdict(dict)
    passages: dict[str, str] = {}
    confirmed: set[str] = set()
    for row in texts:
        units = clearances.fingerprints(row.text)
        if row.state in (HeldState.DISCARDED, HeldState.REDACTED):
            confirmed |= {name for name, _ in units}
        elif row.state == HeldState.RELEASED:
            for name, unit in units:
                if any(
                    finding["start"] < unit.end and finding["end"] > unit.start
                    for finding in row.findings
                ):
                    holders[name].setdefault(row.fingerprint, row.held_id)
                    passages.setdefault(name, row.text[unit.start : unit.end])
    for name, by_text in sorted(holders.items()):
        if name in confirmed or len(by_text) < REPEATS:
            continue
        if len(tokenizer.split(passages[name])) < PASSAGE_WORDS:
            continue
        effect = proposal_effect.of_allowing(texts, partial(_passes, name, policy))
        if effect.released >= REPEATS:
            ids = list(by_text.values())
            kind = ProposalKind.PASSAGE
            yield from _allowing(actor, kind, passages[name], ids, effect)


def _is_text(fingerprint: str, row: Text) -> bool:
    return row.fingerprint == fingerprint


def _passes(passage: str, policy: Policy, row: Text) -> bool:
    rest = clearances.without(row.text, {passage})
    if rest == row.text:
        return False
    return not policy.scan(rest, source=row.source, tier=row.tier).is_held


def _allowing(
    actor: Actor, kind: ProposalKind, text: str, ids: Sequence[str], effect: Effect
) -> Iterator[Candidate]:
    """Yield the candidate, unless the text hides characters or is allowed already."""
    fingerprint = scanner.fingerprint(text)
    allowed = Clearance.objects.filter(
        workspace_id=actor.workspace_id, kind=kind, fingerprint=fingerprint
    )
    if scanner.has_unseen(text) or allowed.exists():
        return
    yield Candidate(
        kind=kind,
        subject=fingerprint,
        before="hold",
        after="allow",
        confirmed=0,
        released=len(ids),
        cases=tuple(ids[:CASES]),
        effect=effect,
        is_guarded=clearances.is_guarded(text),
        held_id=ids[0],
    )
