"""Helpers for tests of the pages of an access bundle."""

from __future__ import annotations

import html
import json
import re
from collections.abc import Iterator, Mapping
from html.parser import HTMLParser
from typing import Any

from gdpr import audit_log
from gdpr.cases import privacy_settings
from gdpr.export import make as export
from gdpr.export import pages
from gdpr.export.bundle import Collection, Place
from gdpr.models import ActionKind, Case, Subject
from tests.world import World


def collected(world: World, person: Subject, case: Case | None = None) -> Collection:
    """Return everything about a person, as a bundle has it."""
    by = world.actor("compliance")
    action = audit_log.begin(person.id, ActionKind.EXPORT, by=by)
    return export.collect(person, action, case)


def made(world: World, person: Subject, language: str = "en") -> dict[str, str]:
    """Return the files of a person's bundle by their names."""
    return dict(pages.files(collected(world, person), language))


def collection(
    world: World, name: str = "Riko", /, **rows: list[dict[str, Any]]
) -> Collection:
    """Return a collection of made-up rows: place → rows; ``name`` is the agent's."""
    workspace_id = world.acme.id
    return Collection(
        subject={"id": "sub_1", "display_name": "", "consent": "Given", "aliases": []},
        workspace={"id": workspace_id, "name": "Acme"},
        exported_at="2026-03-04T10:00:00.000Z",
        action_id="act_1",
        places=tuple(Place(place, place, values) for place, values in rows.items()),
        actions=(),
        names={"a_1": name, "c_1": "Checkout"},
        time_zone=privacy_settings.of(workspace_id).time_zone,
    )


def texts(value: Any) -> Iterator[str]:
    """Yield every text in a value, also in JSON that is stored as a text."""
    if isinstance(value, Mapping):
        for item in value.values():
            yield from texts(item)
    elif isinstance(value, list):
        for item in value:
            yield from texts(item)
    elif isinstance(value, str) and value:
        try:
            inner = json.loads(value) if value[0] in "{[" else None
        except ValueError:
            inner = None
        yield from texts(inner) if isinstance(inner, (dict, list)) else [value]


class _Words(HTMLParser):
    """Texts of a page, what stands in time elements, and its links."""

    def __init__(self) -> None:
        super().__init__()
        self.parts: list[str] = []
        self.links: list[str] = []
        self.ids: set[str] = set()

    def handle_starttag(self, _tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = dict(attrs)
        self.parts.append(values.get("datetime") or "\n")
        self.links += [values["href"] or ""] if "href" in values else []
        self.ids |= {values["id"] or ""} if "id" in values else set()

    def handle_data(self, data: str) -> None:
        self.parts.append(data)


def read(page: str) -> _Words:
    """Return the words, links and anchors of a page."""
    words = _Words()
    words.feed(re.sub(r"<style>.*?</style>", "", page, flags=re.DOTALL))
    return words


def words(files: Mapping[str, str]) -> str:
    """Return the words of all pages."""
    return "\n".join(
        "".join(read(text).parts)
        for name, text in files.items()
        if name.endswith(".html")
    )


def plain(page: str) -> str:
    """Return a page's words in one line."""
    body = re.sub(r"<style>.*?</style>", "", page, flags=re.DOTALL)
    return re.sub(r"\s+", " ", html.unescape(re.sub(r"<[^>]+>", "", body)))
