"""Undoing a decision about a proposed rule, within thirty days: it waits again.

An approval is undone by taking the rule out of the learned file, when it is there still
as it was learned; other rules, learned before or after it, stay.
"""

from __future__ import annotations

from typing import Final

from django.db import transaction
from django.utils.translation import gettext, gettext_noop

from episodic.consolidation import proposals
from episodic.consolidation.approval import Decided
from episodic.models import ConsolidationProposal, MemoryRelation, ProposalState
from episodic.models.proposals import UNDO_DAYS
from memory.files import editing, paths, writer
from memory.files.paths import Owner
from memory.journal import append as journal
from memory.journal import visibility
from memory.models import JournalEntry
from memory.rules import errors, tiers
from memory.rules.entries import NewEntry, Severity
from memory.rules.permissions import Actor
from memory.rules.tiers import Place

CONFLICT_CODES: Final = ("text_changed", "written_since")


class NotAsLearned(errors.Conflict):
    """The learned file no longer holds the rule as it was learned."""

    code, title = "not_as_learned", gettext_noop("Changed since")
    sentence = gettext_noop(
        "{label} was changed where the rule stands, so the approval cannot be undone. "
        "Compare the versions of the file and take the rule out by hand."
    )


def undo(
    proposal: ConsolidationProposal, *, version: int, by: Actor
) -> ConsolidationProposal:
    """Let a decided rule wait again; an approved one also leaves its learned file."""
    if proposal.state == ProposalState.APPROVED:
        return undo_approval(proposal, version=version, by=by)
    return undo_rejection(proposal, version=version, by=by)


def undo_rejection(
    proposal: ConsolidationProposal, *, version: int, by: Actor
) -> ConsolidationProposal:
    """Let a rejected rule wait again, within thirty days of its rejection."""
    by.require("proposals.decide", proposal.workspace_id)
    with transaction.atomic():
        live = _locked(proposal, version, ProposalState.REJECTED)
        _wait_again(live, by)
    return proposals.proposal(by, proposal.pk)


def undo_approval(
    proposal: ConsolidationProposal, *, version: int, by: Actor
) -> ConsolidationProposal:
    """Take an approved rule out of its learned file, and let it wait again.

    Raises NotAsLearned when the file no longer holds the rule as it was learned.
    """
    by.require("proposals.decide", proposal.workspace_id)
    owner, place = _learned_in(proposal)
    before = writer.current_text(owner, place)
    try:
        with transaction.atomic():
            live = _locked(proposal, version, ProposalState.APPROVED)
            # The chain's head is locked first, as in every other write.
            _wait_again(live, by)
            _unlink(live)
            note = f"{live.id} undone by {by.label}"
            editing.take_out(owner, place, live.text, note=note, by=by)
    except BaseException as error:
        _restore_file(proposal, owner, place, before)
        if isinstance(error, errors.Conflict) and error.problem_code in CONFLICT_CODES:
            raise NotAsLearned(label=place.label) from None
        raise
    return proposals.proposal(by, proposal.pk)


def obstacle(proposal: ConsolidationProposal) -> str:
    """Return why an approval cannot be undone now, "" when it can."""
    owner, place = _learned_in(proposal)
    try:
        editing.without(writer.current_text(owner, place), proposal.text)
    except errors.Conflict:
        return NotAsLearned(label=place.label).detail
    return ""


def _learned_in(proposal: ConsolidationProposal) -> tuple[Owner, Place]:
    place = tiers.split(proposal.learned_label)
    if place is None:
        detail = gettext("It is not known which file the rule was learned in.")
        raise errors.Conflict(detail, code="not_learned")
    return Owner(proposal.crew), place


def _locked(
    proposal: ConsolidationProposal, version: int, state: ProposalState
) -> ConsolidationProposal:
    """Return a proposal locked, in the version and state that were read."""
    rows = ConsolidationProposal.objects.select_for_update(of=("self",))
    live = rows.get(pk=proposal.pk)
    if live.version != version or live.state != state:
        detail = gettext("It is not {state}, or changed since you looked at it.")
        detail = detail.format(state=gettext(state.value))
        raise Decided(detail, code="stale_version", version=live.version)
    if not live.is_undoable:
        detail = gettext("A decision can be undone for {days} days.")
        detail = detail.format(days=UNDO_DAYS)
        raise errors.Conflict(detail, code="too_late")
    return live


def _unlink(live: ConsolidationProposal) -> None:
    """Take the entry that says what was learned out of recall, and its relations."""
    entries = JournalEntry.objects.filter(
        workspace_id=live.workspace_id,
        crew_id=live.crew_id,
        entry_type="memory.consolidated",
        refs_text__contains=f'"{live.id}"',
    )
    ids = list(entries.values_list("pk", flat=True))
    relations = MemoryRelation.objects.filter(
        workspace_id=live.workspace_id,
        src_id__in=ids,
        relation=MemoryRelation.Kind.SUPPORTS,
    )
    relations.delete()
    visibility.retire(live.workspace_id, ids)


def _wait_again(live: ConsolidationProposal, by: Actor) -> None:
    new = NewEntry(
        entry_type="memory.consolidation_undone",
        severity=Severity.NOTICE,
        summary=f"Waits again as a rule: {live.pattern}"[:1_000],
        payload={"was": live.state, "undone_by": by.label},
        refs={"proposal_id": live.id},
        crew_id=live.crew_id,
    )
    live.state, live.reason = ProposalState.PENDING, ""
    live.decided_by, live.decided_at = "", None
    live.learned_label, live.learned_version = "", None
    live.version += 1
    live.save()
    journal.write([new], by=by)


def _restore_file(
    proposal: ConsolidationProposal, owner: Owner, place: Place, before: str
) -> None:
    """Restore the file when the transaction that took the rule out was rolled back."""
    store = paths.file_store()
    with store.locked(owner.path(place)):
        current = writer.current_text(owner, place)
        live = ConsolidationProposal.objects.get(pk=proposal.pk)
        if live.is_pending or current == before:
            return
        try:
            rest = editing.without(before, proposal.text)
        except errors.Conflict:
            return
        if current == (rest if rest.strip() else ""):
            store.write(owner.parts(place), before.encode())
