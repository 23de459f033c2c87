"""The points between two steps of a run, at which crash tests kill the process."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

Step = Callable[[str], None]

NAMES: Final = (
    "claimed",
    "ledgered",
    "announced",
    "suppressed",
    "batch_erased",
    "batch_counted",
    "place_done",
    "processes_flushed",
    "names_sealed",
    "names_erased",
    "verifying",
    "cleaned",
    "searched",
    "certified",
    "journaled",
    "ledger_closed",
    "closed",
)
# Only where the first cleaning left bytes in a file of SQLite.
DEEPER: Final = ("cleaned_again", "rewriting", "rewritten")

# The same for a replay after a restore.
REPLAY: Final = (
    "replay_suppressed",
    "replay_erased",
    "replay_names_erased",
    "replay_searched",
    "replay_noted",
)


def _no_step(_name: str) -> None:
    return None


# Called after each step with its name; the crash tests replace it.
step: Step = _no_step
