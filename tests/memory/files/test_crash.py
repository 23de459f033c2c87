"""A real process, killed between any two steps of a write, and what is left of it."""

from __future__ import annotations

import json
import os
import random
import time
from pathlib import Path

import pytest
from django.conf import settings

from memory.files import paths, reconcile, search_index, versions
from memory.journal import verify
from memory.models import JournalEntry, MemoryFile, MemoryVersion
from memory.stored_files.store import digest
from tests import processes
from tests.memory.files import kit
from tests.waiting import LIMIT_SECONDS
from tests.world import World

pytestmark = pytest.mark.slow
LABEL = "daily/2026-05-21.md"
OLD = "old words"
STEPS = ("temporary", "intention", "rename", "settled")
AFTER = {
    "replace": "new words",
    "append": f"{OLD}\nnew words",
    "remove": None,
}
KILLS = 15


def _crash(world: World, act: str, step: str) -> str:
    process = processes.start(
        "tests.memory.files.crasher",
        str(settings.DATA_DIR),
        world.agents["ada"].id,
        act,
        step,
        "new words",
    )
    output, _ = process.communicate(timeout=LIMIT_SECONDS)
    assert process.returncode == -9
    return output


def _reopen() -> None:
    paths.file_store().tidy()
    reconcile.sweep()


def _text(world: World) -> str | None:
    path = kit.on_disk(world, LABEL)
    return path.read_text() if path.exists() else None


def _check(world: World) -> list[MemoryVersion]:
    """Everything agrees: disk, row, chain of versions, blobs, index, journal."""
    row = kit.row(world, LABEL)
    text = _text(world)
    assert row.sha256 == ("" if text is None else digest(text.encode()))
    assert not row.versions.filter(committed=False).exists()
    log = versions.log(row, 10_000)
    assert versions.read(log[0]) == (text or "").encode()
    assert [v.parent_id for v in log[:-1]] == [v.id for v in log[1:]]
    numbers = [v.number for v in log]
    assert numbers == sorted(set(numbers), reverse=True)
    assert [versions.read(v) is not None for v in log]
    entries = JournalEntry.objects.filter(refs_text__contains=row.id).order_by("seq")
    assert [e.refs["version_id"] for e in entries] == [v.id for v in reversed(log)]
    assert " ".join(c.text for c in row.chunks.all()).split() == (text or "").split()
    assert verify.verify(world.acme.id, by=world.actor("owner")).ok
    return log


@pytest.mark.parametrize("act", AFTER)
@pytest.mark.parametrize("step", STEPS)
def test_a_write_that_is_killed_is_whole_or_was_never(
    shared_world: World, act: str, step: str
) -> None:
    kit.write(shared_world, OLD, LABEL)
    _crash(shared_world, act, step)
    on_disk = _text(shared_world)
    assert on_disk in (OLD, AFTER[act])
    _reopen()
    log = _check(shared_world)
    is_written = step in ("rename", "settled")
    assert _text(shared_world) == (AFTER[act] if is_written else OLD)
    assert len(log) == (2 if is_written else 1)
    assert log[0].source == "tool"
    entry = JournalEntry.objects.filter(refs_text__contains=log[0].id).get()
    assert entry.agent_id == shared_world.agents["ada"].id
    assert entry.actor_type == "agent"
    if is_written and act != "remove":
        assert search_index.find([kit.row(shared_world, LABEL).id], "new", 5)


def test_a_temporary_that_is_left_is_never_a_file(shared_world: World) -> None:
    kit.write(shared_world, OLD, LABEL)
    _crash(shared_world, "replace", "temporary")
    folder = kit.on_disk(shared_world, LABEL).parent
    names = [name for name in os.listdir(folder) if name.startswith(".crewship-tmp-")]  # noqa: PTH208
    assert len(names) == 1
    _reopen()
    assert MemoryFile.objects.count() == 1
    os.utime(folder / names[0], (1, 1))
    assert paths.file_store().tidy() == 1


def _run_and_kill(world: World, first: int, chance: random.Random) -> list[int]:
    process = processes.start(
        "tests.memory.files.crasher",
        str(settings.DATA_DIR),
        world.agents["ada"].id,
        "load",
        "-",
        str(first),
    )
    assert process.stdout is not None
    numbers = [int(process.stdout.readline())]
    time.sleep(chance.uniform(0.0, 0.15))
    process.kill()
    numbers += [
        int(line) for line in process.stdout.read().splitlines() if line.strip()
    ]
    process.wait(LIMIT_SECONDS)
    process.stdout.close()
    return numbers


def test_many_random_kills_lose_and_tear_nothing(shared_world: World) -> None:
    chance, missed, torn, writes, first = random.Random(7), 0, 0, 0, 1
    for _ in range(KILLS):
        numbers = _run_and_kill(shared_world, first, chance)
        writes += len(numbers)
        text = _text(shared_world) or ""
        lines = text.splitlines()
        torn += any(not line.endswith(" end") for line in lines)
        _reopen()
        stored = {
            int(line.split()[1]) for line in (_text(shared_world) or "").splitlines()
        }
        # A replace at the cap starts the file anew: what counts is the newest run.
        newest = {n for n in numbers if n >= min(stored, default=0)}
        missed += len(newest - stored) + (max(numbers) not in stored)
        first = max(stored) + 1
    log = _check(shared_world)
    acknowledged = sum(v.source == "tool" for v in log)
    figures = {
        "kills": KILLS,
        "acknowledged": writes,
        "versions": acknowledged,
        "lost": missed,
        "torn": torn,
    }
    Path(os.environ.get("CRASH_FIGURES", os.devnull)).write_text(json.dumps(figures))
    assert (missed, torn) == (0, 0)
    assert acknowledged >= writes
