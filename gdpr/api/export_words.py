"""Words of other people in a bundle that waits, over the API: list, decide."""

from __future__ import annotations

from typing import Annotated

from ninja import Query, Router, Schema
from pydantic import Field

from gdpr.api.exports import AccessExportOut
from gdpr.detection.find import Kind
from gdpr.export import make as export
from gdpr.export import review
from gdpr.export.review import MAX_PAGE, MAX_WORDS, REASON_CHARS, Decision
from gdpr.models import Export, WordVerdict
from memory.api.request import ApiRequest
from memory.rules.shapes import Strict

router = Router(tags=["personal data"])


class ExportWordsQuery(Schema):
    """Which words, and which page."""

    sure: bool | None = Field(
        None, description="Only those the detector was sure of, or only the others."
    )
    offset: int = Field(0, ge=0, le=1_000_000)
    limit: int = Field(MAX_PAGE, ge=1, le=MAX_PAGE)


class ExportWordOut(Schema):
    """A word that may name somebody else: how often it stands in the bundle, and where.

    A word that is ``sure`` is covered unless decided otherwise; one that is not waits
    while ``verdict`` is null.
    """

    id: int
    kind: Kind
    sure: bool
    word: str
    count: int
    snippets: list[str]
    verdict: WordVerdict | None


class ExportWordsOut(Schema):
    """A page of words, those that wait first."""

    items: list[ExportWordOut]
    total: int
    next_offset: int | None


class DecideWordsIn(Strict):
    """A decision: words are covered, or left readable."""

    verdict: WordVerdict
    words: list[Annotated[int, Field(strict=True, ge=1)]] = Field(
        default_factory=list, max_length=MAX_WORDS
    )
    kinds: list[Kind] = Field(
        default_factory=list, description="Decides on the waiting words of these kinds."
    )
    all_doubtful: bool = Field(
        default=False, description="Decides on every word that waits."
    )
    remember: bool = Field(
        default=False, description="The same in the workspace's next bundles."
    )
    reason: str = Field(
        "",
        max_length=REASON_CHARS,
        description="Needed to leave a word readable that is sure.",
    )


@router.get(
    "/exports/{export_id}/words",
    response=ExportWordsOut,
    operation_id="list_export_words",
)
def list_export_words(
    request: ApiRequest, export_id: str, query: Query[ExportWordsQuery]
) -> ExportWordsOut:
    """List the words that may name other people; the audit log records it."""
    row, by = export.get(export_id, by=request.auth), request.auth
    try:
        page = review.words(
            row, by=by, sure=query.sure, offset=query.offset, limit=query.limit
        )
    except review.NotWaiting:
        # None are left.
        return ExportWordsOut(items=[], total=0, next_offset=None)
    items = [
        ExportWordOut(
            id=view.row.pk,
            kind=Kind(view.row.kind),
            sure=view.row.surely,
            word=view.sighting.word,
            count=view.row.count,
            snippets=list(view.sighting.snippets),
            verdict=WordVerdict(view.row.verdict) if view.row.verdict else None,
        )
        for view in page.items
    ]
    return ExportWordsOut(items=items, total=page.total, next_offset=page.next_offset)


@router.post(
    "/exports/{export_id}/words",
    response=AccessExportOut,
    operation_id="decide_export_words",
)
def decide_export_words(
    request: ApiRequest, export_id: str, data: DecideWordsIn
) -> Export:
    """Decide on words; when none waits any more the bundle is made."""
    row = export.get(export_id, by=request.auth)
    decision = Decision(
        verdict=data.verdict,
        words=data.words,
        kinds=data.kinds,
        all_doubtful=data.all_doubtful,
        remember=data.remember,
        reason=data.reason,
    )
    return review.decide(row, decision, by=request.auth)
