"""The quarantine's JSON API: parse, call, present. Operators and admins only."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from datetime import datetime
from typing import TYPE_CHECKING

from ninja import Query, Router

from memory.api import quarantine_schemas as schemas
from memory.api.request import ApiRequest
from memory.files import redaction
from memory.journal import append as journal
from memory.models import HeldFile
from memory.review import decide as review
from memory.review import detail as review_detail
from memory.review import highlight
from memory.review import preview as review_preview
from memory.review import queue as review_queue
from memory.review import rescan as review_rescan
from memory.review.decide import Decision
from memory.review.preview import Preview
from memory.review.queue import HeldFilter

if TYPE_CHECKING:
    from memory.rules.permissions import Actor

router = Router(tags=["quarantine"])

_PLAIN = (
    "id",
    "version",
    "state",
    "source",
    "tier",
    "label",
    "agent_id",
    "crew_id",
    "family",
    "score",
    "risk",
    "bytes",
    "sha256",
    "times_seen",
    "written_by",
)
_MAYBE = ("claimed_by", "decision", "reason", "decided_by")


def _stamp(value: datetime | None) -> str | None:
    return journal.stamp(value) if value else None


def _line(held: HeldFile) -> schemas.Answer:
    return (
        {name: getattr(held, name) for name in _PLAIN}
        | {name: getattr(held, name) or None for name in _MAYBE}
        | {
            "agent": held.agent.slug if held.agent else None,
            "title": review_detail.title(highlight.notes(held.findings)),
            "received_at": journal.stamp(held.received_at),
            "last_seen_at": journal.stamp(held.last_seen_at),
            "decided_at": _stamp(held.decided_at),
        }
    )


def _whole(held: HeldFile, actor: Actor) -> schemas.Answer:
    body = review_preview.text_of(held)
    return _line(held) | {
        "body": body,
        "normalized": highlight.as_read(body),
        "findings": held.findings,
        "mode": held.mode,
        "rules_version": held.rules_version,
        "diff": [asdict(line) for line in review_detail.change(held)],
        "alike": [other.id for other in review_queue.alike(actor, held)],
        "redaction": _redaction(held),
    }


def _preview(decision: str, made: Preview) -> schemas.Answer:
    told: schemas.Answer = {
        "decision": decision,
        "text": made.text,
        "reads": made.reads,
        "sha256": made.sha256,
        "bytes": len(made.text.encode()),
    }
    if made.left is None:
        return told
    return told | {
        "is_clean": made.left.is_clean,
        "level": made.left.level,
        "why": made.left.why or None,
        "findings": [redaction.found_in(one) for one in made.left.findings],
        "removed": _places(review_preview.edges(made.left)),
        "beside": _places(made.left.beside),
    }


def _places(spans: Sequence[tuple[int, int]]) -> list[dict[str, int]]:
    return [{"start": start, "end": end} for start, end in spans]


def _redaction(held: HeldFile) -> schemas.Answer | None:
    """Return what redacting every finding would leave, for a case that is open."""
    found = review_detail.drawn(held)
    return _preview(Decision.REDACT.value, found.preview) if found else None


@router.get("", response=schemas.HeldListOut, operation_id="list_quarantine")
def list_held(request: ApiRequest, query: Query[schemas.HeldQuery]) -> schemas.Answer:
    """List held texts, highest risk first; their words are only in the single view."""
    told = {name: value or "" for name, value in query.model_dump().items()}
    limit, cursor = query.limit, query.cursor
    wanted = HeldFilter(
        **{k: v for k, v in told.items() if k not in ("limit", "cursor")}
    )
    found = review_queue.page(request.auth, wanted, limit=limit, cursor=cursor)
    items = [_line(held) for held in found.items]
    return {"items": items, "next_cursor": found.next_cursor}


@router.post("/bulk", response=schemas.BulkOut, operation_id="decide_quarantine_bulk")
def bulk(request: ApiRequest, data: schemas.BulkIn) -> schemas.Answer:
    """Decide several held texts alike; each stands for itself."""
    done = review_queue.decide_many(
        request.auth, data.ids, data.decision, reason=data.reason
    )
    items = [asdict(item) for item in done]
    return {"items": items, "decided": sum(item.ok for item in done)}


@router.post("/rescan", response=schemas.RescanOut, operation_id="rescan_files")
def rescan(request: ApiRequest, data: schemas.RescanIn | None = None) -> schemas.Answer:
    """Judge stored files by today's rules; what no longer passes is held."""
    asked = data or schemas.RescanIn()
    done = review_rescan.rescan(request.auth, after=asked.after, limit=asked.limit)
    return {
        "seen": done.seen,
        "done": done.done,
        "total": done.total,
        "held": [held.id for held in done.held],
        "failed": done.failed,
        "next": done.after,
    }


@router.get("/{held_id}", response=schemas.HeldOut, operation_id="get_quarantine")
def get_held(request: ApiRequest, held_id: str) -> schemas.Answer:
    """Get one held text with its findings; the view is noted in the journal."""
    held = review_queue.held_file(request.auth, held_id)
    review.view(held, by=request.auth)
    return _whole(held, request.auth)


@router.post(
    "/{held_id}/decision",
    response=schemas.HeldLineOut,
    operation_id="decide_quarantine",
)
def decide(
    request: ApiRequest, held_id: str, data: schemas.DecisionIn
) -> schemas.Answer:
    """Decide about a held text; 409 says who was faster."""
    done = review.decide(
        review_queue.held_file(request.auth, held_id),
        data.decision,
        version=data.version,
        reason=data.reason,
        by=request.auth,
        redactions=data.spans,
        seen=data.seen,
    )
    return _line(done)


@router.post(
    "/{held_id}/preview",
    response=schemas.HeldPreviewOut,
    operation_id="preview_quarantine",
)
def preview(
    request: ApiRequest, held_id: str, data: schemas.HeldPreviewIn
) -> schemas.Answer:
    """Show what an agent would read after a decision; the view is noted."""
    held = review_queue.held_file(request.auth, held_id)
    review.view(held, by=request.auth)
    if Decision(data.decision) is Decision.REDACT:
        return _preview(data.decision, review_preview.of_redaction(held, data.spans))
    return _preview(data.decision, review_preview.of_release(held))


@router.post(
    "/{held_id}/undo", response=schemas.HeldLineOut, operation_id="undo_quarantine"
)
def undo(request: ApiRequest, held_id: str) -> schemas.Answer:
    """Put a decided text back to held, within thirty days."""
    held = review_queue.held_file(request.auth, held_id)
    return _line(review.undo(held, by=request.auth))


@router.post(
    "/{held_id}/claim", response=schemas.HeldLineOut, operation_id="claim_quarantine"
)
def claim(request: ApiRequest, held_id: str) -> schemas.Answer:
    """Tell other reviewers that somebody works on this one."""
    held = review_queue.held_file(request.auth, held_id)
    return _line(review.claim(held, by=request.auth))
