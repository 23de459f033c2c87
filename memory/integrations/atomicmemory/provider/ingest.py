"""Taking in: what the inputs of one request become, looked up and kept together.

A drawn statement is named by its words, so that many callers at once keep it once;
unless the memory of that name was corrected and says something else now. All inputs of
a request are kept in one transaction, or none: what the scanner holds refuses it whole.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from django.db import transaction

from memory import records
from memory.files.paths import Owner
from memory.integrations.atomicmemory.contract import types
from memory.integrations.atomicmemory.provider import mapping, statements
from memory.models import Record
from memory.records import Action, Provenance, Wanted
from memory.records.drafts import Draft
from memory.rules.permissions import Actor
from memory.rules.scopes import NAMES, Scope


@dataclass(slots=True)
class Piece:
    """One text of an input, on its way to a record.

    ``same`` is an earlier piece that says it already, ``known`` a record that does.
    """

    number: int
    asked: types.Ingest
    draft: Draft
    known: str = ""
    same: Piece | None = None
    done: tuple[str, Action] = field(default=("", Action.UNCHANGED))

    @property
    def is_verbatim(self) -> bool:
        """Whether it is kept as it is, and not drawn from a text."""
        return isinstance(self.asked, types.VerbatimIngest)

    @property
    def provenance(self) -> Provenance:
        """Who put it there."""
        if self.is_verbatim:
            return Provenance.USER_REQUESTED
        return Provenance.AGENT_EXTRACTED

    @property
    def is_new(self) -> bool:
        """Whether it has to be kept."""
        return not self.known and self.same is None


def _texts(asked: types.Ingest) -> list[str]:
    if isinstance(asked, types.VerbatimIngest):
        return [asked.content]
    if isinstance(asked, types.TextIngest):
        return statements.of_text(asked.content)
    return statements.of_messages(asked.messages)


def _lies_in(scope: Scope, wanted: Scope) -> bool:
    """Whether a scope is found by another: every named part is equal."""
    parts = ((getattr(wanted, name), getattr(scope, name)) for name in NAMES)
    return all(not asked or asked == told for asked, told in parts)


def take(
    inputs: Sequence[types.Ingest], *, owner: Owner | None, by: Actor
) -> list[types.IngestResult]:
    """Keep what some inputs say; return a result for each, in their order."""
    pieces = [
        Piece(number, asked, mapping.draft(asked, text, owner))
        for number, asked in enumerate(inputs)
        for text in _texts(asked)
    ]
    _go_home(pieces, owner, by)
    _recognise(pieces, owner, by)
    _keep([one for one in pieces if one.is_new], by)
    return [
        _result([one for one in pieces if one.number == number])
        for number in range(len(inputs))
    ]


def _result(pieces: Sequence[Piece]) -> types.IngestResult:
    done: dict[Action, list[str]] = {action: [] for action in Action}
    for one in pieces:
        if one.known:
            done[Action.UNCHANGED].append(one.known)
        elif one.same is not None:
            done[Action.UNCHANGED].append(one.same.done[0] or one.same.known)
        else:
            done[one.done[1]].append(one.done[0])
    return types.IngestResult(
        created=done[Action.CREATED],
        updated=done[Action.UPDATED],
        unchanged=done[Action.UNCHANGED],
    )


# ── What is there already ────────────────────────────────────────────────────
def _go_home(pieces: Sequence[Piece], owner: Owner | None, by: Actor) -> None:
    """Put a verbatim text into the scope where its external id was first used.

    The id is the user's: a thread or a namespace makes no second memory of it.
    """
    by_user: dict[str, list[Piece]] = {}
    for one in pieces:
        if one.draft.external_id:
            by_user.setdefault(one.draft.scope.user, []).append(one)
    for user, named in by_user.items():
        wanted = Wanted(owner=owner, scope=Scope(user=user))
        ids = [one.draft.external_id for one in named]
        rows = records.called(ids, wanted, by=by)
        homes = {name: _home(row) for name, row in rows.items()}
        for one in named:
            first = (one.draft.scope, one.draft.session_id)
            scope, session = homes.setdefault(one.draft.external_id, first)
            one.draft = replace(one.draft, scope=scope, session_id=session)


def _home(row: Record) -> tuple[Scope, str]:
    return records.scope_of(row), row.session_id


def _recognise(pieces: Sequence[Piece], owner: Owner | None, by: Actor) -> None:
    """Find the drawn statements that are remembered word for word; name the others."""
    _match(pieces)
    by_scope: dict[str, list[Piece]] = {}
    for one in pieces:
        if one.is_new and not one.is_verbatim:
            by_scope.setdefault(one.draft.scope.key, []).append(one)
    for group in by_scope.values():
        _look_up(group, Wanted(owner=owner, scope=group[0].draft.scope), by)


def _match(pieces: Sequence[Piece]) -> None:
    """Find what an earlier piece of the same request says already."""
    said: dict[str, list[Piece]] = {}
    for one in pieces:
        before, scope = said.setdefault(one.draft.content, []), one.draft.scope
        near = (two for two in before if _lies_in(two.draft.scope, scope))
        one.same = None if one.is_verbatim else next(near, None)
        if one.same is None:
            before.append(one)


def _look_up(group: Sequence[Piece], wanted: Wanted, by: Actor) -> None:
    """Find what one scope remembers; name what is new, where the name is free."""
    known = records.saying([one.draft.content for one in group], wanted, by=by)
    new = [one for one in group if one.draft.content not in known]
    for one in group:
        if one.draft.content in known:
            one.known = known[one.draft.content].id
    names = [mapping.said(one.draft.content) for one in new]
    taken = records.called(names, wanted, by=by)
    for one, name in zip(new, names, strict=True):
        if name not in taken:
            one.draft = replace(one.draft, external_id=name)


# ── Keeping ──────────────────────────────────────────────────────────────────
def _keep(pieces: Sequence[Piece], by: Actor) -> None:
    """Judge all, then keep all in one transaction."""
    groups: dict[Provenance, list[Piece]] = {}
    for one in pieces:
        groups.setdefault(one.provenance, []).append(one)
    judged = {
        said: records.prepare_all([p.draft for p in group], provenance=said, by=by)
        for said, group in groups.items()
    }
    good = {said: records.all_or_nothing(found) for said, found in judged.items()}
    with transaction.atomic():
        for said, group in groups.items():
            kept = records.keep_all(good[said], provenance=said, by=by)
            for one, (row, action) in zip(group, kept, strict=True):
                one.done = row.id, action
