"""A client of the gateway routes, for tests."""

from __future__ import annotations

import itertools
import json
from typing import Any

from django.test import Client

from memory.integrations.gateway import users

clock = itertools.count(1_772_366_400_000)


class GatewayClient:
    """Sends requests as one user."""

    def __init__(self, issued: users.IssuedUser, **fields: Any) -> None:
        self.token, self.key = issued.token, issued.key
        self.who = {"user_id": issued.key.user_id, "user_key": issued.token, **fields}
        self.client = Client(enforce_csrf_checks=True, raise_request_exception=False)

    def raw(self, operation: str, body: Any, path: str = "") -> Any:
        """Post a body unchanged."""
        raw = body if isinstance(body, (bytes, str)) else json.dumps(body)
        return self.client.post(
            path or f"/gateway/memories/{operation}", raw, "application/json"
        )

    def call(self, operation: str, **body: Any) -> Any:
        """Post a body with credentials, expect 200 and return the JSON."""
        reply = self.raw(operation, {**self.who, **body})
        assert reply.status_code == 200, reply.content
        return reply.json()

    def add(self, text: str, chat: str = "chat:c1", **fields: Any) -> Any:
        """Add one message."""
        message = {
            "sender_id": "mia",
            "role": "user",
            "timestamp": next(clock),
            "content": text,
        }
        return self.call("add", session_id=chat, messages=[{**message, **fields}])

    def search(self, query: str, scope: list[str], **fields: Any) -> list[Any]:
        """Return the results."""
        body = {"query": query, "scope": scope, "conversation_id": "c1", **fields}
        results = self.call("search", **body)["results"]
        assert isinstance(results, list)
        return results

    def texts(self, query: str, scope: list[str], **fields: Any) -> set[str]:
        """Return the texts found."""
        return {hit["text"] for hit in self.search(query, scope, **fields)}
