"""The contract of a memory provider.

Four methods, flat frozen requests, frozen answers. The contract only ever grows: a
field may be added with a default, none is removed or retyped. All four methods are
safe from many threads at once. No message holds an address, a path or a secret.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Final, Protocol, runtime_checkable

from django.utils import timezone

from memory.rules import errors
from memory.rules.permissions import Actor

LIMIT: Final = 20
SNIPPET_CHARS: Final = 500
LOCAL_SECONDS: Final = 0.2
REMOTE_SECONDS: Final = 1.0


# ── Requests ─────────────────────────────────────────────────────────────────
@dataclass(frozen=True, slots=True, kw_only=True)
class Retain:
    """Store a text. ``mode`` is replace or append and has no default.

    ``subjects`` are the people whom the writer says the text is about.
    """

    workspace_id: str
    tier: str
    key: str
    content: str
    mode: str
    agent_id: str = ""
    crew_id: str = ""
    subjects: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Recall:
    """Search; an empty tier is every tier, the limit is capped at 20."""

    workspace_id: str
    query: str
    agent_id: str = ""
    crew_id: str = ""
    tier: str = ""
    limit: int = LIMIT


@dataclass(frozen=True, slots=True, kw_only=True)
class Forget:
    """Remove one item, or every item that names a person: exactly one selector."""

    workspace_id: str
    id: str = ""
    data_subject_id: str = ""


@dataclass(frozen=True, slots=True)
class Health:
    """Ask whether the provider works; changes nothing."""


# ── Answers ──────────────────────────────────────────────────────────────────
@dataclass(frozen=True, slots=True)
class Retained:
    """The item's canonical id, and how many bytes it holds now."""

    id: str
    bytes: int


@dataclass(frozen=True, slots=True)
class Hit:
    """One result. ``source`` is an id that Forget takes, never a path."""

    source: str
    snippet: str
    line: int | None = None
    score: float | None = None


@dataclass(frozen=True, slots=True)
class Recalled:
    """Hits, best first; ``quarantined`` are the ids of held items, for people only."""

    hits: list[Hit] = field(default_factory=list)
    quarantined: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Forgotten:
    """How many items were removed; 0 when none was left."""

    removed: int


@dataclass(frozen=True, slots=True)
class HealthStatus:
    """Whether the provider works; ``message`` is empty unless it does not."""

    ok: bool
    message: str
    checked_at: datetime


@runtime_checkable
class Provider(Protocol):
    """Keeps memory for one workspace, agent and crew."""

    def retain(self, request: Retain) -> Retained:
        """Store a text; it is durable when this returns."""
        ...

    def recall(self, request: Recall) -> Recalled:
        """Return the hits for a query, best first."""
        ...

    def forget(self, request: Forget) -> Forgotten:
        """Remove an item, or every item that names a person."""
        ...

    def health(self, request: Health) -> HealthStatus:
        """Return whether the provider works; never raises."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Binding:
    """Whose memory a provider keeps. ``by`` is the actor; an empty id is unbound."""

    by: Actor
    workspace_id: str
    agent_id: str = ""
    crew_id: str = ""


# ── Errors ───────────────────────────────────────────────────────────────────
class ProviderError(errors.AppError):
    """The base of every error of a provider."""

    code, status, title = "provider_error", 409, "The provider refused"
    sentence = "The provider could not do this."


class NotInitialized(ProviderError):
    """The provider has no binding."""

    code, status, title = "not_initialized", 503, "Not initialized"
    sentence = "not initialized"


class ScopeMismatch(ProviderError):
    """The request names another scope than the binding."""

    code, status, title = "scope_mismatch", 404, "Not found"
    sentence = "The request names another {what} than this provider is bound to."


class ExactlyOne(ProviderError):
    """Forget without a selector."""

    code, status, title = "exactly_one", 422, "No selector"
    sentence = "forget: give exactly one of id and data_subject_id."


class NotBoth(ProviderError):
    """Forget with two selectors."""

    code, status, title = "not_both", 422, "Two selectors"
    sentence = "forget: give id or data_subject_id, not both."


class UnsupportedSelector(ProviderError):
    """This provider cannot forget by person."""

    code, status, title = "unsupported_selector", 422, "Unsupported selector"
    sentence = (
        "forget: this provider does not forget by data_subject_id; the erasure cascade "
        "is a case, opened through the API."
    )


class UpstreamTimeout(ProviderError):
    """The remote provider did not answer in time."""

    code, status, title = "upstream_timeout", 503, "Upstream time-out"
    sentence = "{verb}: the provider did not answer within {seconds:g} s (time-out)."


class UpstreamRefused(ProviderError):
    """The remote provider cannot be reached, or rejected our key."""

    code, status, title = "upstream_refused", 503, "Upstream refused"
    sentence = "{verb}: the provider refused the connection or our credential."


class UpstreamForbidden(ProviderError):
    """The remote address is one to which this installation does not connect."""

    code, status, title = "upstream_forbidden", 503, "Upstream not reachable from here"
    sentence = "{verb}: {reason}"


class UpstreamBadAnswer(ProviderError):
    """The remote answer does not follow the contract."""

    code, status, title = "upstream_bad_answer", 503, "Upstream answered nonsense"
    sentence = "{verb}: the provider's answer does not follow the contract."


# The fields that a refusal may carry to the caller; all others are left out.
PUBLIC_FIELDS: Final = frozenset(
    "tier cap_bytes projected_size current_size current_entries usage held_id why"
    " label argument limit size".split()
)


class Refusal(ProviderError):
    """The error of the store behind a provider, with its own code and status."""

    code, status, title = "refusal", 409, "The provider refused"

    def __init__(self, verb: str, error: errors.AppError) -> None:
        fields: dict[str, Any] = {
            k: v for k, v in error.fields.items() if k in PUBLIC_FIELDS
        }
        detail = error.detail
        if not detail.startswith(f"{verb}:"):
            detail = f"{verb}: {detail}"
        super().__init__(detail, **fields, code=error.problem_code)
        # The class has defaults; this error answers as the wrapped one.
        vars(self)["status"] = error.status
        vars(self)["title"] = error.title


@contextmanager
def refusing(verb: str) -> Iterator[None]:
    """Turn an error of the store into a Refusal of one of the methods."""
    try:
        yield
    except errors.AppError as error:
        raise Refusal(verb, error) from error


# ── What every provider checks ─────────────────────────────────────────
def guard(binding: Binding | None, request: Retain | Recall | Forget) -> Binding:
    """Return the binding; refuse a request for another scope.

    An empty field is no override. The error names the differing field, not its value.
    """
    if binding is None or not binding.workspace_id:
        raise NotInitialized
    for name in ("workspace_id", "agent_id", "crew_id"):
        value = getattr(request, name, "")
        if value and value != getattr(binding, name):
            raise ScopeMismatch(what=name.removesuffix("_id"))
    return binding


def selector(request: Forget) -> str:
    """Return which selector a Forget uses, ``id`` or ``data_subject_id``."""
    if request.id and request.data_subject_id:
        raise NotBoth
    if not request.id and not request.data_subject_id:
        raise ExactlyOne
    return "id" if request.id else "data_subject_id"


class StoreFault(Exception):
    """Why a store cannot be used, without saying where it is."""


def health_status(message: str = "") -> HealthStatus:
    """Return a status as of now; good without a message."""
    return HealthStatus(ok=not message, message=message, checked_at=timezone.now())


def checked_status(
    binding: Binding | None, check: Callable[[Binding], None], otherwise: str
) -> HealthStatus:
    """Return the status of a local store by a check that raises when it fails.

    A StoreFault says why; for any other error ``otherwise`` is the message.
    """
    if binding is None or not binding.workspace_id:
        return health_status(NotInitialized.sentence)
    try:
        check(binding)
    except StoreFault as fault:
        return health_status(str(fault))
    except Exception:  # noqa: BLE001  (health never raises)
        return health_status(otherwise)
    return health_status()


def clamp(limit: int) -> int:
    """Return a limit within 1..20; what is out of range becomes 20."""
    return limit if 0 < limit <= LIMIT else LIMIT
