"""Secrets: keys and tokens with a structure that can be checked.

Our own instead of detect-secrets: this package uses the standard library only, must
stay fast on every write, and needs spans; structure and checksums suffice here.
Entropy alone holds nothing, and placeholders of documentation are no secrets.
"""

from __future__ import annotations

import re
import zlib
from typing import TYPE_CHECKING

from memory.scanner.model import Family, Hit, Rule, Severity

if TYPE_CHECKING:
    from collections.abc import Iterator

    from memory.scanner.views import View

_F = Family.SECRETS
_HIGH, _MEDIUM, _LOW = Severity.HIGH, Severity.MEDIUM, Severity.LOW
_BASE62 = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
_CHECK = 6
_MIN_DISTINCT = 9

_PLACEHOLDER = re.compile(
    r"example|placeholder|changeme|change_me|your[_-]?|xxxx|\*\*\*|<[^>]*>|\$\{?|\{\{|"
    r"dummy|sample|redacted|123456|abcdef|test[_-]?key|todo|secret$|password$|passwd$|"
    r"\.\.\.|foobar|hunter2|insert|replace|fake",
    re.IGNORECASE,
)
# Split so that secret scanners do not report this file.
_KEY_BODY = "MIIEpAIBAAKCAQEA7bq3XsVnYw0d5kJmQe9TzLr4hGf2PoRcUuNa8WvBxEi6tKyZ"
_PEM = "-----BEGIN RSA PRIVATE" + " KEY-----\n" + _KEY_BODY + "\n" + _KEY_BODY

RULES = (
    Rule(
        "secrets.private_key",
        _F,
        _HIGH,
        0.95,
        "Contains a private key.",
        _PEM,
        "-----BEGIN PUBLIC KEY-----",
        expressions=(
            (
                r"-----BEGIN (?:[A-Z0-9]{1,12} ){0,2}PRIVATE KEY(?: BLOCK)?-----"
                r"(?:\s|\\n){1,4}(?:[\w-]{1,30}: [^\n]{0,80}\s{1,2}){0,4}"
                r"[A-Za-z0-9+/=]{40,400}"
            ),
        ),
        needs=("PRIVATE KEY",),
    ),
    Rule(
        "secrets.checked_token",
        _F,
        _HIGH,
        0.95,
        "Contains an access token whose checksum is right.",
        "ghp_" + "aB3dE5gH7jK9mN1pQ2rS4tU6vW8xY0" + "3LmEn5",
        "ghp_" + "aB3dE5gH7jK9mN1pQ2rS4tU6vW8xY0" + "zzzzzz",
        expressions=(r"\b(?:gh[pousr]|npm)_[A-Za-z0-9]{36}\b",),
        needs=("ghp_", "gho_", "ghu_", "ghs_", "ghr_", "npm_"),
    ),
    Rule(
        "secrets.cloud_key",
        _F,
        _HIGH,
        0.88,
        "Contains a cloud provider's key.",
        "AKIA" + "Q4J7T2WZ5XN3B6VD",
        "AKIAIOSFODNN7EXAMPLE",
        expressions=(
            (
                r"\b(?:AKIA|ASIA)[A-Z2-7]{16}\b|\bAIza[A-Za-z0-9_-]{35}\b"
                r"|\bAccountKey=[A-Za-z0-9+/]{86}=="
                r"|\"private_key_id\": ?\"[0-9a-f]{40}\""
            ),
        ),
        needs=("AKIA", "ASIA", "AIza", "AccountKey", "private_key_id"),
    ),
    Rule(
        "secrets.service_token",
        _F,
        _HIGH,
        0.85,
        "Contains a service's access token.",
        "xoxb-" + "2104857391-4820193847561-Kd83jfLq0PzXv7NbTyRw2MaE",
        "xoxb-your-token-here",
        expressions=(
            (
                r"\bxox[abpres]-[0-9]{8,14}-[0-9A-Za-z-]{20,80}\b"
                r"|\b[sr]k_live_[0-9A-Za-z]{20,99}"
                r"|\bsk-ant-(?:api|admin)\d\d-[\w-]{80,110}|\bsk-(?:proj|svcacct)-[\w-]{40,180}"
                r"|\bsk-[A-Za-z0-9]{20}T3BlbkFJ[A-Za-z0-9]{20}\b|\bglpat-[\w-]{20}\b"
                r"|\bSG\.[\w-]{22}\.[\w-]{43}\b|\bhf_[A-Za-z]{34}\b|\bdop_v1_[0-9a-f]{64}\b"
                r"|\bpypi-AgEIcHlwaS5vcmc[\w-]{50,200}|\bgithub_pat_[A-Za-z0-9]{22}_\w{59}\b"
                r"|\bcmk_[A-Za-z0-9_-]{30,80}\b|\bxai-[A-Za-z0-9]{70,90}\b|\bgsk_[A-Za-z0-9]{52}\b"
                r"|\bhttps://hooks\.slack\.com/services/T\w{8,12}/B\w{8,12}/\w{20,28}"
            ),
        ),
        needs=(
            "xox",
            "k_live_",
            "sk-",
            "glpat-",
            "SG.",
            "hf_",
            "dop_v1_",
            "pypi-",
            "github_pat_",
            "cmk_",
            "xai-",
            "gsk_",
            "hooks.slack.com",
        ),
    ),
    Rule(
        "secrets.connection_string",
        _F,
        _HIGH,
        0.82,
        "Contains a connection string with a password.",
        "postgres://app:" + "vT9-kq2Lr7Wz@db7.acme-prod.net:5432/app",
        "postgres://user:password@localhost:5432/app",
        expressions=(
            (
                r"\b(?:postgres(?:ql)?|mysql|mariadb|mongodb(?:\+srv)?|redis|rediss|amqps?|ftp|"
                r"sftp|smtps?|mssql|clickhouse)(?:\+[a-z0-9]{1,12})?://"
                r"[^\s:/@\"'<>]{1,64}:([^\s:/@\"'<>]{4,128})@([\w.-]{3,128})"
            ),
        ),
        needs=("://",),
    ),
    Rule(
        "secrets.web_token",
        _F,
        _MEDIUM,
        0.5,
        "Contains a signed web token.",
        "eyJ" + "hbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9.eyJ" + "zdWIiOiJrNzMxIn0."
        "dBjftJeZ4CVPmB92K27uhbUJU1p1rwW1gFWFOEjXk",
        "eyJhbGciOiJIUzI1NiJ9",
        expressions=(r"\beyJ[\w-]{8,400}\.eyJ[\w-]{8,2000}\.[\w-]{20,600}",),
        needs=("eyJ",),
    ),
)
_COMPILED = tuple((rule, re.compile("|".join(rule.expressions))) for rule in RULES)
_LOCAL = re.compile(
    r"^(?:localhost|127\.|0\.0\.0\.0|::1|db$|postgres$|redis$|mysql$|mongo$|rabbitmq$|"
    r"host$|hostname$|server$|database$)|example|\.test$|\.local$|\.invalid$"
)


def find(view: View) -> Iterator[Hit]:
    """Yield secrets in a view; its upper and lower case must be the original's."""
    text = view.text
    for rule, pattern in _COMPILED:
        for need in rule.needs:
            if need in text:
                break
        else:
            continue
        for match in pattern.finditer(text):
            if _is_real(rule.id, match):
                yield Hit(rule, match.start(), match.end())


def _is_real(rule_id: str, match: re.Match[str]) -> bool:
    text = match.group()
    if rule_id == "secrets.checked_token":
        return has_valid_checksum(text)
    if rule_id == "secrets.connection_string":
        secret, host = match.group(1), match.group(2)
        weak = _PLACEHOLDER.search(secret) or secret in ("pass", "password", "root")
        is_user_name = secret.lower() in text.split("://")[1].split(":")[0].lower()
        return not (weak or is_user_name or _LOCAL.search(host.lower()))
    if rule_id == "secrets.private_key":
        return len(set(text[-40:])) >= _MIN_DISTINCT
    return not _PLACEHOLDER.search(text) and len(set(text[5:])) >= _MIN_DISTINCT


def has_valid_checksum(token: str) -> bool:
    """GitHub and npm tokens end in the CRC-32 of the rest, in base 62."""
    body = token.partition("_")[2]
    value = zlib.crc32(body[:-_CHECK].encode())
    digits = ""
    while value:
        value, rest = divmod(value, len(_BASE62))
        digits = _BASE62[rest] + digits
    return digits.rjust(_CHECK, "0") == body[-_CHECK:]
