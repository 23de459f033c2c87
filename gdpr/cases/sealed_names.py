"""The search terms of a run's final search, encrypted on disk until the case closes.

During the search no table may hold a name, and erased rows have no words to read; the
search needs both, also after a crash. So the names, the links to rows that stayed and
the rare words of erased rows are kept in files encrypted with this installation's key:
the names until they are restored or finally erased, the words until the case is closed.
"""

from __future__ import annotations

import io
import json
import os
import secrets
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from django.conf import settings

from gdpr import encrypted_file
from gdpr.matching.matcher import Name
from gdpr.models import Case
from memory.journal import append as journal

FOLDER: Final = "erasures"
# More words prove no more; a large erasure must not fill the disk with them.
MAX_BYTES: Final = 16 * 1024 * 1024
_NONCE: Final = 12
_LENGTH: Final = 4

# A link as it is stored: place, row id, and how it was made (``Via``).
Link = tuple[str, str, str]


def _path(case: Case, ending: str = "names") -> Path:
    return Path(settings.DATA_DIR) / FOLDER / f"{case.id}.{ending}"


def _key(case: Case) -> bytes:
    return encrypted_file.key_for(journal.key(), f"names of {case.id}")


# ── Names, and links to what stayed ──────────────────────────────────────────
def put(case: Case, names: list[Name], links: Iterable[Link] = ()) -> None:
    """Write names and links to the file, synced; an existing file is kept."""
    path = _path(case)
    if path.exists():
        return
    content = {
        "names": [[name.subject_id, name.kind, name.value] for name in names],
        "links": [list(link) for link in links],
    }
    with encrypted_file.sealed(path, _key(case)) as sealer:
        sealer.write(json.dumps(content).encode())


def _content(case: Case) -> dict[str, Any] | None:
    try:
        data = _path(case).read_bytes()
    except FileNotFoundError:
        return None
    content = b"".join(encrypted_file.decrypted_pieces(io.BytesIO(data), _key(case)))
    return dict(json.loads(content))


def get(case: Case) -> list[Name] | None:
    """Return the sealed names, None when there is no file."""
    content = _content(case)
    return None if content is None else [Name(*row) for row in content["names"]]


def links(case: Case) -> list[Link]:
    """Return the sealed links, empty when there is no file."""
    content = _content(case) or {"links": ()}
    return [(row[0], row[1], row[2]) for row in content["links"]]


def drop_names(case: Case) -> None:
    """Delete the file of names: they are in their tables again."""
    _remove(case, "names")


def drop(case: Case) -> None:
    """Delete every file of a case, if any."""
    _remove(case, "*")


def _remove(case: Case, ending: str) -> None:
    """Delete files of a case durably, also those that a killed runner deleted."""
    folder = _path(case).parent
    for path in list(folder.glob(f"{case.id}.{ending}")):
        path.unlink(missing_ok=True)
    if folder.is_dir():
        encrypted_file.sync(folder)


# ── Words of erased rows ─────────────────────────────────────────────────────
@dataclass(slots=True)
class Words:
    """The kept strings, how many runners wrote them, and whether all were readable."""

    strings: set[bytes] = field(default_factory=set)
    runners: int = 0
    complete: bool = True

    def note(self) -> str:
        """Return a limitation of the search for its report, or an empty text."""
        if not self.complete:
            return (
                "the file of the erased rows' own words was damaged: after a crash the"
                " search rests on names and on words of rows that went since"
            )
        if self.runners > 1:
            return (
                f"the run was taken up again ({self.runners - 1}×); words of rows that"
                " went before that were kept sealed and are sought all the same"
            )
        return ""


def _cipher(case: Case) -> AESGCM:
    return AESGCM(encrypted_file.key_for(journal.key(), f"words of {case.id}"))


def append_words(case: Case, strings: Iterable[bytes]) -> None:
    """Append strings of rows about to be erased, encrypted.

    Not synced: a killed process loses nothing, a power cut may lose the last rows.
    """
    path = _path(case, "words")
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    flags = os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC
    handle = os.open(path, flags, 0o600)
    with os.fdopen(handle, "ab") as file:
        if os.fstat(file.fileno()).st_size > MAX_BYTES:
            return
        content = json.dumps([string.hex() for string in strings]).encode()
        nonce = secrets.token_bytes(_NONCE)
        box = _cipher(case).encrypt(nonce, content, None)
        file.write(len(box).to_bytes(_LENGTH, "big") + nonce + box)


def _boxes(data: bytes) -> Iterator[tuple[bytes, bytes]]:
    """Yield (nonce, ciphertext) of each complete record; a torn last one is skipped."""
    at = 0
    while at + _LENGTH + _NONCE <= len(data):
        size = int.from_bytes(data[at : at + _LENGTH], "big")
        start = at + _LENGTH + _NONCE
        if start + size > len(data):
            return
        yield data[at + _LENGTH : start], data[start : start + size]
        at = start + size


def words(case: Case) -> Words:
    """Return the kept words of erased rows."""
    result = Words()
    try:
        data = _path(case, "words").read_bytes()
    except FileNotFoundError:
        return result
    cipher = _cipher(case)
    for nonce, box in _boxes(data):
        try:
            strings: Sequence[str] = json.loads(cipher.decrypt(nonce, box, None))
        except (InvalidTag, ValueError):
            result.complete = False
            continue
        result.runners += not strings
        result.strings.update(bytes.fromhex(text) for text in strings)
    return result


def resume_words(case: Case) -> Words:
    """Record that a runner starts or resumes; return the words kept before."""
    _drop_torn_record(_path(case, "words"))
    append_words(case, ())
    return words(case)


def _drop_torn_record(path: Path) -> None:
    """Truncate a record torn by a crash: nothing behind it could be read."""
    if not path.exists():
        return
    data = path.read_bytes()
    length = sum(_LENGTH + _NONCE + len(box) for _, box in _boxes(data))
    if length < len(data):
        os.truncate(path, length)
