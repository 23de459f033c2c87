"""What providers and checks left behind as sentences, in the reader's language."""

from __future__ import annotations

from typing import Final

from memory.rules.stored_sentences import translated
from memory.rules.translation import gettext_noop

# Of a health check.
PULSES: Final = (
    gettext_noop("not initialized"),
    gettext_noop("not ok"),
    gettext_noop("the provider's health check failed"),
    gettext_noop("time-out: no answer within {count} ms"),
    gettext_noop("the memory files do not answer"),
    gettext_noop("the records do not answer"),
    gettext_noop("stat: the folder of the memory files is missing or not ours"),
    gettext_noop("stat: the folder of the memory files is missing"),
    gettext_noop("the folder of the memory files is not a directory"),
    gettext_noop("probe write: the folder of the memory files cannot be written"),
    gettext_noop("Not available now: {why}."),
    gettext_noop("the remote provider has no address or no key"),
    gettext_noop("the remote provider's key cannot be opened; enter it again"),
)
# Why a check does not apply to a provider.
REASONS: Final = (
    gettext_noop("does not apply"),
    gettext_noop("broken"),
    gettext_noop("does not apply: {why}"),
    gettext_noop("broken: {why}"),
    gettext_noop("the provider cannot be made without a binding"),
    gettext_noop("no text can avoid the scan: {label}, {count}"),
    gettext_noop("the store has no links ({label})"),
    gettext_noop("the store cannot be made {fault}"),
    gettext_noop("the store cannot be made to hang"),
    gettext_noop("an item has no lock of its own"),
    gettext_noop("the removal cannot be made to fail ({label})"),
    gettext_noop("the store cannot be listed"),
    gettext_noop("a call has no context to cancel; X17 tries a forget that waits"),
    gettext_noop("this user may write everywhere (root)"),
    gettext_noop("records are stored in a database, not in a folder"),
    gettext_noop("the folder is the server's; it is tested there"),
    gettext_noop("the key of the suite was revoked"),
    gettext_noop("{label} is no label"),
)
# Checks that a loop makes, one for each kind of item.
CHECKS: Final = (
    gettext_noop("{tier} without a key and {label} are inverses"),
    gettext_noop("{tier} {key} and {label} are inverses"),
)


def check(text: str) -> str:
    """Return the rule that a check or a promise is about."""
    return translated(text, CHECKS)


def pulse(message: str) -> str:
    """Return what a health check said."""
    return translated(message, PULSES)


def note(text: str) -> str:
    """Return why a check failed or does not apply."""
    return translated(text, REASONS)
