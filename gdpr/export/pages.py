"""The pages of an access bundle, in the language of whoever asked for it.

``index.html`` is a letter to the person, ``why.html`` says why the data is stored and
who receives it, ``places/`` has the rows in sentences, ``calendar.html`` and ``days/``
the same by day, ``actions.html`` what was done with the data. The pages have no scripts
and no external resources.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any
from zoneinfo import ZoneInfo

from django.conf import settings
from django.db.models import Choices
from django.template.loader import render_to_string
from django.utils import translation
from django.utils.text import format_lazy
from django.utils.translation import gettext_lazy

from gdpr.cases import deadlines
from gdpr.export import calendar_pages, layout, letter
from gdpr.export.bundle import NOT_INCLUDED, Collection, Place
from gdpr.export.layout import Part
from gdpr.export.readable import reading
from gdpr.export.readable.values import Wording
from gdpr.models import ActionKind, ActionStatus, AliasKind, Consent


@dataclass(frozen=True, slots=True)
class Listed:
    """A place with its first page, for the table of the letter."""

    place: Place
    parts: list[Part]


def wording_of(collection: Collection) -> Wording:
    """Return the time zone and the names of a bundle's pages."""
    zone = deadlines.zone(collection.time_zone) or ZoneInfo("UTC")
    return Wording(zone, collection.names)


def files(collection: Collection, language: str) -> Iterator[tuple[str, str]]:
    """Yield the names and texts of a bundle's files, the letter first."""
    wording = wording_of(collection)
    with translation.override(language):
        first = letter.of(collection, wording)
    parts = {place.name: layout.parts(place) for place in collection.places}
    months = layout.months(collection, wording)
    context = {
        "collection": collection,
        "letter": first,
        "listed": [Listed(place, parts[place.name]) for place in first.places],
        "not_included": NOT_INCLUDED,
        "aliases": _aliases(collection),
        "is_alias": collection.subject["display_name"]
        in [alias["value"] for alias in collection.subject["aliases"]],
        "consent": _label(Consent, collection.subject["consent"]),
        "actions": [_action(row, wording) for row in collection.actions],
        "months": months,
    }
    for name in ("index", "why", "actions"):
        yield f"{name}.html", rendered(name, context, language)
    for place in collection.places:
        for part in parts[place.name]:
            page = _page(collection, place, parts[place.name], part, language, wording)
            yield part.name, page
    yield from calendar_pages.files(collection, months, parts, wording, language)
    document = collection.document()
    yield "data.json", json.dumps(document, ensure_ascii=False, indent=1, default=str)


def rendered(name: str, context: dict[str, Any], language: str) -> str:
    """Return a page of a bundle in a language."""
    with translation.override(language):
        return render_to_string(f"gdpr/bundle/{name}.html", context)


def _page(
    collection: Collection,
    place: Place,
    parts: list[Part],
    part: Part,
    language: str,
    wording: Wording,
) -> str:
    with translation.override(language):
        rows = place.rows[part.start : part.stop]
        context = {
            "collection": collection,
            "place": place,
            "rows": [
                (number, reading.of(row, wording))
                for number, row in enumerate(rows, part.start + 1)
            ],
            "part": part,
            "parts": parts,
            "before": parts[part.number - 2] if part.number > 1 else None,
            "after": parts[part.number] if part.number < len(parts) else None,
        }
        return render_to_string("gdpr/bundle/place.html", context)


def _aliases(collection: Collection) -> list[tuple[Any, str]]:
    return [
        (_label(AliasKind, alias["kind"]), alias["value"])
        for alias in collection.subject["aliases"]
    ]


def _action(row: dict[str, Any], wording: Wording) -> dict[str, Any]:
    return row | {
        "action": _label(ActionKind, row["action"]),
        "status": _label(ActionStatus, row["status"]),
        "reason": _reason(row),
        "at": wording.local(row["initiated_at"]),
        "ended": wording.local(row["completed_at"]),
    }


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
