"""HTTP to user-supplied URLs: signed, and never to a private network (SSRF-safe).

The name is resolved once, every address is checked, and the connection goes to the
checked address, under the host's name. Redirects are not followed, proxies not used,
the response body is not read, and errors do not contain the address.
"""

from __future__ import annotations

import hmac
import ipaddress
import re
import socket
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final

import httpx
from django.conf import settings

from memory.measurements import tracing
from memory.rules import errors
from memory.rules.translation import gettext, gettext_noop

TIMEOUT: Final = 5.0
TOLERANCE_SECONDS: Final = 300
URL_LENGTH: Final = 500
NAME: Final = re.compile(r"[A-Za-z0-9._-]+")
NAT64: Final = ipaddress.IPv6Network("64:ff9b::/96")
# Why a message was not handed over; who keeps one of these tells it by ``told``.
FAULTS: Final = (
    gettext_noop("The host's name could not be resolved."),
    gettext_noop("The host has an address that {caller} may not reach."),
    gettext_noop("No answer within {count} seconds."),
    gettext_noop("The connection failed."),
    gettext_noop("Answered {status}; redirects are not followed."),
    gettext_noop("Answered {status}."),
)
Address = ipaddress.IPv4Address | ipaddress.IPv6Address


class Unreachable(Exception):
    """Why a message could not be handed over, without the address."""


@dataclass(frozen=True, slots=True)
class Message:
    """A JSON body, the secret that signs it, and additional headers."""

    url: str
    secret: str
    body: str
    headers: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Answer:
    """The status that came back, if any; ``error`` is empty when it was good."""

    status: int | None
    error: str


# ── Signing ──────────────────────────────────────────────────────────────────
def sign(secret: str, body: str, moment: int) -> str:
    """Return the signature header of a body that is sent at a Unix time."""
    mac = hmac.digest(secret.encode(), f"{moment}.{body}".encode(), "sha256")
    return f"t={moment},v1={mac.hex()}"


def verify(secret: str, header: str, body: str, *, now: float | None = None) -> bool:
    """Whether a header signs this body, and no longer ago than the tolerance."""
    moment = header.partition(",")[0].removeprefix("t=")
    if not (moment.isascii() and moment.isdigit() and len(moment) <= 12):
        return False
    if abs((time.time() if now is None else now) - int(moment)) > TOLERANCE_SECONDS:
        return False
    expected = sign(secret, body, int(moment))
    return hmac.compare_digest(expected.encode(), header.encode())


# ── Addresses ────────────────────────────────────────────────────────────────
def _inner(address: Address) -> Iterable[Address]:
    """Yield an address and the IPv4 addresses embedded in it."""
    yield address
    if isinstance(address, ipaddress.IPv6Address):
        teredo = address.teredo or ()
        yield from filter(None, (address.ipv4_mapped, address.sixtofour, *teredo))
        if address in NAT64:
            yield ipaddress.IPv4Address(int(address) & 0xFFFFFFFF)


def is_public(address: Address) -> bool:
    """Whether an address lies in no private network, however it is written."""
    if isinstance(address, ipaddress.IPv6Address) and address.ipv4_mapped:
        address = address.ipv4_mapped
    if isinstance(address, ipaddress.IPv6Address) and address.is_site_local:
        return False
    return all(
        inner.is_global and not (inner.is_multicast or inner.is_reserved)
        for inner in _inner(address)
        if not (isinstance(inner, ipaddress.IPv6Address) and inner in NAT64)
    )


def is_allowed(text: str, *, private: bool | None = None) -> bool:
    """Whether an IP address may be connected to; default: the setting for webhooks."""
    allowed = bool(settings.WEBHOOK_PRIVATE) if private is None else private
    return allowed or is_public(ipaddress.ip_address(text))


def check_url(
    text: str, *, private: bool | None = None, caller: str = gettext_noop("Webhooks")
) -> str:
    """Return a normalised user-supplied URL, or raise Invalid.

    ``private`` allows private networks; ``caller`` begins the sentence of a refusal.
    """
    try:
        url = httpx.URL(text.strip())
        host = url.raw_host.decode("ascii")
    except (httpx.InvalidURL, UnicodeError, ValueError):
        raise errors.Invalid(
            gettext("This is no web address."), code="bad_url"
        ) from None
    if url.scheme not in ("http", "https") or not host or len(str(url)) > URL_LENGTH:
        detail = gettext(
            "The address must begin with https:// or http://, and have a host."
        )
        raise errors.Invalid(detail, code="bad_url")
    if url.userinfo or url.fragment:
        detail = gettext("The address must have no user name, password or #fragment.")
        raise errors.Invalid(detail, code="bad_url")
    if not 0 < (url.port or 443) < 2**16:
        raise errors.Invalid(
            gettext("The port lies between 1 and 65535."), code="bad_url"
        )
    _check_host(host, private, caller)
    return str(url)


def _check_host(host: str, private: bool | None, caller: str) -> None:  # noqa: FBT001
    """Raise Invalid for what is no host, and for an IP address that is not allowed."""
    try:
        allowed = is_allowed(host, private=private)
    except ValueError:  # a name: checked whenever it is resolved
        if NAME.fullmatch(host):
            return
        raise errors.Invalid(
            gettext("This is no web address."), code="bad_url"
        ) from None
    if not allowed:
        detail = gettext("{caller} may not reach private addresses.").format(
            caller=gettext(caller)
        )
        raise errors.Invalid(detail, code="private_address")


def _resolve(host: str, port: int, *, private: bool | None, caller: str) -> str:
    """Return the address to connect to; one bad address refuses the whole name."""
    try:
        results = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError):
        raise Unreachable("The host's name could not be resolved.") from None
    addresses = [str(address_info[4][0]).partition("%")[0] for address_info in results]
    if not addresses or not all(
        is_allowed(address, private=private) for address in addresses
    ):
        raise Unreachable(f"The host has an address that {caller} may not reach.")
    return addresses[0]


class PinnedTransport(httpx.BaseTransport):
    """Connects to the address that was checked, under the host's own name.

    A name is resolved for every request; raise Unreachable where it leads to a private
    network and ``private`` is false. ``inner`` sends the request; default: over HTTP.
    """

    def __init__(
        self,
        *,
        private: bool | None,
        caller: str,
        inner: httpx.BaseTransport | None = None,
    ) -> None:
        self._private, self._who = private, caller
        self._inner = inner or httpx.HTTPTransport(trust_env=False)

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        """Send a request; its Host header and TLS name stay those of the host."""
        url = request.url
        host = url.raw_host.decode("ascii")
        port = url.port or (443 if url.scheme == "https" else 80)
        address = _resolve(host, port, private=self._private, caller=self._who)
        request.url = url.copy_with(host=address)
        request.extensions = {**request.extensions, "sni_hostname": host}
        return self._inner.handle_request(request)

    def close(self) -> None:
        self._inner.close()


# ── Sending ──────────────────────────────────────────────────────────────────
def _response(request: httpx.Request, transport: httpx.BaseTransport) -> httpx.Response:
    """Send a request; the body of its answer is not read."""
    with (
        tracing.outbound(tracing.WEBHOOK) as call,
        httpx.Client(
            transport=transport,
            timeout=TIMEOUT,
            trust_env=False,
            follow_redirects=False,
        ) as client,
    ):
        response = client.send(request, stream=True)
        response.close()
        call.answered(response.status_code)
        return response


def post(message: Message, transport: httpx.BaseTransport | None = None) -> Answer:
    """Send once, and return the answer's status or what went wrong."""
    signature = sign(message.secret, message.body, int(time.time()))
    headers = {
        "Content-Type": "application/json",
        "User-Agent": "crewship-memory",
        **message.headers,
        "X-Crewship-Signature": signature,
    }
    pinned = PinnedTransport(private=None, caller="webhooks", inner=transport)
    try:
        request = httpx.Request(
            "POST", check_url(message.url), content=message.body, headers=headers
        )
        response = _response(request, pinned)
    except (Unreachable, errors.Invalid) as error:
        return Answer(None, str(error))
    except httpx.TimeoutException:
        return Answer(None, f"No answer within {TIMEOUT:.0f} seconds.")
    except (httpx.HTTPError, httpx.InvalidURL):
        return Answer(None, "The connection failed.")
    if response.is_success:
        return Answer(response.status_code, "")
    hint = "; redirects are not followed" if response.is_redirect else ""
    return Answer(response.status_code, f"Answered {response.status_code}{hint}.")
