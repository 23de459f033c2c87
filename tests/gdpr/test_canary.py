"""A word through every write path, searched for in every table and every file.

Before: each write path's word is stored, and every place of it has a holder.
After: no byte of it is left in any table, any file or the memory of this process.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from django.conf import settings
from django.db import connection

from episodic.index import engine
from gdpr.data_map import registry
from gdpr.data_map.base import Fate
from gdpr.models import Subject
from memory.integrations.gateway import server as gateway_server
from memory.journal import verify
from tests.api.operations import OPERATIONS
from tests.gdpr import kit
from tests.gdpr.write_paths import WRITE_PATHS
from tests.world import World

WORD = "zorb"

# Operations that write, but store no text of their caller.
WITHOUT_TEXT = {
    "index_now": "It takes a number.",
    "recompute_health": "It takes nothing.",
    "search_hybrid": "It answers and keeps nothing.",
    "search_records": "It answers; its question is kept like recall's.",
    "export_files": "It reads.",
    "provider_recall": "It answers and keeps nothing.",
    "provider_forget": "It takes an id.",
    "provider_reflect": "It answers and keeps nothing.",
    "provider_profile": "It answers and keeps nothing.",
    "provider_graph": "It answers and keeps nothing.",
    "preview_quarantine": "It answers and keeps nothing.",
    "test_remote_provider": "It takes nothing.",
    "change_workspace_settings": "An admin's; the holder keeps it with a reason.",
    "claim_quarantine": "It takes nothing.",
    "rescan_files": "It takes a number.",
    "consolidate_run": "It takes nothing.",
    "run_job": "It takes the name of a job.",
    "recall_turn": "It answers and keeps nothing; a gateway elsewhere may.",
    "persist_turn": "Curated memory keeps nothing of a turn; a gateway elsewhere may.",
    "choose_turn_setup": "An admin's set-up; the holder keeps it with a reason.",
}


def test_every_operation_of_the_api_is_classified() -> None:
    covered = {
        name for write_path in WRITE_PATHS.values() for name in write_path.operations
    }
    writing = {operation.id for operation in OPERATIONS if operation.method != "get"}
    remembering = {name for name in writing if not _is_request(name)}
    assert sorted(remembering - covered - set(WITHOUT_TEXT)) == []
    assert sorted(covered - {operation.id for operation in OPERATIONS}) == []


@pytest.mark.parametrize("name", sorted(WRITE_PATHS))
def test_each_write_path_stores_its_word(
    world: World, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.setattr(gateway_server, "SETTLE_SECONDS", 0.0)
    WRITE_PATHS[name].write(world, WORD + name)
    places = {**kit.in_tables(WORD + name), **kit.in_folders(WORD + name)}
    count = engine.embedder().count(lambda text: WORD + name in text)
    assert places or count


def _is_request(name: str) -> bool:
    """Whether an operation belongs to requests themselves, which are tested apart."""
    match = next(operation for operation in OPERATIONS if operation.id == name)
    return match.path.startswith(("/gdpr", "/admin/users"))


@pytest.fixture
def person(
    shared_world: World, monkeypatch: pytest.MonkeyPatch
) -> Iterator[tuple[World, Subject]]:
    """A world in which every write path stored a word."""
    monkeypatch.setattr(gateway_server, "SETTLE_SECONDS", 0.0)
    subject = kit.subject(shared_world, {"pattern": f"{WORD}*"})
    for name, path in WRITE_PATHS.items():
        path.write(shared_world, WORD + name)
    yield shared_world, subject
    if connection.vendor == "sqlite":
        kit.flush_bytes()


def _places() -> dict[str, dict[str, int]]:
    """Return write path → every place where its word is stored."""
    return {
        name: {**kit.in_tables(WORD + name), **kit.in_files(WORD + name)}
        for name in WRITE_PATHS
    }


def _holders_of(place: str) -> list[str]:
    table, _, _ = place.rpartition(".")
    folder = place.partition("/")[0]
    return [
        holder.name
        for holder in registry.ALL
        if table in holder.tables or folder in holder.files
    ]


def test_a_word_through_every_write_path_is_erased(
    person: tuple[World, Subject],
) -> None:
    world, subject = person
    before = _places()
    in_memory = engine.embedder().count(lambda text: WORD in text)
    for name, places in before.items():
        assert sum(places.values()) > 0 or name == "questions", name
    assert in_memory > 0
    database = {path for places in before.values() for path in places if "/" not in path
                and "sqlite3" in path}  # fmt: skip
    missing_places = {
        place
        for places in before.values()
        for place in places
        if place not in database and not _holders_of(place)
    }
    own_columns = {"gdpr.Subject.display_name", "gdpr.Alias.value", "gdpr.Alias.folded"}
    assert sorted(missing_places - own_columns) == []

    plans = kit.erase_all(subject)

    assert kit.traces(subject) == []
    remaining = kit.in_tables(WORD)
    assert {
        place: n for place, n in remaining.items() if place not in own_columns
    } == {}
    assert kit.in_folders(WORD) == {}
    assert engine.embedder().count(lambda text: WORD in text) == 0
    assert verify.verify(world.acme.id, by=world.system()).ok
    used = {name for name, plan in plans.items() if plan}
    assert {"journal", "files", "held", "records", "archive", "proposals"} <= used
    subject.aliases.all().delete()
    subject.display_name = ""
    subject.save()
    if connection.vendor == "sqlite":
        kit.flush_bytes()
        assert kit.in_files(WORD) == {}
    print(_summary(before, plans))  # noqa: T201  (the numbers, with -s)


def _summary(
    before: dict[str, dict[str, int]], plans: dict[str, dict[str, Fate]]
) -> str:
    places = {place for places_of in before.values() for place in places_of}
    used = [name for name, plan in plans.items() if plan]
    rows = sum(sum(places_of.values()) for places_of in before.values())
    return (
        f"{len(before)} write paths, {len(places)} places, {len(registry.ALL)} holders"
        f" of which {len(used)} had something, {rows} hits before"
    )


def test_words_of_other_people_are_kept(person: tuple[World, Subject]) -> None:
    world, subject = person
    row = world.entry("Nobody in particular asked")
    response = world.api("ada").post("/records", {"content": "The kiln needs a fuse"})
    kit.erase_all(subject)
    row.refresh_from_db()
    assert row.summary == "Nobody in particular asked"
    path = f"/records/{response.data['id']}"
    assert world.api("ada").get(path).data["content"] == "The kiln needs a fuse"
    assert settings.DATA_DIR.exists()
