"""Where the self-test runs: a workspace of its own, two agents, real requests."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Final

import httpx
from django.conf import settings

from memory.accounts import workspaces
from memory.models import Agent
from memory.providers import parity_harness
from memory.providers.parity.base import Failed
from memory.rules import permissions
from memory.rules.permissions import Actor

SECONDS: Final = 20.0


def expect(holds: object, message: str) -> None:
    """Raise Failed with a message unless ``holds`` is true."""
    if not holds:
        raise Failed(message)


class Client:
    """Sends requests to the server of a run.

    The sender is ``agent`` or ``other``, two agents of one crew that are new for every
    promise, or ``nobody``, who sends no key.
    """

    def __init__(self, http: httpx.Client, cast: parity_harness.ParityCrew) -> None:
        self._http, self._cast = http, cast

    @property
    def system_actor(self) -> Actor:
        """The system's own actor in the workspace of the run."""
        return permissions.system(self._cast.workspace.id, "conformance")

    def agent(self, sender: str = "agent") -> Agent:
        """Return one of the two agents."""
        return self._cast.agents[sender]

    def send(
        self,
        method: str,
        path: str,
        body: object = None,
        *,
        sender: str = "agent",
        query: Mapping[str, Any] | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> httpx.Response:
        """Send a request and return the response; redirects are not followed."""
        request_headers = dict(headers or {})
        if sender != "nobody":
            request_headers["Authorization"] = f"Bearer {self._cast.tokens[sender]}"
        try:
            return self._http.request(
                method, path, json=body, params=query, headers=request_headers
            )
        except httpx.HTTPError as error:
            raise Failed(f"{method} {path}: {type(error).__name__}") from None

    def call(
        self,
        method: str,
        path: str,
        body: object = None,
        *,
        status: int = 200,
        **options: Any,
    ) -> Any:
        """Send a request, expect its status, return its JSON or None without any."""
        response = self.send(method, path, body, **options)
        message = f"{method} {path} answered {response.status_code}, not {status}"
        expect(response.status_code == status, message)
        return response.json() if response.content else None


Check = Callable[[Client], None]


@dataclass(frozen=True, slots=True)
class Promise:
    """One sentence, and the check that tries it."""

    text: str
    check: Check


@dataclass(slots=True)
class Selftest:
    """What an integration promises, in the order it is shown."""

    promises: list[Promise] = field(default_factory=list)

    def promise(self, text: str) -> Callable[[Check], Check]:
        """Return a decorator that adds a check as a promise."""

        def add(check: Check) -> Check:
            self.promises.append(Promise(text, check))
            return check

        return add


def _headers() -> dict[str, str]:
    """Return headers that make a loopback request look like one from outside."""
    hosts = [name for name in settings.ALLOWED_HOSTS if name != "*"]
    return {"Host": hosts[0].lstrip(".") if hosts else "127.0.0.1"}


@contextmanager
def running_server() -> Iterator[Callable[[], Client]]:
    """Yield a maker of clients, each with a crew of its own.

    The workspace is made before and removed after, with everything in it.
    """
    name = f"conformance-{secrets.token_hex(6)}"
    workspace, _ = workspaces.ensure_workspace(name, "Conformance")
    crew_number = 0
    try:
        with (
            parity_harness.local_server() as url,
            httpx.Client(
                base_url=url, timeout=SECONDS, trust_env=False, headers=_headers()
            ) as http,
        ):

            def new_client() -> Client:
                nonlocal crew_number
                crew_number += 1
                return Client(http, parity_harness.ParityCrew(workspace, crew_number))

            yield new_client
    finally:
        parity_harness.remove_workspace(workspace)
