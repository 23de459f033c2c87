"""Nudges: hints for an agent next to the prompt block, at most once per session.

entries   ENTRIES or more entries of the agent since its last memory.updated or
          summary.generated: time to write down what is worth keeping. Only what that
          agent itself wrote starts the count anew.
cost      the agent's dollars of the last 24 hours are above its workspace's limit
          (the setting cost_limit_usd_per_day; 0: no nudge)

Dollars and tokens come from the payloads of llm.call and cost.incurred, under the first
of the keys below that holds a number. A run may report both its calls and their sum, so
per trace the larger of the two kinds counts, never both.

Without a session id it is not known what was given before: every answer nudges.
"""

from __future__ import annotations

import json
import math
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, Final

from django.db.models import Max
from django.utils import timezone
from django.utils.translation import gettext_noop

from episodic.models import NudgeSent
from memory import workspace_settings
from memory.journal import append as journal
from memory.models import JournalEntry
from memory.rules import hashing
from memory.workspace_settings import Kind, Setting

ENTRIES: Final = 30
MAX_ROWS: Final = 1_000
RESETS: Final = ("memory.updated", "summary.generated")
CALL, COST_INCURRED = "llm.call", "cost.incurred"
DOLLARS: Final = ("cost_usd", "usd", "cost")
TOKENS: Final = ("tokens", "total_tokens")
TOKEN_PARTS: Final = (
    ("tokens_in", "input_tokens", "prompt_tokens"),
    ("tokens_out", "output_tokens", "completion_tokens"),
)
DAY: Final = timedelta(hours=24)
COST_LIMIT: Final[Setting[float]] = workspace_settings.declare(
    Setting(
        name="cost_limit_usd_per_day",
        group=gettext_noop("Nudges"),
        label=gettext_noop("Dollars an agent may cost a day"),
        help=gettext_noop(
            "An agent that cost more in the last 24 hours gets a nudge beside its "
            "prompt block. 0 turns the nudge off. Nothing is stopped."
        ),
        readers=gettext_noop(
            "The nudges of POST /api/v1/episodic/context and the context tool."
        ),
        kind=Kind.NUMBER,
        default=1.0,
        least=0,
        most=1_000_000,
        unit="US dollars",
    )
)
MOST_ROWS: Final = 20_000
RETENTION: Final = timedelta(days=30)


@dataclass(frozen=True, slots=True)
class Nudge:
    """One sentence for an agent; ``kind`` is entries or cost."""

    kind: str
    text: str


@dataclass(frozen=True, slots=True)
class Cost:
    """The sums of calls of a day; with ``is_capped`` there were more than are read."""

    calls: int = 0
    tokens: int = 0
    dollars: float = 0.0
    is_capped: bool = False

    def __add__(self, other: Cost) -> Cost:
        return Cost(
            self.calls + other.calls,
            self.tokens + other.tokens,
            self.dollars + other.dollars,
            self.is_capped or other.is_capped,
        )


def _number(payload: Mapping[str, Any], keys: Iterable[str]) -> float:
    """Return the first of the keys that holds a finite number above zero, else 0."""
    for key in keys:
        value = payload.get(key)
        if isinstance(value, bool) or not isinstance(value, (int, float)):
            continue
        # A payload may contain an integer of any length.
        if 0 < value < 1e15 and math.isfinite(value):
            return float(value)
    return 0.0


def _tokens(payload: Mapping[str, Any]) -> float:
    total = _number(payload, TOKENS)
    return total or sum(_number(payload, keys) for keys in TOKEN_PARTS)


def cost(workspace_id: str, agent_id: str) -> Cost:
    """Return the sums of the agent's calls of the last 24 hours."""
    return costs(workspace_id, [agent_id]).get(agent_id, Cost())


def costs(workspace_id: str, agent_ids: Sequence[str]) -> dict[str, Cost]:
    """Return agent id → the sums of its calls of the last 24 hours, if there are any.

    Of all the agents together the newest MOST_ROWS entries are read.
    """
    rows = JournalEntry.objects.filter(
        workspace_id=workspace_id,
        agent_id__in=agent_ids,
        entry_type__in=(CALL, COST_INCURRED),
        ts__gte=timezone.now() - DAY,
        erased_at__isnull=True,
    )
    columns = ("agent_id", "entry_type", "trace_id", "payload_text")
    values = list(rows.order_by("-ts").values_list(*columns)[: MOST_ROWS + 1])
    is_capped = len(values) > MOST_ROWS
    # The sums of each run of an agent, by entry type.
    runs: dict[tuple[str, str | None], dict[str, Cost]] = defaultdict(
        lambda: defaultdict(Cost)
    )
    for agent_id, kind, trace_id, text in values[:MOST_ROWS]:
        payload = json.loads(text)
        dollars = _number(payload, DOLLARS)
        runs[agent_id, trace_id][kind] += Cost(
            int(kind == CALL), round(_tokens(payload)), dollars
        )
    totals: dict[str, Cost] = defaultdict(Cost)
    for (agent_id, _), by_kind in runs.items():
        sums = by_kind.values()
        totals[agent_id] += Cost(
            sum(part.calls for part in sums),
            max(part.tokens for part in sums),
            max(part.dollars for part in sums),
            is_capped,
        )
    return dict(totals)


def _entries(workspace_id: str, agent_id: str) -> str:
    """Say how many entries the agent wrote since it last wrote down what it knows.

    Counted in the order of the chain, and no further than MAX_ROWS.
    """
    own = JournalEntry.objects.filter(workspace_id=workspace_id, agent_id=agent_id)
    reset = own.filter(entry_type__in=RESETS).aggregate(last=Max("seq"))["last"] or 0
    count = own.filter(seq__gt=reset)[:MAX_ROWS].count()
    if count < ENTRIES:
        return ""
    number = f"{count:,} or more" if count == MAX_ROWS else f"{count}"
    return (
        f"{number} entries since your last memory.updated or summary.generated."
        " Write down what is worth keeping: append a summary.generated, or write a"
        " memory file."
    )


def _cost_nudge(workspace_id: str, agent_id: str) -> str:
    limit = workspace_settings.value(workspace_id, COST_LIMIT)
    if limit <= 0:
        return ""
    total = cost(workspace_id, agent_id)
    if total.dollars <= limit:
        return ""
    calls = "1 call" if total.calls == 1 else f"{total.calls:,} calls"
    return (
        f"{calls}, {total.tokens:,} tokens, ${total.dollars:,.2f} in the last 24 hours;"
        f" the limit of this workspace is ${limit:,.2f} a day."
    )


KINDS: Final = {"entries": _entries, "cost": _cost_nudge}


def digest(workspace_id: str, session_id: str) -> str:
    """Return the keyed digest of a session's id."""
    return hashing.keyed_digest(journal.key(), f"session\0{workspace_id}\0{session_id}")


def _claim(workspace_id: str, agent_id: str, session: str, kind: str) -> bool:
    """Record that a nudge was given; False when another caller was first."""
    _, is_first = NudgeSent.objects.get_or_create(
        workspace_id=workspace_id, agent_id=agent_id, session_digest=session, kind=kind
    )
    return is_first


def give(
    workspace_id: str, agent_id: str | None, session_id: str | None, *, keep: bool
) -> list[Nudge]:
    """Return the nudges that an agent, if any, did not get in this session yet.

    With ``keep`` they are recorded as given.
    """
    if agent_id is None:
        return []
    session = digest(workspace_id, session_id) if session_id else ""
    sent_rows = NudgeSent.objects.filter(
        workspace_id=workspace_id, agent_id=agent_id, session_digest=session
    )
    sent_kinds = set(sent_rows.values_list("kind", flat=True)) if session else set()
    nudges = []
    for kind, say in KINDS.items():
        text = "" if kind in sent_kinds else say(workspace_id, agent_id)
        is_kept = bool(session) and keep
        if text and (not is_kept or _claim(workspace_id, agent_id, session, kind)):
            nudges.append(Nudge(kind, text))
    return nudges


def forget() -> int:
    """Delete records older than thirty days; return how many."""
    old = NudgeSent.objects.filter(sent_at__lt=timezone.now() - RETENTION)
    return old.delete()[0]
