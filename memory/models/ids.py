"""Prefixed random ids: ``ws_``, ``crew_``, ``agent_``, ``j_`` and so on."""

from __future__ import annotations

import secrets


def make(prefix: str) -> str:
    """Return a new id: the prefix, then 16 hex digits (64 random bits)."""
    return f"{prefix}_{secrets.token_hex(8)}"


def workspace() -> str:
    return make("ws")


def user() -> str:
    return make("u")


def crew() -> str:
    return make("crew")


def agent() -> str:
    return make("agent")


def membership() -> str:
    return make("m")


def key() -> str:
    """Return a new key id; the id of a key is not its secret."""
    return make("key")


def entry() -> str:
    return make("j")


def trace() -> str:
    """Return a new trace id; that of a named conversation is a digest instead."""
    return make("t")


def invitation() -> str:
    """Return a new invitation id; it is not the token of its link."""
    return make("inv")
