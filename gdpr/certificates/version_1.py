"""Sentences that only certificates of version 1 hold, for their readings.

What was signed stays as it is: a page reads these in its reader's language.
"""

from __future__ import annotations

from typing import Final

from django.utils.translation import gettext_noop

MACHINES: Final = gettext_noop(
    "Anything about the memory, swap space and core dumps of other machines, or about "
    "model providers that were sent the text earlier."
)
REPLICAS: Final = gettext_noop(
    "Anything about replicas, archived write-ahead logs and base backups of "
    "PostgreSQL: they follow their own retention."
)
BACKUPS: Final = gettext_noop(
    "That backups made before this run are gone: the last of them expires on {day} at"
    " the latest, and a restore replays this erasure."
)
BACKUPS_RECTIFIED: Final = gettext_noop(
    "That backups made before this run are gone: the last of them expires on {day} at"
    " the latest, and a restore brings back the text as it was: rectify it again then."
)
ERASED: Final = gettext_noop(
    "The {kind} of subject {subject} was carried out for the registered identifiers."
)
SEARCHED: Final = gettext_noop(
    "Afterwards every retrieval path and the bytes of every file were searched, and"
    " nothing was found."
)
SEARCHED_BUT_ONE: Final = gettext_noop(
    "Afterwards every retrieval path and the bytes of every file were searched, and"
    " nothing was found but in a row that a person decided to keep."
)
SEARCHED_BUT: Final = gettext_noop(
    "Afterwards every retrieval path and the bytes of every file were searched, and"
    " nothing was found but in {count} rows that a person decided to keep."
)
IN_FIELDS_ONE: Final = gettext_noop(
    "1 identifier, an ordinary word or a number, was sought only in links and in fields"
    " that say who, because in a text such a word means somebody else."
)
IN_FIELDS: Final = gettext_noop(
    "{count} identifiers, ordinary words or numbers, were sought only in links and in"
    " fields that say who, because in a text such a word means somebody else."
)
UNCONFIRMED: Final = gettext_noop(
    "That {count} of {all} running processes dropped the texts of recent questions from"
    " memory: they did not say so in time. They do at a restart. Vectors are wiped"
    " before the next answer."
)
TEMPLATES: Final = (
    UNCONFIRMED,
    BACKUPS,
    BACKUPS_RECTIFIED,
    ERASED,
    SEARCHED_BUT,
    IN_FIELDS,
)
