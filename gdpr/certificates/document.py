"""Certificates as documents: canonical form, signature, and reasons for rejection.

A certificate is ``{"content": …, "signature": …}``. The signature is Ed25519 (RFC 8032)
over the content in the canonical form of RFC 8785, so it can be verified with any
two libraries for these standards. Nothing here needs a database.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

import rfc8785
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import (
    Ed25519PrivateKey,
    Ed25519PublicKey,
)

from memory.rules.json_structure import is_within
from memory.rules.translation import gettext, gettext_noop

VERSION: Final = 2
ALGORITHM: Final = "Ed25519"
CANONICAL: Final = "RFC 8785"
MAX_BYTES: Final = 256 * 1024
# A certificate that names every place has a few hundred values.
MAX_VALUES: Final = 10_000
PUBLIC_BYTES: Final = 32
SIGNATURE_BYTES: Final = 64
CONTENT_NEEDS: Final = {
    "id": str,
    "version": int,
    "case_id": str,
    "kind": str,
    "result": str,
    "run": int,
    "issued_at": str,
    "key_id": str,
}
# What version 2 added.
LISTS_NEED: Final = {
    "verdict": str,
    "statement": str,
    "exceptions": list,
    "identifiers": dict,
    "forms": list,
    "searched": dict,
    "not_searched": list,
    "kept": dict,
    "identity": dict,
    "does_not_prove": list,
}
SIGNATURE_NEEDS: Final = ("algorithm", "canonical", "key_id", "public_key", "value")

# Every reason for rejection, in words for a reader who has never seen a certificate.
SENTENCES: Final = {
    "malformed": gettext_noop("This is not a certificate, or a part of it is missing."),
    "future_version": gettext_noop(
        "It was made by a newer version; this one cannot judge it."
    ),
    "unknown_key": gettext_noop(
        "It was signed with a key that nobody here vouches for."
    ),
    "wrong_key": gettext_noop("It was signed with another key than the one it names."),
    "tampered": gettext_noop("It was changed after it was signed, by a byte or more."),
    "wrong_case": gettext_noop(
        "It is about another case than the one it was shown for."
    ),
    "wrong_workspace": gettext_noop(
        "It is about another workspace than the one asked about."
    ),
    "not_recorded": gettext_noop(
        "Its signature holds, but no such certificate is recorded here."
    ),
    "not_as_recorded": gettext_noop(
        "A certificate of this id is recorded here with other words."
    ),
    "replaced": gettext_noop(
        "It holds, but a newer certificate of the same case replaced it."
    ),
}


@dataclass(slots=True)
class Verdict:
    """The result of a check. ``intact``: the signature alone; ``valid``: everything.

    ``reasons`` are keys of ``SENTENCES``.
    """

    key_id: str | None = None
    intact: bool = False
    reasons: list[str] = field(default_factory=list)
    content: dict[str, Any] | None = None

    @property
    def valid(self) -> bool:
        return self.intact and not self.reasons

    def add(self, reason: str) -> None:
        if reason not in self.reasons:
            self.reasons.append(reason)

    @property
    def sentences(self) -> list[str]:
        return [gettext(SENTENCES[reason]) for reason in self.reasons]

    @property
    def pairs(self) -> list[tuple[str, str]]:
        return [(reason, gettext(SENTENCES[reason])) for reason in self.reasons]


class Malformed(Exception):
    """The document cannot be read as a certificate."""


# ── Keys ─────────────────────────────────────────────────────────────────────
def encode(data: bytes) -> str:
    return base64.b64encode(data).decode("ascii")


def decode(text: str, size: int) -> bytes:
    """Decode base64; only the canonical spelling, so that every change shows."""
    try:
        data = base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        raise Malformed from None
    if len(data) != size or encode(data) != text:
        raise Malformed
    return data


def public_of(private: Ed25519PrivateKey) -> str:
    """Return the public half of a key, as base64 of its 32 bytes."""
    return encode(private.public_key().public_bytes_raw())


def key_id(public_key: str) -> str:
    """Return the id of a key: a prefix of the SHA-256 of its 32 bytes."""
    raw = decode(public_key, PUBLIC_BYTES)
    return f"ed25519-{hashlib.sha256(raw).hexdigest()[:16]}"


def digest_name(secret: str) -> str:
    """Return an id derived from a secret, which cannot be read out of it."""
    digest = hashlib.sha256(b"crewship installation v1\x00" + secret.encode())
    return f"in-{digest.hexdigest()[:16]}"


# ── Making ───────────────────────────────────────────────────────────────────
def canonical(value: Any) -> bytes:
    """Return the RFC 8785 form of a JSON value: what is signed."""
    try:
        return rfc8785.dumps(value)
    except (rfc8785.CanonicalizationError, UnicodeEncodeError, RecursionError):
        raise Malformed from None


def sign(content: Mapping[str, Any], private: Ed25519PrivateKey) -> str:
    """Return a signed certificate as text; the key's id is added to the content."""
    public = public_of(private)
    name = key_id(public)
    signed_content = {**content, "key_id": name}
    signature = {
        "algorithm": ALGORITHM,
        "canonical": CANONICAL,
        "key_id": name,
        "public_key": public,
        "value": encode(private.sign(canonical(signed_content))),
    }
    return canonical({"content": signed_content, "signature": signature}).decode()


# ── Reading ──────────────────────────────────────────────────────────────────
def _refuse_duplicates(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Refuse a duplicate key: two parsers could read two documents."""
    mapping = dict(pairs)
    if len(mapping) != len(pairs):
        raise Malformed
    return mapping


def _no_constant(_: str) -> Any:
    raise Malformed


def parse(document: str | bytes) -> dict[str, Any]:
    """Return a certificate's JSON; raise Malformed for anything else."""
    try:
        raw = document if isinstance(document, bytes) else document.encode()
        if len(raw) > MAX_BYTES or not is_within(raw, values=MAX_VALUES):
            raise Malformed
        parsed = json.loads(
            raw.decode("utf-8-sig"),
            object_pairs_hook=_refuse_duplicates,
            parse_constant=_no_constant,
        )
    except (ValueError, RecursionError):
        raise Malformed from None
    if not isinstance(parsed, dict):
        raise Malformed
    return parsed


def _parts(document: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, str]]:
    """Return content and signature; any other member would be unsigned."""
    content, signature = document.get("content"), document.get("signature")
    if set(document) != {"content", "signature"}:
        raise Malformed
    if not isinstance(content, dict) or not isinstance(signature, dict):
        raise Malformed
    if set(signature) != set(SIGNATURE_NEEDS):
        raise Malformed
    if not all(isinstance(value, str) for value in signature.values()):
        raise Malformed
    if signature["algorithm"] != ALGORITHM or signature["canonical"] != CANONICAL:
        raise Malformed
    return content, signature


def _verifies(public_key: str, content: Any, value: str) -> bool:
    """Whether a key made a signature over a content."""
    try:
        key = Ed25519PublicKey.from_public_bytes(decode(public_key, PUBLIC_BYTES))
        key.verify(decode(value, SIGNATURE_BYTES), canonical(content))
    except (InvalidSignature, Malformed, ValueError):
        return False
    return True


def _check_key(
    verdict: Verdict, signature: Mapping[str, str], keys: Mapping[str, str]
) -> None:
    """Set ``intact``, and add the reasons about the signature and its key."""
    content, value = verdict.content, signature["value"]
    registered_key = keys.get(signature["key_id"])
    signed_by_given_key = _verifies(signature["public_key"], content, value)
    if registered_key is None:
        verdict.intact = signed_by_given_key
        verdict.add("unknown_key")
        if not signed_by_given_key:
            verdict.add("tampered")
        return
    verdict.intact = _verifies(registered_key, content, value)
    if registered_key != signature["public_key"]:
        verdict.add("wrong_key")
    if verdict.intact:
        return
    signed_by_another = any(_verifies(key, content, value) for key in keys.values())
    verdict.add("wrong_key" if signed_by_given_key or signed_by_another else "tampered")


def _has_all(content: Mapping[str, Any], version: object) -> bool:
    """Whether every member that a version promises is there, of its type."""
    needs = CONTENT_NEEDS | (LISTS_NEED if version != 1 else {})
    return all(
        isinstance(content.get(name), kind) and not isinstance(content[name], bool)
        for name, kind in needs.items()
    )


def verify(
    document: str | bytes | Mapping[str, Any],
    keys: Mapping[str, str],
    *,
    case_id: str = "",
) -> Verdict:
    """Check a certificate against trusted keys (id → public key, base64).

    ``case_id`` is the case it should be about, when the caller knows.
    """
    verdict = Verdict()
    try:
        read = parse(document) if isinstance(document, (str, bytes)) else document
        content, signature = _parts(read)
        canonical(content)
    except Malformed:
        verdict.add("malformed")
        return verdict
    verdict.key_id, verdict.content = signature["key_id"], content
    _check_key(verdict, signature, keys)
    if content.get("key_id") != signature["key_id"]:
        verdict.add("wrong_key")
    version = content.get("version")
    if isinstance(version, int) and version > VERSION:
        verdict.add("future_version")
    elif not _has_all(content, version):
        verdict.add("malformed")
    if case_id and content.get("case_id") != case_id:
        verdict.add("wrong_case")
    return verdict
