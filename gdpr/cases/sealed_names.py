"""The search terms of a run's final search, kept encrypted until the case closes.

During the search no table may hold a name, and erased rows have no words to read; the
search needs both, also after a crash. So the names, the links to rows that stayed and
the rare words of erased rows are kept in files encrypted with this installation's key:
the names until they are restored or finally erased, the words until the case is closed.
"""

from __future__ import annotations

import io
import json
import secrets
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from gdpr import encrypted_file
from gdpr.cases import case_files
from gdpr.matching.matcher import Name
from gdpr.models import Case
from memory.journal import append as journal

# More words prove no more; a large erasure must not fill the disk with them.
MAX_BYTES: Final = 16 * 1024 * 1024
_NONCE: Final = 12

# A link as it is stored: place, row id, and how it was made (``Via``).
Link = tuple[str, str, str]


def _key(case: Case) -> bytes:
    return encrypted_file.key_for(journal.key(), f"names of {case.id}")


# ── Names, and links to what stayed ──────────────────────────────────────────
def put(case: Case, names: list[Name], links: Iterable[Link] = ()) -> None:
    """Write names and links to the file, durably; an existing file is kept."""
    files = case_files.of(case)
    if files.names() is not None:
        return
    content = {
        "names": [[name.subject_id, name.kind, name.value] for name in names],
        "links": [list(link) for link in links],
    }
    files.put_names(json.dumps(content).encode(), _key(case))


def _content(case: Case) -> dict[str, Any] | None:
    data = case_files.of(case).names()
    if data is None:
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
    case_files.of(case).remove(case_files.NAMES)


def drop(case: Case) -> None:
    """Delete every file of a case, if any."""
    case_files.of(case).remove(case_files.NAMES, case_files.WORDS)


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
    """Append strings of rows about to be erased, encrypted."""
    content = json.dumps([string.hex() for string in strings]).encode()
    nonce = secrets.token_bytes(_NONCE)
    box = _cipher(case).encrypt(nonce, content, None)
    case_files.of(case).add_record(nonce + box, MAX_BYTES)


def words(case: Case) -> Words:
    """Return the kept words of erased rows."""
    result, cipher = Words(), _cipher(case)
    for record in case_files.of(case).records():
        try:
            content = cipher.decrypt(record[:_NONCE], record[_NONCE:], None)
            strings: Sequence[str] = json.loads(content)
        except (InvalidTag, ValueError):
            result.complete = False
            continue
        result.runners += not strings
        result.strings.update(bytes.fromhex(text) for text in strings)
    return result


def resume_words(case: Case) -> Words:
    """Record that a runner starts or resumes; return the words kept before."""
    case_files.of(case).drop_torn_record()
    append_words(case, ())
    return words(case)
