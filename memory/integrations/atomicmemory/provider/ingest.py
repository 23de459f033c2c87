"""Ingest: the texts of one request are looked up and stored together.

An extracted statement gets an external id made of its text, so that concurrent callers
store it once; unless the memory of that id was corrected and has another text now. All
inputs of a request are stored in one transaction, or none: a held text refuses them
all. They are stored in the order they came in.

A thread (``session_id`` on the wire) is a conversation: the journal entries of all its
ingests share a trace id. Without one, the statements of one input share one if there
are several, and inputs are not connected.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from itertools import groupby
from operator import attrgetter

from django.db import transaction

from memory import records
from memory.files.paths import Owner
from memory.integrations.atomicmemory.contract import types
from memory.integrations.atomicmemory.provider import mapping, statements
from memory.records import Action, Criteria, Provenance, sessions
from memory.records.drafts import Draft
from memory.rules.permissions import Actor
from memory.rules.scopes import NAMES, Scope


@dataclass(slots=True)
class Piece:
    """One text of an input, on its way to a record.

    ``duplicate_of`` is an earlier piece with the same text, ``known_id`` the id of a
    stored record with it, ``outcome`` the record's id and what happened to it.
    """

    number: int
    request: types.Ingest
    draft: Draft
    known_id: str = ""
    duplicate_of: Piece | None = None
    outcome: tuple[str, Action] = field(default=("", Action.UNCHANGED))

    @property
    def is_verbatim(self) -> bool:
        """Whether the text is stored as given, not extracted."""
        return isinstance(self.request, types.VerbatimIngest)

    @property
    def provenance(self) -> Provenance:
        if self.is_verbatim:
            return Provenance.USER_REQUESTED
        return Provenance.AGENT_EXTRACTED

    @property
    def is_new(self) -> bool:
        """Whether it has to be stored."""
        return not self.known_id and self.duplicate_of is None


def _texts(request: types.Ingest) -> list[str]:
    if isinstance(request, types.VerbatimIngest):
        return [request.content]
    if isinstance(request, types.TextIngest):
        return statements.of_text(request.content)
    return statements.of_messages(request.messages)


def _is_within(scope: Scope, outer: Scope) -> bool:
    """Return whether a scope lies in another: every named part is equal."""
    parts = ((getattr(outer, name), getattr(scope, name)) for name in NAMES)
    return all(not outer_value or outer_value == value for outer_value, value in parts)


def ingest_all(
    inputs: Sequence[types.Ingest], *, owner: Owner | None, by: Actor
) -> list[types.IngestResult]:
    """Store the texts of inputs; return a result for each, in their order."""
    pieces = [
        Piece(number, request, mapping.draft(request, text, owner))
        for number, request in enumerate(inputs)
        for text in _texts(request)
    ]
    _resolve_scopes(pieces, owner, by)
    _find_existing(pieces, owner, by)
    _keep([piece for piece in pieces if piece.is_new], by)
    return [
        _result([piece for piece in pieces if piece.number == number])
        for number in range(len(inputs))
    ]


def _result(pieces: Sequence[Piece]) -> types.IngestResult:
    ids: dict[Action, list[str]] = {action: [] for action in Action}
    for piece in pieces:
        if piece.known_id:
            ids[Action.UNCHANGED].append(piece.known_id)
        elif piece.duplicate_of is not None:
            ids[Action.UNCHANGED].append(
                piece.duplicate_of.outcome[0] or piece.duplicate_of.known_id
            )
        else:
            ids[piece.outcome[1]].append(piece.outcome[0])
    return types.IngestResult(
        created=ids[Action.CREATED],
        updated=ids[Action.UPDATED],
        unchanged=ids[Action.UNCHANGED],
    )


# ── Existing records ──────────────────────────────────────────────────────────
def _resolve_scopes(pieces: Sequence[Piece], owner: Owner | None, by: Actor) -> None:
    """Move verbatim texts to the scope where their external id was first used.

    The id is the user's: a thread or a namespace makes no second memory of it.
    """
    by_user: dict[str, list[Piece]] = {}
    for piece in pieces:
        if piece.draft.external_id:
            by_user.setdefault(piece.draft.scope.user, []).append(piece)
    for user, user_pieces in by_user.items():
        query = Criteria(owner=owner, scope=Scope(user=user))
        ids = [piece.draft.external_id for piece in user_pieces]
        rows = records.by_external_ids(ids, query, by=by)
        origins = {
            name: (records.scope_of(row), row.session_id) for name, row in rows.items()
        }
        for piece in user_pieces:
            first = (piece.draft.scope, piece.draft.session_id)
            scope, session = origins.setdefault(piece.draft.external_id, first)
            piece.draft = replace(piece.draft, scope=scope, session_id=session)


def _find_existing(pieces: Sequence[Piece], owner: Owner | None, by: Actor) -> None:
    """Find statements that are stored already; name the others."""
    _find_duplicates(pieces)
    by_scope: dict[str, list[Piece]] = {}
    for piece in pieces:
        if piece.is_new and not piece.is_verbatim:
            by_scope.setdefault(piece.draft.scope.key, []).append(piece)
    for group in by_scope.values():
        _look_up(group, Criteria(owner=owner, scope=group[0].draft.scope), by)


def _find_duplicates(pieces: Sequence[Piece]) -> None:
    """Find duplicates within the request."""
    by_content: dict[str, list[Piece]] = {}
    for piece in pieces:
        before = by_content.setdefault(piece.draft.content, [])
        scope = piece.draft.scope
        duplicates = (two for two in before if _is_within(two.draft.scope, scope))
        piece.duplicate_of = None if piece.is_verbatim else next(duplicates, None)
        if piece.duplicate_of is None:
            before.append(piece)


def _look_up(group: Sequence[Piece], query: Criteria, by: Actor) -> None:
    """Find the records of one scope; name new statements where the id is free."""
    existing = records.by_content(
        [piece.draft.content for piece in group], query, by=by
    )
    new = [piece for piece in group if piece.draft.content not in existing]
    for piece in group:
        if piece.draft.content in existing:
            piece.known_id = existing[piece.draft.content].id
    names = [mapping.statement_name(piece.draft.content) for piece in new]
    existing_names = records.by_external_ids(names, query, by=by)
    for piece, name in zip(new, names, strict=True):
        if name not in existing_names:
            piece.draft = replace(piece.draft, external_id=name)


# ── Storing ─────────────────────────────────────────────────────────────────
def _keep(pieces: Sequence[Piece], by: Actor) -> None:
    """Scan all, then store all in one transaction, in order."""
    _connect(pieces)
    # A run of pieces of one provenance is stored at once.
    runs = [
        (provenance, list(run))
        for provenance, run in groupby(pieces, key=attrgetter("provenance"))
    ]
    prepared = [
        records.prepare_all([p.draft for p in run], provenance=provenance, by=by)
        for provenance, run in runs
    ]
    accepted = [records.all_or_nothing(drafts) for drafts in prepared]
    with transaction.atomic():
        for (provenance, run), drafts in zip(runs, accepted, strict=True):
            rows = records.keep_all(drafts, provenance=provenance, by=by)
            for piece, (row, action) in zip(run, rows, strict=True):
                piece.outcome = row.id, action


def _connect(pieces: Sequence[Piece]) -> None:
    """Give the statements of one input a trace where it names no thread."""
    for _, group in groupby(pieces, key=attrgetter("number")):
        loose = [piece for piece in group if not piece.request.scope.thread]
        if len(loose) > 1:
            trace = sessions.call_trace()
            for piece in loose:
                piece.draft = replace(piece.draft, trace_id=trace)
