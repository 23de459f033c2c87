"""The checks and the harness they run on: what the author of a provider implements.

A harness makes providers and, where it can, offers hooks: ways to poison the store, to
break it, to make it hang. A check whose hook is missing is reported as not applicable,
with the reason; nothing is skipped silently.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Final

from memory.providers.base import (
    Binding,
    Forget,
    Provider,
    ProviderError,
    Recall,
    Recalled,
    Retain,
    Retained,
)
from memory.rules import errors


class Failed(Exception):
    """The provider does not follow the contract."""


class NotApplicable(Exception):
    """The harness lacks the hook, or the provider the feature; the message says why."""


class Harness:
    """Makes one provider for the suite; ``provider`` and ``binding`` are required.

    ``role`` is agent, lead (of the same crew), other (another agent of that crew) or
    nobody (the workspace alone, for Health).
    """

    name = "provider"
    seconds = 0.2
    forgets_by_subject = False

    def reset(self) -> None:
        """Empty the store; called before every check."""

    def binding(self, role: str = "agent") -> Binding:
        raise NotImplementedError

    def provider(self, role: str = "agent") -> Provider:
        raise NotImplementedError

    def unbound(self) -> Provider:
        """Return the provider without a binding."""
        raise NotApplicable("the provider cannot be made without a binding")

    def poison(self, label: str, text: str) -> None:
        """Store hostile text as an item, without the provider scanning it."""
        raise NotApplicable(f"no text can avoid the scan: {label}, {len(text)}")

    def link(self, label: str) -> Callable[[], str]:
        """Make an item a link to a file elsewhere; the result reads that file."""
        raise NotApplicable(f"the store has no links ({label})")

    def broken(self, fault: str) -> Provider:
        """Return a provider whose store is missing or faulty; ``fault`` says how."""
        raise NotApplicable(f"the store cannot be made {fault}")

    def hanging(self) -> Provider:
        """Return a provider whose store never answers."""
        raise NotApplicable("the store cannot be made to hang")

    @contextmanager
    def busy(self, label: str) -> Iterator[None]:
        """Lock the item like a writer at work."""
        if label:
            raise NotApplicable("an item has no lock of its own")
        yield

    def unremovable(self, label: str) -> Provider:
        """Return a provider whose store cannot remove the item."""
        raise NotApplicable(f"the removal cannot be made to fail ({label})")

    def traces(self) -> frozenset[str]:
        """Return what is stored, to prove that a health check leaves nothing behind."""
        raise NotApplicable("the store cannot be listed")

    def secrets(self) -> tuple[str, ...]:
        """Return what no message may contain: folders, addresses, keys."""
        return ()


Run = Callable[[Harness], None]


@dataclass(frozen=True, slots=True)
class Check:
    """One rule of the contract: its number, its sentence, and how it is tested."""

    id: str
    text: str
    run: Run


ALL: Final[list[Check]] = []


def check(number: str, text: str) -> Callable[[Run], Run]:
    """Add a check to the suite."""

    def add(run: Run) -> Run:
        ALL.append(Check(number, text, run))
        return run

    return add


# ── Helpers of checks ─────────────────────────────────────────────
def expect(holds: object, message: str) -> None:
    """Fail with a sentence unless the condition holds."""
    if not holds:
        raise Failed(message)


def expect_refusal(act: Callable[[], object], *words: str, code: str = "") -> str:
    """Expect a typed refusal whose message contains the words; return the message."""
    try:
        act()
    except ProviderError as error:
        for word in words:
            expect(word in error.detail, f"the message lacks “{word}”: {error.detail}")
        actual = error.problem_code
        expect(code in ("", actual), f"the code is {actual}, not {code}")
        return error.detail
    except errors.AppError as error:
        raise Failed(f"{type(error).__name__} is no ProviderError") from error
    raise Failed("nothing was refused")


class Client:
    """Calls a provider with its own binding filled in."""

    def __init__(self, harness: Harness, role: str = "agent") -> None:
        self.harness, self.binding = harness, harness.binding(role)
        self.provider = harness.provider(role)

    def retain(
        self, content: str, tier: str = "AGENT", key: str = "", mode: str = "replace"
    ) -> Retained:
        return self.provider.retain(
            Retain(
                workspace_id=self.binding.workspace_id,
                tier=tier,
                key=key,
                content=content,
                mode=mode,
            )
        )

    def recall(self, query: str, tier: str = "", limit: int = 20) -> Recalled:
        return self.provider.recall(
            Recall(
                workspace_id=self.binding.workspace_id,
                query=query,
                tier=tier,
                limit=limit,
            )
        )

    def forget(self, label: str = "", subject: str = "") -> int:
        """Return how many items were removed."""
        return self.provider.forget(
            Forget(
                workspace_id=self.binding.workspace_id,
                id=label,
                data_subject_id=subject,
            )
        ).removed

    def sources(self, query: str, tier: str = "") -> list[str]:
        """Return the sources of the hits whose snippet contains the query."""
        hits = self.recall(query, tier).hits
        return [hit.source for hit in hits if query.lower() in hit.snippet.lower()]
