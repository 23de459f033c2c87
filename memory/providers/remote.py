"""The contract over HTTP: a client of ``/api/v1/provider/*`` on another server.

Every fault becomes a typed error. Messages of the server are passed on only where the
contract names them, and without anything that looks like an address, a path or a key.
Reads are retried once when the connection cannot be made; writes never are.
"""

from __future__ import annotations

import json
import re
import time
from typing import Any, Final

import httpx
from django.conf import settings

from memory import http_out, workspace_settings
from memory.installation import encryption
from memory.measurements import tracing
from memory.providers import base
from memory.providers.base import Binding, HealthStatus, Hit, ProviderError
from memory.rules import errors
from memory.rules.json_structure import is_within
from memory.workspace_settings import declarations

NAME: Final = "remote"
PREFIX: Final = "/api/v1/provider"
CONNECT_SECONDS: Final = 2.0
READ_SECONDS: Final = 10.0
ANSWER_BYTES: Final = 4 * 1024 * 1024
ANSWER_VALUES: Final = 100_000
ERROR_TYPES: Final[dict[str, type[ProviderError]]] = {
    error.code: error
    for error in (
        base.NotInitialized,
        base.ExactlyOne,
        base.NotBoth,
        base.UnsupportedSelector,
    )
}
STATUSES: Final = (403, 404, 409, 413, 422, 429, 503)
_SECRETS: Final = re.compile(
    r"(?:\w+://\S+)|(?:cmk_\S+)|(?:(?<!\w)(?:/[\w.@-]+){2,}/?)|(?:[A-Za-z]:\\\S+)"
    r"|(?:\b\d{1,3}(?:\.\d{1,3}){3}(?::\d+)?\b)"
)
_CODE: Final = re.compile(r"[a-z][a-z0-9_]{0,60}")


class Upstream(errors.AppError):
    """A refusal by the server, in its own words without secrets."""

    code, status, title = "upstream", 409, "The provider refused"


def without_secrets(text: str, *secrets: str) -> str:
    """Return at most 400 characters of a message, without addresses, paths and keys."""
    for secret in secrets:
        if secret:
            text = text.replace(secret, "…")
    return _SECRETS.sub("…", text)[:400]


class Remote:
    """Memory kept by another server.

    Without a ``transport`` the address of every request is checked first: a private
    one needs ``private`` or the installation's setting.
    """

    def __init__(
        self,
        binding: Binding | None,
        *,
        url: str,
        key: str,
        transport: httpx.BaseTransport | None = None,
        read_seconds: float = READ_SECONDS,
        private: bool = False,
    ) -> None:
        self._binding, self._key, self._url = binding, key, url.rstrip("/")
        self._transport, self._seconds = transport, read_seconds
        self._private = private or bool(settings.PROVIDER_PRIVATE)

    # ── The four methods ─────────────────────────────────────────────────────
    def retain(self, request: base.Retain) -> base.Retained:
        """Send a text to the server."""
        binding = base.guard(self._binding, request)
        body = self._body(binding, tier=request.tier, content=request.content)
        body |= {"mode": request.mode} | ({"key": request.key} if request.key else {})
        if request.subjects:
            body["subjects"] = list(request.subjects)
        answer = self._send("retain", body, self._seconds)
        name = self._of(answer, "id", str, "retain")
        return base.Retained(name, self._of(answer, "bytes", int, "retain"))

    def recall(self, request: base.Recall) -> base.Recalled:
        """Search on the server."""
        binding = base.guard(self._binding, request)
        body = self._body(binding, query=request.query, limit=base.clamp(request.limit))
        if request.tier:
            body["tier"] = request.tier
        answer = self._send("recall", body, self._seconds)
        hits = [self._hit(item) for item in self._of(answer, "hits", list, "recall")]
        quarantined = answer.get("quarantined") or []
        if not isinstance(quarantined, list) or not all(
            isinstance(n, str) for n in quarantined
        ):
            raise base.UpstreamBadAnswer(verb="recall")
        return base.Recalled(hits[: base.LIMIT], quarantined)

    def forget(self, request: base.Forget) -> base.Forgotten:
        """Forget on the server; the selectors are checked before."""
        binding = base.guard(self._binding, request)
        name = base.selector(request)
        body = self._body(binding, **{name: getattr(request, name)})
        answer = self._send("forget", body, self._seconds)
        return base.Forgotten(self._of(answer, "removed", int, "forget"))

    def health(self, request: base.Health) -> HealthStatus:  # noqa: ARG002  (the contract's)
        """Ask the server for its health, within a second."""
        if self._binding is None or not self._binding.workspace_id:
            return base.health_status(base.NotInitialized.sentence)
        seconds = min(self._seconds, 0.9 * base.REMOTE_SECONDS)
        try:
            answer = self._send("health", None, seconds)
            ok = self._of(answer, "ok", bool, "health")
        except ProviderError as error:
            return base.health_status(error.detail)
        message = answer.get("message")
        sentence = without_secrets(str(message or "not ok"), self._key, self._url)
        return base.health_status("" if ok else sentence)

    # ── Requests ─────────────────────────────────────────────────────────────
    def _body(self, binding: Binding, **fields: Any) -> dict[str, Any]:
        ids = {"agent_id": binding.agent_id, "crew_id": binding.crew_id}
        given_ids = {name: value for name, value in ids.items() if value}
        return {"workspace_id": binding.workspace_id, **given_ids, **fields}

    def _send(
        self, verb: str, body: dict[str, Any] | None, seconds: float
    ) -> dict[str, Any]:
        tries = 1 if verb in ("retain", "forget") else 2
        while True:
            tries -= 1
            try:
                return self._read(verb, self._exchange(verb, body, seconds))
            except httpx.ConnectError:
                if not tries:
                    raise base.UpstreamRefused(verb=verb) from None
            except http_out.Unreachable as error:
                raise base.UpstreamForbidden(verb=verb, reason=str(error)) from None
            except httpx.TimeoutException:
                raise base.UpstreamTimeout(verb=verb, seconds=seconds) from None
            except (httpx.HTTPError, httpx.InvalidURL, ValueError):
                raise base.UpstreamBadAnswer(verb=verb) from None

    def _exchange(
        self, verb: str, body: dict[str, Any] | None, seconds: float
    ) -> tuple[int, bytes]:
        """Return the status and the body, which is cut off past the limit."""
        deadline = time.monotonic() + seconds
        with (
            tracing.outbound(tracing.PROVIDER) as call,
            httpx.Client(
                transport=self._transport
                or http_out.PinnedTransport(
                    private=self._private, caller="the remote provider"
                ),
                timeout=httpx.Timeout(seconds, connect=min(CONNECT_SECONDS, seconds)),
                headers={
                    "Authorization": f"Bearer {self._key}",
                    # A packed answer could be a bomb.
                    "Accept-Encoding": "identity",
                },
                follow_redirects=False,
                trust_env=False,
            ) as client,
            client.stream(
                "GET" if body is None else "POST",
                f"{self._url}{PREFIX}/{verb}",
                json=body,
            ) as response,
        ):
            call.answered(response.status_code)
            if response.headers.get("Content-Encoding", "identity") != "identity":
                raise httpx.DecodingError("packed")
            raw = bytearray()
            for piece in response.iter_bytes():
                raw += piece
                if time.monotonic() > deadline:
                    raise httpx.ReadTimeout("slow")
                if len(raw) > ANSWER_BYTES:
                    break
            return response.status_code, bytes(raw)

    def _read(self, verb: str, response: tuple[int, bytes]) -> dict[str, Any]:
        status, raw = response
        if status == 401:
            raise base.UpstreamRefused(verb=verb)
        if len(raw) > ANSWER_BYTES or not is_within(raw, values=ANSWER_VALUES):
            raise base.UpstreamBadAnswer(verb=verb)
        try:
            answer = json.loads(raw)
        except RecursionError:
            raise base.UpstreamBadAnswer(verb=verb) from None
        if not isinstance(answer, dict):
            raise base.UpstreamBadAnswer(verb=verb)
        if status == 200:
            return answer
        raise self._refusal(verb, status, answer)

    def _refusal(self, verb: str, status: int, answer: dict[str, Any]) -> ProviderError:
        """Return the error for a problem document."""
        code, detail = answer.get("code"), answer.get("detail")
        if status not in STATUSES or not isinstance(code, str):
            return base.UpstreamBadAnswer(verb=verb)
        if code in ERROR_TYPES:
            return ERROR_TYPES[code]()
        if code == base.ScopeMismatch.code:
            return base.ScopeMismatch(what="workspace, agent or crew")
        if not _CODE.fullmatch(code) or not isinstance(detail, str):
            return base.UpstreamBadAnswer(verb=verb)
        fields = {name: answer[name] for name in base.PUBLIC_FIELDS if name in answer}
        error = Upstream(
            without_secrets(detail, self._key, self._url), **fields, code=code
        )
        vars(error)["status"] = status
        return base.Refusal(verb, error)

    def _of(self, answer: dict[str, Any], name: str, kind: type, verb: str) -> Any:
        value = answer.get(name)
        if not isinstance(value, kind) or (kind is int and isinstance(value, bool)):
            raise base.UpstreamBadAnswer(verb=verb)
        return value

    def _hit(self, item: Any) -> Hit:
        if not isinstance(item, dict):
            raise base.UpstreamBadAnswer(verb="recall")
        line, score = item.get("line"), item.get("score")
        return Hit(
            source=self._of(item, "source", str, "recall"),
            snippet=self._of(item, "snippet", str, "recall")[: base.SNIPPET_CHARS],
            line=line if isinstance(line, int) else None,
            score=float(score) if isinstance(score, (int, float)) else None,
        )

    def __repr__(self) -> str:
        return "Remote()"


def make(binding: Binding | None) -> Remote:
    """Return the provider for a binding, with the workspace's address and key."""
    url = key = ""
    if binding is not None:
        url = workspace_settings.value(binding.workspace_id, declarations.REMOTE_URL)
        try:
            key = workspace_settings.secret(
                binding.workspace_id, declarations.REMOTE_KEY
            )
        except encryption.Broken:
            reason = "the remote provider's key cannot be opened; enter it again"
            raise errors.Unavailable(reason=reason) from None
    if not url or not key:
        raise errors.Unavailable(reason="the remote provider has no address or no key")
    return Remote(binding, url=url, key=key)
