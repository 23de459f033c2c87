"""The registry of all tools a model may call, and the check of their arguments.

Packages register their tools at start-up; this module knows none of them. A tool
declares its arguments as a model and its results as JSON Schema, the permissions its
caller needs, and whether it changes anything. HTTP and MCP offer the tools the caller
may use; any other is NotFound.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cache
from typing import Annotated, Any, Final, TypeAlias, TypeVar

from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    StrictFloat,
    StrictInt,
    ValidationError,
    WithJsonSchema,
    model_validator,
)
from pydantic.json_schema import GenerateJsonSchema, JsonSchemaValue
from pydantic_core import PydanticCustomError, core_schema

from memory.rules import entries, errors
from memory.rules.permissions import Actor

Schema: TypeAlias = dict[str, Any]
# The arguments are the tool's model, or as they came where it checks them itself.
Run: TypeAlias = Callable[[Any, Actor], dict[str, Any]]


def schema(
    required: list[str] | None = None, /, *, closed: bool = True, **properties: Any
) -> Schema:
    """Return the schema of an object; all is required unless ``required`` says less.

    A ``closed`` one allows no other keys.
    """
    names = list(properties) if required is None else required
    result: Schema = {"type": "object", "properties": properties, "required": names}
    return {**result, "additionalProperties": False} if closed else result


# ── Arguments ────────────────────────────────────────────────────────────────
def _storable(text: str) -> str:
    if not entries.is_storable(text):
        raise PydanticCustomError("text", "A NUL or half a surrogate pair is no text")
    return text


STORABLE: Final = AfterValidator(_storable)
Text = Annotated[str, STORABLE]
Integer = StrictInt
Number = StrictFloat
Object = Annotated[dict[str, Any], WithJsonSchema({"type": "object"})]


def choice(values: Iterable[StrEnum]) -> WithJsonSchema:
    """Return how the schema of an argument states what may be chosen."""
    return WithJsonSchema({"type": "string", "enum": [item.value for item in values]})


class _PlainSchema(GenerateJsonSchema):
    """Generates schemas without titles, defaults and null, which is "not given"."""

    def field_title_should_be_set(self, schema: object) -> bool:  # noqa: ARG002
        return False

    def default_schema(self, schema: core_schema.WithDefaultSchema) -> JsonSchemaValue:
        return self.generate_inner(schema["schema"])

    def nullable_schema(self, schema: core_schema.NullableSchema) -> JsonSchemaValue:
        return self.generate_inner(schema["schema"])


class Arguments(BaseModel):
    """The arguments of a tool; null, and empty text for a required one, is none.

    A range that is in the schema only (``json_schema_extra``) is not refused here: the
    tool clamps such a number, or says why not.
    """

    model_config = ConfigDict(extra="forbid", allow_inf_nan=False)

    @model_validator(mode="before")
    @classmethod
    def _without_empty(cls, arguments: Mapping[str, Any]) -> dict[str, Any]:
        present = dict(arguments)
        for name, rule in cls.model_fields.items():
            absent = (None, "") if rule.is_required() else (None,)
            if present.get(name) in absent:
                present.pop(name, None)
        return present

    @classmethod
    @cache
    def input_schema(cls) -> Schema:
        """Return the JSON Schema that clients see."""
        full = cls.model_json_schema(schema_generator=_PlainSchema)
        closed = full["additionalProperties"] is False
        return schema(full.get("required", []), closed=closed, **full["properties"])


class OpenArguments(Arguments):
    """Arguments among which unknown ones are allowed: they are in ``model_extra``."""

    model_config = ConfigDict(extra="allow")


A = TypeVar("A", bound=Arguments)
_MESSAGES: Final = {
    "missing": "{name} is required.",
    "extra_forbidden": "There is no argument {name}.",
}


def fault(name: str, message: str) -> errors.Invalid:
    """Return the refusal of one argument."""
    return errors.Invalid(message, code="bad_argument", argument=name)


def parse(model: type[A], arguments: Mapping[str, Any]) -> A:
    """Return the arguments as a tool's model, or raise Invalid; no value is echoed."""
    try:
        return model.model_validate(arguments)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
    # Half a surrogate pair in a name: the fault has no place.
    name = str(first["loc"][0])[:40] if first["loc"] else "arguments"
    message = _MESSAGES.get(first["type"], "{name}: {reason}.")
    raise fault(name, message.format(name=name, reason=first["msg"]))


# ── Tools ────────────────────────────────────────────────────────────────────
def always(_by: Actor) -> bool:
    """The default of ``available``: every caller with the permissions has the tool."""
    return True


@dataclass(frozen=True, slots=True, kw_only=True)
class Tool:
    """One tool as a model sees it.

    ``needs`` are actions of the permission table; ``run`` is given the arguments,
    answers a JSON object and raises an AppError whose sentence says what to do.
    ``destructive`` means that something is lost, ``idempotent`` that a repeat changes
    nothing more. ``available`` says whether a permitted caller has the tool at all.
    The result of a read-only tool is stored text, and MCP marks it as untrusted, unless
    the tool has done so itself (``has_own_fence``).
    """

    name: str
    title: str
    description: str
    arguments: type[Arguments]
    run: Run
    answers: Schema = field(default_factory=lambda: {"type": "object"})
    needs: tuple[str, ...] = ("tools.call",)
    reads_only: bool = False
    destructive: bool = False
    idempotent: bool = False
    # Whether the registry checks arguments; otherwise ``run`` does, in its own words.
    checked: bool = True
    available: Callable[[Actor], bool] = always
    has_own_fence: bool = False

    @property
    def schema(self) -> Schema:
        """The JSON Schema of its arguments."""
        return self.arguments.input_schema()

    @property
    def answers_stored_text(self) -> bool:
        """Whether its whole result is stored, and so untrusted, text."""
        return self.reads_only and not self.has_own_fence


# ── The registry ─────────────────────────────────────────────────────────────
_registry: dict[str, Tool] = {}


def register(tools: Iterable[Tool]) -> None:
    """Add or replace tools; called at start-up, idempotent."""
    _registry.update({tool.name: tool for tool in tools})


def registered() -> list[Tool]:
    """Return every tool, in the order of registration."""
    return list(_registry.values())


def find(name: str) -> Tool | None:
    return _registry.get(name)


def is_offered(tool: Tool, by: Actor) -> bool:
    """Whether an actor may use a tool."""
    return all(by.can(action) for action in tool.needs) and tool.available(by)


def call(tool: Tool, arguments: Mapping[str, Any], *, by: Actor) -> dict[str, Any]:
    """Check permission and arguments and run; every refusal is an AppError.

    Raises NotFound for a tool that is not available to the caller.
    """
    for action in tool.needs:
        by.require(action)
    if not tool.available(by):
        raise errors.NotFound
    return tool.run(parse(tool.arguments, arguments) if tool.checked else arguments, by)
