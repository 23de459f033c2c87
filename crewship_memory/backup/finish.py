"""The end of a restore: migrate, erase again, verify, and only then serve."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from django.conf import settings
from django.db import transaction

from crewship_memory.backup import (
    derived_data,
    fingerprints,
    key_store,
    make,
    placement,
    record,
    samples,
    schema,
    target,
    target_lock,
)
from crewship_memory.backup.make import Watch
from gdpr.certificates import issue as certificates
from gdpr.erasure import catch_up, readiness, tombstones
from gdpr.erasure.replay import Replayed
from gdpr.models import Certificate
from memory import data_folder_adoption
from memory.installation import bodies, restore_mark
from memory.installation import identity as installation
from memory.journal import verify
from memory.models import Workspace
from memory.rules import errors
from memory.rules.permissions import system

ACTOR: Final = "restore"
EMBEDDED_AGAIN: Final = (
    "Entries whose vector was missing or of a wrong length: {count}. They are embedded"
    " again, and found by their words until then."
)
# Verdicts that say nothing of a document's content.
_HARMLESS: Final = frozenset({"replaced"})


class NothingToFinish(errors.Invalid):
    """No restore has loaded anything here."""

    code = "nothing_to_finish"
    sentence = "No restore has loaded a backup here: name its file."


@dataclass(slots=True)
class Report:
    """What a restore did and verified; ``problems`` keep it from being served."""

    facts: dict[str, Any]
    erasures: dict[str, Any] = field(default_factory=dict)
    chains: dict[str, Any] = field(default_factory=dict)
    certificates: dict[str, int] = field(default_factory=dict)
    recalls: dict[str, int] = field(default_factory=dict)
    problems: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    is_served: bool = False
    seconds: float = 0.0

    def as_json(self) -> dict[str, Any]:
        return {
            **self.facts,
            "erasures": self.erasures,
            "chains": self.chains,
            "certificates": self.certificates,
            "recalls": self.recalls,
            "problems": self.problems,
            "notes": self.notes,
            "served": self.is_served,
            "seconds": round(self.seconds, 2),
        }


def _facts(note: Mapping[str, Any]) -> dict[str, Any]:
    rows = dict(note["rows"])
    names = ("kind", "backup_id", "made_at", "engine", "bodies", "bodies_missing")
    counts = {"tables": len(rows), "rows": sum(rows.values())}
    facts = {name: note.get(name) for name in names}
    counts["entries"] = rows.get("journal_entries", 0)
    return facts | counts | {"place": settings.BODIES}


def finish(
    watch: Watch,
    locked: target_lock.Check,
    *,
    erasures: Path | None = None,
    accept: bool = False,
) -> Report:
    """End a restore that has loaded everything; it may be repeated."""
    start, note = time.monotonic(), restore_mark.read()
    if note is None or note.get("stage") != target.LOADED:
        raise NothingToFinish
    report = Report(_facts(note))
    watch("schema", 0, 0)
    schema.migrate_to_head()
    make.step("at_head")
    placement.settle(note, watch)
    make.step("placed")
    _restore_live_files()
    watch("words and vectors", 0, 0)
    _derive(report, note)
    make.step("derived")
    watch("erasures", 0, 0)
    _erase_again(report, erasures)
    make.step("erased")
    _verify(report, note, watch)
    make.step("verified")
    locked()
    if not report.problems or accept:
        _serve(report)
    report.seconds = time.monotonic() - start
    return report


def _derive(report: Report, note: Mapping[str, Any]) -> None:
    # A restore that goes on finds nothing to queue any more, and says it all the same.
    count = int(note.get("embedded_again") or 0) + derived_data.fill()
    if count:
        with transaction.atomic():
            restore_mark.write({**note, "embedded_again": count})
        report.notes.append(EMBEDDED_AGAIN.format(count=count))


def _restore_live_files() -> None:
    """Check keys and folders, and write the live files from their versions."""
    if reason := installation.keys_problem():
        raise key_store.KeysDiffer(reason=reason)
    if not bodies.in_database():
        trees = Path(settings.DATA_DIR) / "files"
        for slug in Workspace.objects.values_list("slug", flat=True):
            (trees / slug).mkdir(mode=0o700, parents=True, exist_ok=True)
    data_folder_adoption.restore_files()
    if reason := installation.problem():
        raise key_store.KeysDiffer(reason=reason)


# ── Erasures ─────────────────────────────────────────────────────────────────
def _erase_again(report: Report, folder: Path | None) -> None:
    """Carry out what the backup does not know yet, before anything is served."""
    taken_over, replays = 0, list[Replayed]()
    try:
        fingerprints.add_those_of_backup()
        if folder is not None:
            taken_over = fingerprints.add_folder(folder)
        readiness.forget()
        replays = catch_up.by_hand(lambda _line: None, accept=False)
    except tombstones.Damaged as error:
        report.problems.append(str(error))
    remaining = [
        f"{replayed.case_id}: {line}"
        for replayed in replays
        for line in (*replayed.remaining, *replayed.todo)
    ]
    report.erasures = {
        "known_until": fingerprints.newest(),
        "taken_over": taken_over,
        "carried_out": len(replays),
        "erased": sum(replayed.erased for replayed in replays),
        "masked": sum(replayed.redacted for replayed in replays),
        "left": remaining,
    }
    if remaining:
        report.notes.append(
            "Something of an erased person is left: their workspace is not served"
            " before gdpr_replay has ended."
        )


# ── Verifying ────────────────────────────────────────────────────────────────
def _verify(report: Report, note: Mapping[str, Any], watch: Watch) -> None:
    report.problems += _chain_problems(report, watch)
    report.problems += _certificate_problems(report, watch)
    watch("recalls", 0, 0)
    report.recalls = samples.compare(list(note.get("samples") or ()))
    if report.recalls["same"] < report.recalls["asked"]:
        report.notes.append(
            "Sample recalls have other entries than before: another embedder, another"
            " database, or entries written while the backup was made."
        )
    if note.get("bodies_missing"):
        report.notes.append(
            f"{note['bodies_missing']} bodies were not in the backup: erased while it"
            " was made, or damaged before."
        )


def _chain_problems(report: Report, watch: Watch) -> Iterator[str]:
    rows = list(Workspace.objects.order_by("number").values_list("pk", flat=True))
    entries = breaks = 0
    for number, workspace_id in enumerate(rows):
        watch("chains", number, len(rows))
        chain = verify.verify(workspace_id, by=system(workspace_id, ACTOR))
        entries, breaks = entries + chain.count, breaks + chain.break_count
        if not chain.ok:
            first = chain.breaks[0]
            yield (
                f"The chain of {workspace_id} breaks at number {first.seq}:"
                f" {first.reason}"
            )
    report.chains = {"workspaces": len(rows), "entries": entries, "breaks": breaks}


def _certificate_problems(report: Report, watch: Watch) -> Iterator[str]:
    watch("certificates", 0, 0)
    count = 0
    for row in Certificate.objects.order_by("pk").iterator():
        verdict = certificates.verify(row.document)
        reasons = sorted(set(verdict.reasons) - _HARMLESS)
        count += not reasons
        if reasons:
            yield f"The certificate {row.pk} does not verify: {', '.join(reasons)}."
    total = Certificate.objects.count()
    report.certificates = {"count": total, "verified": count}


def _serve(report: Report) -> None:
    """Note it in the journals, and drop the mark in the same transaction."""
    is_move = report.facts["kind"] == "move"
    entry_type = record.MOVED if is_move else record.RESTORED
    facts = {
        "backup_id": report.facts["backup_id"],
        "made_at": report.facts["made_at"],
        "entries": report.facts["entries"],
        "erasures_carried_out": report.erasures["carried_out"],
        "bodies": settings.BODIES,
        "problems": len(report.problems),
    }
    with transaction.atomic():
        record.everywhere(entry_type, facts, ACTOR)
        restore_mark.remove()
    readiness.forget()
    report.is_served = True
