"""What a person decides about a held text: release, redact, discard, block, undo.

A decision names the version of the case it was made on; the second of two reviewers
gets a conflict that says who decided. Every view, claim and decision is journaled.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from enum import StrEnum
from typing import Any, Final

from django.db import transaction
from django.utils import timezone

from memory import scanner
from memory.files import quarantine, writer
from memory.models import BlockedSource, Clearance, HeldFile, HeldState, KnownAttack
from memory.review import preview
from memory.rules import errors, tiers
from memory.rules.permissions import Actor
from memory.rules.tiers import Place

UNDO_DAYS: Final = 30
REASON_CHARS: Final = 2_000


class Decision(StrEnum):
    """The outcomes a reviewer can choose."""

    RELEASE = "release"
    REDACT = "redact"
    DISCARD = "discard"
    BLOCK_SOURCE = "block_source"
    RELEASE_AND_ALLOW = "release_and_allow"


STATES: Final = {
    Decision.RELEASE: HeldState.RELEASED,
    Decision.REDACT: HeldState.REDACTED,
    Decision.DISCARD: HeldState.DISCARDED,
    Decision.BLOCK_SOURCE: HeldState.DISCARDED,
    Decision.RELEASE_AND_ALLOW: HeldState.RELEASED,
}


class AlreadyDecided(errors.HouseError):
    """Somebody else was faster; ``decided_by`` and ``version`` tell who and where."""

    code, status, title = "already_decided", 409, "Already decided"
    sentence = "{decided_by} changed this case in the meantime; it is {state} now."


class NotSeen(errors.HouseError):
    """The reviewer looked at something else than what would be released."""

    code, status, title = "not_seen", 409, "Not what you saw"
    sentence = (
        "What would be left is not what you looked at. Look at it as it is shown now, "
        "and decide again."
    )


@dataclass(frozen=True, slots=True)
class Chosen:
    """What a reviewer chose to take out, and the digest of the rest they saw."""

    redactions: Sequence[tuple[int, int]] = ()
    seen: str = ""


@dataclass(frozen=True, slots=True)
class BulkItem:
    """What became of one case in a bulk decision."""

    id: str
    ok: bool
    state: str | None = None
    code: str | None = None
    detail: str | None = None


def _check(held: HeldFile, version: int, reason: str, by: Actor) -> None:
    by.require("quarantine.decide", held.workspace_id)
    if not reason.strip():
        raise errors.Invalid("A decision needs a reason.", code="reason_required")
    if len(reason) > REASON_CHARS:
        raise errors.TooLarge(what="reason", limit=REASON_CHARS, size=len(reason))
    if held.version != version or held.state != HeldState.HELD:
        raise AlreadyDecided(
            decided_by=held.decided_by or held.claimed_by or "Somebody",
            state=held.state,
            version=held.version,
        )


def _locked(held: HeldFile) -> HeldFile:
    rows = HeldFile.objects.select_for_update(of=("self",))
    return rows.select_related("crew__workspace", "agent").get(pk=held.pk)


def view(held: HeldFile, *, by: Actor) -> None:
    """Note that a person read a held text."""
    by.require("quarantine.read", held.workspace_id)
    quarantine.record("memory.held_viewed", held, by)


def claim(held: HeldFile, *, by: Actor) -> HeldFile:
    """Say that this person works on the case; claiming one's own again is nothing."""
    by.require("quarantine.decide", held.workspace_id)
    with transaction.atomic():
        live = _locked(held)
        if live.claimed_by and live.claimed_by != by.label:
            raise AlreadyDecided(
                decided_by=live.claimed_by, state="claimed", version=live.version
            )
        live.claimed_by, live.claimed_at = by.label, timezone.now()
        live.save(update_fields=["claimed_by", "claimed_at"])
        quarantine.record("memory.held_claimed", live, by)
    return live


# ── Deciding ─────────────────────────────────────────────────────────────────
def decide(  # noqa: PLR0913  (what was chosen and what was seen are two things)
    held: HeldFile,
    decision: Decision,
    *,
    version: int,
    reason: str,
    by: Actor,
    redactions: Sequence[tuple[int, int]] = (),
    seen: str = "",
) -> HeldFile:
    """Carry out a decision. ``redactions`` are (start, end) spans of the original text.

    A redaction takes out the sentences and lines that its spans touch, and is refused
    unless the rest is clean. ``seen`` is the digest of the rest that the reviewer
    looked at; with another one nothing is released.

    The case changes, the file is written and the journal told in one transaction; the
    write may still refuse (the file grew to its cap, say), and then nothing happened.
    """
    with transaction.atomic():
        live = _locked(held)
        _check(live, version, reason, by)
        done = _act(live, decision, reason, Chosen(redactions, seen), by)
        live.state, live.decision = STATES[decision], decision.value
        live.reason, live.decided_by = reason.strip(), by.label
        live.decided_at, live.outcome = timezone.now(), done
        live.version += 1
        live.save()
        quarantine.record(
            f"memory.held_{live.state}",
            live,
            by,
            decision=decision.value,
            reason=live.reason,
        )
    return live


def _act(
    held: HeldFile,
    decision: Decision,
    reason: str,
    chosen: Chosen,
    by: Actor,
) -> dict[str, Any]:
    """Do what a decision means; return what undoing it needs."""
    if decision in (Decision.RELEASE, Decision.RELEASE_AND_ALLOW):
        text = preview.text_of(held)
        done = _release(held, text, reason, by)
        if decision is Decision.RELEASE_AND_ALLOW:
            _clear(held, text, by)
        return done
    if decision is Decision.REDACT:
        left = preview.remainder(held, chosen.redactions)
        left.require_clean()
        if chosen.seen not in ("", left.sha256):
            raise NotSeen
        return _release(held, left.text, reason, by) | {"spans": preview.edges(left)}
    KnownAttack.objects.get_or_create(
        workspace_id=held.workspace_id,
        held=held,
        defaults={"signature": held.signature, "confirmed_by": by.label},
    )
    if decision is Decision.BLOCK_SOURCE:
        BlockedSource.objects.create(
            workspace_id=held.workspace_id,
            agent=held.agent,
            source=held.source,
            held=held,
            blocked_by=by.label,
        )
    return {}


def _clear(held: HeldFile, text: str, by: Actor) -> None:
    """Let the released text pass from now on, and no other."""
    Clearance.objects.get_or_create(
        workspace_id=held.workspace_id,
        fingerprint=scanner.fingerprint(text),
        defaults={"held": held, "cleared_by": by.label},
    )


def _release(held: HeldFile, text: str, reason: str, by: Actor) -> dict[str, Any]:
    """Put a text where it was meant to go; return what undoing that needs."""
    releaser = quarantine.RELEASERS.get(held.tier)
    if releaser is not None:
        return releaser.release(held, text, reason=reason, by=by)
    request = preview.request(held, text, f"{held.id} released by {by.label}: {reason}")
    return {"version_id": writer.write_released(request, by=by).version.id}


# ── Undoing ──────────────────────────────────────────────────────────────────
def undo(held: HeldFile, *, by: Actor) -> HeldFile:
    """Put a case back to held, within thirty days.

    What a release wrote is taken back by restoring the version before it, unless the
    file was written since: then Conflict says so, and a person restores by hand.
    """
    by.require("quarantine.decide", held.workspace_id)
    with transaction.atomic():
        live = _locked(held)
        if live.state == HeldState.HELD or live.decided_at is None:
            raise errors.Conflict("The case is not decided.", code="not_decided")
        if timezone.now() - live.decided_at > timedelta(days=UNDO_DAYS):
            detail = f"A decision can be undone for {UNDO_DAYS} days."
            raise errors.Conflict(detail, code="too_late")
        _take_back(live, by)
        told = {"decision": live.decision, "was": live.state}
        live.state, live.decision, live.reason = HeldState.HELD, "", ""
        live.decided_by, live.decided_at, live.outcome = "", None, {}
        live.version += 1
        live.save()
        quarantine.record("memory.held_undone", live, by, **told)
    return live


def _take_back(held: HeldFile, by: Actor) -> None:
    held.clearances.all().delete()
    held.blocks.all().delete()
    held.known_as.all().delete()
    releaser = quarantine.RELEASERS.get(held.tier)
    if releaser is not None:
        if held.state in (HeldState.RELEASED, HeldState.REDACTED):
            releaser.take_back(held, by=by)
        return
    version_id = held.outcome.get("version_id")
    if not version_id:
        return
    place = Place(tiers.Tier(held.tier), held.key)
    owner = preview.owner_of(held).of(place)
    writer.take_back(owner, place, version_id, by=by)


# ── Many at once ─────────────────────────────────────────────────────────────
def decide_many(
    cases: Sequence[HeldFile], decision: Decision, *, reason: str, by: Actor
) -> list[BulkItem]:
    """Decide several cases alike; each stands for itself, the report names each."""
    report = []
    for held in cases:
        try:
            done = decide(held, decision, version=held.version, reason=reason, by=by)
        except errors.HouseError as error:
            report.append(
                BulkItem(
                    held.id, ok=False, code=error.problem_code, detail=error.detail
                )
            )
        else:
            report.append(BulkItem(held.id, ok=True, state=done.state))
    return report
