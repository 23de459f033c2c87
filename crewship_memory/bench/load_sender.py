"""Sends requests by a schedule, whether or not earlier ones were answered.

Latency counts from the moment a request was due, so that a server that stands still
cannot hide it. A thread for each connection waits for the next moment; with 64 of them
a request costs the machine about half a millisecond of processor time.
"""

from __future__ import annotations

import threading
import time
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.client import HTTPConnection, HTTPException
from itertools import count
from typing import Final
from urllib.parse import urlsplit

from crewship_memory.bench.client import Answer
from crewship_memory.bench.load_mix import Call, Mix

CONNECTIONS: Final = 64
# Nobody waits longer for an answer; it counts as none.
ANSWER_SECONDS: Final = 30
ERASURE_SECONDS: Final = 60


@dataclass(frozen=True, slots=True)
class Plan:
    """How long, how many requests a second, and over how many connections."""

    seconds: int
    rate: float
    connections: int = CONNECTIONS

    @property
    def requests(self) -> int:
        return int(self.seconds * self.rate)


@dataclass(slots=True)
class Results:
    """Latencies by kind, statuses by kind, and how late requests were sent."""

    latencies: defaultdict[str, list[float]] = field(
        default_factory=lambda: defaultdict(list)
    )
    statuses: defaultdict[str, Counter[str]] = field(
        default_factory=lambda: defaultdict(Counter)
    )
    late: list[float] = field(default_factory=list)
    last_answer: float = 0.0

    @property
    def requests(self) -> int:
        return sum(sum(counter.values()) for counter in self.statuses.values())

    def total(self, prefix: str, kind: str = "") -> int:
        """Return how many requests, of one kind or all, had a status that begins so."""
        return sum(
            n
            for name, counter in self.statuses.items()
            for status, n in counter.items()
            if status.startswith(prefix) and kind in ("", name)
        )


class Sender:
    """Sends the calls of a mix to one address by a plan."""

    def __init__(self, url: str, mix: Mix, plan: Plan) -> None:
        address = urlsplit(url)
        self._host, self._port = str(address.hostname), address.port
        self._mix, self._plan = mix, plan
        self._lock, self._turns = threading.Lock(), count()
        self._start = 0.0
        self.results = Results()

    def run(self) -> Iterator[int]:
        """Send what is due in the time; yield every tenth's number at its end."""
        self._start = time.perf_counter()
        threads = [
            threading.Thread(target=self._send_all, daemon=True)
            for _ in range(self._plan.connections)
        ]
        for thread in threads:
            thread.start()
        for tenth in range(1, 11):
            self._sleep_until(self._start + self._plan.seconds * tenth / 10)
            yield tenth
        for thread in threads:
            thread.join(ANSWER_SECONDS * 2)

    def _send_all(self) -> None:
        connection = HTTPConnection(self._host, self._port, timeout=ANSWER_SECONDS)
        every = max(
            1, int(min(ERASURE_SECONDS, self._plan.seconds / 2) * self._plan.rate)
        )
        while True:
            with self._lock:
                turn = next(self._turns)
            # What is due and not sent at the end is not sent any more.
            is_over = time.perf_counter() - self._start > self._plan.seconds
            if is_over or turn >= self._plan.requests:
                break
            due = self._start + turn / self._plan.rate
            self._sleep_until(due)
            is_erasure = turn % every == every // 2
            call = self._mix.erasure() if is_erasure else self._mix.next()
            self._send(connection, call, due)
        connection.close()

    def _send(self, connection: HTTPConnection, call: Call, due: float) -> None:
        sent_at = time.perf_counter()
        answer, status = _exchange(connection, call)
        now = time.perf_counter()
        with self._lock:
            self.results.latencies[call.kind].append((now - due) * 1_000)
            self.results.statuses[call.kind][status] += 1
            self.results.late.append((sent_at - due) * 1_000)
            self.results.last_answer = now - self._start
        if call.note is not None:
            call.note(answer)

    def _sleep_until(self, moment: float) -> None:
        remaining = moment - time.perf_counter()
        if remaining > 0:
            time.sleep(remaining)


def _exchange(connection: HTTPConnection, call: Call) -> tuple[Answer | None, str]:
    """Return the answer and its status, or None and why there is none."""
    try:
        connection.request(call.method, call.path, call.body, call.headers)
        response = connection.getresponse()
        answer = Answer(response.status, response.read())
    except TimeoutError:
        connection.close()
        return None, "timeout"
    except (OSError, HTTPException) as error:
        connection.close()
        return None, type(error).__name__
    return answer, f"{answer.status} {_code(answer)}".rstrip()


def _code(answer: Answer) -> str:
    """Return the code of a problem, empty for an answer that is none."""
    if answer.status < 400:
        return ""
    try:
        return str(answer.json().get("code", ""))
    except (ValueError, AttributeError):
        return ""
