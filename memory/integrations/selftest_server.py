"""Where a run happens: a workspace of its own, two agents, and real requests."""

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


def demand(holds: object, message: str) -> None:
    """Raise Failed unless something holds."""
    if not holds:
        raise Failed(message)


class Stand:
    """Sends requests to the server of a run, as somebody.

    ``agent`` and ``other`` are two agents of one crew, new for every promise;
    ``nobody`` shows no key.
    """

    def __init__(self, http: httpx.Client, cast: parity_harness.Cast) -> None:
        self._http, self._cast = http, cast

    @property
    def house(self) -> Actor:
        """The house itself, in the workspace of the run."""
        return permissions.system(self._cast.workspace.id, "conformance")

    def agent(self, who: str = "agent") -> Agent:
        """Return one of the agents."""
        return self._cast.agents[who]

    def key(self, who: str = "agent") -> str:
        """Return somebody's key."""
        return self._cast.tokens[who]

    def send(
        self,
        method: str,
        path: str,
        body: object = None,
        *,
        who: str = "agent",
        query: Mapping[str, Any] | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> httpx.Response:
        """Send a request and return whatever comes back; redirects are not followed."""
        shown = dict(headers or {})
        if who != "nobody":
            shown["Authorization"] = f"Bearer {self.key(who)}"
        try:
            return self._http.request(
                method, path, json=body, params=query, headers=shown
            )
        except httpx.HTTPError as error:
            raise Failed(f"{method} {path}: {type(error).__name__}") from None

    def ask(
        self,
        method: str,
        path: str,
        body: object = None,
        *,
        status: int = 200,
        **more: Any,
    ) -> Any:
        """Send a request, demand its status and return its JSON, None without any."""
        found = self.send(method, path, body, **more)
        told = f"{method} {path} answered {found.status_code}, not {status}"
        demand(found.status_code == status, told)
        return found.json() if found.content else None


Try = Callable[[Stand], None]


@dataclass(frozen=True, slots=True)
class Promise:
    """One sentence, and how it is tried."""

    id: str
    says: str
    run: Try


@dataclass(slots=True, kw_only=True)
class Wire:
    """One wire: where it is, whose client speaks it, what it promises.

    ``snippets`` are titles and texts with ``{url}``, the address of the installation.
    """

    name: str
    title: str
    prefix: str
    client: str
    about: str
    snippets: Mapping[str, str]
    promises: list[Promise] = field(default_factory=list)

    def shown(self, url: str) -> list[tuple[str, str]]:
        """Return the snippets for an address, with their titles."""
        return [(name, text.format(url=url)) for name, text in self.snippets.items()]

    def promise(self, says: str) -> Callable[[Try], Try]:
        """Add a promise."""

        def add(run: Try) -> Try:
            number = f"{self.name}.{len(self.promises) + 1}"
            self.promises.append(Promise(number, says, run))
            return run

        return add


def _headers() -> dict[str, str]:
    """Return headers that make a loopback request look like one from outside."""
    hosts = [name for name in settings.ALLOWED_HOSTS if name != "*"]
    named = hosts[0].lstrip(".") if hosts else "127.0.0.1"
    return {"Host": named}


@contextmanager
def raised() -> Iterator[Callable[[], Stand]]:
    """Yield a maker of stands, each with a crew of its own; remove all of it after."""
    name = f"conformance-{secrets.token_hex(6)}"
    workspace, _ = workspaces.ensure_workspace(name, "Conformance")
    made = 0
    try:
        with (
            parity_harness.server() as url,
            httpx.Client(
                base_url=url, timeout=SECONDS, trust_env=False, headers=_headers()
            ) as http,
        ):

            def stand() -> Stand:
                nonlocal made
                made += 1
                return Stand(http, parity_harness.Cast(workspace, made))

            yield stand
    finally:
        parity_harness.strike(workspace)
