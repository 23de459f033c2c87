"""A check, and the harness it runs on: what the author of a provider fills in.

A harness makes providers and, where it can, offers seams: ways to poison the store, to
break it, to make it hang. A check that needs a seam that is not there is reported as
not applicable, with the reason; nothing is skipped in silence.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Final

from memory.providers.base import (
    Bound,
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
    """The provider does not do what the contract says."""


class NotApplicable(Exception):
    """The harness has no such seam, or the provider no such notion; says why."""


class Harness:
    """Makes one provider for the suite; only ``provider`` and ``bound`` must be there.

    ``who`` is agent, lead (of the same crew), other (another agent of that crew) or
    nobody (the workspace alone, for Health).
    """

    name = "provider"
    seconds = 0.2
    forgets_by_subject = False

    def reset(self) -> None:
        """Make the store empty; called before every check."""

    def bound(self, who: str = "agent") -> Bound:
        """Return whom a provider works for."""
        raise NotImplementedError

    def provider(self, who: str = "agent") -> Provider:
        """Return the provider, bound."""
        raise NotImplementedError

    def unbound(self) -> Provider:
        """Return the provider bound to nobody."""
        raise NotApplicable("the provider cannot be made without a binding")

    def poison(self, label: str, text: str) -> None:
        """Put hostile text where the store keeps an item, past its own gate."""
        raise NotApplicable(f"no text gets past the gate: {label}, {len(text)}")

    def link(self, label: str) -> Callable[[], str]:
        """Make an item a link to a file elsewhere; the result reads that file."""
        raise NotApplicable(f"the store has no links ({label})")

    def broken(self, how: str) -> Provider:
        """Return a provider whose store is missing, odd or unwritable (``how``)."""
        raise NotApplicable(f"the store cannot be made {how}")

    def hung(self) -> Provider:
        """Return a provider whose store never answers."""
        raise NotApplicable("the store cannot be made to hang")

    @contextmanager
    def busy(self, label: str) -> Iterator[None]:
        """Hold the item as a writer that is not done."""
        if label:
            raise NotApplicable("an item has no lock of its own")
        yield

    def unremovable(self, label: str) -> Provider:
        """Return a provider whose store cannot take the item away."""
        raise NotApplicable(f"the removal cannot be made to fail ({label})")

    def traces(self) -> frozenset[str]:
        """Return what rests in the store, to see that a look leaves nothing behind."""
        raise NotApplicable("the store cannot be listed")

    def secrets(self) -> tuple[str, ...]:
        """Return what no message may hold: folders, addresses, keys."""
        return ()


Run = Callable[[Harness], None]


@dataclass(frozen=True, slots=True)
class Check:
    """One behaviour: its number, its sentence, and how it is tried."""

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


# ── What checks are written with ─────────────────────────────────────────────
def expect(holds: object, message: str) -> None:
    """Fail with a sentence unless something holds."""
    if not holds:
        raise Failed(message)


def refused(act: Callable[[], object], *words: str, code: str = "") -> str:
    """Expect a typed refusal that holds the given words; return its message."""
    try:
        act()
    except ProviderError as error:
        for word in words:
            expect(word in error.detail, f"the message lacks “{word}”: {error.detail}")
        found = error.problem_code
        expect(code in ("", found), f"the code is {found}, not {code}")
        return error.detail
    except errors.HouseError as error:
        raise Failed(f"{type(error).__name__} is no ProviderError") from error
    raise Failed("nothing was refused")


class Hand:
    """Calls a provider with its own binding filled in."""

    def __init__(self, harness: Harness, who: str = "agent") -> None:
        self.harness, self.bound = harness, harness.bound(who)
        self.provider = harness.provider(who)

    def retain(
        self, content: str, tier: str = "AGENT", key: str = "", mode: str = "replace"
    ) -> Retained:
        """Retain."""
        return self.provider.retain(
            Retain(
                workspace_id=self.bound.workspace_id,
                tier=tier,
                key=key,
                content=content,
                mode=mode,
            )
        )

    def recall(self, query: str, tier: str = "", limit: int = 20) -> Recalled:
        """Recall."""
        return self.provider.recall(
            Recall(
                workspace_id=self.bound.workspace_id,
                query=query,
                tier=tier,
                limit=limit,
            )
        )

    def forget(self, label: str = "", subject: str = "") -> int:
        """Forget; return how many went."""
        return self.provider.forget(
            Forget(
                workspace_id=self.bound.workspace_id,
                id=label,
                data_subject_id=subject,
            )
        ).removed

    def sources(self, query: str, tier: str = "") -> list[str]:
        """Return the sources of the hits that really hold the word."""
        hits = self.recall(query, tier).hits
        return [hit.source for hit in hits if query.lower() in hit.snippet.lower()]
