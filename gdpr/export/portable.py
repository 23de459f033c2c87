"""A person's data for another service (Article 20 GDPR): JSON with its schema.

Only what the memory keeps about the person: entries, records, files. What this
installation did with it (requests, keys, runs, logs) is part of an access bundle.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import asdict, replace
from typing import Any, Final

from django.template.loader import render_to_string
from django.utils import translation

from gdpr.export.bundle import Collection

FORMAT: Final = "crewship-portable-data"
VERSION: Final = 1
# The places whose rows are the person's data and not about our own work.
PLACES: Final = ("journal", "archive", "records", "held", "files")


def part_of(collection: Collection) -> Collection:
    """Return what a portable bundle has of a collection: no officer reads more."""
    places = tuple(place for place in collection.places if place.name in PLACES)
    return replace(collection, places=places, actions=())


def document(collection: Collection) -> dict[str, Any]:
    """Return the data as JSON, in the shape that ``schema`` describes."""
    return {
        "format": FORMAT,
        "version": VERSION,
        "exported_at": collection.exported_at,
        "person": {
            "display_name": collection.subject["display_name"],
            "identifiers": collection.subject["aliases"],
        },
        "data": {
            place.name: [_row(row) for row in place.rows]
            for place in part_of(collection).places
        },
        "other_people": asdict(collection.other_people),
    }


def _row(row: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in row.items() if name != "place"}


_NUMBER: Final = {"type": "integer", "minimum": 0}
_OTHER_PEOPLE: Final = {
    "type": "object",
    "required": ["covered", "unsure", "left_readable"],
    "properties": {
        "covered": {"type": "object", "additionalProperties": _NUMBER},
        "unsure": _NUMBER,
        "left_readable": _NUMBER,
    },
}


def schema() -> dict[str, Any]:
    """Return the JSON Schema (draft 2020-12) of the document."""
    text = {"type": "string"}
    row = {"type": "object", "required": ["id"], "properties": {"id": text}}
    identifier = {
        "type": "object",
        "required": ["kind", "value"],
        "properties": {"kind": text, "value": text},
    }
    person = {
        "type": "object",
        "required": ["display_name", "identifiers"],
        "properties": {
            "display_name": text,
            "identifiers": {"type": "array", "items": identifier},
        },
    }
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "A person's data",
        "type": "object",
        "required": "format version exported_at person other_people data".split(),
        "properties": {
            "format": {"const": FORMAT},
            "version": {"const": VERSION},
            "exported_at": {"type": "string", "format": "date-time"},
            "person": person,
            "other_people": _OTHER_PEOPLE,
            "data": {
                "type": "object",
                "required": list(PLACES),
                "properties": {
                    name: {"type": "array", "items": row} for name in PLACES
                },
            },
        },
    }


def files(collection: Collection, language: str) -> Iterator[tuple[str, str]]:
    """Yield the names and texts of the bundle's files."""
    places = part_of(collection).places
    context = {"collection": collection, "places": places}
    with translation.override(language):
        yield "index.html", render_to_string("gdpr/bundle/portable.html", context)
    yield "schema.json", json.dumps(schema(), indent=1)
    data = document(collection)
    yield "data.json", json.dumps(data, ensure_ascii=False, indent=1, default=str)
