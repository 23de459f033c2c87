"""Prefixed random ids: ``ws_``, ``crew_``, ``agent_``, ``j_`` and so on."""

from __future__ import annotations

import secrets


def make(prefix: str) -> str:
    """Return a new id: the prefix, then 16 hex digits (64 random bits)."""
    return f"{prefix}_{secrets.token_hex(8)}"


def workspace() -> str:
    """Return a new workspace id."""
    return make("ws")


def user() -> str:
    """Return a new user id."""
    return make("u")


def crew() -> str:
    """Return a new crew id."""
    return make("crew")


def agent() -> str:
    """Return a new agent id."""
    return make("agent")


def membership() -> str:
    """Return a new membership id."""
    return make("m")


def key() -> str:
    """Return a new key id; the id of a key is not its secret."""
    return make("key")


def entry() -> str:
    """Return a new journal entry id."""
    return make("j")


def invitation() -> str:
    """Return a new invitation id; it is not the token of its link."""
    return make("inv")
