"""Parses a caller's input: a model, or a plain mapping that becomes one."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar

import pydantic
from pydantic import BaseModel

from memory.integrations.atomicmemory.contract.errors import ValidationError
from memory.integrations.atomicmemory.contract.types import (
    INGESTS,
    Ingest,
    MessageIngest,
    TextIngest,
    VerbatimIngest,
    mode_of,
)

M = TypeVar("M", bound=BaseModel)


def _refusal(error: pydantic.ValidationError) -> ValidationError:
    faults = error.errors(include_url=False, include_input=False)[:20]
    problems = [
        {"field": ".".join(str(p)[:80] for p in f["loc"]), "message": f["msg"]}
        for f in faults
    ]
    first = problems[0]
    field = first["field"] or "request"
    return ValidationError(f"{field}: {first['message']}", context={"errors": problems})


def read(model: type[M], value: M | Mapping[str, Any]) -> M:
    """Return a request from a model or a plain mapping, or raise ValidationError."""
    if isinstance(value, model):
        return value
    plain = value.model_dump() if isinstance(value, BaseModel) else value
    try:
        return model.model_validate(plain)
    except pydantic.ValidationError as error:
        raise _refusal(error) from None


def read_ingest(value: Ingest | Mapping[str, Any]) -> Ingest:
    """Return an ingest request; ``mode`` decides its type."""
    if isinstance(value, TextIngest | MessageIngest | VerbatimIngest):
        return value
    mode = mode_of(value.get("mode"))
    model = INGESTS.get(mode) if isinstance(mode, str) else None
    if model is None:
        modes = ", ".join(INGESTS)
        raise ValidationError(f"mode: must be one of {modes}.")
    return read(model, value)
