"""The ``memory`` section of a ``.beaver/config.json``: camelCase in, typed values out.

A missing section means curated. Bad configuration is one ConfigError that names the
setting at fault and never its value: a key may have been put anywhere.
"""

from __future__ import annotations

import hmac
import ipaddress
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any, Final, NoReturn

import httpx
from pydantic import Field, TypeAdapter, ValidationError

from memory.rules import entries, errors
from memory.rules.json_structure import is_within
from memory.rules.translation import gettext, gettext_noop

# A shorter key may occur in a longer text by chance.
MIN_KEY_MATCH: Final = 8
DEFAULT_TOP_K: Final = 8
MAX_TOP_K: Final = 100
DEFAULT_SECONDS: Final = 10.0
DEFAULT_NAME: Final = "default"
NAME_CHARS: Final = 128
URL_CHARS: Final = 500
FILE_BYTES: Final = 1024 * 1024
VALUES: Final = 20_000
SECTION: Final = "memory"
GATEWAY: Final = "memory.gateway"
KEYS: Final = (
    "baseUrl", "userId", "userKey", "appId", "projectId", "scope", "topK",
    "timeoutSeconds",
)  # fmt: skip
_HOST: Final = re.compile(r"[A-Za-z0-9._-]+")
_TOP_K: Final = TypeAdapter(Annotated[int, Field(strict=True, ge=1, le=MAX_TOP_K)])
_SECONDS: Final = TypeAdapter(
    Annotated[float, Field(strict=True, gt=0, allow_inf_nan=False)]
)


class Mode(StrEnum):
    """Where a turn's memory comes from; hybrid is both."""

    CURATED = "curated"
    MEMORY_GATEWAY = "memory_gateway"
    HYBRID = "hybrid"


class Scope(StrEnum):
    """What a search covers, the most specific first."""

    CURRENT_CHAT = "current_chat"
    RESOURCES = "resources"
    ALL_USER_MEMORY = "all_user_memory"


# Preselected in a new set-up.
FIRST_SCOPES: Final = (Scope.CURRENT_CHAT, Scope.RESOURCES)


class ConfigError(errors.Invalid):
    """A configuration that cannot be used; its values are never repeated."""

    code, title = "bad_gateway_config", gettext_noop("Bad memory configuration")


class Secret:
    """A text that is shown only by ``reveal``, never by repr, pickle or a log."""

    __slots__ = ("_text",)

    def __init__(self, text: str) -> None:
        self._text = text

    def reveal(self) -> str:
        """Return the text; only requests and sealing need it."""
        return self._text

    def __repr__(self) -> str:
        return "Secret(…)"

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Secret):
            return NotImplemented
        return hmac.compare_digest(self._text.encode(), other._text.encode())

    def __hash__(self) -> int:
        return hash(Secret)

    def __deepcopy__(self, memo: object) -> Secret:
        return self

    def __reduce__(self) -> NoReturn:
        message = "A secret is not pickled."
        raise TypeError(message)


@dataclass(frozen=True, slots=True, kw_only=True)
class GatewayConfig:
    """A gateway's address, the credentials and how much to request."""

    base_url: str
    user_id: str
    user_key: Secret = field(repr=False)
    scope: tuple[Scope, ...]
    app_id: str = DEFAULT_NAME
    project_id: str = DEFAULT_NAME
    top_k: int = DEFAULT_TOP_K
    timeout_seconds: float = DEFAULT_SECONDS


@dataclass(frozen=True, slots=True)
class MemoryConfig:
    """The whole section; ``gateway`` is set exactly when the mode needs it."""

    mode: Mode = Mode.CURATED
    gateway: GatewayConfig | None = None


# ── One setting at a time ────────────────────────────────────────────────────
def _bad(name: str, rule: str) -> ConfigError:
    fault = {"field": name, "code": "bad_setting", "message": rule}
    return ConfigError(f"{name} {rule}.", errors=[fault])


def _section(value: object, name: str) -> Mapping[str, Any]:
    if not isinstance(value, Mapping):
        raise _bad(name, "must be an object")
    return value


def _text(section: Mapping[str, Any], key: str, default: str | None = None) -> str:
    """Return a text that is not blank; what is missing is the default, if any."""
    value, name = section.get(key, default), f"{GATEWAY}.{key}"
    if not isinstance(value, str) or not value.strip():
        raise _bad(name, gettext("must be a text that is not empty"))
    if not entries.is_storable(value) or len(value) > URL_CHARS:
        rule = gettext("must be plain text of at most {limit} characters")
        raise _bad(name, rule.format(limit=URL_CHARS))
    return value


def _name(section: Mapping[str, Any], key: str, default: str | None = None) -> str:
    value = _text(section, key, default)
    if len(value) > NAME_CHARS:
        name = f"{GATEWAY}.{key}"
        rule = gettext("must be at most {limit} characters")
        raise _bad(name, rule.format(limit=NAME_CHARS))
    return value


def _is_host(text: str) -> bool:
    try:
        ipaddress.ip_address(text)
    except ValueError:
        return _HOST.fullmatch(text) is not None
    return True


def address(text: str, name: str = f"{GATEWAY}.baseUrl") -> str:
    """Return a base address without its trailing slash, or raise ConfigError."""
    rule = gettext("must be an http or https address without user, query and fragment")
    try:
        url = httpx.URL(text.strip())
        host = url.raw_host.decode("ascii")
        bad_port = not 0 < (url.port or 443) < 2**16
    except (httpx.InvalidURL, UnicodeError, ValueError):
        raise _bad(name, rule) from None
    if url.scheme not in ("http", "https") or not _is_host(host) or bad_port:
        raise _bad(name, rule)
    if url.userinfo or url.query or url.fragment:
        raise _bad(name, rule)
    return str(url).rstrip("/")


def scopes(value: object, name: str = f"{GATEWAY}.scope") -> tuple[Scope, ...]:
    """Return the scopes named, each once, in the order given; or raise ConfigError."""
    scopes_by_name = {scope.value: scope for scope in Scope}
    rule = gettext("must be a list of at least one of {values}").format(
        values=", ".join(scopes_by_name)
    )
    if not isinstance(value, Sequence) or isinstance(value, (str, bytes)) or not value:
        raise _bad(name, rule)
    if not all(isinstance(item, str) and item in scopes_by_name for item in value):
        raise _bad(name, rule)
    return tuple(dict.fromkeys(scopes_by_name[item] for item in value))


def _top_k(value: object) -> int:
    try:
        return _TOP_K.validate_python(value)
    except ValidationError:
        rule = gettext("must be a whole number from {low} to {high}").format(
            low=1, high=MAX_TOP_K
        )
        raise _bad(f"{GATEWAY}.topK", rule) from None


def _seconds(value: object) -> float:
    try:
        return _SECONDS.validate_python(value)
    except ValidationError:
        raise _bad(
            f"{GATEWAY}.timeoutSeconds", gettext("must be a number above 0")
        ) from None


# ── The whole ────────────────────────────────────────────────────────────────
def gateway(section: object) -> GatewayConfig:
    """Return the gateway's settings from their section, or raise ConfigError."""
    fields = _section(section, GATEWAY)
    if not set(fields) <= set(KEYS):
        raise _bad(GATEWAY, f"knows only {', '.join(KEYS)}")
    config = GatewayConfig(
        base_url=address(_text(fields, "baseUrl")),
        user_id=_name(fields, "userId"),
        user_key=Secret(_text(fields, "userKey")),
        scope=scopes(fields.get("scope")),
        app_id=_name(fields, "appId", DEFAULT_NAME),
        project_id=_name(fields, "projectId", DEFAULT_NAME),
        top_k=_top_k(fields.get("topK", DEFAULT_TOP_K)),
        timeout_seconds=_seconds(fields.get("timeoutSeconds", DEFAULT_SECONDS)),
    )
    _check_key_is_alone(fields)
    return config


def _check_key_is_alone(fields: Mapping[str, Any]) -> None:
    """Refuse a key that is repeated in another field: those are shown and logged."""
    key = _text(fields, "userKey")
    other_texts = [str(value) for name, value in fields.items() if name != "userKey"]
    if key in other_texts or (
        len(key) >= MIN_KEY_MATCH and any(key in text for text in other_texts)
    ):
        rule = gettext("must not be repeated in another field")
        raise _bad(f"{GATEWAY}.userKey", rule)


def parse(document: object) -> MemoryConfig:
    """Return the memory settings of a configuration document, or raise ConfigError.

    Other sections of the document are ignored. In curated mode the gateway's section
    is not read.
    """
    section = _section(document, "The configuration").get(SECTION)
    if section is None:
        return MemoryConfig()
    fields = _section(section, SECTION)
    mode = fields.get("mode", Mode.CURATED.value)
    modes = {mode_value.value: mode_value for mode_value in Mode}
    if not isinstance(mode, str) or mode not in modes:
        raise _bad(f"{SECTION}.mode", f"must be one of {', '.join(modes)}")
    if modes[mode] is Mode.CURATED:
        return MemoryConfig()
    return MemoryConfig(modes[mode], gateway(fields.get("gateway")))


def load(path: Path) -> MemoryConfig:
    """Return the memory settings of a file; without the file memory is curated."""
    try:
        raw = path.read_bytes()
    except FileNotFoundError:
        return MemoryConfig()
    except OSError:
        raise _bad("The configuration", "cannot be read") from None
    if len(raw) > FILE_BYTES:
        raise _bad("The configuration", "is too large")
    if not is_within(raw, values=VALUES):
        raise _bad("The configuration", "nests too deep or holds too much")
    try:
        document = json.loads(raw)
    except (ValueError, RecursionError):
        raise _bad("The configuration", "is not JSON") from None
    return parse(document)
