"""Requests of a key or a person are counted in windows of the clock."""

from __future__ import annotations

import time
from typing import Any

import pytest
from django.core.cache import cache
from django.http import HttpRequest

from crewship_memory.throttle import KeyThrottle
from memory.rules.permissions import Actor, Role


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """Stand at the 20th second of a minute."""
    now = [1_200_020.0]
    monkeypatch.setattr(time, "time", lambda: now[0])
    return now


def request_of(actor_id: str, key_id: str | None = None) -> Any:
    request: Any = HttpRequest()
    request.auth = Actor(Role.AGENT, "ws_1", actor_id, "label", key_id=key_id)
    return request


def answers(counter: KeyThrottle, request: HttpRequest, times: int = 3) -> list[bool]:
    return [counter.allow_request(request) for _ in range(times)]


@pytest.mark.parametrize(
    ("rate", "expected"),
    [
        ("0/m", [False, False, False]),
        ("1/m", [True, False, False]),
        ("2/m", [True, True, False]),
    ],
)
def test_a_limit_is_how_many_are_allowed(
    clock: list[float], rate: str, expected: list[bool]
) -> None:
    assert answers(KeyThrottle(rate), request_of("ag_1")) == expected


def test_keys_and_people_without_one_are_counted_apart(clock: list[float]) -> None:
    counter = KeyThrottle("1/m")
    for request in (
        request_of("ag_1", "key_1"),
        request_of("ag_1", "key_2"),
        request_of("us_1"),
        request_of("us_2"),
    ):
        assert answers(counter, request, 2) == [True, False]
    # One key is one counter, whoever acts with it.
    assert answers(counter, request_of("ag_2", "key_1"), 1) == [False]


@pytest.mark.parametrize(("unit", "seconds"), [("s", 1), ("m", 60), ("h", 3_600)])
def test_a_count_ends_with_its_window(
    clock: list[float], unit: str, seconds: int
) -> None:
    counter, request = KeyThrottle(f"1/{unit}"), request_of("ag_1")
    remaining = seconds - clock[0] % seconds
    assert counter.wait() == remaining
    assert answers(counter, request, 2) == [True, False]
    clock[0] += remaining - 0.5
    assert answers(counter, request, 1) == [False]
    assert counter.wait() == 0.5
    clock[0] += 0.5
    assert answers(counter, request, 2) == [True, False]


def test_a_window_that_ends_between_two_looks_refuses_nobody(
    clock: list[float], monkeypatch: pytest.MonkeyPatch
) -> None:
    def incr(*_: Any) -> int:
        raise ValueError

    monkeypatch.setattr(cache, "incr", incr)
    assert answers(KeyThrottle("1/m"), request_of("ag_1")) == [True] * 3


def test_without_an_actor_nothing_is_counted_here(clock: list[float]) -> None:
    request: Any = HttpRequest()
    assert answers(KeyThrottle("1/m"), request) == [True] * 3
    request.auth = None
    assert answers(KeyThrottle("1/m"), request) == [True] * 3
