"""The words of texts that the scanner keeps in memory, to judge each only once."""

from __future__ import annotations

from memory.scanner import ciphers, normalise, respelled


def forget() -> None:
    """Drop the words kept in memory: they are readable."""
    ciphers.unleet.cache_clear()
    normalise.forget()
    respelled.forget()
