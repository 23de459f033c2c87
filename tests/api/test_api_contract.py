"""The promise to outside programs: the OpenAPI document, and that it tells the truth.

``REGENERATE=1 pytest tests/api/test_api_contract.py`` writes the snapshot anew; the
difference belongs in the commit, where a person looks at it.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from functools import cache
from typing import Any, Final

import pytest
import schemathesis
from django.core import signals
from django.db import close_old_connections
from hypothesis import HealthCheck, Phase, given, settings
from ninja import Schema
from pydantic import BaseModel
from schemathesis.specs.openapi.checks import positive_data_acceptance

from crewship_memory.api import api
from crewship_memory.wsgi import application
from memory.rules.shapes import Strict
from tests.api.operations import BY_ID, OPERATIONS, PARTS, Operation
from tests.project.source import ROOT
from tests.world import World

SNAPSHOT: Final = ROOT / "tests" / "snapshots" / "openapi.json"
# Other ones in every run; more of them to look for something.
EXAMPLES: Final = int(os.environ.get("FUZZ_EXAMPLES", "15"))
FREE: Final = ("call_memory_tool", "call_tool")  # the tool judges their arguments


@cache
def document() -> dict[str, Any]:
    """Return the OpenAPI document as a program gets it."""
    return dict(json.loads(json.dumps(api.get_openapi_schema(path_prefix="/api/v1/"))))


@cache
def loaded_document() -> Any:
    """Return the document as the maker of requests reads it."""
    schema = schemathesis.openapi.from_dict(document())
    schema.app = application
    return schema


def operations() -> list[tuple[str, str, dict[str, Any]]]:
    """Return path, method and description of every operation."""
    return [
        (path, method, operation)
        for path, methods in document()["paths"].items()
        for method, operation in methods.items()
    ]


# ── The snapshot ─────────────────────────────────────────────────────────────
def test_the_document_is_the_one_that_was_promised() -> None:
    text = json.dumps(document(), indent=2, sort_keys=True, ensure_ascii=False) + "\n"
    if os.environ.get("REGENERATE"):
        SNAPSHOT.write_text(text, encoding="utf-8")
    assert SNAPSHOT.read_text(encoding="utf-8") == text


# ── What it says of every operation ──────────────────────────────────────────
@pytest.mark.parametrize(
    ("path", "method", "operation"),
    operations(),
    ids=[operation["operationId"] for _, _, operation in operations()],
)
def test_every_operation_tells_how_it_may_refuse(
    path: str, method: str, operation: dict[str, Any]
) -> None:
    answers = operation["responses"]
    assert {"401", "403", "404", "422", "429", "503"} <= set(answers)
    assert ("requestBody" in operation) is ({"400", "413", "415"} <= set(answers))
    assert (method != "get") is ("409" in answers)
    problems = [a for status, a in answers.items() if int(status) >= 400]
    for problem in problems:
        [(kind, content)] = problem["content"].items()
        assert kind == "application/problem+json"
        assert content["schema"] == {"$ref": "#/components/schemas/Problem"}
    is_open = BY_ID[operation["operationId"]].is_open
    assert operation.get("security") == (None if is_open else [{"KeyOrSession": []}])
    assert operation["summary"]


def test_no_two_shapes_share_a_name() -> None:
    # The document holds one shape per name: a second silently replaces the first.
    shapes: dict[str, set[str]] = {}
    pending: list[type[BaseModel]] = [Schema, Strict]
    while pending:
        kind = pending.pop()
        pending += kind.__subclasses__()
        # Integrations are not in this document.
        if ".api." in kind.__module__ and not kind.__name__.endswith("Query"):
            shapes.setdefault(kind.__name__, set()).add(kind.__module__)
    assert len(shapes) > 100
    assert {name: places for name, places in shapes.items() if len(places) > 1} == {}


def test_the_header_is_called_what_programs_send() -> None:
    header_names = {
        operation["operationId"]: parameter["name"]
        for _, _, operation in operations()
        for parameter in operation["parameters"]
        if parameter["in"] == "header"
    }
    assert header_names == {
        "append_entry": "Idempotency-Key",
        "append_batch": "Idempotency-Key",
        "save_record": "Idempotency-Key",
    }


def test_every_request_body_refuses_what_it_does_not_know() -> None:
    schemas = document()["components"]["schemas"]
    for path, _, operation in operations():
        if "requestBody" not in operation or operation["operationId"] in FREE:
            continue
        body = operation["requestBody"]["content"]["application/json"]["schema"]
        [reference] = [s["$ref"] for s in body.get("anyOf", [body]) if "$ref" in s]
        schema = schemas[reference.rpartition("/")[2]]
        assert schema["additionalProperties"] is False, path


def test_the_document_and_the_docs_page_are_open(world: World) -> None:
    anonymous = world.api("nobody")
    assert anonymous.get("/openapi.json").data["info"]["title"] == "Crewship Memory"
    page = anonymous.get("/docs")
    assert page.status == 200
    text = page.body.decode()
    assert "http://" not in text.replace("http://testserver", "")
    assert "https://" not in text


# ── Whether it is true ───────────────────────────────────────────────────────
@pytest.fixture
def _one_connection() -> Iterator[None]:
    """Keep requests from closing the connection that the test's transaction is on."""
    ends = (signals.request_started, signals.request_finished)
    for end in ends:
        end.disconnect(close_old_connections)
    yield
    for end in ends:
        end.connect(close_old_connections)


def fuzz(world: World, operation: Operation, examples: int) -> None:
    """Send made-up requests; every answer must be one the document knows."""
    declared = loaded_document().find_operation_by_id(operation.id)
    caller = operation.caller
    parts = {
        name: make(world)
        for name, make in PARTS.items()
        if f"{{{name}}}" in operation.path
    }
    headers = {"Authorization": f"Bearer {world.tokens[caller]}"}

    @settings(
        max_examples=examples,
        suppress_health_check=list(HealthCheck),
        phases=[Phase.explicit, Phase.generate],
    )
    @given(case=declared.as_strategy())
    def run(case: Any) -> None:
        for name in set(case.path_parameters or {}) & set(parts):
            if len(repr(case.body)) % 2:
                case.path_parameters[name] = parts[name]
        # Ids, cursors and subjects are well-formed and lead nowhere: that is a refusal.
        case.call_and_validate(
            headers=headers, excluded_checks=[positive_data_acceptance]
        )

    run()


@pytest.mark.usefixtures("_one_connection")
@pytest.mark.parametrize("operation", OPERATIONS, ids=lambda op: op.id)
def test_no_answer_is_undocumented(world: World, operation: Operation) -> None:
    fuzz(world, operation, EXAMPLES)
