"""Repairs stored plans and results in which a mask replaced a number.

Erasures of an earlier version masked short aliases in the program's own data: counts
became ``[erased]``, and pages that add them up failed. Counts are computed again where
that is possible; the rest is left out, because no number is better than a wrong one.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping
from typing import Any, Final

MARKS: Final = ("[erased]", "[…]")
FATES: Final = ("delete", "redact", "keep")


def is_mark(value: object) -> bool:
    return isinstance(value, str) and value.startswith(MARKS)


def is_damaged(value: Any) -> bool:
    """Whether a mask is a whole value or a whole key anywhere inside."""
    if isinstance(value, Mapping):
        return any(map(is_mark, value)) or any(map(is_damaged, value.values()))
    if isinstance(value, list):
        return any(map(is_damaged, value))
    return is_mark(value)


def left(value: Any) -> Any:
    """Return a JSON value without the keys, values and items that are masks."""
    if isinstance(value, Mapping):
        items = value.items()
        return {k: left(v) for k, v in items if not is_mark(k) and not is_mark(v)}
    if isinstance(value, list):
        return [left(item) for item in value if not is_mark(item)]
    return value


def sections(details: Mapping[str, Any]) -> dict[str, Any]:
    """Return the details of a measurement without damaged sections."""
    return {k: v for k, v in details.items() if not is_mark(k) and not is_damaged(v)}


def plan(
    body: Mapping[str, Any], rows: Mapping[str, list[list[str]]], plan_hash: str
) -> dict[str, Any]:
    """Return the body of a plan, counted again from its rows."""
    holders = [place for place in body.get("holders", ()) if _is_named(place)]
    places = [_place(place, rows) for place in holders]
    own = [place for place in places if not place.get("derived")]
    total = {fate: sum(place[fate] for place in own) for fate in FATES}
    intact = left({k: v for k, v in body.items() if k not in ("holders", "total")})
    sums = {**total, "rows": sum(total.values())}
    return {**intact, "plan_hash": plan_hash, "holders": places, "total": sums}


def _is_named(place: Any) -> bool:
    """Whether the name of the place is intact."""
    name = place.get("name") if isinstance(place, Mapping) else None
    return isinstance(name, str) and not is_mark(name)


def _place(
    place: Mapping[str, Any], rows: Mapping[str, list[list[str]]]
) -> dict[str, Any]:
    counts = Counter(row[1] for row in rows.get(str(place["name"]), ()))
    fates = {fate: counts[fate] for fate in FATES}
    if place.get("derived") and not is_damaged(
        {fate: place.get(fate) for fate in FATES}
    ):
        fates = {fate: place.get(fate, 0) for fate in FATES}
    intact = {"title": str(place["name"]), "derived": False, "why": "", **left(place)}
    samples = [] if is_damaged(place.get("samples")) else place.get("samples", [])
    return {**intact, **fates, "samples": samples}


def result(stored: Mapping[str, Any], document: str) -> dict[str, Any]:
    """Return the result of a case; a damaged residue is read from its certificate."""
    if not is_damaged(stored.get("residue", {})):
        return dict(left(stored))
    proof = json.loads(document)["content"]["residue"] if document else {}
    intact = left({name: value for name, value in stored.items() if name != "residue"})
    return {**intact, "residue": proof} if proof else intact
