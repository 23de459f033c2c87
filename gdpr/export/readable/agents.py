"""Sentences of what agents remember: journal, records, files, held texts."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from django.utils.translation import gettext, gettext_noop

from gdpr.export.readable.kinds import Kind, Quote, Row

_NOTES: Final = (
    gettext_noop("On {when} the agent {agent} of the crew {crew} noted:"),
    gettext_noop("On {when} the agent {agent} noted:"),
    gettext_noop("On {when} an agent noted:"),
)
_PROGRAM_NOTES: Final = (gettext_noop("On {when} the program itself noted:"),)
_ENTRY_VARIANTS: Final = {
    "agent": _NOTES,
    "user": (gettext_noop("On {when} a member of this workspace noted:"),),
    "system": _PROGRAM_NOTES,
    "keeper": _PROGRAM_NOTES,
    "sidecar": _PROGRAM_NOTES,
    "orchestrator": _PROGRAM_NOTES,
}


def _versions(row: Row) -> list[Quote]:
    """Return the texts of a file, the newest first and open, and their notes."""
    rows = sorted(row["versions"], key=lambda item: item["number"], reverse=True)
    quotes = []
    for place, item in enumerate(rows):
        version = Quote(
            text=item["text"] or gettext("(empty)"),
            number=item["number"],
            at=item["written_at"],
            by=item["written_by"],
            source=item["source"],
            folded=place > 0,
        )
        quotes.append(version)
        if item["note"]:
            quotes.append(Quote(item["note"], "note", folded=place > 0))
    return quotes


def _written(row: Row) -> list[str]:
    return [item["written_at"] for item in row["versions"]]


def _draft(row: Row) -> list[Quote]:
    """Return the text of a held record."""
    draft = row["draft"]
    text = draft.get("content") if isinstance(draft, Mapping) else None
    return [Quote(text, "content")] if isinstance(text, str) and text else []


KINDS: Final[dict[str, Kind]] = {
    "journal": Kind(
        messages=(gettext_noop("On {when} it was noted:"),),
        at="ts",
        quotes=("summary",),
        variant_column="actor_type",
        variants=_ENTRY_VARIANTS,
    ),
    "archive": Kind(
        messages=(
            gettext_noop("On {when} it was noted, and shortened since:"),
        ),
        at="ts",
        quotes=("summary",),
        variant_column="actor_type",
        variants={
            "agent": (
                gettext_noop(
                    "On {when} the agent {agent} noted this; it was shortened since:"
                ),
            )
        },
    ),
    "records": Kind(
        messages=(
            gettext_noop("On {when} the agent {agent} of the crew {crew} remembered:"),
            gettext_noop("On {when} the agent {agent} remembered:"),
            gettext_noop("On {when} this was remembered for the crew {crew}:"),
            gettext_noop("On {when} this was remembered:"),
        ),
        at="created_at",
        quotes=("content",),
    ),
    "files": Kind(
        messages=(
            gettext_noop("The memory file {path} names you; it was changed on {when}:"),
        ),
        at="updated_at",
        quotes_of=_versions,
        uses=frozenset({"versions"}),
        moments=_written,
        line=gettext_noop("On {when} a version of the memory file {path} was written."),
    ),
    "strays": Kind(
        messages=(
            gettext_noop("A file that nothing points to any more names you:"),
        ),
        quotes=("text",),
    ),
    "held": Kind(
        messages=(
            gettext_noop(
                "On {when} {written_by} wrote this; it was held for a person to look"
                " at:"
            ),
            gettext_noop(
                "On {when} this was written, and held for a person to look at:"
            ),
        ),
        at="received_at",
        quotes=("body",),
        machine=frozenset({"findings", "outcome"}),
    ),
    "held:heldrecord": Kind(
        messages=(gettext_noop("This would be remembered if somebody allows it:"),),
        quotes_of=_draft,
    ),
    "held:clearance": Kind(
        messages=(gettext_noop("On {when} {cleared_by} allowed a held text."),),
        at="cleared_at",
    ),
    "held:knownattack": Kind(
        messages=(
            gettext_noop("On {when} {confirmed_by} marked a held text as an attack."),
        ),
        at="confirmed_at",
    ),
    "held:blockedsource": Kind(
        messages=(
            gettext_noop("On {when} {blocked_by} blocked whoever wrote a held text."),
        ),
        at="blocked_at",
    ),
    "held:reviewlabel": Kind(
        messages=(gettext_noop("On {when} {decided_by} decided about a held text."),),
        at="decided_at",
    ),
    "held:scannerproposal": Kind(
        messages=(
            gettext_noop(
                "On {when} {decided_by} decided about a change of the scanner."
            ),
        ),
        at="decided_at",
        quotes=("reason",),
    ),
    "priorities": Kind(
        messages=(
            gettext_noop(
                "On {when} {set_by} set how important a journal entry is:"
                " {priority_word}."
            ),
        ),
        at="set_at",
        quotes=("reason",),
    ),
    "imports": Kind(
        messages=(
            gettext_noop("On {when} this line was uploaded; it waits to be added."),
        ),
        at="created_at",
    ),
    "idempotency": Kind(
        messages=(
            gettext_noop(
                "On {when} the program answered a request of {actor_id} as follows, and"
                " keeps the answer in case the request is repeated."
            ),
        ),
        at="created_at",
    ),
    "deliveries": Kind(
        messages=(
            gettext_noop(
                "On {when} a message about this was prepared for another system:"
                " {status_word}."
            ),
        ),
        at="created_at",
    ),
}  # fmt: skip
