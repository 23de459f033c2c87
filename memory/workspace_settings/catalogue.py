"""The catalogue of settings, in the order of declaration."""

from __future__ import annotations

from typing import Any, TypeVar

from memory.rules import errors
from memory.rules.settings import Setting

T = TypeVar("T")
_declared: dict[str, Setting[Any]] = {}


def declare(setting: Setting[T]) -> Setting[T]:
    """Add a setting at start-up; names are unique."""
    if setting.name in _declared:
        message = f"There is a setting {setting.name} already."
        raise RuntimeError(message)
    _declared[setting.name] = setting
    return setting


def declared() -> list[Setting[Any]]:
    """Return every setting, those of one group together."""
    groups = list(dict.fromkeys(setting.group for setting in _declared.values()))
    return sorted(_declared.values(), key=lambda setting: groups.index(setting.group))


def by_name(name: str) -> Setting[Any]:
    """Return a setting by its name, or raise NotFound."""
    setting = _declared.get(name)
    if setting is None:
        raise errors.NotFound
    return setting
