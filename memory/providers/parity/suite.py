"""The parity suite: every rule of the contract, tested on any provider.

Part of the product: the author of a provider writes a harness for it (a dozen lines)
and runs this. A check passes, fails with a sentence, or is not applicable with a
reason.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from memory.providers.parity import health as health_checks
from memory.providers.parity import items, scopes
from memory.providers.parity.base import ALL, Check, Failed, Harness, NotApplicable

PASSED: Final = "passed"
FAILED: Final = "failed"
NOT_APPLICABLE: Final = "not applicable"
MODULES: Final = (items, health_checks, scopes)


@dataclass(frozen=True, slots=True)
class Outcome:
    """The result of one check; ``note`` is why it failed or does not apply."""

    id: str
    text: str
    state: str
    note: str
    milliseconds: float


@dataclass(frozen=True, slots=True)
class Report:
    provider: str
    outcomes: list[Outcome]
    seconds: float

    def count(self, state: str) -> int:
        """Return how many checks ended in a state."""
        return sum(outcome.state == state for outcome in self.outcomes)

    @property
    def is_green(self) -> bool:
        """Whether nothing failed and something passed."""
        return not self.count(FAILED) and self.count(PASSED) > 0


def checks() -> list[Check]:
    """Return every check, by its number."""
    return sorted(ALL, key=lambda check: check.id)


def _try(check: Check, harness: Harness) -> tuple[str, str]:
    try:
        harness.reset()
        check.run(harness)
    except NotApplicable as reason:
        return NOT_APPLICABLE, str(reason)
    except Failed as failure:
        return FAILED, str(failure)
    except Exception as error:  # noqa: BLE001  (a provider may raise anything at all)
        return FAILED, f"{type(error).__name__}: {error}"[:300]
    return PASSED, ""


def run(harness: Harness, report: Callable[[Outcome], None] | None = None) -> Report:
    """Run every check on a provider; ``report`` is called with each outcome."""
    outcomes, start_of_run = [], time.perf_counter()
    for check in checks():
        start = time.perf_counter()
        state, note = _try(check, harness)
        milliseconds = round((time.perf_counter() - start) * 1000, 1)
        outcome = Outcome(check.id, check.text, state, note, milliseconds)
        outcomes.append(outcome)
        if report:
            report(outcome)
    return Report(harness.name, outcomes, round(time.perf_counter() - start_of_run, 2))
