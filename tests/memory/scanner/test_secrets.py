"""Keys and tokens with a structure; placeholders and entropy alone hold nothing."""

from __future__ import annotations

import zlib

import pytest

from memory import scanner
from memory.scanner import secrets

DIGITS = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"


def checked(body: str, prefix: str) -> str:
    value, digits = zlib.crc32(body.encode()), ""
    while value:
        value, rest = divmod(value, 62)
        digits = DIGITS[rest] + digits
    return f"{prefix}_{body}{digits.rjust(6, '0')}"


@pytest.mark.parametrize("prefix", ["ghp", "gho", "npm"])
def test_a_token_with_a_right_checksum_is_held(prefix: str) -> None:
    token = checked("Zx8Qw3Er5Ty7Ui9Op1As2Df4Gh6Jk0", prefix)
    assert secrets.has_valid_checksum(token)
    assert scanner.scan(f"Deploy with {token} please").is_held
    assert not scanner.scan(f"Deploy with {token[:-1]}_ please").is_held


@pytest.mark.parametrize(
    "text",
    [
        "AKIA" + "IOSFODNN7EXAMPLE",
        "postgres://user:password@db.acme.net/app",
        "postgres://app:app@db.acme.net/app",
        "postgres://app:Zk39dkLq1@localhost:5432/app",
        "redis://:${REDIS_PASSWORD}@cache.acme.net:6379/0",
        "api_key = 'q8Zr1Lw0PxVt6Yb3Nc5Mh2Kd9Jf4Gs7A'",
        "-----BEGIN PRIVATE KEY-----\n...\n-----END PRIVATE KEY-----",
        "-----BEGIN PRIVATE KEY-----\n" + "A" * 64,
        "sk_live_" + "xxxxxxxxxxxxxxxxxxxxxxxx",
        "password: hunter2",
        "Bearer eyJhbGciOiJIUzI1NiJ9",
    ],
)
def test_placeholders_and_entropy_alone_hold_nothing(text: str) -> None:
    assert not scanner.scan(text).is_held


def test_a_secret_inside_an_encoding_is_found() -> None:
    import base64

    url = "postgres://app:" + "vT9-kq2Lr7Wz@db7.acme-prod.net:5432/app"
    hidden = base64.b64encode(f"db {url}".encode()).decode()
    families = {finding.family for finding in scanner.scan(hidden).findings}
    assert "secrets" in families
