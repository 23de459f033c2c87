"""Health, faults of the store, and many at once."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial

from django.db import connections

from memory.providers import deadline
from memory.providers.base import Health, Pulse
from memory.providers.parity.base import (
    Hand,
    Harness,
    NotApplicable,
    check,
    expect,
    refused,
)

THREADS = 8
SLACK = 0.35


def _unwell(pulse: Pulse, harness: Harness, *words: str) -> None:
    expect(not pulse.ok, "the pulse is good")
    expect(pulse.message, "the pulse does not say why")
    expect(pulse.checked_at is not None, "the pulse has no time")
    for word in words:
        expect(word in pulse.message, f"“{word}” is not in: {pulse.message}")
    for secret in harness.secrets():
        expect(secret not in pulse.message, "the message holds an address or a folder")


@check("P06", "Health on a fresh store is good, with a time")
def fresh(harness: Harness) -> None:
    """Before anything was written."""
    pulse = harness.provider().health(Health())
    expect(pulse.ok, f"not ok: {pulse.message}")
    expect(pulse.checked_at.tzinfo is not None, "the time has no zone")


@check("P07", "Health leaves no trace in the store")
def no_trace(harness: Harness) -> None:
    """Neither a file nor a row."""
    hand = Hand(harness)
    hand.retain("Something is there.")
    before = harness.traces()
    for _ in range(3):
        hand.provider.health(Health())
    expect(harness.traces() == before, "something was left behind")


@check("P08", "Health on a store that does not answer is not good and says why")
def no_store(harness: Harness) -> None:
    """Without saying where it is."""
    _unwell(harness.broken("down").health(Health()), harness)


@check("P18", "Unbound, Health says exactly “not initialized”, with a time")
def unbound(harness: Harness) -> None:
    """Nothing else."""
    pulse = harness.unbound().health(Health())
    _unwell(pulse, harness)
    expect(pulse.message == "not initialized", pulse.message)


@check("P36", "Forget refuses an item that is a link, and its target survives")
def linked(harness: Harness) -> None:
    """Nothing outside is touched."""
    target = harness.link("pins.md")
    before = target()
    refused(lambda: Hand(harness).forget("pins.md"), "forget: remove")
    expect(target() == before, "the target changed")


@check("P37", "A cancelled forget is an error and the item stays")
def cancelled(harness: Harness) -> None:  # noqa: ARG001  (no harness can offer it)
    """The original's contexts can be cancelled; ours are calls, see X17."""
    message = "a call has no context to cancel; X17 tries a forget that waits"
    raise NotApplicable(message)


@check("P38", "A removal that fails is told as forget: remove")
def unremovable(harness: Harness) -> None:
    """Not as done."""
    provider = harness.unremovable("AGENT.md")
    hand = Hand(harness)
    hand.provider = provider
    refused(lambda: hand.forget("AGENT.md"), "forget: remove")


@check("P39", "Health without any time left is not good")
def no_time(harness: Harness) -> None:
    """The caller keeps the deadline."""
    _unwell(deadline.pulse(harness.hung(), 0.0), harness, "time-out")


@check("P40", "Health bound to no agent still answers")
def no_agent(harness: Harness) -> None:
    """A provider board looks at a workspace, not at an agent."""
    pulse = harness.provider("nobody").health(Health())
    expect(pulse.ok, pulse.message)


@check("P41", "Health on a missing folder says so")
def missing(harness: Harness) -> None:
    """In words, without the folder."""
    _unwell(harness.broken("missing").health(Health()), harness, "missing")


@check("P42", "Health on a file where the folder should be says so")
def not_a_folder(harness: Harness) -> None:
    """In words, without the folder."""
    _unwell(harness.broken("a file").health(Health()), harness, "not a directory")


@check("P43", "Health is good for an agent whose crew wrote nothing")
def no_crew(harness: Harness) -> None:
    """And its message is empty."""
    hand = Hand(harness)
    hand.retain("Only mine.")
    pulse = hand.provider.health(Health())
    expect(pulse.ok and pulse.message == "", pulse.message)


@check("P44", "Health on an unwritable folder says that the probe failed")
def unwritable(harness: Harness) -> None:
    """Reading alone is not enough."""
    _unwell(harness.broken("unwritable").health(Health()), harness, "probe write")


# ── Beyond the original list ─────────────────────────────────────────────────
@check("X15", "Health comes back within its deadline when the store hangs")
def hangs(harness: Harness) -> None:
    """With a message about the time."""
    start = time.monotonic()
    pulse = deadline.pulse(harness.hung(), harness.seconds)
    spent = time.monotonic() - start
    _unwell(pulse, harness, "time")
    expect(spent < harness.seconds + SLACK, f"it took {spent:.2f} s")


@check("X16", "A healthy provider answers Health within its deadline")
def in_time(harness: Harness) -> None:
    """From a cold thread too."""
    provider = harness.provider()
    deadline.pulse(provider, 5)
    pulse = deadline.pulse(provider, harness.seconds)
    expect(pulse.ok, pulse.message)


@check("X17", "A forget that waits for a writer goes through when the writer is done")
def waits(harness: Harness) -> None:
    """The lock is held during Forget, not ignored."""
    hand = Hand(harness)
    hand.retain("Soon gone: dunnart.")
    with ThreadPoolExecutor(1) as pool:
        with harness.busy("AGENT.md"):
            going = pool.submit(_closing(lambda: hand.forget("AGENT.md")))
            time.sleep(0.1)
            expect(not going.done(), "the lock was not waited for")
        expect(going.result(timeout=15) == 1, "removed is not 1")


def _closing(act: Callable[[], object]) -> Callable[[], object]:
    """Return an act for another thread, which leaves no database connection open."""

    def run() -> object:
        try:
            return act()
        finally:
            connections.close_all()

    return run


def _together(acts: list[Callable[[], object]]) -> list[object]:
    """Run acts from many threads that start at the same moment; errors come out."""
    gate = threading.Barrier(len(acts))

    def started(act: Callable[[], object]) -> Callable[[], object]:
        def run() -> object:
            gate.wait()
            return act()

        return _closing(run)

    with ThreadPoolExecutor(len(acts)) as pool:
        going = [pool.submit(started(act)) for act in acts]
        return [one.result(timeout=60) for one in going]


@check("X18", "Many appends to one item at once: none is lost")
def many_appends(harness: Harness) -> None:
    """Each line once."""
    hand = Hand(harness)

    def appending(number: int) -> Callable[[], object]:
        return lambda: hand.retain(f"line{number} potoroo", "pins", mode="append")

    _together([appending(number) for number in range(THREADS)])
    for number in range(THREADS):
        expect(hand.sources(f"line{number}"), f"line {number} is lost")


@check("X19", "All four methods at once from many threads")
def all_at_once(harness: Harness) -> None:
    """No error, no torn answer."""
    hand = Hand(harness)
    hand.retain("The bilby is there.", "AGENT")
    acts: list[Callable[[], object]] = []
    for number in range(2):
        name = f"peer-{number}"
        acts += [
            partial(hand.retain, f"{name} bilby", "peers", name),
            lambda: hand.recall("bilby"),
            partial(hand.forget, f"peers/other-{name}.md"),
            lambda: hand.provider.health(Health()),
        ]
    _together(acts)
    expect("AGENT.md" in hand.sources("bilby"), "an item is lost")
