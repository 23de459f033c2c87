"""Records on their way in: their shape, and the scanner's gate.

A held record waits in the same quarantine as a held file, on the tier ``records``; all
that it would have been rests beside the case, for the person who releases it.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, field, replace
from datetime import datetime
from enum import StrEnum
from typing import Any, Final

from memory.files import quarantine
from memory.files.places import Owner
from memory.files.quarantine import Held, Incoming, Judgement, Refused
from memory.files.vault import digest
from memory.models import HeldFile, HeldRecord
from memory.rules import entries, errors, scanner
from memory.rules.actors import Actor

CONTENT_BYTES: Final = 65_536
METADATA_BYTES: Final = 16_384
WORD_CHARS: Final = 128
NAMED: Final = ("kind", "session_id", "external_id")


class Shelf(StrEnum):
    """The quarantine's name for records."""

    RECORDS = "records"


@dataclass(frozen=True, slots=True)
class Spot:
    """Where a record stands, as policy and people name it."""

    key: str
    tier: Shelf = Shelf.RECORDS

    @property
    def label(self) -> str:
        """The record as people read it; one with a file's label keeps that."""
        return f"records/{self.key or 'new'}"[:80]


@dataclass(frozen=True, slots=True, kw_only=True)
class Scope:
    """The caller's own division of its memory; empty matches anything in a search."""

    user: str = ""
    agent: str = ""
    namespace: str = ""
    thread: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Draft:
    """A record as a caller hands it in. ``owner`` None is the workspace itself."""

    content: str
    owner: Owner | None
    kind: str = "statement"
    scope: Scope = field(default_factory=Scope)
    metadata: dict[str, Any] = field(default_factory=dict)
    confidence: float = 1.0
    session_id: str = ""
    turn_range: list[int] | None = None
    expires_at: datetime | None = None
    external_id: str = ""
    subjects: tuple[str, ...] = ()


# ── Shape ────────────────────────────────────────────────────────────────────
def _bad(name: str, message: str) -> errors.Invalid:
    fault = {"field": name, "code": f"bad_{name}", "message": message}
    return errors.Invalid(message, code=f"bad_{name}", errors=[fault])


def check(draft: Draft) -> None:
    """Raise Invalid or TooLarge when a draft cannot be a record."""
    if not draft.content.strip():
        raise errors.Invalid("content must not be empty.", code="empty_content")
    texts = [draft.content, *(getattr(draft, name) for name in NAMED)]
    texts += [draft.scope.user, draft.scope.agent]
    texts += [draft.scope.namespace, draft.scope.thread]
    if not all(entries.is_storable(text) for text in texts):
        detail = "A text holds a NUL or half a surrogate pair."
        raise errors.Invalid(detail, code="bad_text")
    size = len(draft.content.encode())
    if size > CONTENT_BYTES:
        raise errors.TooLarge(what="content", limit=CONTENT_BYTES, size=size)
    if not 0 <= draft.confidence <= 1:
        raise _bad("confidence", "confidence lies between 0 and 1.")
    if not 0 < len(draft.kind) <= 40:
        raise _bad("kind", "kind is 1 to 40 characters.")
    if any(len(text) > WORD_CHARS for text in texts[4:]):
        raise _bad("scope", f"A scope is {WORD_CHARS} characters at most.")
    size = len(entries.canonical(draft.metadata).encode())
    if size > METADATA_BYTES:
        raise errors.TooLarge(what="metadata", limit=METADATA_BYTES, size=size)


# ── The gate ─────────────────────────────────────────────────────────────────
def _incoming(draft: Draft, owner: Owner, source: str, by: Actor) -> Incoming:
    return Incoming(
        owner=owner,
        place=Spot(draft.external_id[:64]),
        text=draft.content,
        mode="replace",
        source=source[:16],
        written_by=by.label,
    )


def _judge(draft: Draft, incoming: Incoming) -> Judgement:
    """Judge the content; metadata that looks bad is refused, it cannot be released."""
    leaves = "\n".join(entries.leaves(draft.metadata))
    if leaves.strip() and quarantine.judge(incoming, leaves).action != "allow":
        raise Refused(why="the metadata holds text that the scanner does not let pass.")
    return quarantine.judge(incoming, draft.content)


def gate(draft: Draft, record_id: str, *, source: str, by: Actor) -> Draft:
    """Let a draft pass, redact it, or raise Held or Refused.

    Runs outside any transaction: what is held must outlive the refusal.
    """
    if draft.owner is None:
        if scanner.scan(draft.content, source=source).is_held:
            raise Refused(why="name a crew or an agent: only theirs can be reviewed.")
        return draft
    incoming = _incoming(draft, draft.owner, source, by)
    if quarantine.is_blocked(incoming):
        raise Refused(why="this writer is blocked until an operator lifts it.")
    judged = _judge(draft, incoming)
    if judged.action == "allow":
        return draft
    if judged.action == "block":
        raise Refused(why=judged.why)
    if judged.action == "redact":
        spans = scanner.spans(judged.verdict.findings)
        return replace(draft, content=scanner.redact(draft.content, spans))
    held = quarantine.hold(incoming, judged, by=by)
    _keep(held, draft, record_id, source)
    raise Held(held_id=held.id, why=judged.why)


def _keep(held: HeldFile, draft: Draft, record_id: str, source: str) -> None:
    """Keep what a held text would have become; the words themselves are the case's."""
    kept = {
        "scope": asdict(draft.scope),
        "kind": draft.kind,
        "metadata": draft.metadata,
        "confidence": draft.confidence,
        "session_id": draft.session_id,
        "turn_range": draft.turn_range,
        "expires_at": draft.expires_at.isoformat() if draft.expires_at else None,
        "external_id": draft.external_id,
        "subjects": list(draft.subjects),
        "record_id": record_id,
        "provenance": source,
        "sha256": digest(draft.content.encode()),
    }
    HeldRecord.objects.update_or_create(
        held=held, defaults={"workspace_id": held.workspace_id, "draft": kept}
    )


def draft_of(held: HeldFile, text: str) -> tuple[Draft, dict[str, Any]]:
    """Return a held record as a draft again, with what was kept beside it."""
    kept = dict(HeldRecord.objects.get(pk=held.pk).draft)
    if held.crew is None:
        raise errors.NotFound
    due = kept["expires_at"]
    draft = Draft(
        content=text,
        owner=Owner(held.crew, held.agent),
        kind=kept["kind"],
        scope=Scope(**kept["scope"]),
        metadata=kept["metadata"],
        confidence=kept["confidence"],
        session_id=kept["session_id"],
        turn_range=kept["turn_range"],
        expires_at=datetime.fromisoformat(due) if due else None,
        external_id=kept["external_id"],
        subjects=tuple(kept["subjects"]),
    )
    return draft, kept
