"""What integrations share: their description, a request as a call, error responses.

A handler takes a ``Call`` and returns JSON, or an ``Answer`` when the status is not
200. It raises errors of ``memory.rules.errors``; the dialect's ``refuse`` turns them
into its own shape. Before a handler is called, ``crewship_memory/integrations.py``
matches the address with and without a slash, reads JSON strictly (on DELETE too), turns
the credential into an actor and counts the request.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Final, Literal, TypeVar

from pydantic import BaseModel, ValidationError

from memory.accounts import api_keys
from memory.integrations.selftest_server import Selftest
from memory.rules import errors
from memory.rules.permissions import Actor

M = TypeVar("M", bound=BaseModel)
BEARERS: Final = ("bearer", "token", "api-key")


@dataclass(frozen=True, slots=True)
class Answer:
    """A response; ``data`` None is an empty body."""

    data: Any = None
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)


@dataclass(slots=True, kw_only=True)
class Call:
    """One request.

    ``path_params`` are the ``<name>`` parts of the route, ``body`` the JSON or None.
    A dialect's own ``authenticate`` leaves what its handlers need in ``state``.
    """

    method: str
    path_params: Mapping[str, str]
    query: Mapping[str, str]
    headers: Mapping[str, str]
    body: Any = None
    actor: Actor | None = None
    state: dict[str, Any] = field(default_factory=dict)

    @property
    def by(self) -> Actor:
        """The authenticated actor; Unauthenticated on an open route."""
        if self.actor is None:
            raise errors.Unauthenticated
        return self.actor

    def read(self, model: type[M]) -> M:
        """Return the body as a model, or raise Invalid without repeating the body."""
        return parse(model, {} if self.body is None else self.body)

    def read_query(self, model: type[M]) -> M:
        """Return the query parameters as a model, or raise Invalid."""
        return parse(model, dict(self.query))


Handler = Callable[[Call], Any]


@dataclass(frozen=True, slots=True)
class Route:
    """One address below the prefix, like ``v1/memories/<id>``; ``<path:x>`` may hold /.

    The first route that matches wins, so fixed names come before ``<id>``. An open
    route needs no credential.
    """

    path: str
    methods: Mapping[str, Handler]
    is_open: bool = False


def bearer(call: Call) -> Actor | None:
    """Return the actor of one of our keys, in any header clients send one in."""
    token = token_of(call.headers)
    return api_keys.authenticate(token) if token else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Dialect:
    """Another system's HTTP API: its prefix, routes and shape of errors.

    ``refuse`` turns an error into a response, ``authenticate`` a request into an actor.
    ``reads_first`` reads the body before the credential: for one that is in the body.
    Then a body of more than 64 KiB is read only where ``is_known`` finds a key that
    works in the headers or in the first 64 KiB.
    """

    prefix: str
    routes: tuple[Route, ...]
    refuse: Callable[[errors.AppError], Answer]
    authenticate: Callable[[Call], Actor | None] = bearer
    reads_first: bool = False
    is_known: Callable[[Mapping[str, str], bytes], bool] | None = None
    body_bytes: int = 1024 * 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class Integration:
    """One folder of this package, as the registry and the page know it.

    ``address`` is what the page shows; ``dialect`` is None where nothing is mounted
    for it (MCP and PromptKit's tools have addresses of their own). ``client`` names the
    versions it is tested with. ``snippets`` are titles and texts with ``{url}``, the
    address of the installation. ``key_of`` says whose key its clients send.
    """

    name: str
    title: str
    address: str
    client: str
    summary: str
    snippets: Mapping[str, str]
    selftest: Selftest
    dialect: Dialect | None = None
    key_of: Literal["agent", "user"] = "agent"

    def snippets_for(self, url: str, key: str = "") -> list[tuple[str, str]]:
        """Return the snippets for an address, with their titles."""
        return [(title, fill(text, url, key)) for title, text in self.snippets.items()]


def fill(snippet: str, url: str, key: str = "") -> str:
    """Return a snippet for an address; with a key, that stands where one belongs."""
    text = snippet.format(url=url)
    if not key:
        return text
    text = text.replace('KEY = "…"  # an agent\'s key', f'KEY = "{key}"')
    return text.replace("${CREWSHIP_KEY}", key).replace("$CREWSHIP_KEY", key)


# ── Reading ──────────────────────────────────────────────────────────────────
def token_of(headers: Mapping[str, str]) -> str | None:
    """Return the key of a request: Bearer, Token, Api-Key, X-API-Key or Api-Key."""
    kind, _, value = headers.get("Authorization", "").partition(" ")
    if kind.lower() in BEARERS and value.strip():
        return value.strip()
    return headers.get("X-API-Key") or headers.get("Api-Key") or None


def parse(model: type[M], value: object) -> M:
    """Return a value as a model, or raise Invalid; the value is never echoed."""
    try:
        return model.model_validate(value)
    except ValidationError as error:
        faults = [
            {
                "field": ".".join(str(part)[:80] for part in fault["loc"])[:200],
                "code": fault["type"],
                "message": fault["msg"],
            }
            for fault in error.errors(include_url=False, include_input=False)[:20]
        ]
    first = faults[0]
    field_path = first["field"] or "body"
    raise errors.Invalid(f"{field_path}: {first['message']}", errors=faults)


def agent_only(by: Actor, action: str) -> Actor:
    """Return the actor if it is an agent that may act, or raise Forbidden."""
    if not by.is_agent:
        detail = "This connection serves agents: use an agent's key."
        raise errors.Forbidden(detail, code="agent_only")
    by.require(action)
    return by


def moment(value: datetime) -> str:
    """Return a time in UTC with milliseconds and Z, as all dialects write it."""
    return value.astimezone(UTC).isoformat(timespec="milliseconds")[:-6] + "Z"


# ── Errors ───────────────────────────────────────────────────────────────────
def headers_of(error: errors.AppError) -> dict[str, str]:
    """Return Retry-After in whole seconds, WWW-Authenticate and Allow where due."""
    headers: dict[str, str] = {}
    if error.status == errors.TooMany.status:
        headers["Retry-After"] = str(error.fields.get("retry_after", 1))
    if error.status == errors.Unauthenticated.status:
        headers["WWW-Authenticate"] = "Bearer"
    if "allow" in error.fields:
        headers["Allow"] = str(error.fields["allow"])
    return headers


def refuse_with_detail(error: errors.AppError) -> Answer:
    """Return an error as ``{detail}``."""
    return Answer({"detail": error.detail}, error.status, headers_of(error))
