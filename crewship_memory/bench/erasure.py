"""Cost of an erasure: seconds of every step, and the latency of concurrent appends.

The person's entries are spread among other people's, and vectors come after their
entries, as from the sweep: so rows move between the pages of the database.
"""

from __future__ import annotations

import io
import json
import os
import random
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

from django.conf import settings
from django.db import connection

from crewship_memory.bench import dataset
from crewship_memory.bench.dataset import BenchWorkspace, Writer
from episodic.index import sweep as index
from gdpr import erasure
from gdpr.cases import dry_run, leases, privacy_settings
from gdpr.cases import workflow as cases
from gdpr.cases.privacy_settings import Change
from gdpr.cases.workflow import NewCase
from gdpr.models import Alias, Case, CaseKind, IdentityGround, Subject
from memory.journal import append as journal
from memory.rules.entries import NewEntry
from memory.rules.permissions import Actor, system
from memory.rules.tokenizer import fold

CHUNK: Final = 1_000
PIECE: Final = 4 * 1024 * 1024


def _person(workspace: BenchWorkspace, rows: int) -> tuple[Subject, str]:
    mail = f"canary-{rows}-quagmire@bench.example"
    subject = Subject.objects.create(
        workspace_id=workspace.workspace_id, created_by="bench"
    )
    Alias.objects.create(
        workspace_id=workspace.workspace_id,
        subject=subject,
        kind="email",
        value=mail,
        folded=fold(mail),
        added_by="bench",
    )
    return subject, mail


def _fill(workspace: BenchWorkspace, mail: str, rows: int, entries: int) -> None:
    """Append entries of which ``rows``, anywhere among them, name the person."""
    writer = Writer(rows)
    rng = random.Random(rows)  # noqa: S311  (no secret)
    own_slots = set(rng.sample(range(entries), rows))
    other_entries = Writer().entries(entries - rows)
    for start in range(0, entries, CHUNK):
        news = [
            _mention(writer, mail, f"quagmire{rows}x{slot}zephyr")
            if slot in own_slots
            else next(other_entries)
            for slot in range(start, min(entries, start + CHUNK))
        ]
        journal.write(news, by=workspace.actor)
        index.discover(workspace.workspace_id)
        dataset.vectors(workspace.workspace_id, start)


def _mention(writer: Writer, mail: str, word: str) -> NewEntry:
    return NewEntry(
        entry_type="memory.recorded",
        summary=f"{writer.sentence(6)} {mail}",
        payload={"text": f"{writer.sentence(20)} {word}"},
    )


@contextmanager
def _appending(workspace: BenchWorkspace) -> Iterator[dict[str, Any]]:
    """Run the appender in another process while the block runs."""
    report: dict[str, Any] = {}
    child = subprocess.Popen(  # noqa: S603  (ourselves)
        [sys.executable, "-m", "crewship_memory.bench.appender", workspace.token],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        cwd=settings.BASE_DIR,
        env=os.environ | {"DJANGO_SETTINGS_MODULE": "crewship_memory.settings"},
    )
    time.sleep(3)
    try:
        yield report
    finally:
        out, _ = child.communicate(b"")
        report.update(json.loads(out or b"{}"))


def _run(
    workspace: BenchWorkspace, subject: Subject, by: Actor
) -> tuple[Case, dict[str, float]]:
    reason = "Measured"
    one_person_rule = Change(two_person=False, require_identity=False, reason=reason)
    privacy_settings.change(one_person_rule, by=by)
    new = NewCase(
        subject_id=subject.id,
        kind=CaseKind.ERASURE,
        reason=reason,
        identity_ground=IdentityGround.OWN_DECISION,
        identity_reason=reason,
    )
    case = cases.open_case(new, by=by)
    times = {}
    start = time.perf_counter()
    plan = dry_run.make(case, by=by)
    times["plan"] = time.perf_counter() - start
    case = Case.objects.get(pk=case.pk)
    start = time.perf_counter()
    phrase = cases.phrase(case, plan.plan_hash)
    erasure.start(case, plan.plan_hash, phrase, by=by)
    times["plan_again_and_start"] = time.perf_counter() - start
    start = time.perf_counter()
    erasure.run(workspace.workspace_id, case.pk)
    times["run"] = time.perf_counter() - start
    return Case.objects.get(pk=case.pk), times


def _steps(case: Case) -> dict[str, float]:
    seconds_by_step = {}
    for step in leases.steps(case):
        if step.started_at and step.finished_at:
            seconds = (step.finished_at - step.started_at).total_seconds()
            if seconds >= 0.02:
                seconds_by_step[step.name] = round(seconds, 2)
    return seconds_by_step


def _in_files(mail: str) -> int:
    """Return how often a name occurs in the files, read without the product's code."""
    needle, matches = mail.encode(), 0
    for path in Path(settings.DATA_DIR).rglob("*"):
        tail = b""
        with path.open("rb") if path.is_file() else io.BytesIO() as file:
            while data := file.read(PIECE):
                matches += (tail + data).lower().count(needle)
                tail = data[1 - len(needle) :]
    return matches * len(needle)


def measure(rows: int, entries: int) -> dict[str, Any]:
    """Erase a person with ``rows`` of ``entries`` rows while another appends."""
    workspace = dataset.open_workspace(f"bench-erasure-{rows}-{entries}")
    subject, mail = _person(workspace, rows)
    _fill(workspace, mail, rows, entries)
    connection.close()
    by = system(workspace.workspace_id, "bench")
    before = _in_files(mail)
    with _appending(workspace) as appender:
        case, times = _run(workspace, subject, by)
    residue = case.result.get("residue", {})
    cleaning = next(step for step in leases.steps(case) if step.name == "residue")
    return {
        "rows": rows,
        "entries": entries,
        "state": case.state,
        "seconds": {name: round(value, 2) for name, value in times.items()},
        "steps_seconds": _steps(case),
        "load_average": round(os.getloadavg()[0], 1),
        "appender": appender,
        "longest_wait_ms": appender["ms"]["max"],
        "rewritten_in_full": bool(cleaning.counts.get("rewritten")),
        "bytes_of_the_name": {"before": before, "after": _in_files(mail)},
        "residue": {
            name: residue.get(name)
            for name in (
                "searches", "sought", "shared", "files", "bytes_searched", "found",
                "traces", "todo", "checkpoint", "methods",
            )
        },
    }  # fmt: skip
