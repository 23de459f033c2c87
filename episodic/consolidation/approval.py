"""Approving and rejecting a proposed rule.

A decision is made on the version that was read. Of two concurrent decisions one wins,
and the file is written in its transaction: a rule is learned once or not at all.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from django.db import transaction
from django.db.models import F
from django.utils import timezone
from django.utils.translation import gettext, gettext_noop, pgettext

from episodic.consolidation import proposals
from episodic.consolidation.pins import SOURCE
from episodic.models import ConsolidationProposal, MemoryRelation, ProposalState
from memory.files import paths, quarantine, writer
from memory.files.paths import Owner
from memory.files.writer import Request
from memory.journal import append as journal
from memory.models import JournalEntry
from memory.rules import entries, errors
from memory.rules.entries import NewEntry, Severity
from memory.rules.permissions import Actor
from memory.rules.tiers import Place, Tier
from memory.scanner.provenance import Writer

TEXT_CHARS: Final = 4_000
REASON_CHARS: Final = 2_000
LIKE_AN_ATTACK: Final = gettext_noop("it looks like an attack.")


@dataclass(frozen=True, slots=True)
class Seen:
    """What a reviewer read: the digest of the proposed text, and the evidence ids."""

    text_sha256: str
    evidence: tuple[str, ...]


class NotSeen(errors.AppError):
    """The text or the evidence is not what the reviewer read."""

    code, status, title = "not_seen", 409, gettext_noop("Not what you saw")
    sentence = gettext_noop(
        "The text or the evidence changed since you read it. Nothing was learned; read "
        "it as it is shown now, and decide again."
    )


class Decided(errors.AppError):
    """The proposal was decided already, or changed since it was read."""

    code, status, title = "already_decided", 409, gettext_noop("Already decided")
    sentence = gettext_noop("{decided_by} was faster: the proposal is {state}.")


def approve(
    proposal: ConsolidationProposal,
    *,
    version: int,
    by: Actor,
    text: str | None = None,
    seen: Seen | None = None,
) -> ConsolidationProposal:
    """Learn a rule, as proposed or as edited: the state first, then the file."""
    by.require("proposals.decide", proposal.workspace_id)
    final, edited = _final(proposal, text)
    require_allowed(proposal, final, by)
    owner, place = proposals.today(proposal)
    before = writer.current_text(owner, place)
    request = proposals.request_of(owner, place, before, final)
    writing = False
    try:
        with transaction.atomic():
            _set_state(proposal, version, ProposalState.APPROVED, by)
            rows = _evidence(proposal, seen)
            _link(proposal, _record(proposal, final, rows, place, by), rows)
            writing = True
            result = writer.write(request, by=by)
            ConsolidationProposal.objects.filter(pk=proposal.pk).update(
                text=final,
                content_hash=proposals.digest(final),
                was_edited=edited or proposal.was_edited,
                learned_label=result.label,
                learned_version=result.version,
            )
    except BaseException as error:
        if writing:
            _restore_file(proposal, request, before)
        if isinstance(error, quarantine.HeldForReview):
            why = str(error.fields.get("why") or LIKE_AN_ATTACK)
            detail = gettext("The scanner held the text: {why}")
            detail = detail.format(why=gettext(why))
            raise errors.Conflict(detail, code="held_text") from None
        raise
    return proposals.proposal(by, proposal.pk)


def _final(proposal: ConsolidationProposal, text: str | None) -> tuple[str, bool]:
    """Return what will be learned, and whether a person changed it."""
    if proposals.digest(proposal.text) != proposal.content_hash:
        detail = gettext("The stored text is not the one that was proposed.")
        raise errors.Conflict(detail, code="text_changed")
    final = proposal.text
    if text is not None:
        final = text.replace("\r\n", "\n").strip() + "\n"
        # A form sends a text without its outer spacing: that is no edit.
        if final.strip() == proposal.text.strip():
            final = proposal.text
    if not final.strip() or not entries.is_storable(final):
        detail = gettext("The rule is empty, or is not text.")
        raise errors.Invalid(detail, code="bad_text")
    if len(final) > TEXT_CHARS:
        raise errors.TooLarge(
            what=pgettext("too large", "text"), limit=TEXT_CHARS, size=len(final)
        )
    return final, final != proposal.text


def hold_reason(owner: Owner, text: str, by: Actor) -> str:
    """Return why the scanner would hold a rule, empty when it would not.

    A person decides about every proposal: there is no more that a policy asks for.
    """
    place = Place(Tier.LEARNED, timezone.now().date().isoformat())
    incoming = quarantine.Incoming(
        owner, place, text, "append", SOURCE, by.label, writer=Writer.OPERATOR.value
    )
    verdict = quarantine.judge_alone(incoming, text)
    if verdict.action == "allow":
        return ""
    return gettext(verdict.why or LIKE_AN_ATTACK)


def require_allowed(proposal: ConsolidationProposal, text: str, by: Actor) -> None:
    """Raise Invalid for a text that the scanner would hold."""
    reason = hold_reason(Owner(proposal.crew), text, by)
    if reason:
        detail = gettext(
            "The scanner would hold this text: {reason} Nothing was learned."
        )
        raise errors.Invalid(detail.format(reason=reason), code="held_text")


def _set_state(
    proposal: ConsolidationProposal,
    version: int,
    state: ProposalState,
    by: Actor,
    reason: str = "",
) -> None:
    """Set the state of a pending proposal; of two concurrent UPDATEs one succeeds."""
    rows = ConsolidationProposal.objects.filter(
        pk=proposal.pk,
        version=version,
        content_hash=proposal.content_hash,
        state=ProposalState.PENDING,
    )
    updated = rows.update(
        state=state,
        version=F("version") + 1,
        decided_by=by.label,
        decided_at=timezone.now(),
        reason=reason,
    )
    if updated:
        return
    live = ConsolidationProposal.objects.get(pk=proposal.pk)
    if live.is_pending:
        detail = gettext("The proposal changed since you looked at it.")
        raise Decided(detail, code="stale_version", version=live.version)
    detail = gettext(Decided.sentence).format(
        decided_by=live.decided_by, state=gettext(live.state)
    )
    fields = {"decided_by": live.decided_by, "state": live.state}
    raise Decided(detail, version=live.version, **fields)


def _evidence(proposal: ConsolidationProposal, seen: Seen | None) -> list[JournalEntry]:
    """Return the evidence; raise NotSeen, or Conflict when too little of it is left."""
    rows = proposals.living(proposal)
    now = Seen(proposal.content_hash, tuple(row.id for row in rows))
    if seen not in (None, now):
        raise NotSeen
    if len(rows) < 2:
        detail = gettext("Too little of the evidence is left: less than two entries.")
        raise errors.Conflict(detail, code="evidence_gone")
    return rows


def _record(
    proposal: ConsolidationProposal,
    final: str,
    rows: Sequence[JournalEntry],
    place: Place,
    by: Actor,
) -> JournalEntry:
    pattern = next(iter(proposals.headings([final])), proposal.pattern)
    new = NewEntry(
        entry_type="memory.consolidated",
        severity=Severity.NOTICE,
        summary=f"Learned: {pattern}"[:1_000],
        payload={
            "rules_count": 1,
            "content": final,
            "confidence": proposal.confidence,
            "label": place.label,
            "summariser": proposal.summariser,
            "approved_by": by.label,
        },
        refs={
            "proposal_id": proposal.id,
            "source_entry_ids": [row.id for row in rows],
        },
        crew_id=proposal.crew_id,
    )
    return journal.write([new], by=by)[0]


def _link(
    proposal: ConsolidationProposal, entry: JournalEntry, rows: Sequence[JournalEntry]
) -> None:
    MemoryRelation.objects.bulk_create(
        MemoryRelation(
            workspace_id=proposal.workspace_id,
            src=entry,
            dst=row,
            relation=MemoryRelation.Kind.SUPPORTS,
        )
        for row in rows
    )


def _restore_file(
    proposal: ConsolidationProposal, request: Request, before: str
) -> None:
    """Restore the file when the transaction of the write was rolled back."""
    owner, place = request.owner, request.place
    with paths.file_store().locked(owner.path(place)):
        current = writer.current_text(owner, place)
        live = ConsolidationProposal.objects.get(pk=proposal.pk)
        if not live.is_pending or current != writer.resulting_text(before, request):
            return
        if before:
            paths.file_store().write(owner.parts(place), before.encode())
        else:
            paths.file_store().remove(owner.parts(place))


def reject(
    proposal: ConsolidationProposal, *, version: int, reason: str, by: Actor
) -> ConsolidationProposal:
    """Reject a rule with a reason; it is not proposed again."""
    by.require("proposals.decide", proposal.workspace_id)
    text = reason.strip()
    if not text or not entries.is_storable(text):
        detail = gettext("A rejection needs a reason.")
        raise errors.Invalid(detail, code="reason_required")
    if len(text) > REASON_CHARS:
        raise errors.TooLarge(
            what=pgettext("too large", "reason"), limit=REASON_CHARS, size=len(text)
        )
    with transaction.atomic():
        _set_state(proposal, version, ProposalState.REJECTED, by, text)
        new = NewEntry(
            entry_type="memory.consolidation_rejected",
            severity=Severity.NOTICE,
            summary=f"Rejected as a rule: {proposal.pattern}"[:1_000],
            payload={"reason": text, "rejected_by": by.label},
            refs={"proposal_id": proposal.id},
            crew_id=proposal.crew_id,
        )
        journal.write([new], by=by)
    return proposals.proposal(by, proposal.pk)
