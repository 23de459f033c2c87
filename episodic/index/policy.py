"""Which entries deserve an embedding, and which of their words go into it.

Raise VERSION when a rule here changes: the sweep then applies it to stored entries.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from memory.rules.translation import gettext, gettext_noop

VERSION: Final = 1
TEXT_CHARS: Final = 2_000

ALWAYS: Final = frozenset(
    {
        "peer.escalation",
        "summary.generated",
        "memory.consolidated",
        "approval.denied",
        "eval.regression_detected",
        "memory.recorded",
    }
)
WHEN_LOUD: Final = frozenset({"keeper.decision", "mission.status_change"})
LOUD: Final = frozenset({"warn", "error"})
NEVER: Final = frozenset({"exec.output_chunk", "container.metrics"})
NEVER_PREFIX: Final = "network."

# Payload keys whose strings a person wrote or would read, best first.
HUMAN_KEYS: Final = tuple(
    "question reason resolution content text message response comment summary verdict"
    " outcome decision context description title note delta_summary error".split()
)

# Why an entry is not embedded.
NEVER_EMBEDDED: Final = gettext_noop("{type} is never embedded, by any flag")
ONLY_WHEN_LOUD: Final = gettext_noop("{type} is embedded only at warn and error")
NOT_EMBEDDED: Final = gettext_noop(
    "{type} is not embedded unless refs.episodic is true"
)
REFUSALS: Final = (NEVER_EMBEDDED, ONLY_WHEN_LOUD, NOT_EMBEDDED)


@dataclass(frozen=True, slots=True)
class Judgement:
    """Whether an entry is embedded, and the rule that says so."""

    embeds: bool
    why: str


def judge(
    entry_type: str,
    severity: str,
    payload: Mapping[str, Any],
    refs: Mapping[str, Any],
) -> Judgement:
    """Return whether an entry deserves an embedding, and why."""
    embeds = True
    if entry_type in NEVER or entry_type.startswith(NEVER_PREFIX):
        embeds, reason = False, gettext(NEVER_EMBEDDED)
    elif entry_type in ALWAYS:
        reason = gettext("{type} is always embedded")
    elif entry_type in WHEN_LOUD and severity in LOUD:
        reason = gettext("{type} is embedded at warn and error")
    elif refs.get("episodic") is True:
        reason = gettext("refs.episodic is true")
    elif entry_type == "peer.conversation" and payload.get("state") == "escalated":
        reason = gettext("an escalated peer.conversation is embedded")
    elif entry_type in WHEN_LOUD:
        embeds, reason = False, gettext(ONLY_WHEN_LOUD)
    else:
        embeds = False
        reason = gettext(NOT_EMBEDDED)
    return Judgement(embeds, reason.format(type=entry_type))


def _strings(value: object) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, list):
        for item in value:
            yield from _strings(item)
    elif isinstance(value, Mapping):
        for key in HUMAN_KEYS:
            yield from _strings(value.get(key))


def text(summary: str, payload: Mapping[str, Any]) -> str:
    """Return what is embedded: the summary, then the payload's human words, capped."""
    parts = [summary, *_strings(payload)]
    lines = dict.fromkeys(part.strip() for part in parts if part.strip())
    return "\n".join(lines)[:TEXT_CHARS]
