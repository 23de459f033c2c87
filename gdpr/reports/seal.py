"""A sealed list of lines: a chain of hashes under a signature. Nothing of Django here.

A file of the audit log is JSON lines. Each has ``n``, its number from 1, and ``prev``,
the SHA-256 of the line before it (of the first one 64 zeros). The last line is the
manifest, a signed document: how many lines there are, the SHA-256 of the last of them,
whose log and which period. A line that was changed, taken out, put in or moved breaks
the chain; one cut off at the end, or a manifest of another file, breaks the manifest.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

from gdpr.certificates import document
from memory.rules.json_structure import is_within
from memory.rules.translation import gettext, gettext_noop

FORMAT: Final = "crewship audit log v1"
START: Final = "0" * 64
# A reason of 4,000 characters, in escapes, and the scope beside it.
MAX_LINE: Final = 256 * 1024
MAX_VALUES: Final = 10_000
# Why a file is refused.
SENTENCES: Final = {
    "malformed": gettext_noop("Line {line} is not a line of an audit log's file."),
    "broken_chain": gettext_noop(
        "At line {line} the chain breaks: a line was changed, taken out, put in or"
        " moved there or just before."
    ),
    "wrong_count": gettext_noop(
        "The manifest counts other lines than there are: some were cut off or added."
    ),
    "no_manifest": gettext_noop("The last line is no manifest: the end is missing."),
    "tampered": gettext_noop("The manifest was changed after it was signed."),
    "unknown_key": gettext_noop(
        "It was signed with a key that nobody here vouches for."
    ),
}


@dataclass(slots=True)
class Verdict:
    """The result of a check; ``reasons`` are codes with the line they are about."""

    manifest: dict[str, Any] | None = None
    key_id: str | None = None
    lines: int = 0
    reasons: list[tuple[str, int]] = field(default_factory=list)

    @property
    def valid(self) -> bool:
        return self.manifest is not None and not self.reasons

    @property
    def sentences(self) -> list[str]:
        return [gettext(SENTENCES[code]).format(line=at) for code, at in self.reasons]


def digest(line: bytes) -> str:
    """Return the hash that the next line names."""
    return hashlib.sha256(line).hexdigest()


@dataclass(slots=True)
class Chain:
    """Chains lines as they are written."""

    number: int = 0
    last: str = START

    def line(self, row: Mapping[str, Any]) -> bytes:
        """Return a row as the next line, in the canonical form, with its newline."""
        self.number += 1
        linked = {**row, "n": self.number, "prev": self.last}
        text = document.canonical(linked)
        self.last = digest(text)
        return text + b"\n"


# ── Checking ─────────────────────────────────────────────────────────────────
def _parsed(line: bytes) -> dict[str, Any] | None:
    if len(line) > MAX_LINE or not is_within(line, values=MAX_VALUES):
        return None
    try:
        value = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def _ends(lines: Iterable[bytes]) -> Iterator[tuple[bytes, bool]]:
    """Yield each line without its newline, and whether it is the last."""
    before: bytes | None = None
    for line in lines:
        if before is not None:
            yield before, False
        before = line.removesuffix(b"\n")
    if before is not None:
        yield before, True


def verify(lines: Iterable[bytes], keys: Mapping[str, str]) -> Verdict:
    """Check a file against trusted keys (id → public key); stop at the first break."""
    verdict, last = Verdict(), START
    for line, is_last in _ends(lines):
        row = _parsed(line)
        if row is None:
            verdict.reasons.append(("malformed", verdict.lines + 1))
            return verdict
        if is_last:
            if document.canonical(row) != line:
                verdict.reasons.append(("tampered", verdict.lines + 1))
            _check_manifest(verdict, row, last, keys)
            return verdict
        verdict.lines += 1
        if row.get("prev") != last or row.get("n") != verdict.lines:
            verdict.reasons.append(("broken_chain", verdict.lines))
            return verdict
        last = digest(line)
    verdict.reasons.append(("no_manifest", verdict.lines))
    return verdict


def _check_manifest(
    verdict: Verdict, row: dict[str, Any], last: str, keys: Mapping[str, str]
) -> None:
    content, signature = row.get("content"), row.get("signature")
    at = verdict.lines + 1
    if not isinstance(content, dict) or not isinstance(signature, dict):
        verdict.reasons.append(("no_manifest", at))
        return
    if set(row) != {"content", "signature"} or content.get("format") != FORMAT:
        verdict.reasons.append(("no_manifest", at))
        return
    verdict.manifest, verdict.key_id = content, str(signature.get("key_id"))
    public_key = keys.get(verdict.key_id)
    expected = {
        "algorithm": document.ALGORITHM,
        "canonical": document.CANONICAL,
        "key_id": content.get("key_id"),
        "public_key": public_key,
        "value": signature.get("value"),
    }
    if public_key is None or content.get("key_id") != verdict.key_id:
        verdict.reasons.append(("unknown_key", at))
    elif signature != expected or not _is_signed(
        public_key, content, signature["value"]
    ):
        verdict.reasons.append(("tampered", at))
    if content.get("lines") != verdict.lines:
        verdict.reasons.append(("wrong_count", at))
    elif content.get("last_line") != last:
        verdict.reasons.append(("broken_chain", at))


def _is_signed(public_key: str, content: Mapping[str, Any], value: Any) -> bool:
    try:
        key = Ed25519PublicKey.from_public_bytes(
            document.decode(public_key, document.PUBLIC_BYTES)
        )
        signed = document.decode(str(value), document.SIGNATURE_BYTES)
        key.verify(signed, document.canonical(content))
    except (InvalidSignature, document.Malformed, ValueError):
        return False
    return True
