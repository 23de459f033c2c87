"""The contract over records: ranked recall, and forgetting by person.

An item stored through this contract is a record that carries its label, so ids mean the
same as with files; any other record is named by its own id. People are identified by
the key of a peer card and by the e-mail addresses in a text. The contract names no
conversation, so what it retains has no trace id.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from typing import Final

from django.db import IntegrityError

from memory import records, scanner
from memory.files import reading, writer
from memory.files.paths import Owner
from memory.models import Record
from memory.providers import base, ownership
from memory.providers.base import Binding, HealthStatus, Hit
from memory.records import drafts
from memory.records.drafts import Draft
from memory.rules import errors, tiers, tokenizer
from memory.rules.entries import SUBJECTS
from memory.rules.tiers import Place, Tier, WriteMode

NAME: Final = "native"
SOURCE: Final = "provider"
_EMAIL: Final = re.compile(r"[\w.+-]{1,64}@[\w-]{1,63}(?:\.[\w-]{1,63}){1,8}")
_RECORD: Final = re.compile(r"rec_[0-9a-f]{16}")


def probe(binding: Binding) -> None:
    """Raise when the database does not answer."""
    records.probe(binding.workspace_id)


def _subjects(place: Place, content: str) -> tuple[str, ...]:
    subjects = [place.key] if place.tier is Tier.PEERS else []
    subjects += _EMAIL.findall(content)
    return tuple(dict.fromkeys(subjects))[:SUBJECTS]


class Native:
    """Memory in records."""

    def __init__(
        self, binding: Binding | None, check: Callable[[Binding], None] = probe
    ) -> None:
        self._binding, self._probe = binding, check

    # ── Retain ───────────────────────────────────────────────────────────────
    def retain(self, request: base.Retain) -> base.Retained:
        """Save a record, or make the next version of the one with this label."""
        binding = base.guard(self._binding, request)
        with base.refusing("retain"):
            owner = ownership.owner(binding)
            mode = ownership.mode(request.mode)
            place = tiers.place(request.tier, request.key or None)
            ownership.writable(place, owner, binding.by)
            if not request.content.strip():
                detail = "content must not be empty."
                raise errors.Invalid(detail, code="empty_content")
            subjects = (*_subjects(place, request.content), *request.subjects)
            draft = Draft(
                content=request.content,
                owner=owner.of(place),
                kind=place.tier.value,
                external_id=place.label,
                subjects=tuple(dict.fromkeys(subjects)),
            )
            record = self._save(binding, owner.of(place), draft, place, mode)
        return base.Retained(place.label, len(record.content.encode()))

    def _save(
        self,
        binding: Binding,
        owner: Owner,
        draft: Draft,
        place: Place,
        mode: WriteMode,
    ) -> Record:
        def change(current: str) -> str:
            final = writer.joined_text(current, draft.content, mode)
            writer.check_cap(place, current, final, drafts.CONTENT_BYTES)
            return final

        by = binding.by
        record = self._record(binding, owner, place)
        if record is None:
            first = replace(draft, content=change(""))
            try:
                prepared = records.prepare(first, provenance=SOURCE, by=by)
                return records.insert(prepared, provenance=SOURCE, by=by)
            except IntegrityError:
                # Another writer saved the same label first: revise that record.
                record = self._record(binding, owner, place)
        if record is None:
            raise errors.Conflict
        return records.revise(
            record, change, provenance=SOURCE, subjects=draft.subjects, by=by
        )

    def _record(self, binding: Binding, owner: Owner, place: Place) -> Record | None:
        rows = records.current_records(owner, by=binding.by)
        agent_id = owner.of(place).agent_id
        return rows.filter(external_id=place.label, agent_id=agent_id).first()

    # ── Recall ───────────────────────────────────────────────────────────────
    def recall(self, request: base.Recall) -> base.Recalled:
        """Rank the records of the agent and of its crew."""
        binding = base.guard(self._binding, request)
        with base.refusing("recall"):
            if not request.query.strip():
                raise errors.Invalid("q is required.", code="blank_query")
            tier, owner = ownership.tier(request.tier), ownership.owner(binding)
            candidates = records.find(
                request.query,
                owner=owner,
                kinds=(tier.value,) if tier else (),
                limit=base.clamp(request.limit),
                by=binding.by,
            )
        hits, quarantined = list[Hit](), set(_quarantined_labels(owner, tier))
        for hit in candidates:
            if records.is_safe(hit.record):
                hits.append(_hit(hit, request.query))
            else:
                quarantined.add(_item_id(hit.record))
        return base.Recalled(hits, sorted(quarantined))

    # ── Forget ───────────────────────────────────────────────────────────────
    def forget(self, request: base.Forget) -> base.Forgotten:
        """Forget one record, or every record of this owner that names a person."""
        binding = base.guard(self._binding, request)
        by_id = base.selector(request) == "id"
        with base.refusing("forget"):
            if not by_id:
                return self._forget_subject(binding, request.data_subject_id)
            owner = ownership.owner(binding)
            record = self._record_by_id(binding, owner, request.id)
        with base.refusing("forget: remove"):
            is_removed = record is not None and records.forget(record, by=binding.by)
        return base.Forgotten(int(is_removed))

    def _forget_subject(self, binding: Binding, alias: str) -> base.Forgotten:
        """Forget by person: of the bound owner, or of the workspace without one."""
        has_owner = binding.agent_id or binding.crew_id or binding.by.is_agent
        owner = ownership.owner(binding) if has_owner else None
        count = records.forget_subject(alias, owner=owner, by=binding.by)
        return base.Forgotten(count)

    def _record_by_id(
        self, binding: Binding, owner: Owner, item_id: str
    ) -> Record | None:
        if _RECORD.fullmatch(item_id):
            return (
                records.current_records(owner, by=binding.by).filter(pk=item_id).first()
            )
        place = ownership.writable(ownership.place_of(item_id), owner, binding.by)
        return self._record(binding, owner.of(place), place)

    # ── Health ───────────────────────────────────────────────────────────────
    def health(self, request: base.Health) -> HealthStatus:  # noqa: ARG002  (the contract's)
        """Return whether the database of the records answers."""
        no_answer = "the records do not answer"
        return base.checked_status(self._binding, self._probe, no_answer)


def _hit(hit: records.Hit, query: str) -> Hit:
    """Return a hit with the record's text from the first line that matches."""
    words = set(tokenizer.without_stop_words(tokenizer.split(query)))
    lines = hit.record.content.splitlines() or [""]
    matching = (n for n, line in enumerate(lines) if words & {*tokenizer.split(line)})
    start = next(matching, 0)
    snippet = scanner.redact_for_prompt("\n".join(lines[start:])[: base.SNIPPET_CHARS])
    excerpt = snippet[: base.SNIPPET_CHARS]
    return Hit(_item_id(hit.record), excerpt, start + 1, hit.score)


def _item_id(record: Record) -> str:
    """Return the id that Forget takes: a label where the record has one."""
    return record.external_id if tiers.split(record.external_id) else record.id


def _quarantined_labels(owner: Owner, tier: Tier | None) -> list[str]:
    """Return the labels of held records, as this contract names them."""
    labels = [
        label.removeprefix("records/")
        for label in reading.held_labels(owner)
        if label.startswith("records/")
    ]
    places = [(label, tiers.split(label)) for label in labels]
    return [label for label, place in places if place and tier in (None, place.tier)]
