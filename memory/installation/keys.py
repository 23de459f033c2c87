"""The keys of an installation: where they are, and what depends on them."""

from __future__ import annotations

import secrets
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from django.conf import settings

from memory.installation import bodies, key_files, sealed_keys
from memory.models import ChainHead, KeyFingerprint
from memory.rules import hashing

SAMPLE: Final = 50
WAY_OUT: Final = "manage.py adopt_data_folder says what giving it up would cost"


@dataclass(frozen=True, slots=True)
class Key:
    """One secret: its name, its setting, its file, and what depends on it."""

    name: str
    setting: str
    dependents: str

    @property
    def file(self) -> str:
        """Its name in the folder ``keys``."""
        return f"{self.name}.key"

    @property
    def variable(self) -> str:
        """The variable of the environment that can hold it."""
        return f"CREWSHIP_{self.setting}"


KEYS: Final = (
    Key("secret", "SECRET_KEY", "sessions, links and cursors"),
    Key(
        "journal", "JOURNAL_KEY", "the hash chain, seals, suppressed names and letters"
    ),
    Key("gateway", "GATEWAY_KEY", "the sealed keys of gateways and remote providers"),
    Key("exports", "EXPORT_KEY", "the sealed bundles of access requests"),
)
BY_NAME: Final = {key.name: key for key in KEYS}

SECRET_DIFFERS: Final = (
    "CREWSHIP_SECRET_KEY is not the one on record, under which the other keys are"
    " sealed in the database: give this process the one that the other machines have;"
    f" manage.py reseal_keys changes it, {WAY_OUT}."
)

# Whether a key fits the data that was made with it; None when there is no such data.
Witness = Callable[[str], bool | None]
# What else can be wrong with a key, as a sentence.
Check = Callable[[], str | None]
_witnesses: dict[str, list[Witness]] = {}
_checks: list[Check] = []


def register_witness(name: str, witness: Witness) -> None:
    """Register how a key is tested on the data that depends on it; at start-up."""
    witnesses = _witnesses.setdefault(name, [])
    if witness not in witnesses:
        witnesses.append(witness)


def register_check(check: Check) -> None:
    """Add a check of keys that have no setting; called at start-up."""
    if check not in _checks:
        _checks.append(check)


def value(key: Key) -> str:
    """Return a key as this process has it, empty when there is none."""
    if key.name == "secret" and settings.SECRET_KEY_IS_MADE_UP:
        return ""
    return str(getattr(settings, key.setting))


def path_of(key: Key) -> Path:
    """Return the path of a key's file, whether it exists or not."""
    return Path(settings.DATA_DIR) / "keys" / key.file


def _use(key: Key, text: str) -> None:
    setattr(settings, key.setting, text)
    if key.name == "secret":
        settings.SECRET_KEY_IS_MADE_UP = False


def is_sealed(key: Key) -> bool:
    """Whether a key is kept in the database, under the one that signs sessions."""
    return bodies.in_database() and key.name != "secret"


def load_missing() -> None:
    """Load keys that another process has created since this one started."""
    for key in KEYS:
        text = "" if value(key) else key_files.read(path_of(key))
        if not value(key) and not text and is_sealed(key):
            text = sealed_keys.get(key.name)
        if text:
            _use(key, text)


def make_missing() -> None:
    """Create the missing keys; of two processes that do, one wins."""
    for key in KEYS:
        if value(key):
            continue
        text = secrets.token_urlsafe(48)
        if is_sealed(key):
            _use(key, sealed_keys.make(key.name, text))
        else:
            _use(key, key_files.make(path_of(key), text))


def seal_present() -> None:
    """Seal the keys that this process has and the environment does not give."""
    for key in KEYS:
        is_given = key.file in settings.KEYS_FROM_ENVIRONMENT
        if is_sealed(key) and value(key) and not is_given:
            sealed_keys.make(key.name, value(key))


def chain_witness(key: str) -> bool | None:
    """Test the journal key on the signed heads of the chains."""
    heads = list(ChainHead.objects.filter(seq__gt=0)[:SAMPLE])
    if not heads:
        return None
    secret = key.encode()
    return any(
        hashing.head_mac(secret, head.workspace_id, head.seq, head.entry_hash)
        == head.mac
        for head in heads
    )


register_witness("journal", chain_witness)


def recording_fault(key: Key) -> str | None:
    """Return why a key may not be recorded or made, None when it may."""
    secret = value(key)
    answers = [witness(secret) for witness in _witnesses.get(key.name, ())]
    matches = [answer for answer in answers if answer is not None]
    if not matches or (secret and any(matches)):
        return None
    if not secret:
        return (
            f"keys/{key.file} is missing and {key.dependents} depend on it: bring it"
            f" back (or set {key.variable}); {WAY_OUT}."
        )
    return (
        f"keys/{key.file} (or {key.variable}) is not the key that {key.dependents} were"
        f" made with: bring that one back; {WAY_OUT}."
    )


def differing(installation_id: str) -> list[Key]:
    """Return the keys that differ from those on record, or are missing."""
    fingerprints = dict(KeyFingerprint.objects.values_list("name", "fingerprint"))
    return [
        key
        for key in KEYS
        if not value(key)
        or fingerprints.get(key.name)
        != key_files.fingerprint(key.name, value(key), installation_id)
    ]


def _differences(keys: list[Key]) -> str:
    """Return which keys are missing and which differ, as a phrase."""
    parts = []
    for label, group in (
        ("missing here", [key for key in keys if not value(key)]),
        ("not the key on record", [key for key in keys if value(key)]),
    ):
        if group:
            names = ", ".join(f"keys/{key.file} ({key.variable})" for key in group)
            parts.append(f"{names} {'is' if len(group) == 1 else 'are each'} {label}")
    return "; ".join(parts)


def mismatch(installation_id: str) -> str | None:
    """Return how the keys differ from those on record, None when they do not."""
    keys = differing(installation_id)
    if bodies.in_database() and BY_NAME["secret"] in keys:
        return SECRET_DIFFERS
    if keys:
        return f"{_differences(keys)}: bring back what was there; {WAY_OUT}."
    return next((reason for check in _checks if (reason := check()) is not None), None)


def record(installation_id: str) -> None:
    """Store the fingerprints of the keys that this process has."""
    for key in KEYS:
        _record(key, installation_id)


def record_secret(installation_id: str) -> None:
    """Store the fingerprint of the key that signs sessions."""
    _record(BY_NAME["secret"], installation_id)


def _record(key: Key, installation_id: str) -> None:
    fingerprint = key_files.fingerprint(key.name, value(key), installation_id)
    KeyFingerprint.objects.update_or_create(
        name=key.name, defaults={"fingerprint": fingerprint}
    )
