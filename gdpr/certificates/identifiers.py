"""Identifiers in a certificate: digests that only the check code lets anybody test.

A digest is HMAC-SHA-256 with the certificate's check code as its key, over the kind, a
NUL and the value in the form of ``canonical``. The check code is derived from this
installation's key and the certificate's id and stands in no certificate. Whoever has it
can test guesses, so it is for the person and for compliance.
"""

from __future__ import annotations

import hashlib
import hmac
import unicodedata
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final

from gdpr.matching.matcher import Matcher, Name
from gdpr.matching.name_fields import Key
from gdpr.subjects import rectification
from gdpr.verification import byte_search

ALGORITHM: Final = "HMAC-SHA-256"
CANONICAL: Final = "kind NUL value: trimmed, NFC, case-folded, UTF-8"
# More are counted by kind: a certificate has a limited size.
MAX_LISTED: Final = 500
_DOMAIN: Final = b"crewship certificate check code v1\x00"


class SoughtIn(StrEnum):
    """Where an identifier was sought."""

    TEXTS = "texts"
    FIELDS = "fields"
    BYTES = "bytes"


@dataclass(frozen=True, slots=True)
class Sought:
    """A registered identifier and where it was sought: in memory only."""

    kind: str
    value: str
    sought_in: tuple[SoughtIn, ...]


# ── Digests ──────────────────────────────────────────────────────────────────
def canonical(kind: str, value: str) -> bytes:
    """Return what is hashed of an identifier."""
    plain = unicodedata.normalize("NFC", value.strip()).casefold()
    return f"{kind}\x00{plain}".encode("utf-8", "surrogatepass")


def check_code(installation_key: bytes, certificate_id: str) -> str:
    """Return the check code of a certificate: 64 hex digits."""
    data = _DOMAIN + certificate_id.encode()
    return hmac.digest(installation_key, data, "sha256").hex()


def digest(code: str, kind: str, value: str) -> str:
    """Return an identifier's digest in the certificate with this check code."""
    return hmac.digest(bytes.fromhex(code), canonical(kind, value), "sha256").hex()


def fingerprint(code: str) -> str:
    """Return the SHA-256 of a check code, which is in the certificate."""
    return hashlib.sha256(bytes.fromhex(code)).hexdigest()


def line_of(
    content: Mapping[str, Any], code: str, kind: str, value: str
) -> dict[str, Any] | None:
    """Return a certificate's line on an identifier, None when it lists none.

    Raises ValueError for a check code of another certificate.
    """
    text = code.strip().lower()
    section = content["identifiers"]
    if not hmac.compare_digest(fingerprint(text), str(section["check_code_sha256"])):
        raise ValueError
    name = digest(text, kind, value)
    return next((line for line in section["list"] if line["digest"] == name), None)


# ── Where identifiers were sought ────────────────────────────────────────────
def sought(names: Iterable[Name], kept_values: Iterable[str]) -> list[Sought]:
    """Return identifiers with where the matcher and the byte search seek them.

    ``kept_values`` stay in a row that is kept; the byte search leaves them out.
    """
    left_out = frozenset(kept_values)
    return [Sought(name.kind, name.value, _places(name, left_out)) for name in names]


def _places(name: Name, left_out: frozenset[str]) -> tuple[SoughtIn, ...]:
    is_correction = name.kind == rectification.KIND
    matcher = Matcher([name])
    places = []
    # What counts is whether the matcher sees the identifier's own value.
    is_in_texts = is_correction or name in matcher.searched
    if is_in_texts and (is_correction or matcher.names(_example(name))):
        places.append(SoughtIn.TEXTS)
        if _has_bytes(name) and name.value not in left_out:
            places.append(SoughtIn.BYTES)
    in_fields = () if is_correction else matcher.named_by(Key.PERSON, name.value)
    if any(True for _ in in_fields):
        places.append(SoughtIn.FIELDS)
    return tuple(sorted(places, key=list(SoughtIn).index))


def _example(name: Name) -> str:
    """Return a text that the identifier matches; a pattern's stars stand for signs."""
    return name.value.replace("*", "x") if name.kind == "pattern" else name.value


def _has_bytes(name: Name) -> bool:
    # The bytes of a pattern with stars are those of no text.
    is_fixed = name.kind != "pattern" or "*" not in name.value
    is_long = (
        len(name.value.strip().encode("utf-8", "replace")) >= byte_search.MIN_BYTES
    )
    return is_fixed and is_long and bool(byte_search.of_alias(name.value))


# ── In the certificate ───────────────────────────────────────────────────────
def as_json(identifiers: Sequence[Sought], code: str) -> dict[str, Any]:
    """Return the certificate's list, in the order of the digests, which says nothing.

    Of more than ``MAX_LISTED`` the rest is counted by kind.
    """
    lines: dict[str, dict[str, Any]] = {}
    for identifier in identifiers:
        name = digest(code, identifier.kind, identifier.value)
        line = lines.setdefault(
            name, {"kind": identifier.kind, "digest": name, "sought_in": []}
        )
        places = {*line["sought_in"], *(place.value for place in identifier.sought_in)}
        line["sought_in"] = sorted(places)
    listed = sorted(lines.values(), key=lambda line: str(line["digest"]))
    rest = Counter(str(line["kind"]) for line in listed[MAX_LISTED:])
    return {
        "algorithm": ALGORITHM,
        "canonical": CANONICAL,
        "check_code_sha256": fingerprint(code),
        "count": len(listed),
        "list": listed[:MAX_LISTED],
        "not_listed": dict(sorted(rest.items())),
    }
