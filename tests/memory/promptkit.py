"""The contract vectors as data, and four ways to run one: two stores, HTTP and MCP."""

from __future__ import annotations

import itertools
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final, Protocol

from django.test import Client

from memory.accounts import api_keys, workspaces
from memory.integrations import agent_tools
from memory.integrations.promptkit import executor
from memory.integrations.promptkit.executor import Executor
from memory.integrations.promptkit.testing import InMemoryStore
from memory.rules import errors, permissions, prompt_fence
from memory.rules.permissions import Actor
from tests.world import World

VECTORS: Final = json.loads(
    (Path(__file__).parent / "promptkit_vectors.json").read_text(encoding="utf-8")
)
TIME: Final = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z")
_numbers = itertools.count()


class Answer(dict[str, Any]):
    """A result; ``error`` alone is a refusal."""


class Runner(Protocol):
    """Calls a tool and returns its result, or ``{"error": sentence}``."""

    def __call__(self, tool: str, arguments: dict[str, Any]) -> dict[str, Any]: ...


def actor_and_token(world: World) -> tuple[Actor, str]:
    """Return a new agent, and its key."""
    system_actor = permissions.system(world.acme.id)
    crew = world.crews["support"]
    slug = f"v{next(_numbers)}"
    agent, _ = workspaces.ensure_agent(slug, crew, by=system_actor)
    token = api_keys.issue_agent_key(agent, by=system_actor).token
    actor = api_keys.authenticate(token)
    assert actor is not None
    return actor, token


def _python(tool_executor: Executor) -> Runner:
    def run(tool: str, arguments: dict[str, Any]) -> dict[str, Any]:
        try:
            return tool_executor.execute(executor.descriptor(tool), arguments)
        except errors.AppError as error:
            return {"error": error.detail}

    return run


def in_list(_world: World) -> Runner:
    """PromptKit's own test store."""
    return _python(Executor(InMemoryStore(), {"agent_id": "a", "user_id": "u"}))


def in_records(world: World) -> Runner:
    """Our records, called in Python."""
    actor, _ = actor_and_token(world)
    return _python(agent_tools.executor_for(actor))


def over_http(world: World) -> Runner:
    """Our records over HTTP."""
    _, token = actor_and_token(world)
    world.tokens["vector"] = token
    api = world.api("vector")

    def run(tool: str, arguments: dict[str, Any]) -> dict[str, Any]:
        reply = api.post(f"/tools/{tool}", json.dumps(arguments))
        if reply.status != 200:
            return {"error": reply.data["detail"]}
        return dict(reply.data)

    return run


def speak(
    client: Client, token: str, method: str, params: dict[str, Any] | None = None
) -> Any:
    """Send one JSON-RPC request as a client of 2025 does; return the whole message."""
    body = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params or {}}
    reply = client.post(
        "/mcp",
        json.dumps(body),
        content_type="application/json",
        headers={"Authorization": f"Bearer {token}"},
    )
    return json.loads(reply.content)


def over_mcp(world: World) -> Runner:
    """Our records over MCP."""
    _, token = actor_and_token(world)
    client = Client(enforce_csrf_checks=True)

    def run(tool: str, arguments: dict[str, Any]) -> dict[str, Any]:
        params = {"name": tool, "arguments": arguments}
        result = speak(client, token, "tools/call", params)["result"]
        if result["isError"]:
            return {"error": result["content"][0]["text"]}
        data = result["structuredContent"]
        text = result["content"][0]["text"]
        if text.startswith(f"<{prompt_fence.TAG} "):
            # What somebody stored stands between marks, on the one line of its own.
            text = text.splitlines()[2]
        assert json.loads(text) == data
        return dict(data)

    return run


RUNNERS: Final[dict[str, Callable[[World], Runner]]] = {
    "test store": in_list,
    "records": in_records,
    "http": over_http,
    "mcp": over_mcp,
}


# ── Comparing ────────────────────────────────────────────────────────────────
class Matcher:
    """Compares a result with the expected one, and records the ids."""

    def __init__(self) -> None:
        self.known: dict[str, str] = {}

    def fill(self, value: Any) -> Any:
        """Return arguments with the ids in them."""
        if isinstance(value, dict):
            return {name: self.fill(item) for name, item in value.items()}
        return self.known.get(value, value) if isinstance(value, str) else value

    def _text(self, expected: str, actual: Any) -> bool:
        if expected.startswith("$"):
            return bool(self.known.setdefault(expected, actual) == actual)
        return bool(expected == actual)

    def _special(self, expected: dict[str, Any], actual: Any) -> bool | None:
        if "$kind" in expected:
            return isinstance(actual, str) and TIME.fullmatch(actual) is not None
        if "$set" in expected:
            rest = list(expected["$set"])
            hits = [next((w for w in rest if self.fits(w, f)), None) for f in actual]
            return len(actual) == len(rest) and None not in hits
        return None

    def fits(self, expected: Any, actual: Any) -> bool:
        if isinstance(expected, dict):
            special = self._special(expected, actual)
            if special is not None:
                return special
            return isinstance(actual, dict) and all(
                name not in actual
                if item == {"$absent": True}
                else name in actual and self.fits(item, actual[name])
                for name, item in expected.items()
            )
        if isinstance(expected, list):
            pairs = zip(expected, actual, strict=False)
            return len(expected) == len(actual) and all(
                self.fits(w, f) for w, f in pairs
            )
        if isinstance(expected, str):
            return self._text(expected, actual)
        return bool(expected == actual)


def plain(answers: list[dict[str, Any]]) -> Any:
    """Return answers with ids numbered, times and scopes taken out, to compare."""
    text = json.dumps(answers, sort_keys=True)
    text = TIME.sub("time", text)
    names: dict[str, str] = {}
    ids = re.compile(r"(rec_[0-9a-f]{16}|mem_\d+)")
    text = ids.sub(lambda m: names.setdefault(m[1], f"id {len(names)}"), text)
    return json.loads(re.sub(r'"scope": {[^}]*}', '"scope": {}', text))
