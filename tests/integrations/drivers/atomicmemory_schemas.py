"""Our answers, read by the client, against the contract's own JSON Schemas."""

from __future__ import annotations

import json
import os
import uuid
from pathlib import Path
from typing import Any

import httpx
from atomicmemory import MemoryClient
from jsonschema import Draft202012Validator, FormatChecker
from referencing import Registry, Resource
from steps import Steps

steps = Steps("atomicmemory")
base = os.environ["HOUSE_URL"] + "/compat/atomicmemory"
folder = Path(os.environ["CONTRACT"])
schemas = [json.loads(path.read_text()) for path in folder.glob("*.schema.json")]
registry: Any = Registry().with_resources(
    [(document["$id"], Resource.from_contents(document)) for document in schemas]
)
root = next(
    document["$id"]
    for document in schemas
    if "provider-contract.schema" in document["$id"]
)


def check(name: str, value: Any) -> list[str]:
    """Return the schema errors of a value; formats are enforced."""
    validator = Draft202012Validator(
        {"$ref": f"{root}#/$defs/{name}"},
        registry=registry,
        format_checker=FormatChecker(),
    )
    return [error.message for error in validator.iter_errors(value)]


def expect(name: str, value: Any) -> None:
    """Record whether a value follows a schema."""
    wrong = check(name, value)
    steps.expect(f"{name} validates", not wrong, wrong or value)


def plain(shape: Any) -> Any:
    """Return a client's object as the contract's JSON."""
    text = shape.model_dump_json(by_alias=True, exclude_none=True)
    return json.loads(text)


KEYS = {"created_at": "createdAt", "updated_at": "updatedAt"} | {
    "ranking_score": "rankingScore",
    "source_url": "sourceUrl",
    "source_id": "sourceId",
}


def neutral(value: Any) -> Any:
    """Return JSON with the contract's mixed spelling."""
    if isinstance(value, dict):
        return {KEYS.get(key, key): neutral(item) for key, item in value.items()}
    if isinstance(value, list):
        return [neutral(item) for item in value]
    return value


expect("CoreCapabilities", httpx.get(f"{base}/v1/capabilities", trust_env=False).json())
memory = MemoryClient(
    providers={"atomicmemory": {"apiUrl": base, "apiKey": os.environ["HOUSE_KEY"]}}
)
memory.initialize()
scope = {"user": "s-" + uuid.uuid4().hex[:8]}
for path in sorted((folder / "conformance").glob("*.json")):
    case = json.loads(path.read_text())
    if case.get("operation") == "ingest":
        ingest_request = {
            **case["request"],
            "scope": {**case["request"]["scope"], **scope},
        }
        ingested = steps.run(
            case["name"],
            lambda ingest_request=ingest_request: memory.ingest(ingest_request),
        )
        if ingested is not None:
            expect("IngestResult", neutral(plain(ingested)))
page = steps.run(
    "search", lambda: memory.search({"query": "green PR check", "scope": scope})
)
steps.expect("the page holds hits", page is not None and len(page.results) > 0)
if page is not None:
    expect("SearchResultPage", neutral(plain(page)))
listed_page = steps.run("list", lambda: memory.list({"scope": scope}))
for row in listed_page.memories if listed_page else []:
    expect("Memory", neutral(plain(row)))
bad = {"mode": "memory", "content": "x", "scope": scope}
steps.expect("an unknown mode does not validate", bool(check("IngestInput", bad)))
memory.close()
steps.finish()
