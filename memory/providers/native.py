"""The contract over records: ranked recall, and forgetting by person.

An item kept through this contract is a record that carries its label, so ids mean the
same as with files; a record from another door is named by its own id. People are known
by the key of a peer card and by the e-mail addresses in a text.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Final

from django.db import IntegrityError
from django.utils import timezone

from memory import records, scanner
from memory.files import reading
from memory.files.paths import Owner
from memory.files.writer import TierFull
from memory.models import Record
from memory.providers import base, ownership
from memory.providers.base import Bound, Hit, Pulse
from memory.records import drafts
from memory.records.drafts import Draft
from memory.rules import errors, tiers, tokenizer
from memory.rules.entries import SUBJECTS
from memory.rules.tiers import Place, Tier, WriteMode

NAME: Final = "native"
SOURCE: Final = "provider"
_EMAIL: Final = re.compile(r"[\w.+-]{1,64}@[\w-]{1,63}(?:\.[\w-]{1,63}){1,8}")
_RECORD: Final = re.compile(r"rec_[0-9a-f]{16}")


def probe(bound: Bound) -> None:
    """Ask the database for a record."""
    records.probe(bound.workspace_id)


def _subjects(place: Place, content: str) -> tuple[str, ...]:
    found = [place.key] if place.tier is Tier.PEERS else []
    found += _EMAIL.findall(content)
    return tuple(dict.fromkeys(found))[:SUBJECTS]


def _check_cap(place: Place, current: str, final: str) -> None:
    size, cap = len(final.encode()), place.rule.cap or drafts.CONTENT_BYTES
    if size <= cap:
        return
    present = len(current.encode())
    raise TierFull(
        label=place.label,
        tier=place.tier.value,
        cap_bytes=cap,
        projected_size=size,
        current_size=present,
        current_entries=current,
        usage=tiers.usage(present, cap),
    )


class Native:
    """Memory in records."""

    def __init__(
        self, bound: Bound | None, look: Callable[[Bound], None] = probe
    ) -> None:
        self._bound, self._look = bound, look

    # ── Retain ───────────────────────────────────────────────────────────────
    def retain(self, request: base.Retain) -> base.Retained:
        """Save a record, or make the next version of the one with this label."""
        bound = base.guard(self._bound, request)
        try:
            owner = ownership.owner(bound)
            mode = ownership.mode(request.mode)
            place = tiers.place(request.tier, request.key or None)
            ownership.writable(place, owner, bound.by)
            if not request.content.strip():
                detail = "content must not be empty."
                raise errors.Invalid(detail, code="empty_content")
            subjects = (*_subjects(place, request.content), *request.subjects)
            wanted = Draft(
                content=request.content,
                owner=owner,
                subjects=tuple(dict.fromkeys(subjects)),
            )
            done = self._keep(bound, owner, wanted, place, mode)
        except errors.HouseError as error:
            raise base.Refusal("retain", error) from error
        return base.Retained(place.label, len(done.content.encode()))

    def _keep(
        self, bound: Bound, owner: Owner, wanted: Draft, place: Place, mode: WriteMode
    ) -> Record:
        def change(current: str) -> str:
            gap = "\n" if current and not current.endswith("\n") else ""
            new = wanted.content
            final = new if mode is WriteMode.REPLACE else current + gap + new
            _check_cap(place, current, final)
            return final

        owner, subjects = owner.of(place), wanted.subjects
        found = self._record(bound, owner, place)
        if found is None:
            draft = Draft(
                content=change(""),
                owner=owner,
                kind=place.tier.value,
                external_id=place.label,
                subjects=subjects,
            )
            try:
                judged = records.prepare(draft, provenance=SOURCE, by=bound.by)
                return records.insert(judged, provenance=SOURCE, by=bound.by)
            except IntegrityError:
                # Somebody else saved the same label first; theirs is the one to change.
                found = self._record(bound, owner, place)
        if found is None:
            raise errors.Conflict
        return records.revise(
            found, change, provenance=SOURCE, subjects=subjects, by=bound.by
        )

    def _record(self, bound: Bound, owner: Owner, place: Place) -> Record | None:
        rows = records.mine(owner, by=bound.by).filter(external_id=place.label)
        whose_it_is = None if place.rule.shared else owner.agent_id
        return rows.filter(agent_id=whose_it_is).first()

    # ── Recall ───────────────────────────────────────────────────────────────
    def recall(self, request: base.Recall) -> base.Recalled:
        """Rank the records of the agent and of its crew."""
        bound = base.guard(self._bound, request)
        try:
            if not request.query.strip():
                raise errors.Invalid("q is required.", code="blank_query")
            tier, owner = ownership.tier(request.tier), ownership.owner(bound)
            found = records.find(
                request.query,
                owner=owner,
                kinds=(tier.value,) if tier else (),
                limit=base.clamp(request.limit),
                by=bound.by,
            )
        except errors.HouseError as error:
            raise base.Refusal("recall", error) from error
        unsafe = {hit.record.id for hit in found if not records.is_safe(hit.record)}
        good = [hit for hit in found if hit.record.id not in unsafe]
        held = [_name(hit.record) for hit in found if hit.record.id in unsafe]
        hits = [_hit(hit, request.query) for hit in good]
        return base.Recalled(hits, sorted({*held, *_held(owner, tier)}))

    # ── Forget ───────────────────────────────────────────────────────────────
    def forget(self, request: base.Forget) -> base.Forgotten:
        """Forget one record, or every record of this owner that names a person."""
        bound = base.guard(self._bound, request)
        by_id = base.selector(request) == "id"
        try:
            if not by_id:
                return self._forget_subject(bound, request.data_subject_id)
            owner = ownership.owner(bound)
            found = self._named(bound, owner, request.id)
        except errors.HouseError as error:
            raise base.Refusal("forget", error) from error
        try:
            removed = found is not None and records.forget(found, by=bound.by)
        except errors.HouseError as error:
            raise base.Refusal("forget: remove", error) from error
        return base.Forgotten(int(removed))

    def _forget_subject(self, bound: Bound, alias: str) -> base.Forgotten:
        """Forget by person; a person who names no owner means the workspace."""
        named = bound.agent_id or bound.crew_id or bound.by.is_agent
        owner = ownership.owner(bound) if named else None
        gone = records.forget_subject(alias, owner=owner, by=bound.by)
        return base.Forgotten(gone)

    def _named(self, bound: Bound, owner: Owner, name: str) -> Record | None:
        if _RECORD.fullmatch(name):
            return records.mine(owner, by=bound.by).filter(pk=name).first()
        place = ownership.writable(ownership.place_of(name), owner, bound.by)
        return self._record(bound, owner.of(place), place)

    # ── Health ───────────────────────────────────────────────────────────────
    def health(self, request: base.Health) -> Pulse:  # noqa: ARG002  (the contract's)
        """Tell whether the records answer."""
        message = ""
        if self._bound is None or not self._bound.workspace_id:
            message = base.NotInitialized.sentence
        else:
            try:
                self._look(self._bound)
            except Exception:  # noqa: BLE001  (health tells, it never raises)
                message = "the records do not answer"
        return Pulse(ok=not message, message=message, checked_at=timezone.now())


def _hit(found: records.Hit, query: str) -> Hit:
    """Return a hit with the piece of the record that holds the first word asked for."""
    text, asked = found.record.content, tokenizer.telling(tokenizer.split(query))
    lines = text.splitlines() or [""]
    held = (
        n for n, line in enumerate(lines) if set(tokenizer.split(line)) & set(asked)
    )
    start = next(held, 0)
    snippet = scanner.redact_for_prompt("\n".join(lines[start:])[: base.SNIPPET_CHARS])
    cut = snippet[: base.SNIPPET_CHARS]
    return Hit(_name(found.record), cut, start + 1, found.score)


def _name(record: Record) -> str:
    """Return the id that Forget takes: a label where the record has one."""
    return record.external_id if tiers.split(record.external_id) else record.id


def _held(owner: Owner, tier: Tier | None) -> list[str]:
    """Return the labels of held records, as this contract names them."""
    labels = [
        label.removeprefix("records/")
        for label in reading.held_labels(owner)
        if label.startswith("records/")
    ]
    places = [(label, tiers.split(label)) for label in labels]
    return [label for label, place in places if place and tier in (None, place.tier)]


def make(bound: Bound | None) -> Native:
    """Return the provider for a binding."""
    return Native(bound)
