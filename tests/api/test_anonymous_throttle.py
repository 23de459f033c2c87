"""Requests without a working credential are counted by their client's address."""

from __future__ import annotations

import time

import pytest
from django.conf import settings
from django.http import HttpRequest
from django.test import Client

from crewship_memory import throttle
from crewship_memory.throttle import AddressThrottle
from tests.world import World

VERIFY = "/api/v1/gdpr/certificates/verify"


@pytest.fixture(autouse=True)
def _two(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let an address ask twice in an hour."""
    monkeypatch.setattr(throttle.anonymous, "limit", 2)
    monkeypatch.setattr(throttle.anonymous, "window", 3_600)


def statuses(path: str, times: int = 3, client: Client | None = None) -> list[int]:
    using = client or Client()
    return [using.get(path).status_code for _ in range(times)]


@pytest.mark.parametrize(
    ("path", "before"),
    [
        ("/api/v1/me", 401),
        ("/api/v1/gdpr/keys", 200),
        ("/api/v1/docs", 200),
        ("/api/v1/nothing", 404),
        ("/compat/mem0/v1/ping", 401),
        ("/mcp", 405),
        ("/accounts/login/", 200),
        ("/certificates/check/", 200),
        ("/journal/", 302),
        ("/nothing", 404),
    ],
)
def test_the_third_request_is_one_too_many(db: None, path: str, before: int) -> None:
    assert statuses(path) == [before, before, 429]


def test_the_refusal_is_a_problem_a_dialects_own_or_a_page(db: None) -> None:
    statuses("/api/v1/me", 2)
    problem = Client().post(VERIFY, b"{}", "application/json")
    assert problem["Content-Type"] == "application/problem+json"
    assert problem.json()["code"] == "too_many"
    wire = Client().get("/compat/langgraph/store/items")
    assert (wire.status_code, set(wire.json())) == (429, {"detail"})
    page = Client().get("/accounts/login/")
    assert b"<h1" in page.content
    for reply in (problem, wire, page):
        assert 1 <= int(reply["Retry-After"]) <= 3_600


@pytest.mark.parametrize("path", ["/livez", "/readyz", "/metrics"])
def test_probes_are_never_counted(db: None, path: str) -> None:
    local_client = Client(SERVER_NAME="localhost")
    assert statuses(path, 4, local_client) == [200] * 4
    assert statuses("/accounts/login/", 2) == [200, 200]


def test_static_files_are_never_counted(db: None) -> None:
    assert 429 not in statuses(f"{settings.STATIC_URL}css/none.css", 4)


def test_whoever_has_a_working_credential_is_not_hindered(world: World) -> None:
    statuses("/api/v1/me", 3)
    assert world.api("ada").get("/me").status == 200
    assert world.page("owner").get("/journal/").status_code == 200
    assert world.session("operator").get("/me").status == 200


@pytest.mark.parametrize(
    "headers",
    [{"Authorization": "Bearer cmk_no"}, {"X-API-Key": "no"}, {"Api-Key": "no"}],
)
def test_a_made_up_key_buys_nothing(db: None, headers: dict[str, str]) -> None:
    assert statuses("/api/v1/me", 3, Client(headers=headers)) == [401, 401, 429]
    reply = Client(headers=headers).post(VERIFY, b"{}", "application/json")
    assert reply.status_code == 429


def test_a_made_up_session_buys_nothing(db: None) -> None:
    client = Client()
    client.cookies[settings.SESSION_COOKIE_NAME] = "x" * 32
    assert statuses("/certificates/check/", 3, client) == [200, 200, 429]


def test_other_addresses_are_not_hindered(db: None) -> None:
    statuses("/api/v1/me", 3)
    assert statuses("/api/v1/me", 1, Client(REMOTE_ADDR="192.0.2.9")) == [401]


# ── The counter ──────────────────────────────────────────────────────────────
@pytest.mark.parametrize(
    ("first", "second", "together"),
    [
        ("2001:db8:1:2::1", "2001:db8:1:2:ffff::9", True),
        ("2001:db8:1:2::1", "2001:db8:1:3::1", False),
        ("::ffff:192.0.2.1", "192.0.2.1", True),
        ("192.0.2.1", "192.0.2.2", False),
        ("fe80::1%eth0", "fe80::2%eth1", True),
        ("", "no address", True),
    ],
)
def test_which_addresses_count_together(
    first: str, second: str, together: bool
) -> None:
    counter = AddressThrottle("1/h")
    assert counter.charge(first) == 0
    assert (counter.charge(second) > 0) is together


def test_the_counter_keeps_no_address_and_not_more_than_it_may(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(throttle, "MOST_ADDRESSES", 50)
    counter = AddressThrottle("1/h")
    for number in range(200):
        counter.charge(f"10.0.0.{number}")
    assert len(counter) == 50
    assert "10.0.0" not in repr(vars(counter))


def test_the_window_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [1_000_000.0]
    monkeypatch.setattr(time, "time", lambda: now[0])
    counter = AddressThrottle("1/m")
    assert [counter.charge("192.0.2.1") for _ in range(2)] == [0, 20]
    now[0] += 20
    assert counter.charge("192.0.2.1") == 0


def test_a_wait_is_a_second_at_least(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(time, "time", lambda: 1_000_019.8)
    counter = AddressThrottle("1/m")
    assert [counter.charge("192.0.2.1") for _ in range(2)] == [0, 1]


def test_beyond_the_most_addresses_the_first_is_forgotten(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(throttle, "MOST_ADDRESSES", 2)
    counter = AddressThrottle("1/h")
    for number in (1, 2, 3):
        assert counter.charge(f"192.0.2.{number}") == 0
    assert counter.charge("192.0.2.3") > 0
    assert counter.charge("192.0.2.2") > 0
    assert counter.charge("192.0.2.1") == 0


def test_a_request_is_counted_once_however_often_it_is_charged() -> None:
    request = HttpRequest()
    request.META["REMOTE_ADDR"] = "192.0.2.1"
    for _ in range(5):
        throttle.charge(request)
    assert len(throttle.anonymous) == 1
    throttle.anonymous.clear()
    assert len(throttle.anonymous) == 0


@pytest.mark.parametrize("rate", ["", "6000", "m/6000", "-1/m"])
def test_a_rate_that_is_none_is_named(rate: str) -> None:
    with pytest.raises(ValueError, match="A rate is like"):
        AddressThrottle(rate)
