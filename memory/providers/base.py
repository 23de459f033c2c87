"""The contract between the house and whoever keeps its memory.

Four methods, flat frozen requests, frozen answers. The contract only ever grows: a
field may be added with a default, none is removed or retyped. All four methods are
safe from many threads at once. No message tells an address, a path or a secret.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Final, Protocol, runtime_checkable

from memory.rules import errors
from memory.rules.permissions import Actor

LIMIT: Final = 20
SNIPPET_CHARS: Final = 500
LOCAL_SECONDS: Final = 0.2
REMOTE_SECONDS: Final = 1.0


# ── Requests ─────────────────────────────────────────────────────────────────
@dataclass(frozen=True, slots=True, kw_only=True)
class Retain:
    """Keep a text. ``mode`` is replace or append and has no default.

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
    """Look for text; an empty tier is every tier, the limit is capped at 20."""

    workspace_id: str
    query: str
    agent_id: str = ""
    crew_id: str = ""
    tier: str = ""
    limit: int = LIMIT


@dataclass(frozen=True, slots=True, kw_only=True)
class Forget:
    """Remove one item, or all that names a person: exactly one selector."""

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
    """One answer. ``source`` is an id that Forget takes, never a path."""

    source: str
    snippet: str
    line: int | None = None
    score: float | None = None


@dataclass(frozen=True, slots=True)
class Recalled:
    """Hits, best first; ``quarantined`` names what is held back, for people only."""

    hits: list[Hit] = field(default_factory=list)
    quarantined: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Forgotten:
    """How many items went; 0 when there was nothing any more."""

    removed: int


@dataclass(frozen=True, slots=True)
class Pulse:
    """Whether the provider works; ``message`` is empty unless it does not."""

    ok: bool
    message: str
    checked_at: datetime


@runtime_checkable
class Provider(Protocol):
    """Whoever keeps memory for one workspace, agent and crew."""

    def retain(self, request: Retain) -> Retained:
        """Keep a text; it is durable when this returns."""
        ...

    def recall(self, request: Recall) -> Recalled:
        """Return what answers a question, best first."""
        ...

    def forget(self, request: Forget) -> Forgotten:
        """Remove an item, or what names a person."""
        ...

    def health(self, request: Health) -> Pulse:
        """Tell whether the provider works; never raises."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Bound:
    """Whom a provider works for. ``by`` is who acts; empty ids are not bound."""

    by: Actor
    workspace_id: str
    agent_id: str = ""
    crew_id: str = ""


# ── Errors ───────────────────────────────────────────────────────────────────
class ProviderError(errors.HouseError):
    """The base of all that a provider refuses."""

    code, status, title = "provider_error", 409, "The provider refused"
    sentence = "The provider could not do this."


class NotInitialized(ProviderError):
    """The provider is bound to nobody."""

    code, status, title = "not_initialized", 503, "Not initialized"
    sentence = "not initialized"


class ScopeMismatch(ProviderError):
    """The request names somebody else than the provider works for."""

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
    """The other side did not answer in time."""

    code, status, title = "upstream_timeout", 503, "Upstream time-out"
    sentence = "{verb}: the provider did not answer within {seconds:g} s (time-out)."


class UpstreamRefused(ProviderError):
    """The other side is not there, or turned us away."""

    code, status, title = "upstream_refused", 503, "Upstream refused"
    sentence = "{verb}: the provider refused the connection or our credential."


class UpstreamForbidden(ProviderError):
    """The other side's address leads where this installation does not connect."""

    code, status, title = "upstream_forbidden", 503, "Upstream not reachable from here"
    sentence = "{verb}: {reason}"


class UpstreamBadAnswer(ProviderError):
    """The other side answered what is not in the contract."""

    code, status, title = "upstream_bad_answer", 503, "Upstream answered nonsense"
    sentence = "{verb}: the provider's answer does not follow the contract."


# What a refusal may tell beside its sentence; anything else stays inside.
TOLD: Final = frozenset(
    "tier cap_bytes projected_size current_size current_entries usage held_id why"
    " label argument limit size".split()
)


class Refusal(ProviderError):
    """What stands behind a provider said no; code and status are its own."""

    code, status, title = "refusal", 409, "The provider refused"

    def __init__(self, verb: str, error: errors.HouseError) -> None:
        fields: dict[str, Any] = {k: v for k, v in error.fields.items() if k in TOLD}
        detail = error.detail
        if not detail.startswith(f"{verb}:"):
            detail = f"{verb}: {detail}"
        super().__init__(detail, **fields, code=error.problem_code)
        # The class names a default; this one answers as what stands behind it did.
        vars(self)["status"] = error.status
        vars(self)["title"] = error.title


# ── What every provider checks alike ─────────────────────────────────────────
def guard(bound: Bound | None, request: Retain | Recall | Forget) -> Bound:
    """Return whom the provider works for; refuse a request for somebody else.

    An empty field is no override. The error tells which field differs, not its value.
    """
    if bound is None or not bound.workspace_id:
        raise NotInitialized
    for name in ("workspace_id", "agent_id", "crew_id"):
        asked = getattr(request, name, "")
        if asked and asked != getattr(bound, name):
            raise ScopeMismatch(what=name.removesuffix("_id"))
    return bound


def selector(request: Forget) -> str:
    """Return which selector a Forget uses, ``id`` or ``data_subject_id``."""
    if request.id and request.data_subject_id:
        raise NotBoth
    if not request.id and not request.data_subject_id:
        raise ExactlyOne
    return "id" if request.id else "data_subject_id"


def clamp(limit: int) -> int:
    """Return a limit within 1..20; what is out of range becomes 20."""
    return limit if 0 < limit <= LIMIT else LIMIT
