"""The client's address: through trusted proxies only, and one for everybody."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from django.http import HttpRequest, HttpResponse
from django.test import Client, RequestFactory
from pytest_django import Settings

from crewship_memory import checks, client_address, doctor
from crewship_memory.client_address import TrustedProxies, parse_proxies
from memory.models import User

PROXIES = ["10.0.0.0/8", "192.0.2.1", "2001:db8:aaaa::/48"]


@pytest.fixture(autouse=True)
def _mark(settings: Settings, tmp_path: Path) -> None:
    settings.UNKNOWN_PROXY_MARK = tmp_path / "mark"
    client_address._warn_of_unknown_proxy.cache_clear()


def request_from(peer: str, headers: dict[str, str]) -> HttpRequest:
    """Return a request as a view sees it, behind the middleware."""
    views: list[HttpRequest] = []

    def view(request: HttpRequest) -> HttpResponse:
        views.append(request)
        return HttpResponse()

    request = RequestFactory().get("/", headers=headers, REMOTE_ADDR=peer)
    client_address.ClientAddressMiddleware(view)(request)
    return views[0]


@pytest.mark.parametrize(
    ("peer", "forwarded", "address"),
    [
        # Nothing in front: the header is a stranger's own.
        ("203.0.113.9", None, "203.0.113.9"),
        ("203.0.113.9", "198.51.100.1", "203.0.113.9"),
        ("203.0.113.9", "127.0.0.1", "203.0.113.9"),
        # One proxy, and what a client wrote before it.
        ("10.0.0.1", "198.51.100.1", "198.51.100.1"),
        ("10.0.0.1", "127.0.0.1, 198.51.100.1", "198.51.100.1"),
        ("10.0.0.1", "10.9.9.9, 198.51.100.1", "198.51.100.1"),
        # Several hops, each of them ours but the last.
        ("10.0.0.1", "6.6.6.6, 198.51.100.1, 192.0.2.1, 10.0.0.2", "198.51.100.1"),
        ("10.0.0.1", "198.51.100.1,10.0.0.2 , 192.0.2.1", "198.51.100.1"),
        ("10.0.0.1", "10.0.0.3, 10.0.0.2", "10.0.0.3"),
        # A trusted proxy that says nothing, or nothing that can be read.
        ("10.0.0.1", None, "10.0.0.1"),
        ("10.0.0.1", "", "10.0.0.1"),
        ("10.0.0.1", "198.51.100.1, unknown", "10.0.0.1"),
        ("10.0.0.1", "198.51.100.1, 10.0.0.2, _x", "10.0.0.1"),
        # IPv6, ports, brackets, zones, and IPv4 in IPv6.
        ("2001:db8:aaaa::1", "2001:db8:1::5", "2001:db8:1::5"),
        ("2001:db8:aaaa::1", "[2001:DB8:1::5]:443", "2001:db8:1::5"),
        ("2001:db8:bbbb::1", "198.51.100.1", "2001:db8:bbbb::1"),
        ("10.0.0.1", "198.51.100.1:5123", "198.51.100.1"),
        ("::ffff:10.0.0.1", "::ffff:198.51.100.1", "198.51.100.1"),
        ("fe80::1%eth0", "198.51.100.1", "fe80::1"),
        # A Unix socket is trusted by name only.
        ("", "198.51.100.1", "unknown"),
        ("localhost", "198.51.100.1", "unknown"),
    ],
)
def test_the_first_hop_that_is_no_proxy_is_the_client(
    settings: Settings, peer: str, forwarded: str | None, address: str
) -> None:
    settings.TRUSTED_PROXIES = parse_proxies(PROXIES)
    headers = {} if forwarded is None else {"X-Forwarded-For": forwarded}
    request = request_from(peer, headers)
    assert client_address.client_address(request) == address
    assert request.META["REMOTE_ADDR"] == address
    assert "X-Forwarded-For" not in request.headers


@pytest.mark.parametrize("peer", ["127.0.0.1", "10.0.0.1", "::1", ""])
def test_without_a_trusted_proxy_no_header_counts(peer: str) -> None:
    request = request_from(peer, {"X-Forwarded-For": "6.6.6.6", "X-Real-IP": "6.6.6.6"})
    assert client_address.client_address(request) == (peer or "unknown")
    assert not [name for name in request.META if name.startswith("HTTP_X_")]


def test_a_unix_socket_is_trusted_when_it_is_named(settings: Settings) -> None:
    settings.TRUSTED_PROXIES = parse_proxies(["unix"])
    request = request_from("", {"X-Forwarded-For": "198.51.100.1"})
    assert client_address.client_address(request) == "198.51.100.1"


def test_one_client_is_one_network(settings: Settings) -> None:
    first = request_from("2001:db8:1:2::5", {})
    same_network = request_from("2001:db8:1:2:ffff::9", {})
    other = request_from("2001:db8:1:3::5", {})
    assert client_address.client_network(first) == client_address.client_network(
        same_network
    )
    assert client_address.client_network(first) != client_address.client_network(other)
    assert client_address.client_network(request_from("192.0.2.7", {})) == "192.0.2.7"


@pytest.mark.parametrize("value", ["everybody", "10.0.0.0/40", "0.0.0.0/0", "::/0"])
def test_a_setting_that_trusts_nobody_or_everybody_is_refused(value: str) -> None:
    with pytest.raises(ValueError, match="CREWSHIP_TRUSTED_PROXIES"):
        parse_proxies(["10.0.0.1", value])


def test_spaces_and_host_bits_are_forgiven() -> None:
    proxies = parse_proxies([" 172.18.0.1/16 ", ""])
    assert str(proxies.networks[0]) == "172.18.0.0/16"
    assert parse_proxies([]) == TrustedProxies()


# ── Who stands on it ─────────────────────────────────────────────────────────
def test_https_is_believed_from_a_trusted_proxy_only(
    settings: Settings,
) -> None:
    settings.SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https")
    settings.TRUSTED_PROXIES = parse_proxies(["10.0.0.1"])
    headers = {"X-Forwarded-Proto": "https"}
    assert request_from("10.0.0.1", headers).is_secure()
    assert not request_from("10.0.0.2", headers).is_secure()


def wrong_password(peer: str, forwarded: str, email: str) -> str:
    form = {"login": email, "password": "wrong"}
    headers = {"X-Forwarded-For": forwarded}
    client = Client(REMOTE_ADDR=peer)
    return client.post("/accounts/login/", form, headers=headers).content.decode()


def is_limited(page: str) -> bool:
    return "Too many failed" in page


def exhaust(peer: str, forwarded: str) -> None:
    """Use up what one address may get wrong in a minute, over several accounts."""
    for number in range(11):
        wrong_password(peer, forwarded, f"{number}@nobody.example")


def test_one_persons_wrong_passwords_lock_nobody_else_out(
    settings: Settings, db: None
) -> None:
    settings.TRUSTED_PROXIES = parse_proxies(["127.0.0.1"])
    exhaust("127.0.0.1", "198.51.100.1")
    assert is_limited(wrong_password("127.0.0.1", "198.51.100.1", "a@b.example"))
    assert not is_limited(wrong_password("127.0.0.1", "198.51.100.2", "a@b.example"))


def test_a_forged_header_is_no_way_round_the_limit(db: None) -> None:
    for number in range(11):
        wrong_password("203.0.113.9", f"198.51.100.{number}", f"{number}@no.example")
    assert is_limited(wrong_password("203.0.113.9", "198.51.100.99", "a@b.example"))


def test_other_addresses_of_ones_ipv6_network_are_no_way_round(db: None) -> None:
    for number in range(11):
        wrong_password(f"2001:db8::{number:x}", "", f"{number}@nobody.example")
    assert is_limited(wrong_password("2001:db8::ffff", "", "a@b.example"))


def test_one_can_sign_in_through_a_socket_without_an_address(db: None) -> None:
    User.objects.create_user(email="p@shop.example", password="correct horse")
    form = {"login": "p@shop.example", "password": "correct horse"}
    assert Client(REMOTE_ADDR="").post("/accounts/login/", form).status_code == 302


LOCAL = {"Host": "localhost:8000"}


@pytest.mark.parametrize(
    ("proxies", "peer", "headers", "status"),
    [
        ([], "127.0.0.1", {}, 200),
        ([], "::1", {}, 200),
        ([], "::ffff:127.0.0.1", {}, 200),
        ([], "127.0.0.1", {"X-Forwarded-For": "127.0.0.1"}, 401),
        ([], "127.0.0.1", {"X-Real-IP": "127.0.0.1"}, 401),
        ([], "127.0.0.1", {"X-Forwarded-Proto": "http"}, 401),
        ([], "127.0.0.1", {"Via": "1.1 proxy"}, 401),
        ([], "127.0.0.1", {"Host": "memory.example"}, 401),
        (["127.0.0.1"], "127.0.0.1", {}, 401),
        (["127.0.0.1"], "127.0.0.1", {"X-Forwarded-For": "127.0.0.1"}, 401),
        (["10.0.0.1"], "10.0.0.1", {"X-Forwarded-For": "127.0.0.1"}, 401),
    ],
)
def test_metrics_are_open_to_this_machine_and_to_no_proxy_on_it(
    settings: Settings,
    db: None,
    proxies: list[str],
    peer: str,
    headers: dict[str, str],
    status: int,
) -> None:
    settings.ALLOWED_HOSTS = ["localhost", "memory.example"]
    settings.TRUSTED_PROXIES = parse_proxies(proxies)
    client = Client(REMOTE_ADDR=peer)
    answer = client.get("/metrics", headers=LOCAL | headers)
    assert answer.status_code == status


@pytest.mark.parametrize(
    ("name", "value", "status"),
    [
        ("PUBLIC_URL", "https://memory.example", 401),
        ("PUBLIC_URL", "http://localhost:8000", 200),
        ("HTTPS", True, 401),
    ],
)
def test_metrics_of_a_published_installation_need_a_key(
    settings: Settings, db: None, name: str, value: Any, status: int
) -> None:
    settings.ALLOWED_HOSTS = ["localhost"]
    setattr(settings, name, value)
    assert Client().get("/metrics", headers=LOCAL).status_code == status


# ── What an operator is told ─────────────────────────────────────────────────
def test_doctor_names_a_proxy_that_was_forgotten(settings: Settings) -> None:
    assert [finding.level.value for finding in doctor.proxies()] == ["ok"]
    request_from("10.0.0.1", {"X-Forwarded-For": "198.51.100.1"})
    (finding,) = doctor.proxies()
    assert finding.level.value == "warn"
    assert "CREWSHIP_TRUSTED_PROXIES" in finding.hint
    settings.TRUSTED_PROXIES = parse_proxies(["10.0.0.1"])
    assert [finding.level.value for finding in doctor.proxies()] == ["ok"]


def test_https_without_a_trusted_proxy_is_pointed_out(
    settings: Settings,
) -> None:
    assert checks.a_proxy_with_tls_is_trusted() == []
    settings.HTTPS = True
    assert [m.id for m in checks.a_proxy_with_tls_is_trusted()] == ["crewship.W005"]
    settings.TRUSTED_PROXIES = parse_proxies(["10.0.0.1"])
    assert checks.a_proxy_with_tls_is_trusted() == []
