"""Recall checks: questions with the entries that their answers have to hold.

A check is saved from the explorer; it runs on an operator's request, every night, and
once more when the model in use changed and the index is complete again. A failure is
reported per missing entry, with the finding of "why", and once per change in the
journal.

Saving and running go with the right to run the index (``index.run``); reading with the
right to ask as an agent (``recall.ask_as_agent``).
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, Final

from django.conf import settings
from django.db import IntegrityError, transaction
from django.db.models import F, QuerySet
from django.utils import translation
from django.utils.translation import gettext
from pydantic import TypeAdapter

from episodic.index import engine
from episodic.index import status as index_status
from episodic.models import RecallCheck, RecallCheckRun
from episodic.recall import explain
from episodic.recall import search as recall
from episodic.recall.request import K_MAX, Request, settled
from memory.jobs.registry import Outcome
from memory.journal import append as journal
from memory.journal import queries
from memory.models import JournalEntry
from memory.ports import subject_linker
from memory.rules import entries, errors, permissions
from memory.rules.entries import NewEntry, Severity
from memory.rules.permissions import Actor

MAX_CHECKS: Final = 200
# How many are run again within one request.
RERUN: Final = 25
EXPECTED_MOST: Final = K_MAX
NAME_CHARS: Final = 120
RUNS_KEPT: Final = 60
FAILED: Final = "memory.recall_check_failed"
MOMENTS: Final = ("since", "until", "as_of")
_NEVER: Final = ("explain", "mark")
_REQUEST: Final = TypeAdapter(Request)
Result = RecallCheck.Result


@dataclass(frozen=True, slots=True)
class Line:
    """A check as the list shows it: its question's fields, and its last run."""

    check: RecallCheck
    pairs: list[tuple[str, str]]
    last: RecallCheckRun | None

    @property
    def query(self) -> str:
        return str(self.check.question.get("query", ""))


# ── The question, kept as JSON ───────────────────────────────────────────────
def to_json(request: Request) -> dict[str, Any]:
    """Return the fields of a question that were set; times as RFC 3339."""
    fields = {k: v for k, v in asdict(request).items() if k not in _NEVER}
    for name in MOMENTS:
        fields[name] = journal.stamp(fields[name]) if fields[name] else None
    fields["entry_types"] = list(request.entry_types)
    fields["mode"] = request.mode.value
    fields["fusion"] = request.fusion.value if request.fusion else None
    return {k: v for k, v in fields.items() if v not in (None, [])}


def to_request(question: Mapping[str, Any]) -> Request:
    """Return a stored question as a request that counts no reference."""
    return _REQUEST.validate_python({**question, "mark": False})


# ── Access ───────────────────────────────────────────────────────────────────
def _line(check: RecallCheck) -> Line:
    pairs = [
        (name, str(item))
        for name, value in check.question.items()
        for item in (value if isinstance(value, list) else [value])
    ]
    return Line(check, pairs, check.runs.first())


def list_checks(actor: Actor) -> list[Line]:
    """Return the workspace's checks: broken ones first, then by name."""
    actor.require("recall.ask_as_agent")
    rows = RecallCheck.objects.filter(workspace_id=actor.workspace_id)
    order = {Result.BROKEN: 0, Result.REFUSED: 1, Result.NEW: 2, Result.HOLDS: 3}
    checks = sorted(rows, key=lambda c: (order[Result(c.result)], c.name))
    return [_line(check) for check in checks]


def get(actor: Actor, check_id: str) -> RecallCheck:
    """Return a check of the actor's workspace, or NotFound."""
    actor.require("recall.ask_as_agent")
    rows = RecallCheck.objects.filter(pk=check_id, workspace_id=actor.workspace_id)
    check = rows.first()
    if check is None:
        raise errors.NotFound
    return check


def _expected(ids: Sequence[str], by: Actor) -> list[str]:
    """Return the distinct ids, each of which the actor can read."""
    entry_ids = list(dict.fromkeys(entry_id for entry_id in ids if entry_id))
    if not entry_ids:
        raise errors.Invalid(gettext("Name at least one entry."), code="no_entries")
    if len(entry_ids) > EXPECTED_MOST:
        detail = gettext("A check expects at most {most} entries.")
        detail = detail.format(most=EXPECTED_MOST)
        raise errors.Invalid(detail, code="too_many_entries")
    for entry_id in entry_ids:
        queries.entry(by, entry_id)
    return entry_ids


def _name(text: str) -> str:
    name = " ".join(text.split())
    if not name or len(name) > NAME_CHARS or not entries.is_storable(name):
        raise errors.Invalid(gettext("The check needs a name."), code="bad_name")
    return name


def _name_of(request: Request, existing: QuerySet[RecallCheck]) -> str:
    """Return the question as a name, numbered when a check has it."""
    words = " ".join(request.query.split())
    whole = words if len(words) <= NAME_CHARS else words[: NAME_CHARS - 1] + "…"
    stem = words[: NAME_CHARS - 8].rstrip()
    taken = set(existing.values_list("name", flat=True))
    numbered = (f"{stem} ({number})" for number in itertools.count(2))
    names = itertools.chain([whole], numbered)
    return _name(next(name for name in names if name not in taken))


def _note(check: RecallCheck) -> None:
    query = str(check.question.get("query", ""))
    texts = (check.name, query, check.created_by)
    row = subject_linker.TextRow(str(check.pk), texts)
    subject_linker.note(check.workspace_id, "recall_checks", [row])


def _taken() -> errors.Conflict:
    return errors.Conflict(gettext("A check has this name."), code="name_taken")


def _refuse_another(check: RecallCheck, existing: QuerySet[RecallCheck]) -> None:
    """Refuse a check that is there already, under any name, or is one too many."""
    rows = list(existing.all())
    if any(row.name == check.name for row in rows):
        raise _taken()
    ids = set(check.expected)
    if any(row.question == check.question and set(row.expected) == ids for row in rows):
        detail = gettext("This check is saved already.")
        raise errors.Conflict(detail, code="saved_already")
    if len(rows) >= MAX_CHECKS:
        detail = gettext("A workspace keeps at most {most} checks.")
        detail = detail.format(most=MAX_CHECKS)
        raise errors.Conflict(detail, code="too_many_checks")


def save(
    name: str, request: Request, expected: Sequence[str], *, by: Actor
) -> RecallCheck:
    """Store a question and the entries that its answer has to contain.

    Without a ``name`` it is the question's words.
    """
    by.require("index.run")
    settled(request, by.workspace_id)
    existing = RecallCheck.objects.filter(workspace_id=by.workspace_id)
    name = _name(name) if name.strip() else _name_of(request, existing)
    subject_linker.refuse(by.workspace_id, (name, request.query))
    entry_ids = _expected(expected, by)
    check = RecallCheck(
        workspace_id=by.workspace_id,
        name=name,
        question=to_json(request),
        expected=entry_ids,
        created_by=by.label,
    )
    try:
        with transaction.atomic():
            _refuse_another(check, existing)
            check.save(force_insert=True)
            _note(check)
    except IntegrityError as error:
        # Another request saved this name between the look and the write.
        raise _taken() from error
    return check


def rename(check: RecallCheck, name: str, *, by: Actor) -> None:
    """Give a check another name."""
    by.require("index.run", check.workspace_id)
    name = _name(name)
    subject_linker.refuse(by.workspace_id, (name,))
    check.name = name
    try:
        with transaction.atomic():
            check.save(update_fields=["name"])
            _note(check)
    except IntegrityError as error:
        raise _taken() from error


def drop(check: RecallCheck, *, by: Actor) -> None:
    """Delete a check and its runs."""
    by.require("index.run", check.workspace_id)
    check.delete()


# ── Running ──────────────────────────────────────────────────────────────────
def _finding(request: Request, entry_id: str, by: Actor) -> str:
    row = JournalEntry.objects.filter(pk=entry_id, workspace_id=by.workspace_id)
    entry = row.first()
    if entry is None:
        return gettext("It is no longer in the journal.")
    if entry.erased_at is not None:
        return gettext("It was erased.")
    return explain.explain(request, entry_id, by=by).finding


def _judge(check: RecallCheck, by: Actor) -> RecallCheckRun:
    """Return an unsaved run: what of the expected is missing, and why."""
    request = replace(to_request(check.question), explain=True)
    try:
        answer = recall.search(request, by=by)
        returned_ids = {hit.entry.id for hit in answer.hits}
        absent_ids = [
            {"entry_id": entry_id, "finding": _finding(answer.request, entry_id, by)}
            for entry_id in check.expected
            if entry_id not in returned_ids
        ]
    except errors.AppError as error:
        # The agent or crew of the question was deleted, or its conditions are invalid.
        return RecallCheckRun(result=Result.REFUSED, note=error.detail[:300])
    # An answer without its dense ranking cannot decide the check.
    out = answer.rankings.degraded if absent_ids else None
    return RecallCheckRun(
        result=Result.REFUSED if out else Result.BROKEN if absent_ids else Result.HOLDS,
        returned=len(returned_ids),
        missing=absent_ids,
        note=(out or "")[:300],
    )


def _record(check: RecallCheck, run: RecallCheckRun, by: Actor) -> None:
    count, total = len(run.missing), len(check.expected)
    journal.write(
        [
            NewEntry(
                entry_type=FAILED,
                severity=Severity.WARN,
                summary=f"Recall check {check.name}: {count} of {total} expected"
                " entries are missing",
                payload={
                    "check_id": check.id,
                    "missing": run.missing,
                    "model": run.model,
                },
                refs={"check_id": check.id},
            )
        ],
        by=by,
    )


def _is_news(check: RecallCheck, run: RecallCheckRun) -> bool:
    """Whether a broken run reports something that the previous one did not."""
    before = check.runs.first()
    if before is None or before.result != Result.BROKEN:
        return True
    return [m["entry_id"] for m in before.missing] != [
        m["entry_id"] for m in run.missing
    ]


def _run(check: RecallCheck, by: Actor) -> RecallCheckRun:
    # What a run found is stored, so it is in English whoever asked for it.
    with translation.override(settings.LANGUAGE_CODE):
        run = _judge(check, by)
    run.workspace_id, run.recall_check = check.workspace_id, check
    run.model = engine.embedder().model or ""
    with transaction.atomic():
        if run.result == Result.BROKEN and _is_news(check, run):
            _record(check, run, by)
        run.save()
        check.result, check.last_run_at, check.model = run.result, run.ran_at, run.model
        check.save(update_fields=["result", "last_run_at", "model"])
        old = check.runs.values_list("pk", flat=True)[RUNS_KEPT:]
        check.runs.filter(pk__in=list(old)).delete()
    return run


def run(check: RecallCheck, *, by: Actor) -> RecallCheckRun:
    """Run one check now, for an operator."""
    by.require("index.run", check.workspace_id)
    return _run(check, by)


def rerun(*, by: Actor) -> list[RecallCheckRun]:
    """Run up to RERUN checks of the workspace that waited longest, for an operator."""
    by.require("index.run")
    checks = RecallCheck.objects.filter(workspace_id=by.workspace_id)
    checks = checks.order_by(F("last_run_at").asc(nulls_first=True), "name")
    return [_run(check, by) for check in checks[:RERUN]]


def run_all(workspace_id: str, *, stale_only: bool = False) -> list[RecallCheckRun]:
    """Run a workspace's checks on schedule.

    ``stale_only`` takes those whose last run was with another model, once the index
    has caught up with the one in use: before, everything would seem broken.
    """
    by = permissions.system(workspace_id, "recall checks")
    checks = RecallCheck.objects.filter(workspace_id=workspace_id)
    if stale_only:
        model = engine.embedder().model or ""
        checks = checks.exclude(result=Result.NEW).exclude(model=model)
        if not checks.exists() or index_status.status(workspace_id, by=by).pending:
            return []
    return [_run(check, by) for check in checks.order_by("name")]


# ── Schedule ────────────────────────────────────────────────────────────────
def _outcome(runs: Sequence[RecallCheckRun]) -> Outcome:
    broken = [run.recall_check.name for run in runs if run.result == Result.BROKEN]
    note = f"broken: {', '.join(broken)}"[:400] if broken else ""
    return Outcome({"checks": len(runs), "broken": len(broken)}, note)


def run_nightly(home: str) -> Outcome:
    return _outcome(run_all(home))


def run_after_model_change(home: str) -> Outcome:
    return _outcome(run_all(home, stale_only=True))
