"""The keys of an installation in a backup, and in the place they are restored to."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from django.conf import settings

from crewship_memory.backup.envelope import BadBackup
from gdpr.certificates import keys as signing_keys
from memory.installation import bodies, key_files, keys, sealed_keys
from memory.models import SealedKey
from memory.rules import errors

# The private keys of certificates, which have no setting.
_CERTIFICATES: Final = re.compile(r"certificates-[A-Za-z0-9_-]{1,64}\.pem")
_NAMES: Final = frozenset(key.file for key in keys.KEYS)
MAX_KEY: Final = 16 * 1024


class KeysDiffer(errors.Conflict):
    """The target has other keys, or lacks those that the backup was made without."""

    code = "keys_differ"
    sentence = "{reason}"


def _folder() -> Path:
    return Path(settings.DATA_DIR) / "keys"


def collected() -> dict[str, str]:
    """Return file name → text of every key of this installation."""
    texts = {key.file: text for key in keys.KEYS if (text := keys.value(key))}
    if bodies.in_database():
        for name in sealed_keys.names(signing_keys.PREFIX):
            texts[f"{name}{signing_keys.SUFFIX}"] = sealed_keys.read(name)
        return texts
    for path in _signing_files():
        texts[path.name] = key_files.read(path)
    return texts


def _signing_files() -> list[Path]:
    pattern = f"{signing_keys.PREFIX}*{signing_keys.SUFFIX}"
    return sorted(_folder().glob(pattern))


def require_apart() -> None:
    """Refuse a backup without keys where a folder ``keys`` does not have them."""
    if SealedKey.objects.exists():
        raise KeysDiffer(
            reason="The keys are sealed in the database: a backup without them could"
            " not be restored. Leave out --without-keys."
        )


def fingerprints(installation_id: str) -> dict[str, str]:
    """Return key → fingerprint: which keys a restore needs, without revealing them."""
    return {
        key.name: key_files.fingerprint(key.name, keys.value(key), installation_id)
        for key in keys.KEYS
    }


def check_present(installation_id: str, expected: Mapping[str, Any]) -> None:
    """Refuse a target whose keys, of the environment or folder, are other ones.

    The secret of sessions may be the target's own, where its environment gives one.
    """
    own = settings.KEYS_FROM_ENVIRONMENT & {keys.BY_NAME["secret"].file}
    differing = [
        key.variable
        for key in keys.KEYS
        if key.file not in own
        and (text := keys.value(key))
        and key_files.fingerprint(key.name, text, installation_id)
        != expected.get(key.name)
    ]
    if differing:
        raise KeysDiffer(
            reason="The target has keys of another installation: remove"
            f" {', '.join(differing)}, or the folder keys of its data folder."
        )


def check_complete() -> None:
    """Refuse a restore without keys where the target has not got them either."""
    absent = [key.file for key in keys.KEYS if not keys.value(key)]
    if absent:
        raise KeysDiffer(
            reason="The backup was made without keys: put the folder keys of the"
            f" installation into the data folder first. {', '.join(absent)} missing."
        )


def restore(texts: Mapping[str, Any]) -> None:
    """Write the keys of a backup; those of the environment stay where they are."""
    for name, text in texts.items():
        is_known = name in _NAMES or _CERTIFICATES.fullmatch(name)
        if not is_known or not isinstance(text, str) or len(text) > MAX_KEY:
            raise BadBackup(reason="The backup has a key that is none of ours.")
        if name not in settings.KEYS_FROM_ENVIRONMENT:
            if not text.isascii():
                raise BadBackup(reason="The backup has a key that is none of ours.")
            key_files.make(_folder() / name, text)
            if key_files.read(_folder() / name) != text.strip():
                raise KeysDiffer(reason=f"keys/{name} of the target is another key.")
    keys.load_missing()


def remove_sealed_files() -> None:
    """Delete the key files that a restore wrote and that are sealed in the database.

    The secret that they are sealed under stays.
    """
    settings_files = [keys.path_of(key) for key in keys.KEYS if keys.is_sealed(key)]
    for path in (*settings_files, *_signing_files()):
        text = key_files.read(path)
        if text and sealed_keys.get(path.stem) == text:
            path.unlink()
