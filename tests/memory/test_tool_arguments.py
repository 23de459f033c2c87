"""The arguments of tools: the schemas that clients see, and the check before a run."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Final

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory import tool_registry
from memory.rules import errors
from memory.tool_registry import Tool

SNAPSHOT: Final = Path(__file__).parents[1] / "snapshots" / "tool_schemas.json"
SECRET: Final = "sesame-735182"
TOOLS: Final = {tool.name: tool for tool in tool_registry.registered()}
# The values of no kind that a rule names; every one of them is refused.
WRONG: Final[dict[str, list[Any]]] = {
    "string": [7, 1.5, True, [SECRET], {SECRET: 1}, f"{SECRET}\x00", f"{SECRET}\ud800"],
    "integer": [SECRET, "7", 7.5, 7.0, True, [7], {}],
    "number": [SECRET, "7", True, False, [7], {}, float("nan"), float("inf")],
    "array": [SECRET, {SECRET: 1}, 7, [7351], [None], [f"{SECRET}\x00"]],
    "object": [SECRET, [], 7, True],
}


def fitting(rule: dict[str, Any]) -> st.SearchStrategy[Any]:
    """Return values that fit the schema of one argument."""
    if "enum" in rule:
        return st.sampled_from(rule["enum"])
    if rule["type"] == "string":
        letters = st.characters(exclude_characters="\x00", exclude_categories=["Cs"])
        size = min(rule.get("maxLength", 20), 20)
        return st.text(letters, min_size=1, max_size=size)
    if rule["type"] == "integer":
        return st.integers(rule.get("minimum"), rule.get("maximum"))
    if rule["type"] == "number":
        return st.floats(allow_nan=False, allow_infinity=False) | st.integers(-9, 9)
    if rule["type"] == "array":
        return st.lists(
            fitting(rule["items"]), max_size=min(rule.get("maxItems", 4), 4)
        )
    return st.dictionaries(st.text(), st.none() | st.integers() | st.text())


@st.composite
def calls(draw: st.DrawFn) -> tuple[Tool, dict[str, Any]]:
    """Draw a tool and arguments that fit it; null stands for "not given"."""
    tool = TOOLS[draw(st.sampled_from(sorted(TOOLS)))]
    properties, required = tool.schema["properties"], tool.schema["required"]
    arguments = {}
    for name, rule in properties.items():
        value = fitting(rule) if name in required else st.none() | fitting(rule)
        if name in required or draw(st.booleans()):
            arguments[name] = draw(value)
    return tool, arguments


def refusal(tool: Tool, arguments: dict[str, Any]) -> errors.Invalid:
    """Return the refusal of arguments; it repeats nothing of what was sent."""
    with pytest.raises(errors.Invalid) as caught:
        tool_registry.parse(tool.arguments, arguments)
    refused = caught.value
    assert refused.problem_code == "bad_argument"
    assert "7351" not in refused.detail and "sesame" not in refused.detail
    assert str(refused.fields["argument"]) in refused.detail
    return refused


def test_clients_see_the_schemas_that_were_agreed() -> None:
    schemas = {
        name: {**tool.schema, "required": sorted(tool.schema["required"])}
        for name, tool in TOOLS.items()
    }
    assert schemas == json.loads(SNAPSHOT.read_text(encoding="utf-8"))


@given(calls())
def test_what_fits_the_schema_is_accepted(call: tuple[Tool, dict[str, Any]]) -> None:
    tool, arguments = call
    parsed = tool_registry.parse(tool.arguments, arguments)
    for name, value in arguments.items():
        default = tool.arguments.model_fields[name].default
        assert getattr(parsed, name) == (default if value is None else value)


@given(calls(), st.data())
def test_one_wrong_argument_is_refused_by_its_name(
    call: tuple[Tool, dict[str, Any]], data: st.DataObject
) -> None:
    tool, arguments = call
    properties = tool.schema["properties"]
    name = data.draw(st.sampled_from(sorted(properties)))
    rule = properties[name]
    wrong = list(WRONG[rule["type"]])
    wrong += [SECRET, ""] if "enum" in rule else []
    wrong += [SECRET * rule["maxLength"]] if "maxLength" in rule else []
    wrong += [[SECRET] * (rule["maxItems"] + 1)] if "maxItems" in rule else []
    value = data.draw(st.sampled_from(wrong))
    assert refusal(tool, {**arguments, name: value}).fields == {"argument": name}


@given(calls(), st.sampled_from(["missing", "null", "empty"]))
def test_a_required_argument_is_given(
    call: tuple[Tool, dict[str, Any]], how: str
) -> None:
    tool, arguments = call
    for name, field in tool.arguments.model_fields.items():
        if field.is_required():
            left = {**arguments, name: None if how == "null" else ""}
            if how == "missing":
                del left[name]
            refused = refusal(tool, left)
            assert refused.detail == f"{name} is required."


@given(calls(), st.sampled_from([None, SECRET]))
def test_an_unknown_argument_is_refused_or_kept(
    call: tuple[Tool, dict[str, Any]], value: str | None
) -> None:
    tool, arguments = call
    more = {**arguments, "nonsense": value}
    if tool.schema.get("additionalProperties", True):
        parsed = tool_registry.parse(tool.arguments, more)
        assert parsed.model_extra == {"nonsense": value}
    else:
        assert refusal(tool, more).fields == {"argument": "nonsense"}
        long_name = {**arguments, "n" * 500: value}
        assert refusal(tool, long_name).fields == {"argument": "n" * 40}


def test_ranges_are_advice_and_a_model_may_search_for_everything() -> None:
    search = TOOLS["memory.search"].arguments
    for limit in (-1, 0, 10**9):
        narrow = {"q": "kiln", "limit": limit}
        assert tool_registry.parse(search, narrow).limit == limit  # type: ignore[attr-defined]
    recall = TOOLS["memory__recall"].arguments
    for everything in ({}, {"query": ""}, {"query": None}):
        assert tool_registry.parse(recall, everything).query == ""  # type: ignore[attr-defined]


@given(calls())
def test_a_name_that_is_no_text_is_refused(
    call: tuple[Tool, dict[str, Any]],
) -> None:
    tool, arguments = call
    refused = refusal(tool, {**arguments, "sesame\ud800": SECRET})
    assert refused.fields == {"argument": "arguments"}
