"""What the last run of each repair brought, as the journal has it."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from django.conf import settings
from django.utils import translation
from django.utils.translation import gettext, ngettext

from episodic.health.gains import Gain
from episodic.models import HealthSnapshot
from memory.figures import grouped
from memory.journal import append as journal
from memory.models import JournalEntry
from memory.rules.entries import NewEntry
from memory.rules.permissions import Actor

REPAIRED: Final = "memory.health_repaired"
READ: Final = 50
Words = Callable[[], str]


# ── What a repair did, in words ──────────────────────────────────────────────
def indexed(count: int, failed: int = 0) -> str:
    """Return how many entries got a vector, and how many were refused."""
    if failed:
        text = gettext("{count} indexed, {failed} failed: the embedder refused them")
        return text.format(count=grouped(count), failed=grouped(failed))
    return gettext("{count} indexed").format(count=grouped(count))


def linked(count: int) -> str:
    """Return how many relations were written."""
    text = ngettext("{count} relation written", "{count} relations written", count)
    return text.format(count=grouped(count))


def approved(count: int) -> str:
    """Return how many rules were approved between two measurements."""
    return ngettext(
        "{count} rule approved, among other changes",
        "{count} rules approved, among other changes",
        count,
    ).format(count=grouped(count))


# The sentences above as the journal has them.
STORED: Final[tuple[tuple[re.Pattern[str], Callable[..., str]], ...]] = (
    (re.compile(r"([\d,]+) indexed"), indexed),
    (re.compile(r"([\d,]+) indexed, ([\d,]+) failed: .+"), indexed),
    (re.compile(r"([\d,]+) relations? written"), linked),
    (re.compile(r"([\d,]+) rules? approved, among other changes"), approved),
)


def in_english(words: Words) -> str:
    """Return words as they are stored, whatever the language of the request."""
    with translation.override(settings.LANGUAGE_CODE):
        return words()


@dataclass(frozen=True, slots=True)
class Outcome:
    """The measured scores before and after a repair, and what was expected."""

    kind: str
    text: str
    before: float | None
    after: float | None
    expected: float | None
    by: str
    at: datetime
    entry_id: str

    @property
    def points(self) -> float | None:
        """The measured gain; None where nothing could be measured before or after."""
        if self.before is None or self.after is None:
            return None
        return round(self.after - self.before, 1)

    @property
    def told(self) -> str:
        """What the repair did, in the reader's language as far as it is known."""
        for pattern, words in STORED:
            if match := pattern.fullmatch(self.text):
                return words(*(int(n.replace(",", "")) for n in match.groups()))
        return self.text


def record(
    kind: str,
    text: str,
    before: HealthSnapshot,
    after: HealthSnapshot,
    gain: Gain | None,
    by: Actor,
) -> None:
    """Write what a repair brought to the journal; ``text`` is English."""
    new = NewEntry(
        entry_type=REPAIRED,
        summary=f"Health repaired: {text}; score {_text(before)} to {_text(after)}",
        payload={
            "repair": kind,
            "text": text,
            "score_before": before.score,
            "score": after.score,
            "expected": gain.after if gain else None,
        },
        crew_id=after.crew_id or None,
    )
    journal.write([new], by=by)


def _text(row: HealthSnapshot) -> str:
    return "no data" if row.score is None else f"{row.score:.1f}"


def latest(actor: Actor, crew_id: str) -> list[Outcome]:
    """Return the last run of each repair of a scope, newest first."""
    actor.require("health.read")
    rows = JournalEntry.objects.filter(
        workspace_id=actor.workspace_id,
        entry_type=REPAIRED,
        erased_at__isnull=True,
        restricted_at__isnull=True,
        retired_at__isnull=True,
    )
    # What an agent says of itself is no measurement.
    rows = rows.exclude(actor_type="agent").order_by("-ts", "-seq")
    scoped = {"crew_id": crew_id} if crew_id else {"crew_id__isnull": True}
    rows = rows.filter(**scoped)
    by_kind: dict[str, Outcome] = {}
    for row in rows[:READ]:
        payload = row.payload
        kind = str(payload.get("repair", ""))
        by_kind.setdefault(
            kind,
            Outcome(
                kind,
                str(payload.get("text", "")),
                payload.get("score_before"),
                payload.get("score"),
                payload.get("expected"),
                row.actor_id,
                row.ts,
                row.id,
            ),
        )
    return list(by_kind.values())
