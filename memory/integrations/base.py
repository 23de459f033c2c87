"""What all dialects share: a request as a call, an answer, and how to say no.

A handler takes a ``Call`` and returns JSON, or an ``Answer`` when the status is not
200. It raises the house's errors; the dialect's ``refuse`` turns them into its own
shape. The roof knocks for it: it matches the address with and without a slash, reads
JSON strictly (on DELETE too), turns the credential into an actor, counts the request,
and only then calls.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Final, TypeVar

from pydantic import BaseModel, ValidationError

from memory.accounts import api_keys
from memory.rules import errors
from memory.rules.permissions import Actor

M = TypeVar("M", bound=BaseModel)
BEARERS: Final = ("bearer", "token", "api-key")


@dataclass(frozen=True, slots=True)
class Answer:
    """What goes back: ``data`` None is an empty body."""

    data: Any = None
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)


@dataclass(slots=True, kw_only=True)
class Call:
    """One request. ``named`` are the parts of the address, ``body`` the JSON or None.

    ``kept`` is where a dialect's own ``authenticate`` leaves what its handlers need.
    """

    method: str
    named: Mapping[str, str]
    query: Mapping[str, str]
    headers: Mapping[str, str]
    body: Any = None
    actor: Actor | None = None
    kept: dict[str, Any] = field(default_factory=dict)

    @property
    def by(self) -> Actor:
        """Who asks; an open route has nobody."""
        if self.actor is None:
            raise errors.Unauthenticated
        return self.actor

    def read(self, model: type[M]) -> M:
        """Return the body as a model, or raise Invalid without repeating the body."""
        return parse(model, {} if self.body is None else self.body)

    def ask(self, model: type[M]) -> M:
        """Return the query parameters as a model; unknown ones are the model's call."""
        return parse(model, dict(self.query))


Handler = Callable[[Call], Any]


@dataclass(frozen=True, slots=True)
class Route:
    """One address below the prefix, like ``v1/memories/<id>``; ``<path:x>`` may hold /.

    The first route that fits wins, so fixed names come before ``<id>``. An open route
    asks for no credential. ``body_bytes`` is its limit where it is not the dialect's.
    """

    path: str
    methods: Mapping[str, Handler]
    is_open: bool = False
    body_bytes: int = 0


def bearer(call: Call) -> Actor | None:
    """Return the actor of a key of ours, in any way clients send one."""
    token = token_of(call.headers)
    return api_keys.authenticate(token) if token else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Dialect:
    """A wire: ``refuse`` gives an error its shape, ``authenticate`` finds who asks.

    ``reads_first`` reads the body before the credential: for one that is in the body.
    Then a body of more than 64 KiB is read only where ``is_known`` finds a key that
    works in the headers or in the first 64 KiB.
    """

    name: str
    prefix: str
    routes: tuple[Route, ...]
    refuse: Callable[[errors.HouseError], Answer]
    authenticate: Callable[[Call], Actor | None] = bearer
    reads_first: bool = False
    is_known: Callable[[Mapping[str, str], bytes], bool] | None = None
    body_bytes: int = 1024 * 1024
    body_values: int = 20_000


# ── Reading ──────────────────────────────────────────────────────────────────
def token_of(headers: Mapping[str, str]) -> str | None:
    """Return the key of a request: Bearer, Token, Api-Key, X-API-Key or Api-Key."""
    kind, _, value = headers.get("Authorization", "").partition(" ")
    if kind.lower() in BEARERS and value.strip():
        return value.strip()
    return headers.get("X-API-Key") or headers.get("Api-Key") or None


def parse(model: type[M], value: object) -> M:
    """Return a value as a model; what was sent is never repeated."""
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
    where = first["field"] or "body"
    raise errors.Invalid(f"{where}: {first['message']}", errors=faults)


def agent_only(by: Actor, action: str) -> Actor:
    """Return an agent that may act; a person's key has no memory of its own here."""
    if not by.is_agent:
        detail = "This wire serves agents: use an agent's key."
        raise errors.Forbidden(detail, code="agent_only")
    by.require(action)
    return by


def moment(value: datetime) -> str:
    """Return a time in UTC with three digits and Z, as all dialects want it."""
    return value.astimezone(UTC).isoformat(timespec="milliseconds")[:-6] + "Z"


# ── Saying no ────────────────────────────────────────────────────────────────
def headers_of(error: errors.HouseError) -> dict[str, str]:
    """Return Retry-After in whole seconds, WWW-Authenticate and Allow where due."""
    found: dict[str, str] = {}
    if error.status == errors.TooMany.status:
        found["Retry-After"] = str(error.fields.get("retry_after", 1))
    if error.status == errors.Unauthenticated.status:
        found["WWW-Authenticate"] = "Bearer"
    if "allow" in error.fields:
        found["Allow"] = str(error.fields["allow"])
    return found


def says(
    key: str, statuses: Mapping[int, int] | None = None
) -> Callable[[errors.HouseError], Answer]:
    """Return a ``refuse`` that answers ``{key: sentence}``.

    ``statuses`` translates ours into the dialect's, like 422 into 400.
    """
    table = dict(statuses or {})

    def refuse(error: errors.HouseError) -> Answer:
        status = table.get(error.status, error.status)
        return Answer({key: error.detail}, status, headers_of(error))

    return refuse
