"""Check what the rules for secrets match: placeholders and wrong checksums are none.

Our own instead of detect-secrets: this package must stay fast on every write and needs
spans; structure and checksums suffice here.
Entropy alone holds nothing, and placeholders of documentation are no secrets.
"""

from __future__ import annotations

import re
import zlib
from typing import TYPE_CHECKING

from memory.scanner import registry
from memory.scanner.expressions import Expressions
from memory.scanner.model import Family, Hit

if TYPE_CHECKING:
    from collections.abc import Iterator

    from memory.scanner.views import View

_BASE62 = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
_CHECK = 6
_MIN_DISTINCT = 9

_PLACEHOLDER = re.compile(
    r"example|placeholder|changeme|change_me|your[_-]?|xxxx|\*\*\*|<[^>]*>|\$\{?|\{\{|"
    r"dummy|sample|redacted|123456|abcdef|test[_-]?key|todo|secret$|password$|passwd$|"
    r"\.\.\.|foobar|hunter2|insert|replace|fake",
    re.IGNORECASE,
)
_EXPRESSIONS = Expressions(
    rule for rule in registry.RULES if rule.family is Family.SECRETS
)
_LOCAL = re.compile(
    r"^(?:localhost|127\.|0\.0\.0\.0|::1|db$|postgres$|redis$|mysql$|mongo$|rabbitmq$|"
    r"host$|hostname$|server$|database$)|example|\.test$|\.local$|\.invalid$"
)


def find(view: View) -> Iterator[Hit]:
    """Yield secrets in a view; its upper and lower case must be the original's."""
    for rule, match in _EXPRESSIONS.find(view.text):
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
