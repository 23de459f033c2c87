"""The user key that turns are sent with, sealed and bound to its row."""

from __future__ import annotations

from typing import Final

from memory.installation import encryption
from memory.installation.encryption import Broken
from memory.integrations.gateway.config import Secret

__all__ = ["Broken", "opens", "seal", "unseal"]

PURPOSE: Final = "crewship.gateway.seal"


def seal(secret: Secret, bound_to: str) -> str:
    """Return a secret as text that only this installation and this row can open."""
    return encryption.seal(secret.reveal(), purpose=PURPOSE, bound_to=bound_to)


def unseal(text: str, bound_to: str) -> Secret:
    """Return the secret again, or raise Broken."""
    return Secret(encryption.unseal(text, purpose=PURPOSE, bound_to=bound_to))


def opens(key: str, text: str, bound_to: str) -> bool:
    """Whether a key is the one that a secret was sealed with."""
    return encryption.opens(key, text, purpose=PURPOSE, bound_to=bound_to)
