"""A text in every encoding in which people are looked for."""

from __future__ import annotations

import gzip
import json
import zlib
from base64 import b64encode, encodebytes, urlsafe_b64encode
from collections.abc import Callable
from typing import Final


def base64(text: str) -> str:
    return b64encode(text.encode()).decode()


def base64url(text: str) -> str:
    return urlsafe_b64encode(text.encode()).decode().rstrip("=")


def wrapped(text: str) -> str:
    sentence = f"Ask {text} about the boats, and about the harbour too. " * 3
    return encodebytes(sentence.encode()).decode()


def jwt(text: str) -> str:
    parts = ({"alg": "HS256"}, {"sub": "7", "who": text})
    head, body = (base64url(json.dumps(part)) for part in parts)
    return f"{head}.{body}.c2lnbmF0dXJlLXgx"


def escaped_bytes(text: str, sign: str) -> str:
    return "".join(f"{sign}{byte:02X}" for byte in text.encode())


def broken(text: str) -> str:
    """Return every byte, and the line broken within the middle character."""
    signs = escaped_bytes(text, "=")
    middle = len(signs) // 6 * 3
    return f"{signs[:middle]}=\n{signs[middle:]}"


def quoted(text: str) -> str:
    """Return every third character as bytes, and the line broken in the middle."""
    signs = [
        escaped_bytes(c, "=") if at % 3 == 0 or not c.isascii() else c
        for at, c in enumerate(text)
    ]
    middle = len(signs) // 2
    return "".join(signs[:middle]) + "=\r\n" + "".join(signs[middle:])


# Code of the form in ``gdpr.matching.forms`` → the encodings that it stands for.
ENCODED: Final[dict[str, tuple[Callable[[str], str], ...]]] = {
    "escapes": (
        lambda text: "".join(f"\\u{ord(c):04x}" for c in text),
        lambda text: escaped_bytes(text, "%"),
        lambda text: "".join(f"&#{ord(c)};" for c in text),
    ),
    "base64": (
        base64,
        base64url,
        wrapped,
        lambda text: base64(text.upper()),
        lambda text: base64(f"a {text}"),
        lambda text: base64(f"by {text}, soon"),
        lambda text: f"data:text/plain;base64,{base64(text)}",
        lambda text: b64encode(text.encode("utf-16-le")).decode(),
    ),
    "jwt": (jwt,),
    "hexadecimal": (
        lambda text: text.encode().hex(),
        lambda text: f"0x{text.upper().encode().hex().upper()}",
    ),
    "quoted_printable": (quoted, broken),
    "twice": (
        lambda text: base64(base64(text)),
        lambda text: base64(text).encode().hex(),
        lambda text: base64(json.dumps({"who": f"\\u0041 {text}"})),
    ),
    "compressed": (
        lambda text: b64encode(gzip.compress(text.encode())).decode(),
        lambda text: b64encode(zlib.compress(text.encode())).decode(),
    ),
}
CASES: Final = [
    (code, encode) for code, encodes in ENCODED.items() for encode in encodes
]
NAMES: Final = [
    f"{code}-{n}" for code, many in ENCODED.items() for n in range(len(many))
]
