"""Labels: what each decision says of a held text, for figures and for export.

A label is written with its decision and is gone when that is undone. It refers to the
held text and copies none of it, so that it goes with the text. A text that was held for
a suppressed name gets none: a decision about it says nothing of the rules.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from django.db.models import QuerySet

from memory.files import restricted, scan_context, suppressed_names
from memory.journal import append as journal
from memory.models import HeldFile, HeldState, Label, ReviewLabel
from memory.review import preview
from memory.rules.entries import NewEntry, Severity
from memory.rules.permissions import Actor
from memory.scanner import Mode

EXPORTED: Final = "scanner.labels_exported"
CONTENT_TYPE: Final = "application/x-ndjson"
FILE_NAME: Final = "review-labels.jsonl"
PAGE: Final = 100
OF_RULE: Final = 20


def rules_of(findings: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return the rules that matched, each once: its highest weight, and its mode."""
    rules: dict[str, dict[str, Any]] = {}
    for finding in sorted(findings, key=lambda finding: finding["weight"]):
        rules[finding["rule"]] = {
            "rule": finding["rule"],
            "weight": finding["weight"],
            "mode": finding.get("mode", Mode.HOLD.value),
        }
    return [rules[name] for name in sorted(rules)]


def write(case: HeldFile) -> None:
    """Write the label of a case that is decided; in the decision's transaction."""
    if case.decided_at is None or case.family == suppressed_names.FAMILY:
        return
    is_honest = case.state == HeldState.RELEASED
    ReviewLabel.objects.create(
        workspace_id=case.workspace_id,
        held=case,
        label=Label.HONEST if is_honest else Label.ATTACK,
        decision=case.decision,
        rules=rules_of(case.findings),
        score=case.score,
        rules_version=case.rules_version,
        tier=case.tier,
        origin=case.source,
        writer=scan_context.context_of(case).writer,
        decided_by=case.decided_by,
        decided_at=case.decided_at,
    )


def forget(case: HeldFile) -> None:
    """Delete the label of a case whose decision is undone."""
    ReviewLabel.objects.filter(workspace_id=case.workspace_id, held=case).delete()


# ── Reading ──────────────────────────────────────────────────────────────────
def visible(actor: Actor) -> QuerySet[ReviewLabel]:
    """Return the labels of the texts that the actor may see."""
    return _visible(actor)


def _visible(actor: Actor, **conditions: Any) -> QuerySet[ReviewLabel]:
    actor.require("quarantine.read")
    rows = ReviewLabel.objects.filter(workspace_id=actor.workspace_id, **conditions)
    # Only the texts of these: to tell who is named in them each is read.
    texts = HeldFile.objects.filter(workspace_id=actor.workspace_id)
    texts = texts.filter(pk__in=rows.values("held"))
    return rows.filter(held__in=restricted.visible_held(texts, actor))


def of_rule(actor: Actor, rule_id: str) -> list[ReviewLabel]:
    """Return the newest decisions about texts in which a rule matched."""
    rows = _visible(actor, rules__icontains=f'"{rule_id}"')
    rows = rows.select_related("held").defer("held__body")
    return list(rows.order_by("-decided_at", "-pk")[:OF_RULE])


# ── Export ───────────────────────────────────────────────────────────────────
@dataclass(frozen=True, slots=True)
class Export:
    """The lines of an export, JSON each, and how many there were when it began."""

    labels: int
    lines: Iterator[str]


def _fields(row: ReviewLabel) -> dict[str, Any]:
    """Return a label with the fields of ``scan --jsonl``, and what was decided."""
    return {
        "id": row.held_id,
        "text": preview.text_of(row.held) if row.held.bytes else None,
        "origin": row.origin,
        "tier": row.tier,
        "writer": row.writer,
        "label": row.label,
        "decision": row.decision,
        "decided_at": journal.stamp(row.decided_at),
        "rules": row.rules,
        "score": row.score,
        "rules_version": row.rules_version,
    }


def _lines(rows: list[ReviewLabel], matching: QuerySet[ReviewLabel]) -> Iterator[str]:
    """Yield the lines of these labels and of all older ones, PAGE read at a time."""
    while rows:
        for row in rows:
            yield json.dumps(_fields(row), ensure_ascii=False) + "\n"
        rows = list(matching.filter(pk__lt=rows[-1].pk)[:PAGE])


def export(actor: Actor) -> Export:
    """Begin an export of all labels with their texts; the journal records it."""
    matching = visible(actor).select_related("held").order_by("-pk")
    # Read now: a database that does not answer is an error and no empty export.
    count, first = matching.count(), list(matching[:PAGE])
    new = NewEntry(
        entry_type=EXPORTED,
        severity=Severity.NOTICE,
        summary="Labels of decided texts were exported",
        payload={"labels": count},
    )
    journal.write([new], by=actor)
    return Export(count, _lines(first, matching))
