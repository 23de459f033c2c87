"""Health, faults of the store, and many at once."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial

from django.db import connections

from memory.providers import deadline
from memory.providers.base import Health, HealthStatus
from memory.providers.parity.base import (
    Client,
    Harness,
    NotApplicable,
    check,
    expect,
    expect_refusal,
)
from memory.rules.translation import gettext_noop

THREADS = 8
SLACK = 0.35


def _expect_unhealthy(status: HealthStatus, harness: Harness, *words: str) -> None:
    expect(not status.ok, "the status is good")
    expect(status.message, "the status does not say why")
    expect(status.checked_at is not None, "the status has no time")
    for word in words:
        expect(word in status.message, f"“{word}” is not in: {status.message}")
    for secret in harness.secrets():
        expect(secret not in status.message, "the message holds an address or a folder")


@check("P06", gettext_noop("Health on a fresh store is good, with a time"))
def fresh(harness: Harness) -> None:
    status = harness.provider().health(Health())
    expect(status.ok, f"not ok: {status.message}")
    expect(status.checked_at.tzinfo is not None, "the time has no zone")


@check("P07", gettext_noop("Health leaves no trace in the store"))
def no_trace(harness: Harness) -> None:
    client = Client(harness)
    client.retain("Something is there.")
    before = harness.traces()
    for _ in range(3):
        client.provider.health(Health())
    expect(harness.traces() == before, "something was left behind")


@check(
    "P08",
    gettext_noop("Health on a store that does not answer is not good and says why"),
)
def no_store(harness: Harness) -> None:
    _expect_unhealthy(harness.broken("down").health(Health()), harness)


@check(
    "P18", gettext_noop("Unbound, Health says exactly “not initialized”, with a time")
)
def unbound(harness: Harness) -> None:
    status = harness.unbound().health(Health())
    _expect_unhealthy(status, harness)
    expect(status.message == "not initialized", status.message)


@check(
    "P36",
    gettext_noop("Forget refuses an item that is a link, and its target survives"),
)
def linked(harness: Harness) -> None:
    target = harness.link("pins.md")
    before = target()
    expect_refusal(lambda: Client(harness).forget("pins.md"), "forget: remove")
    expect(target() == before, "the target changed")


@check("P37", gettext_noop("A cancelled forget is an error and the item stays"))
def cancelled(harness: Harness) -> None:  # noqa: ARG001  (no harness can offer it)
    message = "a call has no context to cancel; X17 tries a forget that waits"
    raise NotApplicable(message)


@check("P38", gettext_noop("A removal that fails is reported as forget: remove"))
def unremovable(harness: Harness) -> None:
    provider = harness.unremovable("AGENT.md")
    client = Client(harness)
    client.provider = provider
    expect_refusal(lambda: client.forget("AGENT.md"), "forget: remove")


@check("P39", gettext_noop("Health without any time left is not good"))
def no_time(harness: Harness) -> None:
    _expect_unhealthy(
        deadline.check_health(harness.hanging(), 0.0), harness, "time-out"
    )


@check("P40", gettext_noop("Health bound to no agent still answers"))
def no_agent(harness: Harness) -> None:
    status = harness.provider("nobody").health(Health())
    expect(status.ok, status.message)


@check("P43", gettext_noop("Health is good for an agent whose crew wrote nothing"))
def no_crew(harness: Harness) -> None:
    client = Client(harness)
    client.retain("Only mine.")
    status = client.provider.health(Health())
    expect(status.ok and status.message == "", status.message)


for _number, _fault, _words, _text in (
    ("P41", "missing", "missing", gettext_noop("Health on a missing folder says so")),
    ("P42", "a file", "not a directory",
     gettext_noop("Health on a file where the folder should be says so")),
    ("P44", "unwritable", "probe write",
     gettext_noop("Health on an unwritable folder says that the probe failed")),
):  # fmt: skip

    @check(_number, _text)
    def _faulty_folder(
        harness: Harness, fault: str = _fault, words: str = _words
    ) -> None:
        _expect_unhealthy(harness.broken(fault).health(Health()), harness, words)


# ── Beyond the original list ─────────────────────────────────────────────────
@check(
    "X15", gettext_noop("Health comes back within its deadline when the store hangs")
)
def hangs(harness: Harness) -> None:
    start = time.monotonic()
    status = deadline.check_health(harness.hanging(), harness.seconds)
    seconds = time.monotonic() - start
    _expect_unhealthy(status, harness, "time")
    expect(seconds < harness.seconds + SLACK, f"it took {seconds:.2f} s")


@check("X16", gettext_noop("A healthy provider answers Health within its deadline"))
def in_time(harness: Harness) -> None:
    provider = harness.provider()
    deadline.check_health(provider, 5)
    status = deadline.check_health(provider, harness.seconds)
    expect(status.ok, status.message)


@check(
    "X17",
    gettext_noop(
        "A forget that waits for a writer goes through when the writer is done"
    ),
)
def waits(harness: Harness) -> None:
    client = Client(harness)
    client.retain("Soon gone: dunnart.")
    with ThreadPoolExecutor(1) as pool:
        with harness.busy("AGENT.md"):
            future = pool.submit(_closing(lambda: client.forget("AGENT.md")))
            time.sleep(0.1)
            expect(not future.done(), "the lock was not waited for")
        expect(future.result(timeout=15) == 1, "removed is not 1")


def _closing(act: Callable[[], object]) -> Callable[[], object]:
    """Return a call for another thread that leaves no database connection open."""

    def run() -> object:
        try:
            return act()
        finally:
            connections.close_all()

    return run


def _run_together(acts: list[Callable[[], object]]) -> list[object]:
    """Run calls in many threads that start at the same moment; raise their errors."""
    gate = threading.Barrier(len(acts))

    def started(act: Callable[[], object]) -> Callable[[], object]:
        def run() -> object:
            gate.wait()
            return act()

        return _closing(run)

    with ThreadPoolExecutor(len(acts)) as pool:
        futures = [pool.submit(started(act)) for act in acts]
        return [future.result(timeout=60) for future in futures]


@check("X18", gettext_noop("Many appends to one item at once: none is lost"))
def many_appends(harness: Harness) -> None:
    client = Client(harness)

    def appending(number: int) -> Callable[[], object]:
        return lambda: client.retain(f"line{number} potoroo", "pins", mode="append")

    _run_together([appending(number) for number in range(THREADS)])
    for number in range(THREADS):
        expect(client.sources(f"line{number}"), f"line {number} is lost")


@check("X19", gettext_noop("All four methods at once from many threads"))
def all_at_once(harness: Harness) -> None:
    client = Client(harness)
    client.retain("The bilby is there.", "AGENT")
    acts: list[Callable[[], object]] = []
    for number in range(2):
        name = f"peer-{number}"
        acts += [
            partial(client.retain, f"{name} bilby", "peers", name),
            lambda: client.recall("bilby"),
            partial(client.forget, f"peers/other-{name}.md"),
            lambda: client.provider.health(Health()),
        ]
    _run_together(acts)
    expect("AGENT.md" in client.sources("bilby"), "an item is lost")
