"""The ``memory`` section: defaults, every rule, and no value in any message."""

from __future__ import annotations

import copy
import json
import pickle
from dataclasses import asdict, fields
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory.integrations.gateway import config
from memory.integrations.gateway.config import (
    ConfigError,
    GatewayConfig,
    MemoryConfig,
    Mode,
    Scope,
    Secret,
)

KEY = "uk_very-secret-0123456789"
FULL: dict[str, Any] = {
    "baseUrl": "https://memory.example/base/",
    "userId": "mia",
    "userKey": KEY,
    "appId": "shop",
    "projectId": "desk",
    "scope": ["current_chat", "resources"],
    "topK": 12,
    "timeoutSeconds": 2.5,
}


def document(mode: object = "memory_gateway", **overrides: Any) -> dict[str, Any]:
    """Return a configuration; a setting that is changed to ... is left out."""
    section = {k: v for k, v in {**FULL, **overrides}.items() if v is not ...}
    return {"theme": "dark", "memory": {"mode": mode, "gateway": section}}


def refusal(section: object) -> str:
    """Return the error of a section, in every printable form."""
    with pytest.raises(ConfigError) as caught:
        config.parse(section)
    error = caught.value
    assert error.__cause__ is None
    return f"{error} {error!r} {error.fields} {error.detail}"


# ── What is read ─────────────────────────────────────────────────────────────
@pytest.mark.parametrize(
    "section",
    [
        {},
        {"theme": "dark"},
        {"memory": None},
        {"memory": {}},
        {"memory": {"mode": "curated"}},
        {"memory": {"gateway": FULL}},
        {"memory": {"mode": "curated", "gateway": {"topK": 0}}},
    ],
)
def test_without_a_mode_memory_is_curated(section: object) -> None:
    assert config.parse(section) == MemoryConfig(Mode.CURATED, None)


@pytest.mark.parametrize("mode", ["memory_gateway", "hybrid"])
def test_a_full_section(mode: str) -> None:
    parsed = config.parse(document(mode))
    assert parsed.mode == mode
    assert parsed.gateway == GatewayConfig(
        base_url="https://memory.example/base",
        user_id="mia",
        user_key=Secret(KEY),
        app_id="shop",
        project_id="desk",
        scope=(Scope.CURRENT_CHAT, Scope.RESOURCES),
        top_k=12,
        timeout_seconds=2.5,
    )


def test_what_may_be_left_out() -> None:
    left_out = dict.fromkeys(("appId", "projectId", "topK", "timeoutSeconds"), ...)
    gateway = config.parse(document(**left_out)).gateway
    assert gateway is not None
    assert (gateway.app_id, gateway.project_id) == ("default", "default")
    assert (gateway.top_k, gateway.timeout_seconds) == (8, 10.0)


@pytest.mark.parametrize("top_k", [1, 100])
def test_the_ends_of_top_k(top_k: int) -> None:
    gateway = config.parse(document(topK=top_k)).gateway
    assert gateway is not None
    assert gateway.top_k == top_k


def test_scopes_are_folded_in_their_order() -> None:
    scopes = ["all_user_memory", "current_chat", "all_user_memory"]
    gateway = config.parse(document(scope=scopes)).gateway
    assert gateway is not None
    assert gateway.scope == (Scope.ALL_USER_MEMORY, Scope.CURRENT_CHAT)


# ── What is refused ──────────────────────────────────────────────────────────
no: list[str] = []
BAD: list[tuple[str, Any]] = [
    *[("mode", bad) for bad in ("", "gateway", "CURATED", 1, ["curated"], None)],
    *[("baseUrl", bad) for bad in (..., "", "  ", None, 7, "memory.example", "//x")],
    *[("baseUrl", bad) for bad in ("ftp://memory.example", "http://", "http://[")],
    ("baseUrl", f"https://mia:{KEY}@memory.example"),
    ("baseUrl", f"https://memory.example/?key={KEY}"),
    ("baseUrl", f"https://memory.example/#{KEY}"),
    ("baseUrl", "https://memory.example:99999"),
    *[("userId", bad) for bad in (..., "", " ", None, 7, "x" * 129, "a\x00b")],
    *[("userKey", bad) for bad in (..., "", " \t", None, 7, ["k"], "\ud800")],
    *[("appId", bad) for bad in ("", None, 7)],
    *[("projectId", bad) for bad in ("", None, 7)],
    *[("scope", bad) for bad in (..., no, None, "current_chat", ["chat"], [1])],
    ("scope", ["current_chat", KEY]),
    *[("topK", bad) for bad in (0, 101, -1, 8.0, "8", True, None)],
    *[("timeoutSeconds", bad) for bad in (0, -1, "10", True, None, float("nan"))],
    *[("timeoutSeconds", bad) for bad in (float("inf"), 10**400)],
    ("userkey", KEY),
]


@pytest.mark.parametrize(("name", "value"), BAD)
def test_a_bad_setting_is_named_and_not_repeated(name: str, value: Any) -> None:
    bad_document = document(value) if name == "mode" else document(**{name: value})
    message = refusal(bad_document)
    assert KEY not in message
    assert "memory." in message
    if name in FULL:
        assert f"memory.gateway.{name}" in message


@pytest.mark.parametrize(
    "value",
    [
        None,
        [],
        KEY,
        {"memory": KEY},
        {"memory": [KEY]},
        {"memory": {"mode": KEY}},
        {"memory": {"mode": "hybrid"}},
        {"memory": {"mode": "memory_gateway", "gateway": KEY}},
        {"memory": {"mode": "memory_gateway", "gateway": {KEY: KEY}}},
    ],
)
def test_a_document_of_another_shape(value: object) -> None:
    assert KEY not in refusal(value)


junk = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.just(KEY),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from([*FULL, KEY]), inner, max_size=3)
    ),
    max_leaves=5,
)


@given(overrides=st.dictionaries(st.sampled_from([*FULL]), junk, max_size=4))
def test_no_error_repeats_the_key(overrides: dict[str, Any]) -> None:
    try:
        parsed = config.parse(document(**overrides))
    except ConfigError as error:
        assert KEY not in f"{error} {error!r} {error.fields}"
    else:
        assert KEY not in repr(parsed)


# ── The key ──────────────────────────────────────────────────────────────────
def test_a_secret_is_never_shown() -> None:
    parsed = config.parse(document())
    gateway = parsed.gateway
    assert gateway is not None
    outputs = [repr(parsed), str(parsed), repr(gateway.user_key), f"{gateway.user_key}"]
    outputs += [
        repr(asdict(parsed)),
        repr([getattr(gateway, f.name) for f in fields(gateway)]),
    ]
    assert [text for text in outputs if KEY in text] == []
    with pytest.raises(TypeError):
        json.dumps(gateway.user_key)
    with pytest.raises(TypeError):
        pickle.dumps(parsed)
    assert gateway.user_key.reveal() == KEY
    assert gateway.user_key == Secret(KEY) != Secret("another")
    assert len({gateway.user_key, Secret(KEY), Secret("x")}) == 2
    assert copy.deepcopy(gateway) == gateway


# ── The file ─────────────────────────────────────────────────────────────────
def test_a_file(tmp_path: Path) -> None:
    path = tmp_path / "config.json"
    assert config.load(path).mode is Mode.CURATED
    path.write_text(json.dumps(document("hybrid")), encoding="utf-8")
    assert config.load(path).mode is Mode.HYBRID


@pytest.mark.parametrize(
    "raw", [b"", b"{", KEY.encode(), b"\xff\xfe", b"[" * 100_000, b" " * 2_000_000]
)
def test_a_file_that_is_no_configuration(tmp_path: Path, raw: bytes) -> None:
    path = tmp_path / "config.json"
    path.write_bytes(raw)
    with pytest.raises(ConfigError) as caught:
        config.load(path)
    assert KEY not in str(caught.value)
    assert str(tmp_path) not in str(caught.value)
