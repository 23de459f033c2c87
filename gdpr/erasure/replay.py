"""Repeating erasures after a restore from a backup older than they are.

A backup restores rows, names and links of people who were erased after it was made.
The erasures file identifies them: by row ids, by the subject if its row was restored,
and by keyed digests of names, which are compared with the texts of the restored
database. What these names match is erased again.

``up`` and a worker repeat them by themselves (``catch_up``). Until the last one is done
the workspace is not served (``readiness``). A replay that leaves something of a person
leaves the workspace closed: the next start tries again, or an operator accepts it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final

from django.db import connection, transaction
from django.utils import timezone

from gdpr import audit_log, cache_version, suppression
from gdpr.cases import decided_rows
from gdpr.data_map import registry, row_text
from gdpr.data_map.base import Fate, Holder, Person
from gdpr.erasure import (
    failpoints,
    process_caches,
    readiness,
    restored_caches,
    tombstones,
)
from gdpr.erasure.tombstones import Record
from gdpr.matching.matcher import Name
from gdpr.models import (
    ActionKind,
    ActionStatus,
    Alias,
    Subject,
    SubjectLink,
)
from gdpr.verification import expected_words, postgres, search, sqlite
from gdpr.verification.report import Report, no_beat
from gdpr.verification.search import Tokens
from memory.journal import append as journal
from memory.rules import permissions
from memory.rules.entries import NewEntry, Severity

BATCH: Final = 50
# Key of the scope of a replay that left something: its run waits for another one.
LEFT: Final = "replay_of_run"
Progress = Callable[[str], object]
# Place → row id → fate.
Rows = dict[str, dict[str, Fate]]


@dataclass(slots=True)
class Replayed:
    """What a replay of one run did."""

    case_id: str
    subject_id: str
    run: int
    erased: int = 0
    redacted: int = 0
    remaining: list[str] = field(default_factory=list)
    todo: list[str] = field(default_factory=list)

    @property
    def is_done(self) -> bool:
        """Whether nothing of the person is left."""
        return not self.remaining


# ── The person ───────────────────────────────────────────────────────────────
def _without_names(record: Record, names: list[Name]) -> Record:
    """Return a record without the digests of some names."""
    digests = {
        digest.digest for digest in suppression.digests_of(record.workspace_id, names)
    }
    remaining = (alias for alias in record.aliases if alias.digest not in digests)
    return replace(record, aliases=tuple(remaining))


def _names_by_digest(record: Record) -> list[Name]:
    """Return the names in the database's texts whose digests are in the record.

    A digest cannot be reversed, but it can be computed from every candidate name.
    """
    if not record.aliases:
        return []
    values: dict[str, None] = {}
    for piece in expected_words.rows():
        for text in piece.decode("utf-8", "replace").split("\x00"):
            if text:
                matches = suppression.names_in(
                    record.workspace_id, text, record.aliases
                )
                values.update(dict.fromkeys(matches))
    kinds = {alias.kind for alias in record.aliases}
    return [
        Name(record.subject_id, kind, value)
        for value in values
        for kind in kinds
        if _is_one_of(record, kind, value)
    ]


def _is_one_of(record: Record, kind: str, value: str) -> bool:
    digests = suppression.digests_of(
        record.workspace_id, [Name(record.subject_id, kind, value)]
    )
    record_digests = {alias.digest for alias in record.aliases}
    return {digest.digest for digest in digests} <= record_digests


def _person(records: list[Record]) -> Person:
    """Return the person that a run erased, as far as the restored database tells."""
    first = records[0]
    rows = Subject.objects.filter(workspace_id=first.workspace_id)
    subject = rows.filter(pk=first.subject_id).first()
    names = Alias.names(first.workspace_id, subject_id=first.subject_id)
    # An alias added after the backup can still occur in its texts.
    names += _names_by_digest(_without_names(first, names))
    if subject is None:
        subject = Subject(id=first.subject_id, workspace_id=first.workspace_id)
    person = registry.person(subject)
    matcher = registry.matcher_of(names, person.others_matcher.names_known)
    kept_rows = decided_rows.by_place(
        (place, row_id)
        for place, fates in _announced(records).items()
        for row_id, fate in fates.items()
        if fate is Fate.KEEP
    )
    return replace(person, matcher=matcher, spared_rows=kept_rows)


def _announced(records: list[Record]) -> Rows:
    """Return place → row id → fate of all rows that a run announced."""
    announced: Rows = defaultdict(dict)
    for record in records:
        for place, rows in record.rows.items():
            announced[place].update((row_id, Fate(fate)) for row_id, fate in rows)
    return announced


# ── Erasing again ────────────────────────────────────────────────────────────
def _place(
    holder: Holder, person: Person, announced: Mapping[str, Fate], tokens: Tokens
) -> tuple[int, int]:
    """Erase in one place the announced rows, and those that match the names."""
    fates = dict(announced)
    for row in holder.find(person):
        # The run decided on doubtful rows: those it did not announce are kept.
        is_subjects = person.is_about(holder.name, row.row_id, doubtful=row.doubtful)
        if row.fate is not Fate.KEEP and is_subjects:
            fates[row.row_id] = row.fate
    counts = {Fate.DELETE: 0, Fate.REDACT: 0}
    for fate, act in ((Fate.DELETE, holder.erase), (Fate.REDACT, holder.redact)):
        rows = sorted(row_id for row_id, row_fate in fates.items() if row_fate is fate)
        for batch in row_text.batches(rows, BATCH):
            tokens.add(holder.name, holder.tokens(person, batch))
            counts[fate] += act(person, batch)
    return counts[Fate.DELETE], counts[Fate.REDACT]


def _suppress(first: Record) -> None:
    """Suppress the names before anything is erased, so that none comes back."""
    suppression.restore(
        first.workspace_id,
        first.aliases,
        subject_ref=first.subject_id,
        case_ref=first.case_id,
    )


def _erase_names(first: Record) -> None:
    """Erase the names again."""
    of_subject = {"workspace_id": first.workspace_id, "subject_id": first.subject_id}
    now = timezone.now()
    with transaction.atomic():
        subjects = Subject.objects.filter(
            workspace_id=first.workspace_id, pk=first.subject_id
        )
        for subject in subjects:
            # The names that the backup has: also their initials, which no record has.
            suppression.suppress(subject, case_ref=first.case_id)
        Alias.objects.filter(**of_subject).delete()
        SubjectLink.objects.filter(**of_subject).delete()
        subjects.update(
            display_name="", consent_note="", opted_out_at=now, erased_at=now
        )
        cache_version.bump(first.workspace_id)


def _clean(report: Report, person: Person, tokens: Tokens) -> None:
    if connection.vendor == "sqlite":
        names = [name.value for name in person.matcher.searched]
        answer = sqlite.clean(no_beat, names, tokens())
        report.checkpoint, report.methods = answer
        if report.checkpoint[0]:
            report.todo.append("A reader kept the database's log alive.")
        return
    tables = {
        table
        for holder in registry.ALL
        for table in holder.stored_in(person.workspace_id)
    }
    report.methods, report.remains, todo = postgres.clean(tables)
    report.todo += todo


def _erase_places(
    person: Person, announced: Rows, tokens: Tokens, replayed: Replayed, watch: Progress
) -> None:
    for holder in registry.ALL:
        if not holder.derived:
            erased, redacted = _place(holder, person, announced[holder.name], tokens)
            replayed.erased += erased
            replayed.redacted += redacted
            if erased or redacted:
                failpoints.step("replay_erased")
                watch(f"{holder.title}: {erased} erased, {redacted} masked")


def _run(records: list[Record], watch: Progress, *, accept: bool) -> Replayed:
    """Carry out one run again; its row in the audit log marks it as done.

    The row is written last, so that a replay that died is repeated.
    """
    first = records[0]
    replayed = Replayed(first.case_id, first.subject_id, first.run)
    person, announced, tokens = _person(records), _announced(records), Tokens()
    _suppress(first)
    failpoints.step("replay_suppressed")
    _erase_places(person, announced, tokens, replayed, watch)
    _erase_names(first)
    failpoints.step("replay_names_erased")
    report = Report()
    restored_caches.drop(first.workspace_id)
    # Servers may run on the restored database already.
    flush = process_caches.flush_everywhere(first.workspace_id, lambda: None)
    if flush["unconfirmed"]:
        report.todo.append("A running server did not forget in time: restart it.")
    _clean(report, person, tokens)
    search.run(person, registry.ALL, tokens, report)
    replayed.remaining = [
        f"{trace.place} {trace.where}: {trace.description}" for trace in report.traces
    ]
    replayed.todo = report.todo
    failpoints.step("replay_searched")
    _note(first, replayed, accept=accept)
    failpoints.step("replay_noted")
    return replayed


def _note(first: Record, replayed: Replayed, *, accept: bool) -> None:
    """Write audit log and journal at once; what left something still waits."""
    by = permissions.system(first.workspace_id, "gdpr_replay")
    counts = {"erased": replayed.erased, "redacted": replayed.redacted}
    remainder = {"left": len(replayed.remaining)} if replayed.remaining else {}
    run_key = "run" if replayed.is_done or accept else LEFT
    is_clean = replayed.is_done and not replayed.todo
    new = NewEntry(
        entry_type="gdpr.replayed",
        severity=Severity.WARN,
        summary=f"Case {first.case_id} carried out again after a restore",
        payload={
            "case_id": first.case_id,
            "subject_id": first.subject_id,
            **counts,
            **remainder,
        },
    )
    with transaction.atomic():
        action = audit_log.begin(
            first.subject_id,
            ActionKind.DELETE,
            by=by,
            case_ref=first.case_id,
            reason=f"Case {first.case_id}, replayed after a restore",
            scope={run_key: first.run, "replayed": True, **counts, **remainder},
        )
        audit_log.finish(
            action, ActionStatus.COMPLETED if is_clean else ActionStatus.PARTIAL
        )
        journal.write([new], by=by)
        readiness.note_restore(first.workspace_id)


# ── Public ───────────────────────────────────────────────────────────────────
def run(
    watch: Progress = lambda _line: None,
    *,
    accept: bool = False,
    leave_out: Collection[tuple[str, int]] = (),
) -> list[Replayed]:
    """Repeat every announced run that is missing from the audit log.

    With ``accept`` a run of which something is left counts as done. ``leave_out`` has
    case and number of runs not to try. Raises Damaged when an erasures file was
    changed, after the runs of the other workspaces.
    """
    replays: list[Replayed] = []
    damaged: list[tombstones.Damaged] = []
    try:
        for workspace_id in tombstones.workspaces():
            try:
                runs = _by_run(tombstones.unreplayed(workspace_id))
            except tombstones.Damaged as error:
                damaged.append(error)
                continue
            for records in runs:
                if (records[0].case_id, records[0].run) not in leave_out:
                    watch(f"Case {records[0].case_id}")
                    replays.append(_run(records, watch, accept=accept))
    finally:
        readiness.settle()
    if damaged:
        raise damaged[0]
    return replays


def _by_run(records: Iterable[Record]) -> list[list[Record]]:
    grouped: dict[tuple[str, int], list[Record]] = {}
    for record in records:
        grouped.setdefault((record.case_id, record.run), []).append(record)
    return list(grouped.values())


def state() -> dict[str, Any]:
    """Return how many records wait for a replay, for health checks and doctor."""
    try:
        behind, truncated = tombstones.behind(), tombstones.truncated()
    except tombstones.Damaged as error:
        return {"ok": False, "behind": 0, "fault": str(error)}
    fault = readiness.TAIL_LOST if truncated else ""
    ok = not behind and not fault
    return {"ok": ok, "behind": sum(behind.values()), "fault": fault}
