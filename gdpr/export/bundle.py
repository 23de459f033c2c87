"""The format of an access export: its document, ``data.json``, and the zip around it.

``data.json`` is in English; ``gdpr.export.pages`` makes the pages beside it.
"""

from __future__ import annotations

import zipfile
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, BinaryIO, Final

from django.utils.translation import gettext_noop

FORMAT: Final = "crewship-access-export"
VERSION: Final = 1
_EPOCH: Final = (1980, 1, 1, 0, 0, 0)
NOT_INCLUDED: Final = (
    gettext_noop(
        "Vectors, word indexes and caches are made from these rows and hold nothing"
        " else."
    ),
    gettext_noop(
        "Texts about several people are included with the other people's names"
        " replaced."
    ),
    gettext_noop(
        "Names, addresses and numbers of people whom nobody registered here are"
        " replaced by marks such as [person 1]. A program finds them: it can miss one,"
        " and it can replace a word that names nobody."
    ),
    gettext_noop(
        "Rows that may be about somebody else are left out unless a person decided so."
    ),
    gettext_noop(
        "Keyed digests and hashes that only this installation can recompute are left"
        " out."
    ),
)


@dataclass(slots=True)
class Place:
    """The rows of one place where data is stored, as JSON objects."""

    name: str
    title: str
    rows: list[dict[str, Any]] = field(default_factory=list)
    shared: int = 0
    # Rows that are doubtful without a decision, or decided not to be theirs.
    left_out: int = 0

    @property
    def count(self) -> int:
        return len(self.rows)


@dataclass(frozen=True, slots=True)
class OtherPeople:
    """What was covered: how often by kind, and how many words by whose decision."""

    covered: dict[str, int] = field(default_factory=dict)
    # Words that were covered without being sure, and words left readable by decision.
    unsure: int = 0
    left_readable: int = 0


@dataclass(frozen=True, slots=True)
class Collection:
    """All data about a person.

    ``names``, ``time_zone`` and ``case`` are for the pages alone: the names of agents
    and crews by their ids, and the request that is answered, if there is one.
    """

    subject: dict[str, Any]
    workspace: dict[str, str]
    exported_at: str
    action_id: str
    places: tuple[Place, ...]
    actions: tuple[dict[str, Any], ...]
    names: Mapping[str, str] = field(default_factory=dict)
    time_zone: str = "UTC"
    case: Mapping[str, str] = field(default_factory=dict)
    other_people: OtherPeople = field(default_factory=OtherPeople)

    @property
    def total(self) -> int:
        return sum(place.count for place in self.places)

    def document(self) -> dict[str, Any]:
        return {
            "format": FORMAT,
            "version": VERSION,
            "data_subject_id": self.subject["id"],
            "workspace_id": self.workspace["id"],
            "exported_at": self.exported_at,
            "action_id": self.action_id,
            "subject": self.subject,
            "scope": {
                place.name: {
                    "title": place.title,
                    "rows": place.count,
                    "shared_with_others": place.shared,
                }
                for place in self.places
            },
            "places": {place.name: place.rows for place in self.places},
            "actions": list(self.actions),
            "not_included": list(NOT_INCLUDED),
            "other_people": asdict(self.other_people),
            "left_out": {
                place.name: place.left_out for place in self.places if place.left_out
            },
        }


def write_files(files: Iterable[tuple[str, str]], target: BinaryIO) -> None:
    """Write named texts as a zip whose bytes depend on nothing else."""
    with zipfile.ZipFile(target, "w") as archive:
        for name, data in files:
            info = zipfile.ZipInfo(name, _EPOCH)
            info.external_attr, info.compress_type = 0o600 << 16, zipfile.ZIP_DEFLATED
            archive.writestr(info, data)
