"""Decisions about a held text: release, redact, discard, block its source, undo.

A decision names the version of the case that it was made on; the second of two
reviewers gets a conflict that names the first. Every view, claim and decision is
recorded in the journal.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from enum import StrEnum
from typing import Any, Final

from django.db import transaction
from django.utils import timezone

from memory.files import quarantine, scan_context, scanner_words, writer
from memory.models import (
    BlockedSource,
    HeldFile,
    HeldState,
    KnownAttack,
    Workspace,
)
from memory.review import allowances, labels, preview, proposals
from memory.rules import errors, tiers
from memory.rules.permissions import Actor
from memory.rules.tiers import Place
from memory.rules.translation import gettext, gettext_noop

UNDO_DAYS: Final = 30
REASON_CHARS: Final = 2_000


class Decision(StrEnum):
    """The outcomes a reviewer can choose."""

    RELEASE = "release"
    REDACT = "redact"
    DISCARD = "discard"
    BLOCK_SOURCE = "block_source"
    RELEASE_AND_ALLOW = allowances.ALLOWING


STATES: Final = {
    Decision.RELEASE: HeldState.RELEASED,
    Decision.REDACT: HeldState.REDACTED,
    Decision.DISCARD: HeldState.DISCARDED,
    Decision.BLOCK_SOURCE: HeldState.DISCARDED,
    Decision.RELEASE_AND_ALLOW: HeldState.RELEASED,
}


class AlreadyDecided(errors.AppError):
    """The case changed meanwhile; ``decided_by`` and ``version`` are current."""

    code, status, title = "already_decided", 409, gettext_noop("Already decided")
    sentence = gettext_noop(
        "{decided_by} changed this case in the meantime; it is {state} now."
    )


class NotSeen(errors.AppError):
    """The preview that the reviewer read is not what would be released."""

    code, status, title = "not_seen", 409, gettext_noop("Not what you saw")
    sentence = gettext_noop(
        "What would be left is not what you looked at. Look at it as it is shown now, "
        "and decide again."
    )


def _check(case: HeldFile, version: int, reason: str, by: Actor) -> None:
    by.require("quarantine.decide", case.workspace_id)
    if not reason.strip():
        detail = gettext("A decision needs a reason.")
        raise errors.Invalid(detail, code="reason_required")
    if len(reason) > REASON_CHARS:
        raise errors.TooLarge(what="reason", limit=REASON_CHARS, size=len(reason))
    if case.version != version or case.state != HeldState.HELD:
        person = case.decided_by or case.claimed_by or gettext("Somebody")
        raise _already(person, case.state, case.version)


def _already(person: str, state: str, version: int) -> AlreadyDecided:
    """Return the error with the state in the reader's words, and as it is stored."""
    detail = gettext(AlreadyDecided.sentence).format(
        decided_by=person, state=scanner_words.word(state)
    )
    return AlreadyDecided(detail, decided_by=person, state=state, version=version)


def _lock_allowances(workspace_id: str) -> None:
    """Let nobody else change what is allowed; first of all locks, as of proposals."""
    Workspace.objects.select_for_update(no_key=True).get(pk=workspace_id)


def _locked(case: HeldFile) -> HeldFile:
    rows = HeldFile.objects.select_for_update(of=("self",))
    return rows.select_related("crew__workspace", "agent").get(pk=case.pk)


def view(case: HeldFile, *, by: Actor) -> None:
    """Record in the journal that a person read a held text."""
    by.require("quarantine.read", case.workspace_id)
    quarantine.record("memory.held_viewed", case, by)


def claim(case: HeldFile, *, by: Actor) -> HeldFile:
    """Mark the case as being worked on by this person; claiming it again is allowed."""
    by.require("quarantine.decide", case.workspace_id)
    with transaction.atomic():
        live = _locked(case)
        if live.claimed_by and live.claimed_by != by.label:
            raise _already(live.claimed_by, "claimed", live.version)
        live.claimed_by, live.claimed_at = by.label, timezone.now()
        live.save(update_fields=["claimed_by", "claimed_at"])
        quarantine.record("memory.held_claimed", live, by)
    return live


# ── Deciding ─────────────────────────────────────────────────────────────────
def decide(  # noqa: PLR0913  (spans and digest are independent)
    case: HeldFile,
    decision: Decision,
    *,
    version: int,
    reason: str,
    by: Actor,
    redactions: Sequence[tuple[int, int]] = (),
    preview_sha256: str = "",
) -> HeldFile:
    """Carry out a decision. ``redactions`` are (start, end) spans of the original text.

    A redaction takes out the sentences and lines that its spans touch, and is refused
    unless the remaining text is clean. ``preview_sha256`` is the digest of the
    remaining text that the reviewer read; when it differs, nothing is released.

    The case, its label, the file and the journal change in one transaction. The write
    may still be refused (the file reached its cap, say), and then nothing changes.
    """
    with transaction.atomic():
        if decision is Decision.RELEASE_AND_ALLOW:
            _lock_allowances(case.workspace_id)
        live = _locked(case)
        _check(live, version, reason, by)
        outcome = _act(live, decision, reason, redactions, preview_sha256, by)
        live.state, live.decision = STATES[decision], decision.value
        live.reason, live.decided_by = reason.strip(), by.label
        live.decided_at, live.outcome = timezone.now(), _context(live) | outcome
        live.version += 1
        live.save()
        labels.write(live)
        quarantine.record(
            f"memory.held_{live.state}",
            live,
            by,
            decision=decision.value,
            reason=live.reason,
        )
    return live


def _context(case: HeldFile) -> dict[str, Any]:
    """Return what stays of an outcome: the context in which the text was judged."""
    context = case.outcome.get(scan_context.KEY)
    return {scan_context.KEY: context} if context else {}


def _act(
    case: HeldFile,
    decision: Decision,
    reason: str,
    redactions: Sequence[tuple[int, int]],
    preview_sha256: str,
    by: Actor,
) -> dict[str, Any]:
    """Carry out a decision; return what undoing it needs."""
    if decision in (Decision.RELEASE, Decision.RELEASE_AND_ALLOW):
        text = preview.text_of(case)
        if decision is Decision.RELEASE_AND_ALLOW:
            allowances.allow(case, by=by.label)
        return _release(case, text, reason, by)
    if decision is Decision.REDACT:
        remainder = preview.remainder(case, redactions)
        remainder.require_clean()
        if preview_sha256 not in ("", remainder.sha256):
            raise NotSeen
        spans = preview.edges(remainder)
        return _release(case, remainder.text, reason, by) | {"spans": spans}
    KnownAttack.objects.get_or_create(
        workspace_id=case.workspace_id,
        held=case,
        defaults={"signature": case.signature, "confirmed_by": by.label},
    )
    if decision is Decision.BLOCK_SOURCE:
        BlockedSource.objects.create(
            workspace_id=case.workspace_id,
            agent=case.agent,
            source=case.source,
            held=case,
            blocked_by=by.label,
        )
    return {}


def _release(case: HeldFile, text: str, reason: str, by: Actor) -> dict[str, Any]:
    """Write a text to its intended place; return what undoing that needs."""
    releaser = quarantine.RELEASERS.get(case.tier)
    if releaser is not None:
        return releaser.release(case, text, reason=reason, by=by)
    request = preview.request(case, text, f"{case.id} released by {by.label}: {reason}")
    return {"version_id": writer.write_released(request, by=by).version.id}


# ── Undoing ──────────────────────────────────────────────────────────────────
def undo(case: HeldFile, *, by: Actor, version: int | None = None) -> HeldFile:
    """Put a decided case back to held, within thirty days.

    With a ``version``, a case that changed since is refused.
    What a release wrote is undone by restoring the version before it. When the file was
    written since, Conflict is raised, and a person has to restore it. What an admin
    approved with this case as its example waits for an admin again.
    """
    by.require("quarantine.decide", case.workspace_id)
    with transaction.atomic():
        _lock_allowances(case.workspace_id)
        live = _locked(case)
        if live.state == HeldState.HELD or live.decided_at is None:
            raise errors.Conflict(
                gettext("The case is not decided."), code="not_decided"
            )
        if version not in (None, live.version):
            detail = gettext("The case changed since you looked at it.")
            raise errors.Conflict(detail, code="stale_version")
        if timezone.now() - live.decided_at > timedelta(days=UNDO_DAYS):
            detail = gettext("A decision can be undone for {days} days.")
            detail = detail.format(days=UNDO_DAYS)
            raise errors.Conflict(detail, code="too_late")
        _take_back(live, by)
        labels.forget(live)
        details = {"decision": live.decision, "was": live.state}
        live.state, live.decision, live.reason = HeldState.HELD, "", ""
        live.decided_by, live.decided_at, live.outcome = "", None, _context(live)
        live.version += 1
        live.save()
        quarantine.record("memory.held_undone", live, by, **details)
    return live


def _take_back(case: HeldFile, by: Actor) -> None:
    proposals.take_back_of(case, by=by)
    allowances.without_case(case)
    case.blocks.all().delete()
    case.known_as.all().delete()
    releaser = quarantine.RELEASERS.get(case.tier)
    if releaser is not None:
        if case.state in (HeldState.RELEASED, HeldState.REDACTED):
            releaser.take_back(case, by=by)
        return
    version_id = case.outcome.get("version_id")
    if not version_id:
        return
    place = Place(tiers.Tier(case.tier), case.key)
    owner = preview.owner_of(case).of(place)
    writer.take_back(owner, place, version_id, by=by)
