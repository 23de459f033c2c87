"""Coverage: 100 · indexed / embeddable."""

from __future__ import annotations

from collections import Counter
from typing import Any, Final

from django.db.models import F, QuerySet
from django.urls import reverse
from django.utils.translation import gettext, gettext_noop, ngettext

from episodic.health.metrics.base import (
    Action,
    Details,
    Explanation,
    Finding,
    Measurement,
    Metric,
    Scope,
    percent,
)
from episodic.index import engine
from episodic.index.snapshot import CHUNK
from episodic.models import Embedding, State
from memory.figures import grouped
from memory.journal.visibility import USABLE
from memory.models import JournalEntry

GROUPS_LISTED: Final = 12
# The embedder's reasons in words, marked for `gettext`.
REASONS: Final = (
    gettext_noop("unreachable"),
    gettext_noop("timeout"),
    gettext_noop("bad answer"),
    gettext_noop("not configured"),
    gettext_noop("damaged"),
    gettext_noop("unexpected"),
)


def value(indexed: int, embeddable: int) -> float | None:
    """Return how much of what deserves a vector has one."""
    return percent(indexed / embeddable) if embeddable else None


def _measure(scope: Scope) -> Measurement:
    entries = JournalEntry.objects.filter(
        USABLE,
        workspace_id=scope.workspace_id,
        embeddable=True,
        erased_at__isnull=True,
    )
    rows = Embedding.objects.filter(
        workspace_id=scope.workspace_id,
        entry__embeddable=True,
        entry__erased_at__isnull=True,
    ).exclude(state=State.WITHHELD)
    if scope.crew_id:
        entries = entries.filter(crew_id=scope.crew_id)
        rows = rows.filter(crew_id=scope.crew_id)
    if scope.as_of:
        entries = entries.filter(ts__lte=scope.at)
        rows = rows.filter(entry__ts__lte=scope.at)
    model = engine.embedder().model
    embeddable = entries.count()
    indexed = rows.filter(state=State.INDEXED, model=model).count()
    details = {
        "indexed": indexed,
        "embeddable": embeddable,
        "unread": max(0, embeddable - rows.count()),
        "missing": _without_vector(rows.exclude(state=State.INDEXED, model=model)),
    }
    return Measurement(value(indexed, embeddable), details)


def _without_vector(rows: QuerySet[Embedding]) -> list[dict[str, Any]]:
    """Return what has no vector, by type, state and the embedder's reason."""
    counts: Counter[tuple[str, str, str]] = Counter()
    groups = rows.annotate(kind=F("entry__entry_type")).order_by()
    values = groups.values_list("kind", "state", "last_error")
    for kind, state, error in values.iterator(chunk_size=CHUNK):
        counts[kind, state, error.partition(":")[0]] += 1
    return [
        {"entry_type": kind, "state": state, "reason": reason, "count": count}
        for (kind, state, reason), count in counts.most_common(GROUPS_LISTED)
    ]


def _explain(case: Explanation, details: Details) -> list[Finding]:
    total = max(1, details["embeddable"] - details["indexed"])
    groups = [*details["missing"]]
    if details["unread"]:
        groups.append({"state": "", "reason": "", "count": details["unread"]})
    if not case.snapshot.details.get("model"):
        title = gettext("No embedder is configured")
        text = ngettext(
            "{count} entry cannot be recalled by meaning, only by words.",
            "{count} entries cannot be recalled by meaning, only by words.",
            total,
        ).format(count=grouped(total))
        action = Action("open", gettext("Open the index"), reverse("episodic:index"))
        return [Finding(1.0, title, text, action, "embedder")]
    text = gettext(
        "{indexed} of {all} have a vector. The others are found by words alone."
    ).format(indexed=grouped(details["indexed"]), all=grouped(details["embeddable"]))
    action = case.fix("index", gettext("Index now"))
    findings = []
    for group in groups:
        count, kind = group["count"], group.get("entry_type")
        noun = kind or ngettext("entry", "entries", count)
        title = _title(noun, group["state"], group["reason"], count)
        key = ":".join([kind or "", group["state"], group["reason"]])
        findings.append(Finding(count / total, title, text, action, key, "index"))
    return findings


def _title(noun: str, state: str, reason: str, count: int) -> str:
    if state == State.INDEXED:
        text = ngettext(
            "{count} {noun} has a vector of another model, which recall does not mix "
            "in",
            "{count} {noun} have a vector of another model, which recall does not mix "
            "in",
            count,
        )
    elif reason:
        text = ngettext(
            "{count} {noun} is not indexed because the embedder failed ({reason})",
            "{count} {noun} are not indexed because the embedder failed ({reason})",
            count,
        )
    else:
        text = ngettext(
            "{count} {noun} waits for the sweep",
            "{count} {noun} wait for the sweep",
            count,
        )
    words = reason.replace("_", " ")
    reason = gettext(words) if words else ""
    return text.format(count=grouped(count), noun=noun, reason=reason)


METRIC: Final = Metric(
    name=gettext_noop("coverage"),
    title=gettext_noop("Coverage"),
    explanation=gettext_noop(
        "How much of what can be embedded has a vector of the model in use."
    ),
    weight=0.25,
    inputs=gettext_noop("{indexed:,} of {embeddable:,} embeddable"),
    measure=_measure,
    explain=_explain,
    fixes=("index",),
    embedder_failed=lambda details: any(
        group.get("reason") for group in details.get("missing", [])
    ),
)
