"""An erasure changes one person's rows and nobody else's."""

from __future__ import annotations

import hashlib
from typing import Any, Final

import pytest
from django.apps import apps
from django.db import connection

from episodic.recall import search as recall
from episodic.recall.request import Request
from gdpr.models import CasePlan, CaseState
from memory.files import tools
from memory.models import JournalEntry
from tests.gdpr import erasing
from tests.world import World

pytestmark = pytest.mark.slow

Rows = dict[tuple[str, str], str]
TOPICS: Final = ("harbour", "violin", "granite", "orchard", "lantern", "compass")
# Counters of the program, and when a key was last used.
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


def _other_people(world: World) -> None:
    for number, topic in enumerate(TOPICS * 4):
        person = f"person{number}@elsewhere.example"
        erasing.subject(world, ("email", person), display_name=f"Person {number}")
        world.indexed(f"{person} spoke of the {topic} number {number}")
    tools.call(
        "memory.write",
        {"tier": "CREW", "content": "- The harbour opens at nine", "mode": "append"},
        by=world.actor("bob"),
    )


def _rows() -> Rows:
    """Return the digest of every row of ``memory`` and ``episodic``."""
    rows: Rows = {}
    for model in apps.get_models():
        if model._meta.app_label not in ("memory", "episodic"):
            continue
        if model._meta.label in HOUSE:
            continue
        for row in model._default_manager.values():
            key = str(row[model._meta.pk.attname])
            digest = repr(sorted(row.items())).encode()
            rows[model._meta.label, key] = hashlib.sha256(digest).hexdigest()
    return rows


def _top_hits(world: World) -> list[str]:
    """Return the first hit of each question about other people."""
    by: Any = world.actor("compliance")
    questions = [
        Request(
            query=f"person{number}@elsewhere.example {topic} number {number}",
            k=1,
            mark=False,
        )
        for number, topic in enumerate(TOPICS * 4)
    ]
    return [recall.search(question, by=by).hits[0].entry.id for question in questions]


def _sound() -> None:
    """Check the integrity of both full-text indexes."""
    if connection.vendor == "sqlite":
        with connection.cursor() as cursor:
            for index in ("journal_fts", "chunks_fts"):
                sql = f"INSERT INTO {index}({index}) VALUES ('integrity-check')"
                cursor.execute(sql)
            cursor.execute("PRAGMA integrity_check")
            assert cursor.fetchone()[0] == "ok"


def test_nobody_elses_row_is_touched(shared_world: World) -> None:
    world = shared_world
    _other_people(world)
    erasing.otto(world)
    own_rows = erasing.lived_in(world)
    maria = erasing.maria(world)
    before, heard = _rows(), _top_hits(world)
    case = erasing.erased(world, maria)
    assert case.state == CaseState.COMPLETE, erasing.failure_text(case)
    _sound()
    after = _rows()
    planned = {
        row_id.rpartition(":")[2]
        for plan_rows in CasePlan.objects.get(case=case).rows.values()
        for row_id, _ in plan_rows
    } | {own_rows["mine"].id, own_rows["both"].id}
    # The words of an entry go by its number.
    numbers = JournalEntry.objects.filter(pk__in=planned)
    planned |= {str(docid) for docid in numbers.values_list("docid", flat=True)}
    differing = {key for key, digest in before.items() if after.get(key) != digest}
    # A memory file goes by its id; its versions and pieces go with it.
    files = {"memory.MemoryFile", "memory.MemoryVersion", "memory.MemoryChunk"}
    foreign = {
        (label, key)
        for label, key in differing
        if key not in planned and label not in files
    }
    assert foreign == set()
    assert differing, "or nothing was compared"
    assert _top_hits(world) == heard
