"""What a certificate says was not searched, and what no search proves.

A gap is something this run could have searched and did not, and makes the certificate
``complete_except``. Everything else holds for every run of an installation.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime, timedelta
from typing import Any, Final

from django.utils.translation import gettext_noop

from gdpr.cases import privacy_settings
from gdpr.data_map import registry
from gdpr.matching import forms
from gdpr.models import OPEN_NOTICES, Case, CaseKind
from gdpr.recipients import sending
from gdpr.verification import (
    byte_search,
    postgres,
    second_search,
    server_files,
    statements,
)
from memory.models import JournalEntry
from memory.rules import stored_sentences
from memory.rules.entries import BACKUP_MADE

# ── Not searched ─────────────────────────────────────────────────────────────
OTHER_WORKSPACES: Final = gettext_noop(
    "Rows of other workspaces of this installation: each workspace erases for itself."
)
MODELS: Final = gettext_noop("What model providers were sent earlier, and keep.")
BACKUPS: Final = gettext_noop(
    "Backups made before this run: by the workspace's setting the last of them expires"
    " on {day}. A restore applies this erasure again."
)
BACKUPS_RECTIFIED: Final = gettext_noop(
    "Backups made before this run: by the workspace's setting the last of them expires"
    " on {day}. A restore brings back the text as it was: rectify it again then."
)
BACKUPS_RECORDED: Final = gettext_noop(
    "Backups on record in the journal, of the {days} days before this was issued:"
    " {count}, the last of {day}."
)
# What a correction does not change.
REQUESTS_STAY: Final = gettext_noop(
    "The person's own record, and requests about the person with their plans: they say"
    " what was asked and what was there at the time."
)
RECIPIENTS: Final = gettext_noop(
    "What recipients on record received, or may have received: of {count}, notices to"
    " {open} were not out yet when this was issued; this certificate does not say that"
    " any of them erased or corrected something."
)
SEALED_FOR_PROVIDER: Final = gettext_noop(
    "The identifiers that the remote provider is asked to forget: they are kept"
    " encrypted in the database until it answered, or until a job deletes them after"
    " {days} days."
)
# ── Not proved ───────────────────────────────────────────────────────────────
UNREGISTERED: Final = gettext_noop(
    "That nothing else says who the person is: names, addresses and numbers that nobody"
    " registered, and forms that are not listed here, were not sought."
)
LONGER_WORDS: Final = gettext_noop(
    "That no longer word holds an identifier: beyond the forms listed here, texts were"
    " searched for whole words."
)
SAME_BYTES: Final = gettext_noop(
    "That the bytes of an identifier which a row or a file that stays has too are no"
    " rest of an erased row: they were taken for a part of what stays."
)
MEDIUM: Final = gettext_noop(
    "That freed blocks of the disk were overwritten: a deleted file's bytes can stay "
    "on the medium until something else is written there. Encryption at rest answers "
    "this."
)
COPIES: Final = gettext_noop(
    "That nobody copied, printed, photographed or forwarded the data before, inside or "
    "outside the organisation."
)
ERASING_KINDS: Final = (CaseKind.ERASURE, CaseKind.RECTIFICATION)
# Sentences of a search's report that hold for every run.
INHERENT: Final = (
    REQUESTS_STAY,
    postgres.ELSEWHERE,
    byte_search.TOO_SHORT_ONE,
    byte_search.TOO_SHORT,
    second_search.ACTED,
    second_search.LOGINS,
    second_search.ONLY_FIRST,
    second_search.SEALED,
    server_files.OTHER_DATABASES,
    server_files.SERVER_LOG,
    statements.FOLDERS,
    statements.LONG_VALUES,
    statements.PROCESSES,
    statements.READERS,
    statements.ROWS_OF_FILES,
    statements.SAMPLED,
    statements.SEALED,
    statements.SHARED,
    statements.SKIPPED,
)


def not_proved(case: Case, extra: Iterable[str] = ()) -> list[str]:
    """Return what a certificate of this case does not prove, as sentences."""
    if case.kind not in ERASING_KINDS:
        return [*extra, COPIES]
    return [UNREGISTERED, LONGER_WORDS, SAME_BYTES, MEDIUM, COPIES, *extra]


def not_searched(
    case: Case,
    now: datetime,
    remains: Iterable[str] = (),
    recipients: Mapping[str, Any] | None = None,
) -> list[dict[str, Any]]:
    """Return what was not searched: code, sentence, whether it is a gap.

    ``remains`` are the sentences of the search's report, ``recipients`` the counts of
    ``gdpr.recipients.queries.certified``.
    """
    if case.kind not in ERASING_KINDS:
        return []
    lines = [_of_report(sentence) for sentence in remains]
    if case.kind == CaseKind.ERASURE:
        lines += [_line("forms", sentence) for sentence in forms.NOT_SOUGHT]
    lines.append(_line("other_workspaces", OTHER_WORKSPACES))
    lines += [_line("backups", text) for text in _backups(case, now)]
    lines += [
        _line(name, sentence)
        for name, sentence in registry.OUT_OF_REACH.items()
        if name != "backups"
    ]
    lines += [_line("recipients", text) for text in _of_recipients(recipients or {})]
    return [*lines, _line("models", MODELS)]


def _of_recipients(recipients: Mapping[str, Any]) -> Iterator[str]:
    """Yield what is known of recipients when a certificate is issued."""
    if recipients:
        notices = Counter(recipients["notices"])
        not_sent = sum(notices[state] for state in OPEN_NOTICES)
        yield RECIPIENTS.format(count=recipients["listed"], open=not_sent)
    if recipients.get("is_sealed"):
        yield SEALED_FOR_PROVIDER.format(days=sending.SEALED_DAYS)


def _line(code: str, sentence: str, *, gap: bool = False) -> dict[str, Any]:
    return {"code": code, "sentence": sentence, "gap": gap}


def _of_report(sentence: str) -> dict[str, Any]:
    """Return a sentence of the report; one that is not inherent is a gap."""
    is_inherent = any(
        stored_sentences.is_made_from(template, sentence) for template in INHERENT
    )
    return _line("search", sentence, gap=not is_inherent)


def _backups(case: Case, now: datetime) -> Iterator[str]:
    """Yield what is known of backups: when the last expires, and which were made."""
    days = privacy_settings.of(case.workspace_id).backup_days
    day = (now + timedelta(days=days)).date()
    is_erasure = case.kind == CaseKind.ERASURE
    yield (BACKUPS if is_erasure else BACKUPS_RECTIFIED).format(day=day)
    recorded = JournalEntry.objects.filter(
        workspace_id=case.workspace_id,
        entry_type=BACKUP_MADE,
        ts__gte=now - timedelta(days=days),
    ).order_by("-ts")
    if newest := recorded.first():
        count = recorded.count()
        yield BACKUPS_RECORDED.format(count=count, days=days, day=newest.ts.date())
