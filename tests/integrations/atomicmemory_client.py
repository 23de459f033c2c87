"""A client of the AtomicMemory routes, for tests."""

from __future__ import annotations

import json
from typing import Any

from django.test import Client

V1 = "/compat/atomicmemory/v1/memories"
LENA = {"user_id": "lena"}


class AtomicMemoryClient:
    """Sends requests with one credential."""

    def __init__(self, token: str | None) -> None:
        self.client = Client()
        self.headers = {"Authorization": f"Bearer {token}"} if token else {}

    def send(self, method: str, path: str, body: Any = None, **headers: str) -> Any:
        raw = body if isinstance(body, (bytes, str)) else json.dumps(body)
        return self.client.generic(
            method,
            path,
            "" if body is None else raw,
            content_type="application/json",
            headers={**self.headers, **headers},
        )

    def post(self, path: str, **body: Any) -> Any:
        return self.send("POST", V1 + path, {**LENA, **body})

    def get(self, path: str, **query: Any) -> Any:
        return self.client.get(V1 + path, {**LENA, **query}, headers=self.headers)

    def keep(self, text: str, **fields: Any) -> str:
        answer = self.post(
            "/ingest/quick", conversation=text, skip_extraction=True, **fields
        )
        assert answer.status_code == 200, answer.content
        data = answer.json()
        return str([*data["stored_memory_ids"], *data["updated_memory_ids"]][0])

    def search(self, query: str, path: str = "/search/fast", **fields: Any) -> Any:
        answer = self.post(path, query=query, **fields)
        assert answer.status_code == 200, answer.content
        return answer.json()
