"""The client's address, read through trusted proxies only.

``X-Forwarded-For`` is text that anybody can send. It is read from the right, hop by
hop, as long as the sender of the hop is one of CREWSHIP_TRUSTED_PROXIES: the first
address that is none of them is the client. From any other peer it is not read at all.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from ipaddress import (
    IPv4Address,
    IPv4Network,
    IPv6Address,
    IPv6Network,
    ip_address,
    ip_network,
)
from typing import TYPE_CHECKING, Final

import structlog
from django.conf import settings

if TYPE_CHECKING:
    from django.http import HttpRequest, HttpResponse

Address = IPv4Address | IPv6Address
Network = IPv4Network | IPv6Network

# What the peer is called when it has no address that can be read.
UNKNOWN: Final = "unknown"
# The word for a peer that comes through a Unix socket, which has no address.
UNIX: Final = "unix"
FORWARDED_FOR: Final = "HTTP_X_FORWARDED_FOR"
FORWARDED_PROTO: Final = "HTTP_X_FORWARDED_PROTO"
# Each of these says that a proxy passed the request on.
FORWARDED_HEADERS: Final = (
    FORWARDED_FOR,
    FORWARDED_PROTO,
    "HTTP_FORWARDED",
    "HTTP_VIA",
    "HTTP_X_FORWARDED_HOST",
    "HTTP_X_FORWARDED_PORT",
    "HTTP_X_FORWARDED_PREFIX",
    "HTTP_X_FORWARDED_SERVER",
    "HTTP_X_REAL_IP",
    "HTTP_X_CLIENT_IP",
    "HTTP_TRUE_CLIENT_IP",
    "HTTP_CF_CONNECTING_IP",
)
# One person holds a whole /64 of IPv6, and may use any address of it.
IPV6_PREFIX: Final = 64
log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class TrustedProxies:
    """The proxies whose ``X-Forwarded-For`` and ``X-Forwarded-Proto`` are believed."""

    networks: tuple[Network, ...] = ()
    unix_socket: bool = False

    def __bool__(self) -> bool:
        return bool(self.networks) or self.unix_socket

    def trust(self, address: Address | None) -> bool:
        """Return whether a peer is a trusted proxy; None stands for a Unix socket."""
        if address is None:
            return self.unix_socket
        return any(address in network for network in self.networks)


def parse_proxies(values: Iterable[str]) -> TrustedProxies:
    """Parse addresses, networks (CIDR) and the word ``unix``; raise ValueError."""
    names = [value.strip() for value in values if value.strip()]
    try:
        networks = tuple(ip_network(n, strict=False) for n in names if n != UNIX)
    except ValueError as error:
        message = f"CREWSHIP_TRUSTED_PROXIES holds addresses and networks: {error}."
        raise ValueError(message) from None
    if any(network.prefixlen == 0 for network in networks):
        message = "CREWSHIP_TRUSTED_PROXIES must not trust every address."
        raise ValueError(message)
    return TrustedProxies(networks, UNIX in names)


@dataclass(frozen=True, slots=True)
class Origin:
    """Address, scheme and proxy of a request."""

    address: str
    # Whether the connection itself was opened by one of CREWSHIP_TRUSTED_PROXIES.
    is_proxied: bool
    # Whether any header says that a proxy passed it on, believed or not.
    has_forwarded_headers: bool


def _parse(text: str) -> Address | None:
    """Return an address without port, brackets and zone; None when it is none."""
    text = text.strip()
    if text.startswith("["):
        text = text[1:].partition("]")[0]
    elif text.count(":") == 1:
        text = text.partition(":")[0]
    try:
        address = ip_address(text.partition("%")[0])
    except ValueError:
        return None
    if isinstance(address, IPv6Address) and address.ipv4_mapped:
        return address.ipv4_mapped
    return address


def _client(peer: Address | None, forwarded: str, proxies: TrustedProxies) -> str:
    """Return the rightmost hop that is not a trusted proxy."""
    address = peer
    while forwarded and proxies.trust(address):
        forwarded, _, hop = forwarded.rpartition(",")
        parsed = _parse(hop)
        if parsed is None:
            break
        address = parsed
    return str(address) if address is not None else UNKNOWN


def origin(request: HttpRequest) -> Origin:
    """Return where a request comes from; the headers are read once a request."""
    cached: Origin | None = getattr(request, "_crewship_origin", None)
    if cached is not None:
        return cached
    proxies: TrustedProxies = settings.TRUSTED_PROXIES
    remote = str(request.META.get("REMOTE_ADDR") or "")
    peer = _parse(remote)
    # A peer with a name that is no address is nobody's proxy.
    is_proxied = proxies.trust(peer) if peer or remote in ("", UNIX) else False
    forwarded = str(request.META.get(FORWARDED_FOR, "")) if is_proxied else ""
    result = Origin(
        address=_client(peer, forwarded, proxies),
        is_proxied=is_proxied,
        has_forwarded_headers=any(name in request.META for name in FORWARDED_HEADERS),
    )
    request._crewship_origin = result  # type: ignore[attr-defined]
    return result


def client_address(request: HttpRequest) -> str:
    """Return the client's address: IPv4, IPv6, or ``unknown``.

    It is personal data: count with it, and keep it out of logs and tables.
    """
    return origin(request).address


def network_of(text: str) -> str:
    """Return what one client controls: an IPv4 address, or the /64 of an IPv6 one."""
    address = _parse(text)
    if isinstance(address, IPv6Address):
        return str(ip_network((address, IPV6_PREFIX), strict=False))
    return str(address) if address is not None else UNKNOWN


def client_network(request: HttpRequest) -> str:
    """Return ``network_of`` the request's client."""
    return network_of(client_address(request))


def is_loopback(request: HttpRequest) -> bool:
    """Return whether the client is on this machine with no proxy in between."""
    client = origin(request)
    address = _parse(client.address)
    if client.is_proxied or client.has_forwarded_headers or address is None:
        return False
    return address.is_loopback


@cache
def _warn_of_unknown_proxy() -> None:
    """Warn once per process that a proxy may be missing in the settings."""
    log.warning(
        "forwarded_by_unknown_proxy",
        hint="If a proxy is in front, name it in CREWSHIP_TRUSTED_PROXIES.",
    )
    with suppress(OSError):
        settings.UNKNOWN_PROXY_MARK.touch(mode=0o600)


class ClientAddressMiddleware:
    """Sets REMOTE_ADDR and the scheme from the headers; must be the first middleware.

    Other packages read REMOTE_ADDR or the forwarding headers themselves. The first is
    set to the client's address, the second are taken away, so that nobody can believe
    a forged one; X-Forwarded-Proto of a trusted proxy alone is left.
    """

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        """Read the forwarding headers, then remove them."""
        client = origin(request)
        if FORWARDED_FOR in request.META and not client.is_proxied:
            _warn_of_unknown_proxy()
        trusted_header = FORWARDED_PROTO if client.is_proxied else None
        for name in FORWARDED_HEADERS:
            if name != trusted_header:
                request.META.pop(name, None)
        request.META["REMOTE_ADDR"] = client.address
        return self.get_response(request)
