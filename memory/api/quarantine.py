"""The quarantine over the API; operators and admins only."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING

from django.http import StreamingHttpResponse
from ninja import Query, Router

from memory.api import quarantine_schemas as schemas
from memory.api.request import ApiRequest
from memory.api.shapes import annotated
from memory.models import HeldFile
from memory.review import decide as review
from memory.review import detail as review_detail
from memory.review import labels
from memory.review import preview as review_preview
from memory.review import queue as review_queue
from memory.review import rescan as review_rescan
from memory.review.decide import Decision
from memory.review.preview import Preview
from memory.review.queue import HeldFilter, HeldPage
from memory.review.rescan import Rescan
from memory.rules.bulk import Pick

if TYPE_CHECKING:
    from memory.rules.permissions import Actor

router = Router(tags=["quarantine"])


def _detail(case: HeldFile, actor: Actor) -> HeldFile:
    redaction = review_detail.redaction_or_none(case)
    return annotated(
        case,
        diff=[asdict(line) for line in review_detail.change(case)],
        alike=[other.id for other in review_queue.similar_cases(actor, case)],
        redaction=_preview(Decision.REDACT.value, redaction.preview)
        if redaction
        else None,
    )


def _preview(decision: str, preview: Preview) -> schemas.Answer:
    fields: schemas.Answer = {
        "decision": decision,
        "text": preview.text,
        "reads": preview.reads,
        "sha256": preview.sha256,
        "bytes": len(preview.text.encode()),
    }
    if preview.remainder is None:
        return fields
    return fields | {
        "is_clean": preview.remainder.is_clean,
        "level": preview.remainder.level,
        "why": preview.remainder.why or None,
        "findings": preview.remainder.findings,
        "removed": _spans(review_preview.edges(preview.remainder)),
        "beside": _spans(preview.remainder.beside),
    }


def _spans(spans: Sequence[tuple[int, int]]) -> list[dict[str, int]]:
    return [{"start": start, "end": end} for start, end in spans]


@router.get("", response=schemas.HeldListOut, operation_id="list_quarantine")
def list_held(request: ApiRequest, query: Query[schemas.HeldQuery]) -> HeldPage:
    """List held texts, highest risk first; only the detail holds their text."""
    return review_queue.page(
        request.auth,
        HeldFilter(**query.filters()),
        limit=query.limit,
        cursor=query.cursor,
    )


@router.post("/bulk", response=schemas.BulkOut, operation_id="decide_quarantine_bulk")
def bulk(request: ApiRequest, data: schemas.BulkIn) -> schemas.Answer:
    """Apply one decision to several held texts; each succeeds or fails by itself."""
    picks = [Pick(held_id) for held_id in data.ids]
    results = review_queue.decide_many(
        request.auth, picks, data.decision, reason=data.reason
    )
    return {"items": results, "decided": sum(item.ok for item in results)}


@router.post("/rescan", response=schemas.RescanOut, operation_id="rescan_files")
def rescan(request: ApiRequest, data: schemas.RescanIn | None = None) -> Rescan:
    """Scan stored files with the current rules and hold those that no longer pass."""
    params = data or schemas.RescanIn()
    return review_rescan.rescan(request.auth, after=params.after, limit=params.limit)


@router.get("/labels", operation_id="export_labels")
def export_labels(request: ApiRequest) -> StreamingHttpResponse:
    """Export what was decided about each text, with the text, as JSON lines."""
    content = labels.export(request.auth)
    answer = StreamingHttpResponse(content.lines, content_type=labels.CONTENT_TYPE)
    answer["Content-Disposition"] = f'attachment; filename="{labels.FILE_NAME}"'
    answer["Cache-Control"] = "no-store"
    return answer


@router.get("/{held_id}", response=schemas.HeldOut, operation_id="get_quarantine")
def get_held(request: ApiRequest, held_id: str) -> HeldFile:
    """Get one held text with its findings; the view is recorded in the journal."""
    case = review_queue.held_file(request.auth, held_id)
    review.view(case, by=request.auth)
    return _detail(case, request.auth)


@router.post(
    "/{held_id}/decision",
    response=schemas.HeldLineOut,
    operation_id="decide_quarantine",
)
def decide(request: ApiRequest, held_id: str, data: schemas.DecisionIn) -> HeldFile:
    """Decide about a held text; 409 names the reviewer who decided first."""
    return review.decide(
        review_queue.held_file(request.auth, held_id),
        data.decision,
        version=data.version,
        reason=data.reason,
        by=request.auth,
        redactions=data.spans,
        preview_sha256=data.seen,
    )


@router.post(
    "/{held_id}/preview",
    response=schemas.HeldPreviewOut,
    operation_id="preview_quarantine",
)
def preview(
    request: ApiRequest, held_id: str, data: schemas.HeldPreviewIn
) -> schemas.Answer:
    """Return what an agent would read after a decision; the view is recorded."""
    case = review_queue.held_file(request.auth, held_id)
    review.view(case, by=request.auth)
    if Decision(data.decision) is Decision.REDACT:
        return _preview(data.decision, review_preview.of_redaction(case, data.spans))
    return _preview(data.decision, review_preview.of_release(case))


@router.post(
    "/{held_id}/undo", response=schemas.HeldLineOut, operation_id="undo_quarantine"
)
def undo(request: ApiRequest, held_id: str) -> HeldFile:
    """Undo a decision within thirty days; the text is held again."""
    case = review_queue.held_file(request.auth, held_id)
    return review.undo(case, by=request.auth)


@router.post(
    "/{held_id}/claim", response=schemas.HeldLineOut, operation_id="claim_quarantine"
)
def claim(request: ApiRequest, held_id: str) -> HeldFile:
    """Claim a held text, so that other reviewers see who works on it."""
    case = review_queue.held_file(request.auth, held_id)
    return review.claim(case, by=request.auth)
