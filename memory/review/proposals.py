"""Proposals that decisions led to: items, approved, declined, taken back by a person.

Nothing of a proposal holds until an admin approves it. Approving changes the setting or
allows the text in one transaction with the journal's entries; of two admins at once one
succeeds. Taking it back restores what was before, and the proposal waits again.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Final

from django.db import transaction
from django.db.models import Q, QuerySet
from django.utils import timezone

from memory import lookup, workspace_settings
from memory.files import clearances, policy, restricted
from memory.files.agreement import Agreement
from memory.journal import append as journal
from memory.models import (
    Clearance,
    HeldFile,
    LearningState,
    ProposalKind,
    ScannerProposal,
    Workspace,
)
from memory.review import allowances, highlight, preview
from memory.rules import entries, errors
from memory.rules.entries import NewEntry, Severity
from memory.rules.permissions import Actor
from memory.rules.translation import gettext, gettext_noop
from memory.scanner import registry
from memory.scanner.model import Family, Rule
from memory.workspace_settings import declarations

REASON_CHARS: Final = 2_000
EXCERPT: Final = 400
DECIDED: Final = 50
OF_HELD: Final = (ProposalKind.TEXT, ProposalKind.PASSAGE)


class Decided(errors.AppError):
    """The proposal was decided already, or is not what the person read."""

    code, status, title = "already_decided", 409, gettext_noop("Already decided")
    sentence = gettext_noop(
        "The proposal was decided, or changed, since you looked at it. Nothing was "
        "changed now; read it as it is."
    )


@dataclass(frozen=True, slots=True)
class Line:
    """A proposal with what a person reads beside it.

    ``rule`` is None for a text or passage, of which ``excerpt`` shows the first part
    and ``chars`` says how long it is. ``cases`` are the decided texts it rests on, as
    far as they are still there.
    """

    proposal: ScannerProposal
    rule: Rule | None
    excerpt: str
    chars: int
    cases: list[HeldFile]

    @property
    def is_cut(self) -> bool:
        """Whether the excerpt is not all that would be allowed."""
        return len(self.excerpt) < self.chars

    @property
    def is_allowing(self) -> bool:
        """Whether it would allow a text or a passage."""
        return self.proposal.kind in OF_HELD

    @property
    def lets_through(self) -> bool:
        """Whether texts would pass that are held now, and not the other way round."""
        if self.proposal.kind != ProposalKind.WEIGHT:
            return self.is_allowing
        return float(self.proposal.after) < float(self.proposal.before)

    @property
    def agreement(self) -> Agreement:
        """How people decided about the texts that it rests on."""
        evidence = self.proposal.evidence
        return Agreement(evidence["confirmed"], evidence["released"])


# ── Reading ──────────────────────────────────────────────────────────────────
def _visible(actor: Actor) -> QuerySet[ScannerProposal]:
    """Return the proposals but those about a text that the actor may not see."""
    actor.require("scanner.read")
    rows = ScannerProposal.objects.filter(workspace_id=actor.workspace_id)
    # Only the examples: to tell who is named in them each is read.
    examples = rows.filter(held__isnull=False).values("held")
    texts = HeldFile.objects.filter(workspace_id=actor.workspace_id, pk__in=examples)
    visible = restricted.visible_held(texts, actor)
    return rows.filter(Q(held__isnull=True) | Q(held__in=visible))


def pending_count(actor: Actor) -> int:
    """Return how many proposals wait for a person."""
    return _visible(actor).filter(state=LearningState.PENDING).count()


def proposal(actor: Actor, proposal_id: str) -> ScannerProposal:
    """Return a proposal of the actor's workspace."""
    return lookup.required(_visible(actor), pk=proposal_id)


def pending(actor: Actor) -> list[Line]:
    """Return the proposals that wait, newest first."""
    rows = _visible(actor).filter(state=LearningState.PENDING)
    return _lines(actor, rows.order_by("-proposed_at", "pk"))


def decided(actor: Actor) -> list[Line]:
    """Return the proposals that were decided, newest first."""
    rows = _visible(actor).exclude(state=LearningState.PENDING)
    return _lines(actor, rows.order_by("-decided_at", "pk")[:DECIDED])


def _lines(actor: Actor, rows: Iterable[ScannerProposal]) -> list[Line]:
    items = list(rows)
    ids = {case for row in items for case in row.evidence.get("cases", ())}
    ids |= {row.held_id for row in items if row.held_id}
    texts = HeldFile.objects.filter(workspace_id=actor.workspace_id, pk__in=ids)
    cases = restricted.visible_held(texts, actor).in_bulk()
    lines = []
    for row in items:
        words = _words(row, cases)
        names = row.evidence.get("cases", ())
        examples = [cases[name] for name in names if name in cases]
        rule = registry.BY_ID.get(row.subject)
        lines.append(Line(row, rule, words[:EXCERPT], len(words), examples))
    return lines


def _words(row: ScannerProposal, cases: dict[str, HeldFile]) -> str:
    """Return the text or the passage that would be allowed, its secrets masked."""
    case = cases.get(row.held_id or "")
    if case is None:
        return ""
    text = preview.text_of(case)
    start, end = 0, len(text)
    if row.kind == ProposalKind.PASSAGE:
        units = clearances.fingerprints(text)
        places = (unit[:2] for name, unit in units if name == row.subject)
        start, end = next(places, (0, 0))
    spans = [
        (max(finding["start"] - start, 0), min(finding["end"], end) - start)
        for finding in case.findings
        if finding["family"] == Family.SECRETS
        and finding["start"] < end
        and finding["end"] > start
    ]
    return highlight.without_secrets(text[start:end], spans).strip()


# ── Deciding ─────────────────────────────────────────────────────────────────
def approve(
    row: ScannerProposal, *, version: int, by: Actor, allows_all: bool = False
) -> ScannerProposal:
    """Carry out a proposal.

    What lets a text pass with a finding of hidden text or secrets is approved only with
    ``allows_all``, by which the person says that such texts may.
    """
    by.require("scanner.manage", row.workspace_id)
    if row.is_guarded and not allows_all:
        detail = gettext(
            "It is about hidden text or secrets, so it is approved only when you say "
            "that such texts may pass."
        )
        raise errors.Invalid(detail, code="guarded")
    with transaction.atomic():
        live, _ = _decide(row, version, LearningState.APPROVED, by)
        if live.kind in OF_HELD:
            _allow(live, by, allows_all=live.is_guarded)
        else:
            _set(live, live.before, live.after, by)
        _record("approved", live, by)
    return live


def decline(
    row: ScannerProposal, *, version: int, reason: str, by: Actor
) -> ScannerProposal:
    """Decline a proposal; it comes back when enough more decisions speak for it."""
    by.require("scanner.manage", row.workspace_id)
    text = reason.strip()
    if not text or not entries.is_storable(text):
        detail = gettext("Declining needs a reason.")
        raise errors.Invalid(detail, code="reason_required")
    if len(text) > REASON_CHARS:
        raise errors.TooLarge(what="reason", limit=REASON_CHARS, size=len(text))
    with transaction.atomic():
        live, _ = _decide(row, version, LearningState.DECLINED, by, text)
        _record("declined", live, by)
    return live


def undo(row: ScannerProposal, *, version: int, by: Actor) -> ScannerProposal:
    """Take a decision back: what it changed is as before, and the proposal waits."""
    by.require("scanner.manage", row.workspace_id)
    with transaction.atomic():
        live, previous = _decide(row, version, LearningState.PENDING, by)
        if previous == LearningState.APPROVED and live.kind in OF_HELD:
            allowances.renew(live.workspace_id, live.kind, live.subject)
        elif previous == LearningState.APPROVED:
            _set(live, live.after, live.before, by)
        _record("taken_back", live, by, previous=previous)
    return live


def take_back_of(case: HeldFile, *, by: Actor) -> None:
    """Let what was approved with a case as its example wait again, and record it.

    For a case that is being undone: its decision no longer speaks for a permission.
    """
    rows = ScannerProposal.objects.filter(workspace_id=case.workspace_id, held=case)
    for row in rows.filter(state=LearningState.APPROVED):
        previous = row.state
        _put(row, LearningState.PENDING, by)
        _record("taken_back", row, by, previous=previous)


def _decide(
    row: ScannerProposal,
    version: int,
    state: LearningState,
    by: Actor,
    reason: str = "",
) -> tuple[ScannerProposal, str]:
    """Set the state; return the row and what it was. One version is decided once."""
    # First of all, as every change of a setting does: one after the other.
    Workspace.objects.select_for_update(no_key=True).get(pk=by.workspace_id)
    live = lookup.required(
        ScannerProposal.objects.filter(workspace_id=by.workspace_id), pk=row.pk
    )
    previous, waits = live.state, state == LearningState.PENDING
    if live.version != version or live.is_pending == waits:
        raise Decided
    _put(live, state, by, reason)
    return live, previous


def _put(
    row: ScannerProposal, state: LearningState, by: Actor, reason: str = ""
) -> None:
    waits = state == LearningState.PENDING
    row.state, row.reason = state, reason
    row.decided_by = "" if waits else by.label
    row.decided_at = None if waits else timezone.now()
    row.version += 1
    row.save()


def _record(verb: str, row: ScannerProposal, by: Actor, **details: Any) -> None:
    is_rule = row.kind not in OF_HELD
    name = row.subject if is_rule else f"a {row.kind}"
    new = NewEntry(
        entry_type=f"scanner.proposal_{verb}",
        severity=Severity.NOTICE,
        summary=f"Proposal of {name} {verb.replace('_', ' ')} ({row.id})",
        payload={
            "kind": row.kind,
            "rule": row.subject if is_rule else None,
            "before": row.before,
            "after": row.after,
            "confirmed": row.evidence.get("confirmed", 0),
            "released": row.evidence.get("released", 0),
            **details,
        },
        refs={"proposal_id": row.id, "held_id": row.held_id},
    )
    journal.write([new], by=by)


# ── Carrying out ─────────────────────────────────────────────────────────────
def _entries(row: ScannerProposal) -> QuerySet[Clearance]:
    return Clearance.objects.filter(
        workspace_id=row.workspace_id, kind=row.kind, fingerprint=row.subject
    )


def _allow(row: ScannerProposal, by: Actor, *, allows_all: bool) -> None:
    if row.held_id is None or _entries(row).exists():
        raise Decided
    Clearance.objects.create(
        workspace_id=row.workspace_id,
        kind=row.kind,
        fingerprint=row.subject,
        allows_all=allows_all,
        held_id=row.held_id,
        cleared_by=by.label,
    )


def _set(row: ScannerProposal, before: str, after: str, by: Actor) -> None:
    """Set a rule's mode or weight, which must still be what the person read."""
    if row.kind == ProposalKind.MODE:
        policy.save({row.subject: after}, by=by, base={row.subject: before})
        return
    setting, rule = declarations.SCANNER_WEIGHTS, policy.rule(row.subject)
    weights = workspace_settings.value(by.workspace_id, setting)
    shipped = f"{rule.weight:.2f}"
    if weights.get(rule.id, shipped) != before:
        detail = gettext("Somebody changed the policy meanwhile; nothing was saved.")
        raise errors.Conflict(detail, code="policy_changed")
    rest = {name: text for name, text in weights.items() if name != rule.id}
    lowered = {rule.id: after} if float(after) < rule.weight else {}
    workspace_settings.change({setting.name: {**rest, **lowered} or None}, by=by)
