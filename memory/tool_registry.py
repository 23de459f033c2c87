"""The registry of all tools a model may call, and the check of their arguments.

Packages register their tools at start-up; this module knows none of them. A tool
declares arguments and results as JSON Schema, the permissions its caller needs, and
whether it changes anything. HTTP and MCP offer the tools the caller may use; any other
is NotFound.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, TypeAlias

from memory.rules import entries, errors
from memory.rules.permissions import Actor

Schema: TypeAlias = dict[str, Any]
Run: TypeAlias = Callable[[Mapping[str, Any], Actor], dict[str, Any]]


def always(_by: Actor) -> bool:
    """The default of ``available``: every caller with the permissions has the tool."""
    return True


@dataclass(frozen=True, slots=True, kw_only=True)
class Tool:
    """One tool as a model sees it.

    ``needs`` are actions of the permission table; ``run`` is given checked arguments,
    answers a JSON object and raises an AppError whose sentence says what to do.
    ``destructive`` means that something is lost, ``idempotent`` that a repeat changes
    nothing more. ``available`` says whether a permitted caller has the tool at all.
    The result of a read-only tool is stored text, and MCP marks it as untrusted, unless
    the tool has done so itself (``has_own_fence``).
    """

    name: str
    title: str
    description: str
    schema: Schema
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
    def answers_stored_text(self) -> bool:
        """Whether its whole result is stored, and so untrusted, text."""
        return self.reads_only and not self.has_own_fence


def schema(required: list[str], /, *, closed: bool = True, **properties: Any) -> Schema:
    """Return the schema of an object; a ``closed`` one allows no other keys."""
    result: Schema = {"type": "object", "properties": properties, "required": required}
    return {**result, "additionalProperties": False} if closed else result


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
    if tool.checked:
        check(tool.name, tool.schema, arguments)
    return tool.run(arguments, by)


# ── Arguments ────────────────────────────────────────────────────────────────
_KINDS: Final[dict[str, tuple[type, ...]]] = {
    "string": (str,),
    "integer": (int,),
    "number": (int, float),
    "boolean": (bool,),
    "object": (dict,),
    "array": (list,),
}


def fault(name: str, message: str) -> errors.Invalid:
    """Return the refusal of one argument."""
    return errors.Invalid(message, code="bad_argument", argument=name)


def check(tool: str, rules: Schema, arguments: Mapping[str, Any]) -> None:
    """Raise Invalid when arguments do not fit a tool's schema; null is "not given".

    A number out of range is not refused here: the tool clamps it, or says why not.
    """
    properties = rules["properties"]
    if rules.get("additionalProperties") is False:
        for name in sorted(set(arguments) - set(properties)):
            raise fault(name[:40], f"{tool} knows no argument {name[:40]}.")
    for name in rules["required"]:
        if arguments.get(name) in (None, ""):
            raise fault(name, f"{name} is required.")
    for name, value in arguments.items():
        if value is not None and name in properties:
            _check_value(name, properties[name], value)


def _check_value(name: str, rule: Schema, value: object) -> None:
    kind = rule["type"]
    wrong = not isinstance(value, _KINDS[kind])
    if wrong or (isinstance(value, bool) and kind != "boolean"):
        article = "an" if kind[0] in "aio" else "a"
        raise fault(name, f"{name} is {article} {kind}.")
    if "enum" in rule and value not in rule["enum"]:
        raise fault(name, f"{name} is one of {', '.join(rule['enum'])}.")
    if isinstance(value, str):
        _check_text(name, rule, value)
    elif isinstance(value, list):
        if len(value) > rule.get("maxItems", len(value)):
            raise fault(name, f"{name} holds {rule['maxItems']} items at most.")
        for item in value:
            _check_value(name, rule["items"], item)


def _check_text(name: str, rule: Schema, value: str) -> None:
    if not entries.is_storable(value):
        raise fault(name, f"{name} holds a NUL or half a surrogate pair.")
    max_length = rule.get("maxLength")
    if max_length is not None and len(value) > max_length:
        raise fault(name, f"{name} is {max_length} characters at most.")
