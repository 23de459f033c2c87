"""Changes of the scanner that reviewers' decisions speak for; nothing is changed here.

A weight is read as the share of attacks among the texts in which a rule matches. Where
people confirmed certainly less than half of them, a lower weight is proposed: the upper
end of the share's interval. None is higher than the shipped one, so that no proposal
holds a text that the shipped rules let pass. A rule of the policy is meant to
ask a person about honest texts too, so none of it is proposed. What was released again
and again may be allowed: a text, or a sentence or line of otherwise different texts.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial, reduce
from typing import Final

from memory import scanner
from memory.files import agreement, clearances, quarantine
from memory.files.agreement import MAX_DECISIONS, Agreement
from memory.files.quarantine import Policy
from memory.models import Clearance, Label, ProposalKind, ReviewLabel
from memory.review import labels, passages, proposal_effect
from memory.review.proposal_effect import Effect, Text
from memory.rules.permissions import Actor
from memory.scanner import registry
from memory.scanner.model import Family, Mode, Rule

# Certainly low is an interval below the first, certainly high one above the second.
LOW: Final = 0.5
HIGH: Final = 0.7
STEPS: Final = 20
# So often a text has to be released before it is proposed to be allowed.
REPEATS: Final = 3
CASES: Final = 20
HOLD: Final = Mode.HOLD.value
ALLOW: Final = "allow"


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """A change with the decisions it rests on, and what it would have done.

    ``together`` is the effect of all lower weights that are proposed.
    """

    kind: ProposalKind
    subject: str
    before: str
    after: str
    confirmed: int
    released: int
    cases: tuple[str, ...]
    effect: Effect
    together: Effect
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


def still_current(candidates: Sequence[Candidate], actor: Actor) -> list[Candidate]:
    """Return the candidates whose setting or text nobody changed meanwhile."""
    policy = quarantine.policy(actor.workspace_id)
    return [
        candidate
        for candidate in candidates
        if candidate.before == _value(candidate, policy, actor)
    ]


def _value(candidate: Candidate, policy: Policy, actor: Actor) -> str:
    if candidate.kind in (ProposalKind.TEXT, ProposalKind.PASSAGE):
        is_allowed = _is_allowed(actor, candidate.kind, candidate.subject)
        return ALLOW if is_allowed else HOLD
    mode = policy.modes.get(candidate.subject, HOLD)
    if candidate.kind is ProposalKind.MODE or mode != HOLD:
        return mode
    shipped = registry.rule(candidate.subject).weight
    return weight_text(policy.weights.get(candidate.subject, shipped))


def _is_allowed(actor: Actor, kind: ProposalKind, fingerprint: str) -> bool:
    rows = Clearance.objects.filter(workspace_id=actor.workspace_id, kind=kind)
    return rows.filter(fingerprint=fingerprint).exists()


# ── Rules ────────────────────────────────────────────────────────────────────
def weight_text(weight: float) -> str:
    """Return a weight as it is stored and shown."""
    return f"{weight:.2f}"


@dataclass(frozen=True, slots=True)
class _Change:
    """What the figures of one rule speak for."""

    rule: Rule
    counts: Agreement
    kind: ProposalKind
    before: str
    after: str

    @property
    def is_lower(self) -> bool:
        """Whether it lowers a weight."""
        return self.kind is ProposalKind.WEIGHT and self.after < self.before

    def on(self, policy: Policy) -> Policy:
        """Return a policy with the change."""
        if self.kind is ProposalKind.MODE:
            return replace(policy, modes={**policy.modes, self.rule.id: self.after})
        weights = {**policy.weights, self.rule.id: float(self.after)}
        return replace(policy, weights=weights)


def _of_rules(
    actor: Actor, policy: Policy, texts: Sequence[Text]
) -> Iterator[Candidate]:
    """Yield changes of single rules, lower weights only where texts would pass then.

    Where several rules match in one text it passes only with all of them lowered, so
    the effect is counted alone and together.
    """
    changes = [
        change
        for rule_id, counts in sorted(agreement.agreement(actor).items())
        if counts.is_enough and (change := _change(rule_id, counts, policy))
    ]
    lowered = [change for change in changes if change.is_lower]
    together = proposal_effect.changes(
        texts, reduce(lambda before, change: change.on(before), lowered, policy)
    )
    for change in changes:
        rule_id = change.rule.id
        matching = [row for row in texts if rule_id in row.rules]
        single = proposal_effect.changes(matching, change.on(policy))
        effect = proposal_effect.count(texts, single)
        joint = [row for row in together if rule_id in row.rules]
        joint_effect = proposal_effect.count(texts, joint)
        if change.is_lower and not (effect.released or joint_effect.released):
            continue
        yield Candidate(
            kind=change.kind,
            subject=rule_id,
            before=change.before,
            after=change.after,
            confirmed=change.counts.confirmed,
            released=change.counts.released,
            cases=tuple(row.held_id for row in labels.of_rule(actor, rule_id)),
            effect=effect,
            together=joint_effect if change.is_lower else effect,
            is_guarded=change.is_lower and change.rule.family in clearances.GUARDED,
        )


def _change(rule_id: str, counts: Agreement, policy: Policy) -> _Change | None:
    rule = registry.BY_ID.get(rule_id)
    if rule is None or rule.family is Family.POLICY:
        return None
    low, high = counts.interval
    mode = policy.modes.get(rule_id, Mode.HOLD)
    weight = policy.weights.get(rule_id, rule.weight)
    of_weight = partial(_Change, rule, counts, ProposalKind.WEIGHT, weight_text(weight))
    if mode == Mode.OBSERVE and low >= HIGH:
        change = (ProposalKind.MODE, Mode.OBSERVE.value, Mode.HOLD.value)
        return _Change(rule, counts, *change)
    if mode != Mode.HOLD:
        return None
    if high < LOW:
        lower = max(math.floor(high * STEPS), 1) / STEPS
        return of_weight(weight_text(lower)) if lower < weight else None
    return of_weight(weight_text(rule.weight)) if weight < rule.weight else None


# ── Texts and passages ───────────────────────────────────────────────────────
def _of_texts(actor: Actor, texts: Sequence[Text]) -> Iterator[Candidate]:
    """Yield the texts that were released again and again, and never confirmed."""
    rows = ReviewLabel.objects.filter(workspace_id=actor.workspace_id)
    newest = rows.order_by("-decided_at", "-pk")
    names = newest.values_list("held__fingerprint", "label", "held_id")[:MAX_DECISIONS]
    released: dict[str, list[str]] = defaultdict(list)
    for fingerprint, label, held_id in names:
        if label == Label.HONEST:
            released[fingerprint].append(held_id)
    repeated = {name: ids for name, ids in released.items() if len(ids) >= REPEATS}
    attacks = rows.filter(label=Label.ATTACK, held__fingerprint__in=list(repeated))
    confirmed = set(attacks.values_list("held__fingerprint", flat=True))
    by_id = {row.held_id: row for row in texts}
    for fingerprint, ids in sorted(repeated.items()):
        example = next((by_id[held_id] for held_id in ids if held_id in by_id), None)
        if example is None or fingerprint in confirmed:
            continue
        matching = [
            row for row in texts if row.is_held and row.fingerprint == fingerprint
        ]
        effect = proposal_effect.count(texts, matching)
        if effect.released:
            ids.insert(0, ids.pop(ids.index(example.held_id)))
            yield from _allowing(actor, ProposalKind.TEXT, example.text, ids, effect)


def _of_passages(
    actor: Actor, policy: Policy, texts: Sequence[Text]
) -> Iterator[Candidate]:
    """Yield sentences and lines with findings of otherwise different released texts."""
    for passage in passages.released(actor.workspace_id, policy, texts, REPEATS):
        effect = proposal_effect.count(texts, passage.passing)
        kind = ProposalKind.PASSAGE
        yield from _allowing(actor, kind, passage.text, passage.cases, effect)


def _allowing(
    actor: Actor, kind: ProposalKind, text: str, ids: Sequence[str], effect: Effect
) -> Iterator[Candidate]:
    """Yield the candidate, unless the text hides characters or is allowed already."""
    fingerprint = scanner.fingerprint(text)
    if scanner.has_unseen(text) or _is_allowed(actor, kind, fingerprint):
        return
    yield Candidate(
        kind=kind,
        subject=fingerprint,
        before=HOLD,
        after=ALLOW,
        confirmed=0,
        released=len(ids),
        cases=tuple(ids[:CASES]),
        effect=effect,
        together=effect,
        is_guarded=clearances.is_guarded(text),
        held_id=ids[0],
    )
