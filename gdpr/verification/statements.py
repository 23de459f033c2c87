"""The sentences of a report: what was searched and how, and what was not.

Each is true as worded for the search whose report it is in. They are stored and signed
as they stand here.
"""

from __future__ import annotations

from typing import Final

from django.db import connection
from django.utils.translation import gettext_noop

from gdpr.verification import server_files
from gdpr.verification.file_scan import ENCRYPTED, UNREADABLE
from gdpr.verification.report import Report
from memory.installation import bodies

# ── What was searched ────────────────────────────────────────────────────────
ASKED: Final = gettext_noop(
    "searches by name, in every place of the data map, the journal's search, recall"
    " and the files' search: {count}"
)
AS_WORDS: Final = gettext_noop("{count} identifiers sought as words in every text")
IN_FIELDS: Final = gettext_noop(
    "{count} identifiers, ordinary words or numbers, sought in links and in fields that"
    " say who, and not in texts"
)
BYTES: Final = gettext_noop(
    "bytes of files searched: {bytes} in {files} files, for {patterns} strings of"
    " the identifiers and of erased rows"
)
WORD_LISTS: Final = gettext_noop("word lists of both indexes read")
UNPACKED: Final = gettext_noop(
    "compressed or packed files opened and searched inside: {count}"
)

# ── What was not ─────────────────────────────────────────────────────────────
READERS: Final = gettext_noop(
    "Recall and search were asked as the system and as an agent of up to five"
    " crews, and recall by vectors only where they were loaded."
)
SAMPLED: Final = gettext_noop(
    "Of an erased place's own words at most {words}, the longest, were sought in the"
    " bytes of files, from its first {rows} rows and every tenth batch after them."
)
SHARED: Final = gettext_noop(
    "Strings left out of the search of bytes, because what stays has them too and"
    " finding one would prove nothing: {count}."
)
SKIPPED: Final = gettext_noop(
    "Files not searched byte by byte: {count}. They are memory files and versions"
    " that a row owns, whose texts are read instead in this workspace, files of the"
    " program and, with PostgreSQL, of other databases; its write-ahead log is"
    " searched by itself."
)
NOT_OPENED: Final = gettext_noop(
    "Files searched only as they lie on the disk, because what is packed in them"
    " could not be opened in full: {count} ({kinds})."
)
SEALED: Final = gettext_noop(
    "Encrypted files (bundles for access requests, search terms of erasures under"
    " way) that were not decrypted for the search: {count}."
)
UNREAD: Final = gettext_noop(
    "Files that could not be read and were not searched: {count}."
)
FOLDERS: Final = gettext_noop(
    "Only the data folder, the database's files and its server's folders, as far as"
    " they can be read from here, were searched: no temporary folder, no file of"
    " another program, no log that something else collects."
)
ROWS_OF_FILES: Final = gettext_noop(
    "The bytes of memory files are rows of the database and were read there. The data"
    " folders of other machines of this installation were not searched: they hold"
    " keys, the program's own files and records of erasures, which name nobody."
)
PROCESSES: Final = gettext_noop(
    "The memory of running processes, swap space and core dumps were not searched."
    " Processes were told to drop their caches of texts; memory that a process freed"
    " keeps its bytes until it is used again or the process is restarted."
)
LONG_VALUES: Final = gettext_noop(
    "Long values that PostgreSQL compresses cannot be read in the bytes of its files;"
    " those of rows that stay were read through their tables."
)


def methods(report: Report) -> list[str]:
    """Return the sentences on what was searched and how."""
    lines = [
        BYTES.format(files=report.files, bytes=report.bytes, patterns=report.patterns)
    ]
    if report.unpacked:
        lines.append(UNPACKED.format(count=report.unpacked))
    lines += [
        ASKED.format(count=report.searches),
        AS_WORDS.format(count=report.as_words),
    ]
    if report.in_fields:
        lines.append(IN_FIELDS.format(count=report.in_fields))
    return lines


def not_searched(report: Report, words: int, rows: int) -> list[str]:
    """Return the sentences on what was not searched; ``words``, ``rows``: limits."""
    lines = [READERS, SAMPLED.format(words=words, rows=rows)]
    if report.shared:
        lines.append(SHARED.format(count=report.shared))
    if report.skipped:
        lines.append(SKIPPED.format(count=report.skipped))
    lines += _not_read(report)
    if connection.vendor == "postgresql":
        lines += [*server_files.not_searched(), LONG_VALUES]
    if bodies.in_database():
        lines.append(ROWS_OF_FILES)
    return [*lines, FOLDERS, PROCESSES]


def _not_read(report: Report) -> list[str]:
    """Return the sentences on files whose content was not read in full."""
    lines = []
    counts = dict(report.not_read)
    if count := counts.pop(ENCRYPTED, 0):
        lines.append(SEALED.format(count=count))
    if count := counts.pop(UNREADABLE, 0):
        lines.append(UNREAD.format(count=count))
    if counts:
        kinds = ", ".join(f"{kind} {count}" for kind, count in sorted(counts.items()))
        lines.append(NOT_OPENED.format(count=sum(counts.values()), kinds=kinds))
    return lines


# ── In certificates of earlier versions ──────────────────────────────────────
# No longer said, and still read: a certificate keeps its words.
EARLIER: Final = (
    gettext_noop("bytes of every file searched, in every encoding"),
    gettext_noop("every place and every reading path asked by name"),
    gettext_noop("CHECKPOINT and pg_switch_wal"),
    gettext_noop(
        "Segments of the write-ahead log hold earlier states of rows until the server"
        " overwrites or removes them."
    ),
    gettext_noop(
        "Replicas, archived segments, base backups and other databases of this server"
        " are out of reach; they end with their own retention."
    ),
    gettext_noop("Messages sent by mail; they hold no names of subjects."),
    gettext_noop("Log lines that somebody collects; no body is ever in one."),
)
