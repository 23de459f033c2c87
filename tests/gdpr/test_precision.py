"""An erasure changes the rows of one person and nothing of anybody else."""

from __future__ import annotations

import hashlib
from typing import Any, Final

import pytest
from django.apps import apps
from django.db import connection

from episodic.recall import search as recall
from episodic.recall.search import Request
from gdpr.models import CasePlan, CaseState
from memory.files import tools
from tests.gdpr import erasing
from tests.world import World

pytestmark = pytest.mark.slow

Rows = dict[tuple[str, str], str]
TOPICS: Final = ("harbour", "violin", "granite", "orchard", "lantern", "compass")
# Counters of the house itself, and when a key was last used.
HOUSE: Final = frozenset(
    {
        "memory.ChainHead",
        "memory.JobRun",
        "memory.AgentKey",
        "memory.OperatorKey",
        "episodic.EmbeddingChange",
        "episodic.IndexState",
    }
)


def _others(world: World) -> None:
    for number, topic in enumerate(TOPICS * 4):
        who = f"person{number}@elsewhere.example"
        erasing.subject(world, ("email", who), shown=f"Person {number}")
        world.indexed(f"{who} spoke of the {topic} number {number}")
    tools.call(
        "memory.write",
        {"tier": "CREW", "content": "- The harbour opens at nine", "mode": "append"},
        by=world.actor("bob"),
    )


def _rows() -> Rows:
    """Return every row of the ground floor and the first floor, by its digest."""
    found: Rows = {}
    for model in apps.get_models():
        if model._meta.app_label not in ("memory", "episodic"):
            continue
        if model._meta.label in HOUSE:
            continue
        for row in model._default_manager.values():
            key = str(row[model._meta.pk.attname])
            told = repr(sorted(row.items())).encode()
            found[model._meta.label, key] = hashlib.sha256(told).hexdigest()
    return found


def _asked(world: World) -> list[str]:
    """Return what is found first for questions about other people."""
    by: Any = world.actor("compliance")
    questions = [
        Request(
            query=f"person{number}@elsewhere.example {topic} number {number}",
            k=1,
            mark=False,
        )
        for number, topic in enumerate(TOPICS * 4)
    ]
    return [recall.ask(one, by=by).hits[0].entry.id for one in questions]


def _sound() -> None:
    """Ask both word indexes whether they fit what they index."""
    if connection.vendor == "sqlite":
        with connection.cursor() as cursor:
            for index in ("journal_fts", "chunks_fts"):
                sql = f"INSERT INTO {index}({index}) VALUES ('integrity-check')"
                cursor.execute(sql)
            cursor.execute("PRAGMA integrity_check")
            assert cursor.fetchone()[0] == "ok"


def test_nobody_elses_row_is_touched(shared_world: World) -> None:
    world = shared_world
    _others(world)
    erasing.otto(world)
    hers = erasing.lived_in(world)
    who = erasing.maria(world)
    before, heard = _rows(), _asked(world)
    case = erasing.erased(world, who)
    assert case.state == CaseState.COMPLETE, erasing.told(case)
    _sound()
    after = _rows()
    planned = {
        row_id.rpartition(":")[2]
        for found in CasePlan.objects.get(case=case).rows.values()
        for row_id, _ in found
    } | {hers["mine"].id, hers["both"].id}
    changed = {key for key, told in before.items() if after.get(key) != told}
    # A memory file goes by its id; its versions and pieces go with it.
    files = {"memory.MemoryFile", "memory.MemoryVersion", "memory.MemoryChunk"}
    foreign = {
        (label, key)
        for label, key in changed
        if key not in planned and label not in files
    }
    assert foreign == set()
    assert changed, "or nothing was compared"
    assert _asked(world) == heard
