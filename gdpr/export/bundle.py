"""The format of an access export: a zip of one JSON document and HTML pages.

``index.html`` explains it and lists the places, ``places/`` has a page per hundred
rows, ``data.json`` the same as JSON, ``actions.html`` who did what with the data. The
pages have no scripts and no external resources; they are in the language of whoever
asked for the bundle. ``data.json`` is in English.
"""

from __future__ import annotations

import json
import zipfile
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, BinaryIO, Final

from django.conf import settings
from django.db.models import Choices
from django.template.loader import render_to_string
from django.utils import translation
from django.utils.text import format_lazy
from django.utils.translation import gettext_lazy, gettext_noop

from gdpr.export.labels import LABELS
from gdpr.models import ActionKind, ActionStatus, AliasKind, Consent

PAGE: Final = 100
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

    @property
    def pages(self) -> list[str]:
        """The file names of its pages."""
        page_count = max(1, -(-len(self.rows) // PAGE))
        return [
            f"places/{self.name}-{number:03}.html"
            for number in range(1, page_count + 1)
        ]


@dataclass(frozen=True, slots=True)
class OtherPeople:
    """What was covered: how often by kind, and how many words by whose decision."""

    covered: dict[str, int] = field(default_factory=dict)
    # Words that were covered without being sure, and words left readable by decision.
    unsure: int = 0
    left_readable: int = 0


@dataclass(frozen=True, slots=True)
class Collection:
    """All data about a person."""

    subject: dict[str, Any]
    workspace: dict[str, str]
    exported_at: str
    action_id: str
    places: tuple[Place, ...]
    actions: tuple[dict[str, Any], ...]
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


def files(collection: Collection, language: str) -> Iterator[tuple[str, str]]:
    context = {
        "collection": collection,
        "not_included": NOT_INCLUDED,
        "aliases": [
            (_label(AliasKind, alias["kind"]), alias["value"])
            for alias in collection.subject["aliases"]
        ],
        "consent": _label(Consent, collection.subject["consent"]),
        "actions": [
            action
            | {
                "action": _label(ActionKind, action["action"]),
                "status": _label(ActionStatus, action["status"]),
                "reason": _reason(action),
            }
            for action in collection.actions
        ],
    }
    for name in ("index", "actions"):
        yield f"{name}.html", _rendered(name, context, language)
    for place in collection.places:
        yield from _pages(collection, place, language)
    document = collection.document()
    yield "data.json", json.dumps(document, ensure_ascii=False, indent=1, default=str)


def _rendered(name: str, context: dict[str, Any], language: str) -> str:
    with translation.override(language):
        return render_to_string(f"gdpr/bundle/{name}.html", context)


def _reason(action: dict[str, Any]) -> Any:
    """Return why something was done: a person's words, or the case it was done for."""
    case_id = action["case_id"]
    if case_id and action["reason"] == f"Case {case_id}":
        return format_lazy(gettext_lazy("Case {id}"), id=case_id)
    return action["reason"]


def _label(choices: type[Choices], english: str) -> Any:
    """Return what an English label is called in the language of a page."""
    with translation.override(settings.LANGUAGE_CODE):
        labels = [str(label) for label in choices.labels]
    return choices.labels[labels.index(english)] if english in labels else english


def _pages(
    collection: Collection, place: Place, language: str
) -> Iterator[tuple[str, str]]:
    for number, name in enumerate(place.pages):
        rows = place.rows[number * PAGE : (number + 1) * PAGE]
        context = {
            "collection": collection,
            "place": place,
            "rows": [_fields(row) for row in rows],
            "first": number * PAGE + 1,
            "name": name,
        }
        yield name, _rendered("place", context, language)


def _fields(row: dict[str, Any]) -> Sequence[tuple[Any, str, bool]]:
    """Return a row as (label, text, is long) for a page, empty values left out."""
    fields = []
    for key, value in row.items():
        if value in (None, "", [], {}):
            continue
        text = value if isinstance(value, str) else _plain(value)
        label = LABELS.get(key, key.replace("_", " "))
        fields.append((label, text, len(text) > 90 or "\n" in text))
    return fields


def _plain(value: Any) -> str:
    if isinstance(value, dict | list):
        return json.dumps(value, ensure_ascii=False, indent=1, default=str)
    return str(value)
