"""The contract only grows; deadlines hold; no message has an address or a key."""

from __future__ import annotations

import dataclasses
import json
import threading
from pathlib import Path

import httpx
import pytest
from django.utils import timezone

from memory.providers import base, deadline, registry, remote
from memory.providers.base import Binding, Health, HealthStatus
from memory.rules.permissions import system
from tests.waiting import LIMIT_SECONDS

SNAPSHOT = Path(__file__).parents[2] / "snapshots" / "provider_contract.json"
SHAPES = (
    base.Retain,
    base.Recall,
    base.Forget,
    base.Health,
    base.Retained,
    base.Recalled,
    base.Forgotten,
    base.Hit,
    base.HealthStatus,
)
ERRORS = (
    base.NotInitialized,
    base.ScopeMismatch,
    base.ExactlyOne,
    base.NotBoth,
    base.UnsupportedSelector,
    base.UpstreamTimeout,
    base.UpstreamRefused,
    base.UpstreamBadAnswer,
)
KEY, URL = "cmk_very-secret-key", "http://memory.internal:9000"


def _contract() -> dict[str, dict[str, str]]:
    shapes = {
        shape.__name__: {f.name: str(f.type) for f in dataclasses.fields(shape)}
        for shape in SHAPES
    }
    return {**shapes, "errors": {e.__name__: e.code for e in ERRORS}}


def test_the_contract_only_grows() -> None:
    snapshot, now = json.loads(SNAPSHOT.read_text()), _contract()
    for name, fields in snapshot.items():
        for field, kind in fields.items():
            assert now[name].get(field) == kind, f"{name}.{field} changed"
    assert now == snapshot, "A field was added: write it into the snapshot."


def test_requests_and_answers_are_frozen() -> None:
    with pytest.raises(dataclasses.FrozenInstanceError):
        base.Retained("AGENT.md", 1).id = "x"  # type: ignore[misc]


def test_retain_has_no_default_mode() -> None:
    with pytest.raises(TypeError):
        base.Retain(workspace_id="w", tier="AGENT", key="", content="x")  # type: ignore[call-arg]


def test_the_table_of_providers_is_fixed() -> None:
    with pytest.raises(TypeError):
        registry.ENTRIES["other"] = registry.entries()[0]  # type: ignore[index]


class _Hangs:
    """A store that answers only when it is released."""

    def __init__(self) -> None:
        self.let_go = threading.Event()

    def health(self, request: Health) -> HealthStatus:  # noqa: ARG002
        self.let_go.wait(LIMIT_SECONDS)
        return HealthStatus(ok=True, message="", checked_at=timezone.now())


def test_a_hung_provider_costs_no_more_than_its_deadline() -> None:
    provider = _Hangs()
    health = deadline.check_health(provider, 0.2)  # type: ignore[arg-type]
    # Here although the store still hangs; it would answer that all is well.
    provider.let_go.set()
    assert not health.ok
    assert health.message == "time-out: no answer within 200 ms"


def _remote(handler: httpx.MockTransport) -> remote.Remote:
    binding = Binding(by=system("ws_1"), workspace_id="ws_1", agent_id="agent_1")
    return remote.Remote(binding, url=URL, key=KEY, transport=handler)


def _raise(kind: type[httpx.TransportError], calls: list[str]) -> httpx.MockTransport:
    def handle(request: httpx.Request) -> httpx.Response:
        calls.append(request.url.path)
        message = f"cannot reach {URL} with {KEY}"
        raise kind(message)

    return httpx.MockTransport(handle)


RETAIN = base.Retain(
    workspace_id="ws_1", tier="AGENT", key="", content="x", mode="replace"
)
RECALL = base.Recall(workspace_id="ws_1", query="x")


@pytest.mark.parametrize(
    ("kind", "error"),
    [
        (httpx.ReadTimeout, base.UpstreamTimeout),
        (httpx.ConnectTimeout, base.UpstreamTimeout),
        (httpx.ConnectError, base.UpstreamRefused),
        (httpx.RemoteProtocolError, base.UpstreamBadAnswer),
    ],
)
def test_transport_faults_are_typed_and_silent(
    kind: type[httpx.TransportError], error: type[base.ProviderError]
) -> None:
    provider = _remote(_raise(kind, []))
    with pytest.raises(error) as caught:
        provider.retain(RETAIN)
    assert "memory.internal" not in str(caught.value)
    assert KEY not in f"{caught.value!r} {caught.value.fields} {provider!r}"
    health = provider.health(Health())
    assert not health.ok
    assert "memory.internal" not in health.message


def test_only_reads_are_tried_again() -> None:
    calls: list[str] = []
    provider = _remote(_raise(httpx.ConnectError, calls))
    for act in (lambda: provider.retain(RETAIN), lambda: provider.recall(RECALL)):
        with pytest.raises(base.UpstreamRefused):
            act()
    assert [path.rpartition("/")[2] for path in calls] == ["retain", "recall", "recall"]


@pytest.mark.parametrize(
    "answer",
    [
        httpx.Response(200, text="<html>"),
        httpx.Response(200, json=[]),
        httpx.Response(200, json={"hits": "x"}),
        httpx.Response(200, json={"hits": [{"source": 1}]}),
        httpx.Response(500, json={"code": "x", "detail": URL}),
        httpx.Response(302, headers={"Location": "http://elsewhere"}),
    ],
)
def test_an_odd_answer_is_a_bad_answer(answer: httpx.Response) -> None:
    provider = _remote(httpx.MockTransport(lambda _: answer))
    with pytest.raises(base.UpstreamBadAnswer):
        provider.recall(RECALL)


def test_what_the_other_side_says_is_made_harmless() -> None:
    detail = f"no: {URL}/x, /var/lib/crewship/data, key {KEY}, 10.0.0.7:5432"
    body = {"code": "tier_full", "detail": detail, "secret": KEY, "usage": "full"}
    provider = _remote(httpx.MockTransport(lambda _: httpx.Response(409, json=body)))
    with pytest.raises(base.Refusal) as caught:
        provider.retain(RETAIN)
    error_text = f"{caught.value} {caught.value.fields}"
    for secret in ("memory.internal", "/var/lib", KEY, "10.0.0.7"):
        assert secret not in error_text
    assert (caught.value.problem_code, caught.value.status) == ("tier_full", 409)
