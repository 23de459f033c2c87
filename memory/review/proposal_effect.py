"""What a change of the scanner would have done to the held texts of the last days.

Each text is judged by itself, with the rules of today: once as the workspace is set
now, once with the change. A text that was appended is judged without what was before.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import timedelta
from typing import Any, Final

from django.utils import timezone

from memory.files import clearances, scan_context, suppressed_names
from memory.files.quarantine import Policy
from memory.models import HeldFile, HeldState
from memory.review import preview

DAYS: Final = 30
# The newest ones; more would take the night.
MAX_TEXTS: Final = 500
CHUNK: Final = 50


@dataclass(frozen=True, slots=True)
class Text:
    """A held text of the last days; ``is_held`` says what the rules of today do."""

    held_id: str
    text: str
    source: str
    tier: str
    writer: str
    state: str
    fingerprint: str
    findings: Sequence[Mapping[str, Any]]
    rules: frozenset[str]
    is_held: bool

    def is_held_by(self, policy: Policy) -> bool:
        """Whether it would be held with a policy."""
        return self._is_held(policy, self.text)

    def is_held_without(self, passage: str, policy: Policy) -> bool:
        """Whether it would be held where a passage of it is allowed."""
        return self._is_held(policy, clearances.without(self.text, {passage}))

    def _is_held(self, policy: Policy, text: str) -> bool:
        return policy.scan(
            text, source=self.source, tier=self.tier, writer=self.writer
        ).is_held


@dataclass(frozen=True, slots=True)
class Effect:
    """How many of ``texts`` would change; by what people decided about them."""

    texts: int
    released: int
    confirmed: int
    undecided: int

    def as_dict(self) -> dict[str, int]:
        return asdict(self)


_FATES: Final = {
    HeldState.RELEASED.value: "released",
    HeldState.REDACTED.value: "confirmed",
    HeldState.DISCARDED.value: "confirmed",
    HeldState.HELD.value: "undecided",
}


def texts(workspace_id: str, policy: Policy) -> list[Text]:
    """Return the newest held texts of the last days, as the rules of today see them."""
    since = timezone.now() - timedelta(days=DAYS)
    rows = HeldFile.objects.filter(workspace_id=workspace_id, received_at__gte=since)
    rows = rows.exclude(family=suppressed_names.FAMILY).filter(bytes__gt=0)
    newest = rows.order_by("-received_at", "pk")[:MAX_TEXTS]
    return [_text(row, policy) for row in newest.iterator(chunk_size=CHUNK)]


def _text(row: HeldFile, policy: Policy) -> Text:
    text = preview.text_of(row)
    writer = scan_context.context_of(row).writer
    verdict = policy.scan(text, source=row.source, tier=row.tier, writer=writer)
    return Text(
        held_id=row.pk,
        text=text,
        source=row.source,
        tier=row.tier,
        writer=writer,
        state=row.state,
        fingerprint=row.fingerprint,
        findings=row.findings,
        rules=frozenset(finding.rule for finding in verdict.findings),
        is_held=verdict.is_held,
    )


def changes(rows: Iterable[Text], then: Policy) -> list[Text]:
    """Return the texts that would pass with another policy, or be held by it."""
    return [row for row in rows if row.is_held_by(then) != row.is_held]


def count(texts: Sequence[Text], changed_texts: Iterable[Text]) -> Effect:
    """Return how many texts change, by what people decided about them."""
    counts = Counter(_FATES[row.state] for row in changed_texts)
    return Effect(
        len(texts), counts["released"], counts["confirmed"], counts["undecided"]
    )
