"""Request and response shapes of the quarantine's API."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from ninja import Schema
from pydantic import Field

from memory.api.shapes import ListParams, Stamp, TextOrNull
from memory.files import scan_context
from memory.models import HeldFile
from memory.review import detail, highlight, preview
from memory.review.decide import REASON_CHARS, Decision
from memory.review.queue import BULK_LIMIT
from memory.review.rescan import Rescan
from memory.rules.shapes import Id, Strict

Reason = Annotated[str, Field(strict=True, max_length=REASON_CHARS)]
State = Literal["held", "released", "redacted", "discarded"]


class HeldQuery(ListParams):
    """Filters of the list; a filter that is left out matches any."""

    state: State | None = None
    source: str = Field(default="", max_length=16)
    agent_id: str = Field(default="", max_length=32)
    family: str = Field(default="", max_length=24)
    tier: str = Field(default="", max_length=8)
    age: Literal["hour", "day", "week", "older"] | None = None
    limit: int = Field(default=50, ge=1, le=200)
    cursor: str | None = None


class Redaction(Strict):
    """A span of the original text to take out, in characters."""

    start: int = Field(ge=0)
    end: int = Field(ge=1)


class _RedactionsIn(Strict):
    """The spans that a redaction takes out."""

    redactions: list[Redaction | tuple[int, int]] = Field(
        default_factory=list,
        max_length=200,
        description="What redact takes out, widened to whole sentences and lines; "
        "left out, every finding.",
    )

    @property
    def spans(self) -> list[tuple[int, int]]:
        """The spans as (start, end) pairs."""
        return [
            (item.start, item.end) if isinstance(item, Redaction) else item
            for item in self.redactions
        ]


class DecisionIn(_RedactionsIn):
    """A decision on the version of the case that the reviewer read."""

    decision: Decision
    version: int
    reason: Reason
    seen: str = Field(
        default="",
        pattern=r"^([0-9a-f]{64})?$",
        description="The sha256 of the preview that the reviewer read; when it "
        "differs, nothing is released. Only redact uses it.",
    )


class HeldPreviewIn(_RedactionsIn):
    """A decision to preview."""

    decision: Literal["release", "redact", "release_and_allow"] = "redact"


class BulkIn(Strict):
    """One decision for several cases; each is reported separately."""

    ids: list[Id] = Field(min_length=1, max_length=BULK_LIMIT)
    decision: Decision
    reason: Reason


class RescanIn(Strict):
    """How many files to scan, and the path to continue after."""

    limit: int = Field(default=50, ge=1, le=500)
    after: str = Field(default="", max_length=400)


class FindingOut(Schema):
    """One finding, with its span in the original text."""

    rule: str
    family: str
    severity: str
    weight: float
    start: int
    end: int
    decoded: str | None = None
    why: str
    mode: str = "hold"
    completes: str = Field(
        default="",
        description="The kept text without which the finding would not hold: this text "
        "is the second half. Empty for a text that holds by itself.",
    )


class EffectOut(Schema):
    """By how much a part of the context moved the thresholds; below 0 is stricter."""

    part: str
    value: str
    suspicious: float
    held: float


class ScanContextOut(Schema):
    """What the text was judged as; ``policy`` says whether policy was."""

    origin: str
    tier: str
    writer: str
    suspicious_from: float
    held_from: float
    policy: bool
    effects: list[EffectOut]


class HeldLineOut(Schema):
    """A case in a list: everything except the text."""

    id: str
    version: int
    state: str
    source: str
    tier: str
    label: str
    agent_id: str | None
    agent: str | None
    crew_id: str | None
    family: str
    title: str
    score: float
    risk: float
    bytes: int
    sha256: str
    times_seen: int
    received_at: Stamp
    last_seen_at: Stamp
    written_by: str
    claimed_by: TextOrNull
    decision: TextOrNull
    reason: TextOrNull
    decided_by: TextOrNull
    decided_at: Stamp | None

    @staticmethod
    def resolve_agent(case: HeldFile) -> str | None:
        return case.agent.slug if case.agent else None

    @staticmethod
    def resolve_title(case: HeldFile) -> str:
        return detail.title(highlight.notes(case.findings))


class HeldPlaceOut(Schema):
    """A span of the original text, in characters."""

    start: int
    end: int


class HeldPreviewFindingOut(HeldPlaceOut):
    """One finding, with its span in the remaining text."""

    rule: str
    family: str
    severity: str
    weight: float
    why: str


class HeldPreviewOut(Schema):
    """What a decision would release (``text``) and what an agent would then read.

    ``removed`` and ``beside`` are spans of the original: what is taken out, and what
    stays directly next to it. A full release is not scanned: ``is_clean`` is null.
    """

    decision: str
    text: str
    reads: str
    sha256: str
    bytes: int
    is_clean: bool | None = None
    level: str | None = None
    why: str | None = None
    findings: list[HeldPreviewFindingOut] = []
    removed: list[HeldPlaceOut] = []
    beside: list[HeldPlaceOut] = []


class HeldOut(HeldLineOut):
    """A case with its text, as received and as normalized for the rules."""

    body: str
    normalized: str
    findings: list[FindingOut]
    context: ScanContextOut
    mode: str
    rules_version: str
    diff: list[dict[str, str]]
    alike: list[str]
    redaction: HeldPreviewOut | None = None

    @staticmethod
    def resolve_body(case: HeldFile) -> str:
        return preview.text_of(case)

    @staticmethod
    def resolve_context(case: HeldFile) -> dict[str, Any]:
        return scan_context.context_of(case).as_map()

    @staticmethod
    def resolve_normalized(case: HeldFile) -> str:
        return highlight.as_read(preview.text_of(case))


class HeldListOut(Schema):
    """A page of cases, highest risk first."""

    items: list[HeldLineOut]
    next_cursor: str | None


class BulkItemOut(Schema):
    """The result for one case."""

    id: str
    ok: bool
    state: str | None = None
    code: str | None = None
    detail: str | None = None


class BulkOut(Schema):
    """The result for each case."""

    items: list[BulkItemOut]
    decided: int


class RescanOut(Schema):
    """How far the rescan came and what it held."""

    seen: int
    done: int
    total: int
    held: list[str]
    failed: list[str]
    next: str | None = Field(validation_alias="after")

    @staticmethod
    def resolve_held(batch: Rescan) -> list[str]:
        return [case.id for case in batch.held]


Answer = dict[str, Any]
