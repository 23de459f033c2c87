"""Slot values of routine entries, drawn once per case."""

from __future__ import annotations

import unicodedata
from typing import TYPE_CHECKING, TypeAlias

from crewship_memory.demo import model, source

if TYPE_CHECKING:
    import random
    from collections.abc import Mapping

Slots: TypeAlias = "dict[str, str | int | float]"

CAMPAIGNS = ("PEAK", "TRAIL", "FJORD", "SNOW")
LIMIT_RAISED_ON = -24
PLAIN = str.maketrans({"ø": "o", "æ": "ae", "å": "a", "ß": "ss"})
WORDS = [
    "bank",
    "brand",
    "browser",
    "carrier",
    "city",
    "colour",
    "daypart",
    "first",
    "language",
    "last",
    "page",
]


def random_slots(rng: random.Random, day: int) -> Slots:
    """Return all slot values of one case; amounts obey that day's refund limit."""
    lists = source.document("slots.toml")
    slots: Slots = {word: rng.choice(source.texts(lists[word])) for word in WORDS}
    slots["email"] = address(str(slots["first"]), str(slots["last"]))
    slots["path"] = "/" + str(slots["page"]).removeprefix("the ").replace(" ", "-")
    slots |= _sized(rng, lists) | _topic(rng, lists)
    return slots | _money(rng, day, lists) | _numbers(rng, day)


def address(first: str, last: str) -> str:
    """An invented address; a name always gets the same one."""
    domain = "example.org" if len(first + last) % 2 else "example.com"
    return f"{_plain(first)}.{_plain(last)}@{domain}"


def _plain(name: str) -> str:
    folded = unicodedata.normalize("NFKD", name.lower().translate(PLAIN))
    return folded.encode("ascii", "ignore").decode()


def _sized(rng: random.Random, lists: source.Table) -> Slots:
    """Return a garment with a size that exists for it."""
    items = [row for row in source.tables(lists["item"]) if "sizes" in row]
    item = rng.choice(items)
    return {
        "wear": source.text(item, "name"),
        "size": rng.choice(source.texts(item["sizes"])),
    }


def _topic(rng: random.Random, lists: source.Table) -> Slots:
    """Return a category and the words people search it by."""
    topic = rng.choice(source.tables(lists["topic"]))
    query = rng.choice(source.texts(topic["queries"]))
    return {"category": source.text(topic, "category"), "query": query}


def _money(rng: random.Random, day: int, lists: source.Table) -> Slots:
    item = rng.choice(source.tables(lists["item"]))
    price = source.number(item, "price", 99.0)
    limit = 200 if day >= LIMIT_RAISED_ON else 100
    return {
        "item": source.text(item, "name"),
        "price": f"{price:.2f}",
        "limit": limit,
        "over": f"{limit + rng.randint(4, 180) + rng.choice([0.0, 0.4, 0.9]):.2f}",
        "under": f"{rng.randint(18, limit) - 0.1:.2f}",
        "repair": rng.randint(6, 38),
        "nok": f"{round(price * 10.6):,}",
        "fee": rng.randint(120, 320),
    }


def _numbers(rng: random.Random, day: int) -> Slots:
    """Return order and parcel numbers, which grow with time."""
    return {
        "order": 88240 + day * 62 + rng.randint(0, 58),
        "parcel": 7790 + day * 21 + rng.randint(0, 20),
        "ticket": 5120 + day * 34 + rng.randint(0, 33),
        "batch": min(46, max(1, (day + 36) * 46 // 27)),
        "card": f"GC-{rng.randint(1000, 9999)}",
        "charge": f"ch_{rng.randint(10_000, 99_999)}",
        "voucher": f"{rng.choice(CAMPAIGNS)}{rng.randint(5, 40)}",
        "postcode": rng.randint(10_000, 98_999),
        "last4": f"{rng.randint(0, 9999):04d}",
        "cents": f"{rng.randint(1, 4):02d}",
        "days": rng.randint(3, 12),
        "months": rng.randint(2, 26),
        "kilos": rng.randint(1, 19),
        "n": rng.randint(3, 48),
        "rank": rng.randint(2, 9),
        "ms": rng.randrange(320, 2900, 10),
        "seconds": rng.randint(11, 190),
        "minute": rng.randint(10, 55),
        "pct": rng.randint(6, 44),
        "points": rng.randint(2, 11),
        "score": rng.randint(61, 79),
        "docs": rng.randrange(180, 1500, 5),
    }


def filled(template: str, slots: Mapping[str, str | int | float]) -> str:
    return template.format_map(slots)


def one_filled(
    value: model.Json, slots: Mapping[str, str | int | float], variant: int
) -> model.Json:
    """Fill one value; alternatives are numbered, a lone slot keeps its value's type."""
    if isinstance(value, list):
        value = value[variant % len(value)]
    if not isinstance(value, str):
        return value
    lone = value[1:-1]
    return slots[lone] if value == f"{{{lone}}}" else filled(value, slots)
