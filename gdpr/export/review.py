"""Words of other people in a bundle that a compliance officer looks at first.

What the detector is sure of is covered; what is doubtful waits. While it waits the
words are stored sealed, and they are deleted when the bundle is made or removed. A
decision can be remembered for the workspace's next bundles, as a keyed digest.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from django.db import transaction
from django.db.models import Q, QuerySet
from django.utils import timezone
from django.utils.translation import gettext, gettext_noop

from gdpr import audit_log, encrypted_file
from gdpr.data_map import covered_words
from gdpr.data_map.covered_words import Sighting
from gdpr.export import outcome, storage
from gdpr.export.other_people import Reading, Word
from gdpr.models import (
    ActionKind,
    Case,
    Export,
    ExportState,
    ExportWord,
    RememberedWord,
    WordVerdict,
)
from memory.rules import errors
from memory.rules.permissions import Actor

MAX_PAGE: Final = 200
MAX_WORDS: Final = 10_000
REASON_CHARS: Final = 2_000
ID_BITS: Final = 64
_VIEW: Final = "words of other people"


class NotWaiting(errors.Conflict):
    """The bundle does not wait for a decision, or no longer."""

    code, title = "export_not_waiting", gettext_noop("Nothing waits for a decision")
    sentence = gettext_noop("This export does not wait for a decision.")


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """A verdict on words: by id, on the doubtful ones of a kind, or on all of these.

    A word of which the detector was sure is meant by its id alone; leaving it readable
    needs a reason. ``remember`` keeps the verdict for the workspace's next bundles.
    """

    verdict: str
    words: Sequence[int] = ()
    kinds: Sequence[str] = ()
    all_doubtful: bool = False
    remember: bool = False
    reason: str = ""


@dataclass(frozen=True, slots=True)
class WordView:
    """A word as a page or a program shows it."""

    row: ExportWord
    sighting: Sighting


@dataclass(frozen=True, slots=True)
class WordPage:
    """A page of words; ``next_offset`` is None at the end."""

    items: list[WordView]
    total: int
    next_offset: int | None


# ── While a bundle is made ───────────────────────────────────────────────────
def remembered(workspace_id: str, reading: Reading) -> dict[str, str]:
    """Return what the workspace decided earlier about words, by digest."""
    rows = RememberedWord.objects.filter(workspace_id=workspace_id)
    pairs = rows.values_list("digest", "verdict").iterator()
    return {digest: verdict for digest, verdict in pairs if digest in reading.words}


def verdicts(export: Export) -> dict[str, str]:
    """Return what was decided about the words of a bundle, by digest."""
    rows = export.words.exclude(verdict="")
    return dict(rows.values_list("digest", "verdict"))


def waits(export: Export, reading: Reading) -> bool:
    """Store the words of a claimed bundle; whether it waits for a decision on some.

    Words that were decided on before stay so, and so does what is remembered.
    """
    with transaction.atomic():
        if not outcome.is_claimed(export):
            # Erased, or taken over: its words belong to nobody any more, or to another.
            return True
        decided = remembered(export.workspace_id, reading) | verdicts(export)
        rows = _rows(export, reading.words.values(), decided)
        waiting_count = sum(not row.surely and not row.verdict for row in rows)
        export.words.all().delete()
        ExportWord.objects.bulk_create(rows, batch_size=500)
        if not waiting_count:
            return False
        counts = {**export.counts, "waiting": waiting_count}
        outcome.end(export, state=ExportState.REVIEW, counts=counts)
    payload = {
        "export_id": export.id,
        "subject": export.subject_ref,
        "words": waiting_count,
    }
    summary = "A bundle waits for a decision on words of other people"
    outcome.record(export, "gdpr.export_waits", summary, payload)
    return True


def _rows(
    export: Export, words: Iterable[Word], decided: Mapping[str, str]
) -> list[ExportWord]:
    word_list = list(words)
    seals = covered_words.sealed(export.pk, (word.sighting for word in word_list))
    return [
        ExportWord(
            workspace_id=export.workspace_id,
            export=export,
            digest=word.digest,
            kind=word.kind,
            surely=word.surely,
            count=word.count,
            sealed=seal,
            verdict=decided.get(word.digest, ""),
        )
        for word, seal in zip(word_list, seals, strict=True)
    ]


# ── Reading ──────────────────────────────────────────────────────────────────
def waiting(export: Export) -> int:
    """Return how many doubtful words wait for a decision."""
    if export.state != ExportState.REVIEW:
        return 0
    return _undecided_words(export).count()


def bundles_waiting(by: Actor) -> list[str]:
    """Return the ids of a workspace's bundles that wait, the oldest first."""
    by.require("gdpr.read")
    rows = Export.objects.filter(workspace_id=by.workspace_id, state=ExportState.REVIEW)
    return list(rows.order_by("made_at", "id").values_list("pk", flat=True)[:MAX_PAGE])


def _undecided_words(export: Export) -> QuerySet[ExportWord]:
    return export.words.filter(surely=False, verdict="")


def words(
    export: Export, *, by: Actor, sure: bool | None = None, offset: int = 0,
    limit: int = MAX_PAGE,
) -> WordPage:  # fmt: skip
    """Return a page of the words that wait, doubtful ones first, and note who looked.

    ``sure`` limits it to those the detector was sure of, or to the doubtful ones.
    """
    by.require("gdpr.manage", export.workspace_id)
    if export.state != ExportState.REVIEW:
        raise NotWaiting
    rows = export.words.order_by("surely", "verdict", "kind", "-count", "id")
    if sure is not None:
        rows = rows.filter(surely=sure)
    total, limit = rows.count(), max(1, min(limit, MAX_PAGE))
    page = list(rows[offset : offset + limit])
    try:
        sightings = list(covered_words.opened(export.pk, page))
    except encrypted_file.Broken:
        detail = gettext("The words of this bundle were sealed with another key.")
        raise errors.Conflict(detail, code="export_broken") from None
    items = [WordView(*pair) for pair in zip(page, sightings, strict=True)]
    scope = {"what": _VIEW, "export": export.id}
    audit_log.note(
        export.subject_ref,
        ActionKind.VIEW,
        by=by,
        case_ref=export.case_id or "",
        scope=scope,
    )
    end = offset + len(items)
    return WordPage(items, total, end if end < total else None)


def totals(export: Export) -> tuple[int, int]:
    """Return how many words are sure, and how many are doubtful."""
    sure = export.words.filter(surely=True).count()
    return sure, export.words.filter(surely=False).count()


def kinds_waiting(export: Export) -> dict[str, int]:
    """Return how many doubtful words of each kind wait for a decision."""
    counts: dict[str, int] = {}
    for kind in _undecided_words(export).values_list("kind", flat=True):
        counts[kind] = counts.get(kind, 0) + 1
    return counts


# ── Deciding ─────────────────────────────────────────────────────────────────
def decide(export: Export, decision: Decision, *, by: Actor) -> Export:
    """Decide on words; when the last doubtful one is decided the bundle is made."""
    by.require("gdpr.manage", export.workspace_id)
    if decision.verdict not in WordVerdict.values:
        names = ", ".join(WordVerdict.values)
        raise errors.Invalid(f"verdict is one of {names}.", code="unknown_verdict")
    if len(decision.words) > MAX_WORDS:
        raise errors.TooLarge(what="words", limit=MAX_WORDS, size=len(decision.words))
    if len(decision.reason) > REASON_CHARS:
        size = len(decision.reason)
        raise errors.TooLarge(what="reason", limit=REASON_CHARS, size=size)
    with transaction.atomic():
        live = Export.objects.select_for_update().get(pk=export.pk)
        if live.state != ExportState.REVIEW:
            raise NotWaiting
        rows = _chosen_rows(live, decision)
        ids = [row.pk for row in rows]
        live.words.filter(pk__in=ids).update(verdict=decision.verdict)
        if decision.remember:
            _remember(live, rows, decision, by)
        left_count = _undecided_words(live).count()
        live.counts = {**live.counts, "waiting": left_count}
        if not left_count:
            live.state, live.claimed_by, live.lease_until = ExportState.MAKING, "", None
            # Its days are those of a bundle that can be handed over.
            live.expires_at = storage.expiry(live.workspace_id)
        fields = ["counts", "state", "claimed_by", "lease_until", "expires_at"]
        live.save(update_fields=fields)
        if not left_count and live.case_id:
            # The run of the case looks again at once.
            idle = Case.objects.filter(pk=live.case_id, claimed_by="")
            idle.update(lease_until=None)
        _note(live, decision, rows, left_count, by)
    return live


def _chosen_rows(export: Export, decision: Decision) -> list[ExportWord]:
    """Return the words that a decision means; Invalid for none or an unknown one."""
    by_group = Q(pk__in=[])
    if decision.all_doubtful or decision.kinds:
        by_group = Q(surely=False, verdict="")
        if not decision.all_doubtful:
            by_group &= Q(kind__in=list(decision.kinds))
    ids = set(decision.words)
    # A longer number no database takes, so it is unknown.
    storable = [number for number in ids if number.bit_length() < ID_BITS]
    rows = list(export.words.filter(by_group | Q(pk__in=storable)).defer("sealed"))
    if len(ids.intersection(row.pk for row in rows)) < len(ids):
        detail = gettext("The export has no such word; read the list again.")
        raise errors.Invalid(detail, code="unknown_word")
    if not rows:
        detail = gettext("No word was chosen.")
        raise errors.Invalid(detail, code="no_words")
    uncovers = decision.verdict == WordVerdict.LEAVE
    if uncovers and any(row.surely for row in rows) and not decision.reason.strip():
        detail = gettext(
            "Leaving a word readable of which the detector was sure needs a reason."
        )
        raise errors.Invalid(detail, code="reason_required")
    return rows


def _remember(
    export: Export, rows: Iterable[ExportWord], decision: Decision, by: Actor
) -> None:
    RememberedWord.objects.bulk_create(
        [
            RememberedWord(
                workspace_id=export.workspace_id,
                digest=row.digest,
                verdict=decision.verdict,
                decided_by=by.label,
                decided_at=timezone.now(),
            )
            for row in rows
        ],
        batch_size=500,
        update_conflicts=True,
        unique_fields=["workspace", "digest"],
        update_fields=["verdict", "decided_by", "decided_at"],
    )


def _note(
    export: Export,
    decision: Decision,
    rows: Sequence[ExportWord],
    left_count: int,
    by: Actor,
) -> None:
    """Record the decision in audit log and journal, as counts."""
    scope: dict[str, Any] = {
        "export": export.id,
        "verdict": str(decision.verdict),
        "words": len(rows),
        "sure": sum(row.surely for row in rows),
        "remembered": decision.remember,
    }
    audit_log.note(
        export.subject_ref,
        ActionKind.DECIDE,
        by=by,
        case_ref=export.case_id or "",
        reason=decision.reason,
        scope=scope,
    )
    payload = {**scope, "subject": export.subject_ref, "waiting": left_count}
    summary = "Words of other people in a bundle were decided on"
    outcome.record(export, "gdpr.export_words_decided", summary, payload, by)
