"""An uploaded file of journal entries: its lines are kept, and a job appends them.

A batch is appended and leaves the waiting lines in one transaction: a run that was
stopped goes on where it was when it is started again, and appends no line twice.
"""

from __future__ import annotations

import json
import secrets
from collections.abc import Iterator
from datetime import datetime, timedelta
from itertools import islice
from typing import BinaryIO, Final

from django.conf import settings
from django.db import transaction
from django.db.models import QuerySet
from django.utils import timezone, translation

from memory import journal_import
from memory.jobs import import_faults, progress, time_box
from memory.jobs import registry as jobs
from memory.jobs.progress import ResultLine
from memory.jobs.registry import Outcome
from memory.journal_import import Line
from memory.models import ImportLine, JobRun, RunState
from memory.rules import errors
from memory.rules.permissions import Actor
from memory.rules.translation import gettext, gettext_noop

JOB: Final = "journal_import"
# Larger files are imported with ``manage.py journal_import``.
FILE_BYTES: Final = 16 * 1024 * 1024
MAX_LINES: Final = 100_000
FAULT_CHARS: Final = 300
# Lines of an import that nobody started again.
MAX_AGE: Final = timedelta(days=7)
# "Partly" has dealt with every line: nothing of it waits.
REPEATS: Final = (RunState.RUNNING, RunState.FAILED)


class TooManyLines(errors.TooLarge):
    """More lines than one import keeps."""

    code = "too_many_lines"
    sentence = gettext_noop("A file has at most {limit} lines. Split it.")


class NoLines(errors.Invalid):
    """A file with nothing in it."""

    code = "no_lines"
    sentence = gettext_noop("The file has no lines.")


class LinesGone(errors.Conflict):
    """An import of which no line waits any more."""

    code = "import_lines_gone"
    sentence = gettext_noop("No line of this import is left to append.")


def begin(actor: Actor, file: BinaryIO, *, create: bool) -> JobRun:
    """Keep the lines of a file and ask for the run that appends them.

    ``create`` makes crews and agents that the workspace does not have. Raises NoLines,
    TooManyLines, and Conflict while an import runs.
    """
    actor.require("journal.import")
    jobs.startable(JOB, by=actor)
    import_id = f"imp_{secrets.token_hex(8)}"
    # What is kept of a line is English, whatever the language of the page.
    with translation.override(settings.LANGUAGE_CODE):
        rows = list(_rows(actor.workspace_id, import_id, file))
    if not rows:
        raise NoLines
    if len(rows) > MAX_LINES:
        raise TooManyLines(limit=MAX_LINES)
    with transaction.atomic():
        ImportLine.objects.bulk_create(rows, batch_size=journal_import.BATCH)
    asked = {"import_id": import_id, "create": "yes" if create else ""}
    try:
        return jobs.run_now(JOB, by=actor, params={**asked, "lines": str(len(rows))})
    except Exception:
        # A run that was recorded has its lines, and may be started again.
        if not JobRun.objects.filter(name=JOB, params__import_id=import_id).exists():
            _lines(actor.workspace_id, import_id).delete()
        raise


def _rows(workspace_id: str, import_id: str, file: BinaryIO) -> Iterator[ImportLine]:
    """Yield the rows of a file's lines, at most one more than may be kept."""
    filled = (
        line
        for line in journal_import.read_lines(file)
        if line.raw is None or line.raw.strip()
    )
    for line in islice(filled, MAX_LINES + 1):
        text, fault = _canonical(line, workspace_id)
        yield ImportLine(
            workspace_id=workspace_id,
            import_id=import_id,
            number=line.number,
            line=text,
            fault=fault[:FAULT_CHARS],
        )


def _canonical(line: Line, workspace_id: str) -> tuple[str, str]:
    """Return a line as JSON without escapes, so that names in it can be found."""
    try:
        row, _new = journal_import.checked(line, workspace_id)
        text = json.dumps(row, ensure_ascii=False)
        text.encode()
    except errors.AppError as error:
        return "", journal_import.without_quotes(error)
    except UnicodeEncodeError:
        return "", "a text holds half of a character"
    return text, ""


def _lines(workspace_id: str, import_id: str) -> QuerySet[ImportLine]:
    return ImportLine.objects.filter(workspace_id=workspace_id, import_id=import_id)


# ── The job ──────────────────────────────────────────────────────────────────
def run(workspace_id: str) -> Outcome:
    """Append the lines that wait, in the name of the person who asked for this run.

    That is who uploaded the file, or who started its import again. Raises LinesGone.
    """
    asked, actor = progress.params(), progress.requester(workspace_id, JOB)
    waiting = _lines(workspace_id, asked.get("import_id", ""))
    if not waiting.exists():
        raise LinesGone
    total = int(asked["lines"])
    counts = {"appended": 0, "refused": 0}
    while left := waiting.count():
        progress.report(total - left, total, "lines")
        appended, faults = _append_batch(waiting, actor, create=bool(asked["create"]))
        counts["appended"] += appended
        counts["refused"] += len(faults)
        for number, why in faults:
            progress.add_item("line", str(number), why)
        if waiting.exists() and time_box.is_over():
            break
    progress.report(total - waiting.count(), total, "lines")
    refused = counts["refused"]
    return Outcome(counts, "Some lines were refused" if refused else "")


def _append_batch(
    waiting: QuerySet[ImportLine], actor: Actor, *, create: bool
) -> tuple[int, list[tuple[int, str]]]:
    """Append the next lines; return how many, and the number and fault of others."""
    faults: list[tuple[int, str]] = []
    with transaction.atomic():
        rows = _next_rows(waiting)
        faults += [(row.number, row.fault) for row in rows if row.fault]
        texts = [(row.number, row.line.encode()) for row in rows if not row.fault]
        report = journal_import.append(
            [Line(number, len(text), text) for number, text in texts],
            by=actor,
            on_refusal=lambda number, why: faults.append((number, why)),
            create=create,
            quotes=False,
        )
        ImportLine.objects.filter(pk__in=[row.pk for row in rows]).delete()
    return report.appended, sorted(faults)


def _next_rows(waiting: QuerySet[ImportLine]) -> list[ImportLine]:
    """Lock the next lines, of together as many bytes as one batch may have."""
    rows, size = [], 0
    numbered = waiting.select_for_update().order_by("number")
    for row in numbered[: journal_import.BATCH].iterator(chunk_size=50):
        rows.append(row)
        size += len(row.line.encode())
        if size >= journal_import.BATCH_BYTES:
            break
    return rows


def lines(_workspace_id: str, items: list[dict[str, str]]) -> list[ResultLine]:
    """Return the lines that were refused, by number, and why."""
    word = gettext("Line {number}")
    return [
        ResultLine(word.format(number=item["id"]), import_faults.worded(item["why"]))
        for item in items
    ]


def forget_old(at: datetime | None = None) -> int:
    """Delete lines of imports that were given up; return how many."""
    before = (at or timezone.now()) - MAX_AGE
    return ImportLine.objects.filter(created_at__lt=before).delete()[0]
