"""The errors of the capability contract.

    AtomicMemoryError
    ├── ConfigError                  the configuration cannot work
    ├── ValidationError         422  the request is invalid
    │   └── InvalidScopeError        a scope field is missing; nothing was done
    ├── NotInitializedError     503  used before initialize
    ├── ProviderError                the provider's backend failed
    │   ├── PendingIngestError       accepted, not stored yet
    │   ├── UnsupportedOperationError  501  declared as not offered
    │   └── RateLimitError      429  too many requests
    ├── NetworkError            503  no response
    ├── StorageClientError           artifacts, and its five kinds
    └── EntitiesClientError          people, agents and sessions
    MemoryToolError             502  a model's tool failed; no details

They are AppErrors, so the API answers them like any other.
"""

from __future__ import annotations

from typing import Any

from memory.rules import errors


class AtomicMemoryError(errors.AppError):
    """The base; ``message`` is for people, ``context`` for programs."""

    code, status, title = "memory_error", 500, "The memory could not do this"
    sentence = "The memory could not do this."

    def __init__(
        self, message: str | None = None, /, *, context: dict[str, Any] | None = None
    ) -> None:
        super().__init__(message)
        self.message = self.detail
        self.context = dict(context or {})


class ConfigError(AtomicMemoryError):
    """A provider's configuration cannot work."""

    code, title = "memory_config", "Not set up"


ConfigurationError = ConfigError


class ValidationError(AtomicMemoryError):
    """The request makes no sense; nothing was touched."""

    code, status, title = "invalid", 422, "Invalid request"


class InvalidScopeError(ValidationError):
    """The scope lacks fields that the operation needs."""

    code = "invalid_scope"

    def __init__(self, operation: str, fields: list[str]) -> None:
        names = ", ".join(f"scope.{name}" for name in fields)
        super().__init__(
            f"{operation}: {names} is missing or empty.",
            context={"operation": operation, "missing": fields},
        )
        self.operation, self.missing = operation, fields


class NotInitializedError(AtomicMemoryError):
    """Used before initialize, or after close."""

    code, status, title = "not_initialized", 503, "Not initialized"
    sentence = "The provider is not initialized."


class ProviderError(AtomicMemoryError):
    """A provider's backend failed or refused; the cause is attached."""

    code, status, title = "provider_error", 502, "The provider failed"

    def __init__(
        self,
        message: str | None = None,
        /,
        *,
        provider: str = "",
        operation: str = "",
        status_code: int | None = None,
        response_body: str | None = None,
    ) -> None:
        details = {"provider": provider, "operation": operation}
        super().__init__(message, context={k: v for k, v in details.items() if v})
        self.provider, self.operation = provider, operation
        self.status_code, self.response_body = status_code, response_body


MemoryProviderError = ProviderError


class PendingIngestError(ProviderError):
    """The text was accepted but is not stored yet."""

    code = "pending_ingest"


class UnsupportedOperationError(ProviderError):
    """The provider does not support the operation."""

    code, status, title = "unsupported_operation", 501, "Not offered"


class RateLimitError(ProviderError):
    """Too many requests; the wait is in seconds."""

    code, status, title = "too_many", 429, "Too many requests"

    def __init__(
        self,
        message: str | None = None,
        /,
        *,
        retry_after_seconds: float | None = None,
        provider: str = "",
        operation: str = "",
    ) -> None:
        super().__init__(message, provider=provider, operation=operation)
        self.retry_after_seconds = retry_after_seconds
        self.fields["retry_after"] = max(1, round(retry_after_seconds or 1))

    @property
    def retry_after_ms(self) -> float | None:
        """The wait in milliseconds, as the other language's clients name it."""
        seconds = self.retry_after_seconds
        return None if seconds is None else seconds * 1_000


class NetworkError(AtomicMemoryError):
    """The provider did not respond."""

    code, status, title = "network", 503, "Nobody answered"


class MemoryToolError(errors.AppError):
    """A model's tool failed; the model gets no details."""

    code, status, title = "memory_tool", 502, "The tool failed"
    sentence = "The memory tool could not do this."


class StorageClientError(AtomicMemoryError):
    """An artifact could not be stored or read."""

    code = "storage"


class UnsupportedCapabilityError(StorageClientError):
    """The store does not offer this."""

    code, status = "unsupported_capability", 501


class ArtifactNotFoundError(StorageClientError):
    """The artifact does not exist or belongs to another user."""

    code, status = "artifact_not_found", 404


class ArtifactInUseError(StorageClientError):
    """The artifact is still in use."""

    code, status = "artifact_in_use", 409


class PointerContentNotManagedError(StorageClientError):
    """The artifact is only a pointer; its content lies elsewhere."""

    code, status = "pointer_content", 409


class FilecoinDirectStorageNotSupportedError(StorageClientError):
    """Writing to that network is not supported."""

    code, status = "filecoin_direct", 501


class EntitiesClientError(AtomicMemoryError):
    """A person, agent or session could not be read or changed."""

    code = "entities"


def of_cause(cause: Exception, *, provider: str, operation: str) -> AtomicMemoryError:
    """Return any other exception as an error of the contract.

    A refusal of ours keeps its sentence, code and status: a request that makes no sense
    (a bad filter, a damaged cursor) is a ValidationError,
    everything else a ProviderError. Of a bug only the kind is told.
    """
    if not isinstance(cause, errors.AppError):
        message = f"{operation}: the provider failed ({type(cause).__name__})."
        return ProviderError(message, provider=provider, operation=operation)
    failure: AtomicMemoryError
    if isinstance(cause, errors.Invalid):
        failure = ValidationError(f"{operation}: {cause.detail}")
    else:
        failure = ProviderError(cause.detail, provider=provider, operation=operation)
        failure.status_code = cause.status
    failure.problem_code = cause.problem_code
    failure.fields.update(cause.fields)
    # The class names a default; this one answers as what stands behind it did.
    vars(failure)["status"], vars(failure)["title"] = cause.status, cause.title
    return failure
