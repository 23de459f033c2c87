"""A certificate's lists as a page shows them: labels, order, what is left out.

What is read here was signed by this installation. A certificate of version 1 has no
lists: ``is_listed`` is False, and the page shows what it has.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from django.utils.translation import gettext, pgettext_lazy

from gdpr.certificates.identifiers import SoughtIn
from gdpr.models import AliasKind
from gdpr.subjects import rectification
from gdpr.web import readings

COUNTS: Final = ("deleted", "redacted", "kept")
SOUGHT_IN: Final = {
    SoughtIn.TEXTS: pgettext_lazy("sought in", "texts"),
    SoughtIn.FIELDS: pgettext_lazy("sought in", "fields that say who"),
    SoughtIn.BYTES: pgettext_lazy("sought in", "bytes of files"),
}
VERDICTS: Final = {
    "complete": ("green", pgettext_lazy("certificate", "Complete")),
    "complete_except": ("yellow", pgettext_lazy("certificate", "Complete, except")),
    "partial": ("yellow", pgettext_lazy("certificate", "Partial")),
}


def of(content: Mapping[str, Any]) -> dict[str, Any]:
    """Return the context of a certificate's lists."""
    verdict = str(content.get("verdict") or content.get("result") or "partial")
    places = _places(content)
    lists = {
        "is_listed": bool(content.get("verdict")),
        "verdict": VERDICTS.get(verdict, VERDICTS["partial"]),
        "places": [place for place in places if place["rows"]],
        "empty_places": [place["name"] for place in places if not place["rows"]],
    }
    if not lists["is_listed"]:
        return lists
    return lists | {
        "identifiers": [_identifier(line) for line in content["identifiers"]["list"]],
        "not_listed": sum(content["identifiers"]["not_listed"].values()),
        "certain_forms": _sentences(content["forms"], certain=True),
        "proposed_forms": _sentences(content["forms"], certain=False),
        "kept": [
            line | {"place": place_name(line["place"])}
            for line in content["kept"]["rows"]
        ],
        "gaps": _sentences(content["not_searched"], gap=True),
        "not_searched": _sentences(content["not_searched"], gap=False),
    }


def _sentences(lines: list[dict[str, Any]], **wanted: bool) -> list[str]:
    [(name, value)] = wanted.items()
    return [str(line["sentence"]) for line in lines if line[name] is value]


def kind_label(kind: str) -> str:
    """Return what an identifier is, as the reader calls it."""
    if kind == rectification.KIND:
        return gettext("Words to be replaced")
    return str(AliasKind(kind).label) if kind in AliasKind.values else kind


def sought_in(line: Mapping[str, Any]) -> list[str]:
    """Return where an identifier was sought, as the reader calls it."""
    return [
        str(label) for place, label in SOUGHT_IN.items() if place in line["sought_in"]
    ]


def _identifier(line: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "kind": kind_label(str(line["kind"])),
        "digest": line["digest"],
        "sought_in": sought_in(line),
    }


def place_name(name: str) -> str:
    return str(readings.PLACES.get(name) or name.replace("_", " ").capitalize())


def _places(content: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the places with their counts; of version 1 only those with rows."""
    searched = content.get("searched")
    if isinstance(searched, dict):
        rows = [(readings.of(place["title"]), place) for place in searched["places"]]
    else:
        holders = content.get("holders")
        named_rows = holders.items() if isinstance(holders, dict) else ()
        rows = [(place_name(str(name)), counts) for name, counts in named_rows]
    return [_place(name, counts) for name, counts in rows]


def _place(name: str, counts: Any) -> dict[str, Any]:
    numbers = counts if isinstance(counts, dict) else {}
    figures = {key: numbers.get(key, 0) for key in (*COUNTS, "found")}
    is_named = any(figures.values()) or "found" not in numbers
    return {"name": name, "rows": is_named, **figures}
