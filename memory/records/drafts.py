"""Drafts of records: their validation, and the scanner's gate.

A held record is in the same quarantine as a held file, on the tier ``records``; its
other fields are stored with the case, for its release.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from datetime import datetime
from enum import StrEnum
from functools import partial
from typing import Any, Final, NamedTuple

from memory import scanner
from memory.files import quarantine, redaction, scan_context, write_check
from memory.files.paths import Owner
from memory.files.quarantine import (
    HeldForReview,
    Incoming,
    Judgement,
    Policy,
    WriteRefused,
)
from memory.files.redaction import Standard
from memory.models import HeldFile, HeldRecord
from memory.records import sessions
from memory.records.types import Provenance
from memory.rules import entries, errors, scopes
from memory.rules.permissions import Actor
from memory.rules.scopes import Scope as Scope
from memory.rules.translation import gettext
from memory.scanner import changes
from memory.scanner.provenance import Writer
from memory.stored_files.store import digest

CONTENT_BYTES: Final = 65_536
METADATA_BYTES: Final = 32_768
METADATA_DEPTH: Final = 16
WORD_CHARS: Final = 256
EXTERNAL_CHARS: Final = 200
KIND_CHARS: Final = 40
TEXT_FIELDS: Final = ("kind", "session_id", "external_id")
# Stored with a held draft as they are.
_PLAIN: Final = (*TEXT_FIELDS, "metadata", "confidence", "turn_range")
SCOPE_NAMES: Final = {name: name for name in scopes.NAMES}


class RecordTier(StrEnum):
    """The quarantine's name for records."""

    RECORDS = "records"


@dataclass(frozen=True, slots=True)
class RecordPlace:
    """The destination of a record, as the quarantine names it."""

    key: str
    tier: RecordTier = RecordTier.RECORDS

    @property
    def label(self) -> str:
        """The label that people read."""
        return f"records/{self.key or 'new'}"[:80]


@dataclass(frozen=True, slots=True, kw_only=True)
class Draft:
    """A record as a caller passes it. ``owner`` None is the workspace itself.

    ``trace_id`` is for texts of one call that names no session; see ``trace_of``.
    """

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
    trace_id: str | None = None


def trace_of(draft: Draft, *, by: Actor) -> str | None:
    """Return the trace id of a draft's entry: its own, else its conversation's."""
    if draft.trace_id:
        return draft.trace_id
    return sessions.trace_id(draft.owner, draft.scope, draft.session_id, by=by)


# ── Validation ───────────────────────────────────────────────────────────────
def _bad(name: str, message: str) -> errors.Invalid:
    return errors.bad_field(name, message, code=f"bad_{name}")


def _check_metadata(metadata: dict[str, Any]) -> None:
    if entries.depth(metadata, METADATA_DEPTH) > METADATA_DEPTH:
        raise _bad("metadata", f"metadata may nest {METADATA_DEPTH} levels deep.")
    try:
        size = len(entries.canonical(metadata).encode())
    except (ValueError, TypeError):
        raise _bad("metadata", "metadata is not valid JSON.") from None
    if size > METADATA_BYTES:
        raise errors.TooLarge(what="metadata", limit=METADATA_BYTES, size=size)


def _check_words(draft: Draft) -> None:
    fields = [getattr(draft, name) for name in TEXT_FIELDS]
    entries.check_storable(draft.content, *fields, *entries.texts(draft.metadata))
    if not 0 < len(draft.kind) <= KIND_CHARS:
        message = gettext("kind is 1 to {limit} characters.")
        raise _bad("kind", message.format(limit=KIND_CHARS))
    if len(draft.session_id) > WORD_CHARS:
        raise _bad("session_id", f"session_id is {WORD_CHARS} characters at most.")
    if len(draft.external_id) > EXTERNAL_CHARS:
        raise _bad(
            "external_id", f"external_id is {EXTERNAL_CHARS} characters at most."
        )


def check(draft: Draft) -> None:
    """Raise Invalid or TooLarge when a draft cannot be a record."""
    if not draft.content.strip():
        raise errors.Invalid(
            gettext("content must not be empty."), code="empty_content"
        )
    _check_words(draft)
    size = len(draft.content.encode())
    if size > CONTENT_BYTES:
        raise errors.TooLarge(what="content", limit=CONTENT_BYTES, size=size)
    if not 0 <= draft.confidence <= 1:
        raise _bad("confidence", "confidence lies between 0 and 1.")
    if draft.expires_at is not None and draft.expires_at.tzinfo is None:
        raise _bad("expires_at", "expires_at needs a time zone, such as a final Z.")
    scopes.check(draft.scope)
    _check_metadata(draft.metadata)


class Tail(NamedTuple):
    """The end of what a conversation's drafts say, and the name of the last one."""

    text: str = ""
    name: str = ""

    def with_draft(self, draft: Draft) -> Tail:
        """Return the end after another draft, as far as findings add up."""
        text = f"{self.text}\n{draft.content}"[-changes.REACH :]
        return Tail(text, RecordPlace(draft.external_id[:64]).label)


# ── The gate ─────────────────────────────────────────────────────────────────
class Gate:
    """The scanner's gate for one writer's drafts; policy and blocks are read once."""

    def __init__(self, *, source: str, by: Actor) -> None:
        self._source, self._by = source, by
        self._policies: dict[str, Policy] = {}
        self._blocked: dict[str | None, bool] = {}
        self._tails: dict[str, Tail] = {}

    def admit(self, draft: Draft, record_id: str = "", present: str = "") -> Draft:
        """Return the draft, perhaps redacted, or raise Held or Refused.

        ``present`` is what the record says now; a new one is judged with the drafts
        of its conversation that this gate let in before it.
        """
        conversation = _conversation(draft)
        tail = self._tails.get(conversation, Tail())
        admitted = self._admit(draft, record_id, present, tail)
        self._tails[conversation] = tail.with_draft(admitted)
        return admitted

    def _admit(self, draft: Draft, record_id: str, present: str, tail: Tail) -> Draft:
        if draft.owner is None:
            self._require_clean(draft.content, tail)
            return draft
        incoming = self._incoming(draft, draft.owner)
        if self._is_blocked(incoming):
            raise WriteRefused(
                why=gettext("this writer is blocked until an operator lifts it.")
            )
        judgement = self._judge(draft, incoming, present, tail)
        if judgement.action == "allow":
            return draft
        if judgement.action == "block":
            raise WriteRefused(why=gettext(judgement.why))
        if judgement.action == "redact":
            spans = scanner.spans(judgement.verdict.findings)
            by = Standard.of(incoming, self._policy(incoming.owner.workspace_id))
            neighbour = redaction.Neighbour(replaced=present)
            remainder = redaction.of(
                incoming.text, spans, by, neighbour=neighbour, is_reviewed=False
            )
            rest = replace(draft, content=remainder.text)
            if remainder.is_clean and self._passes(rest, incoming, present, tail):
                return rest
        held_file = quarantine.hold(incoming, judgement, by=self._by)
        if not record_id:
            # A release is a person's act: whose conversation it was is known only here.
            # A revision stays in its record's.
            draft = replace(draft, trace_id=trace_of(draft, by=self._by))
        _keep_draft(held_file, draft, record_id, self._source)
        raise HeldForReview(held_id=held_file.id, why=gettext(judgement.why))

    def _require_clean(self, content: str, tail: Tail) -> None:
        """Refuse a text of the workspace itself that nobody could review."""
        writer = scan_context.writer_of(self._by, None)
        scan = partial(scanner.scan, source=self._source, writer=writer)
        after = write_check.verdict_after(content, tail.text, tail.name, scan)
        if scan(content).is_held or after.is_held:
            reason = gettext("name a crew or an agent: only theirs can be reviewed.")
            raise WriteRefused(why=reason)

    def _incoming(self, draft: Draft, owner: Owner) -> Incoming:
        return Incoming(
            owner=owner,
            place=RecordPlace(draft.external_id[:64]),
            text=draft.content,
            mode="replace",
            source=self._source[:16],
            written_by=self._by.label,
            writer=self._writer(owner),
        )

    def _is_blocked(self, incoming: Incoming) -> bool:
        agent_id = incoming.owner.agent_id
        if agent_id not in self._blocked:
            self._blocked[agent_id] = quarantine.is_blocked(incoming)
        return self._blocked[agent_id]

    def _policy(self, workspace_id: str) -> Policy:
        if workspace_id not in self._policies:
            self._policies[workspace_id] = quarantine.policy(workspace_id)
        return self._policies[workspace_id]

    def _writer(self, owner: Owner) -> str:
        if self._by.is_agent and self._source == Provenance.USER_REQUESTED:
            return Writer.USER.value
        return scan_context.writer_of(self._by, owner.agent_id)

    def _passes(
        self, draft: Draft, incoming: Incoming, present: str, tail: Tail
    ) -> bool:
        rest = replace(incoming, text=draft.content)
        return self._judge(draft, rest, present, tail).action == "allow"

    def _judge(
        self, draft: Draft, incoming: Incoming, present: str, tail: Tail
    ) -> Judgement:
        """Scan the content; suspicious metadata is refused, it cannot be released."""
        policy = self._policy(incoming.owner.workspace_id)
        leaves = "\n".join(entries.leaves(draft.metadata))
        if leaves.strip():
            metadata_judgement = quarantine.judge_alone(incoming, leaves, policy)
            if metadata_judgement.action != "allow":
                reason = gettext(
                    "the metadata holds text that the scanner does not let pass."
                )
                raise WriteRefused(why=reason)
        judgement = write_check.judge_write(incoming, present, draft.content, policy)
        if judgement.action == "allow" and tail.text:
            return write_check.judge_after(incoming, tail.text, tail.name, policy)
        return judgement


def _conversation(draft: Draft) -> str:
    """Return what drafts share that are read together."""
    owner_id = draft.owner.id if draft.owner else ""
    return entries.canonical([owner_id, draft.scope.as_map(), draft.session_id])


def gate(
    draft: Draft, record_id: str, *, source: str, by: Actor, present: str = ""
) -> Draft:
    """Return the draft, perhaps redacted, or raise Held or Refused.

    Not inside a transaction: the held case must be stored although this raises.
    """
    return Gate(source=source, by=by).admit(draft, record_id, present)


def _keep_draft(held_file: HeldFile, draft: Draft, record_id: str, source: str) -> None:
    """Store the fields of a held draft; its content is in the case."""
    fields = {name: getattr(draft, name) for name in _PLAIN} | {
        "scope": draft.scope.as_map(),
        "expires_at": draft.expires_at.isoformat() if draft.expires_at else None,
        "subjects": list(draft.subjects),
        "trace_id": draft.trace_id,
        "record_id": record_id,
        "provenance": source,
        "sha256": digest(draft.content.encode()),
    }
    HeldRecord.objects.update_or_create(
        held=held_file,
        defaults={"workspace_id": held_file.workspace_id, "draft": fields},
    )


def draft_of(held_file: HeldFile, text: str) -> tuple[Draft, dict[str, Any]]:
    """Return a held record as a draft, and the stored fields."""
    fields = dict(HeldRecord.objects.get(pk=held_file.pk).draft)
    if held_file.crew is None:
        raise errors.NotFound
    due = fields["expires_at"]
    draft = Draft(
        content=text,
        owner=Owner(held_file.crew, held_file.agent),
        scope=Scope.of(fields["scope"], SCOPE_NAMES),
        expires_at=datetime.fromisoformat(due) if due else None,
        subjects=tuple(fields["subjects"]),
        # Cases from before traces have none.
        trace_id=fields.get("trace_id"),
        **{name: fields[name] for name in _PLAIN},
    )
    return draft, fields
