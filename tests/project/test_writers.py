"""Whoever appends to the journal leaves a chain that verifies, words and all.

Every place in the source that appends is in ``tests.project.writers``, and every one is
made to append here; so is every operation of the API that changes something.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest
from django.db import connection
from pytest_django import Settings

from memory.integrations import selftest_runs
from memory.integrations.gateway import server as gateway_server
from memory.journal import append as journal
from memory.journal import verify
from memory.measurements import recorded
from memory.models import JournalEntry, Workspace
from memory.providers import parity_harness
from memory.rules.entries import NewEntry
from memory.rules.permissions import system
from tests.api.operations import OPERATIONS
from tests.project import source, writers
from tests.project.writers import Site
from tests.world import World

WRITING = [operation_.id for operation_ in OPERATIONS if operation_.method != "get"]
# What the hash and the signed end cover, or is worked out from what they cover.
COVERED = {
    "entry_type", "severity", "summary", "payload_text", "refs_text", "body", "salt",
    "commitment", "prev_hash", "entry_hash", "seq", "docid", "actor_type", "actor_id",
    "crew_id", "agent_id", "mission_id", "trace_id", "span_id", "ts", "expires_at",
    "priority_at_emit", "seal", "erased_at", "redacted_at",
}  # fmt: skip
DEMO = {site for site in writers.SITES if site[0] == "crewship_memory/demo/load.py"}
SELFTEST_SITE = ("memory/integrations/selftest_runs.py", "_keep")
# A run of an erasure commits and rewrites tables by itself.
COMMITTED = {("gdpr/erasure/finish.py", "_record"), ("gdpr/erasure/replay.py", "_note")}


def check() -> None:
    """Verify every chain, and that the index holds the words of the entries."""
    for workspace in Workspace.objects.all():
        report = verify.verify(workspace.id, by=system(workspace.id))
        assert report.ok, [(break_.entry_id, break_.reason) for break_ in report.breaks]
    if connection.vendor == "sqlite":
        entries_by_type = (
            "INSERT INTO journal_fts(journal_fts, rank) VALUES ('integrity-check', 1)"
        )
        with connection.cursor() as cursor:
            cursor.execute(entries_by_type)


@pytest.fixture(autouse=True)
def _stub_embedder(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    settings.GATEWAY_PRIVATE = True
    monkeypatch.setattr(gateway_server, "SETTLE_SECONDS", 0.0)


@pytest.fixture
def reached(monkeypatch: pytest.MonkeyPatch) -> set[Site]:
    """Return the places that appended during the test, as they are found."""
    sites: set[Site] = set()
    store = journal._write_admitted

    def watched(rows: Sequence[JournalEntry], new: Sequence[NewEntry]) -> None:
        between = (journal.__file__, recorded.__file__)
        frame = sys._getframe(1)
        while frame.f_back and frame.f_code.co_filename in between:
            frame = frame.f_back
        path = Path(frame.f_code.co_filename)
        if path.is_relative_to(source.ROOT):
            # A lambda counts as the function in which it stands.
            parts = frame.f_code.co_qualname.split(".")
            names = [part for part in parts if not part.startswith("<")]
            sites.add((source.name(path), names[-1]))
        store(rows, new)

    monkeypatch.setattr(journal, "_write_admitted", watched)
    return sites


# ── Nobody is left out ───────────────────────────────────────────────────────
def test_every_place_that_appends_is_in_the_table() -> None:
    assert writers.in_source() == set(writers.SITES)


def test_what_the_hash_covers_is_set_in_one_place() -> None:
    # Erasing and redacting seal what they leave; nobody else may change such a column.
    places = set()
    for path in source.sources():
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if not isinstance(node, ast.Call) or not isinstance(
                node.func, ast.Attribute
            ):
                continue
            if node.func.attr != "update" or "JournalEntry" not in ast.unparse(node):
                continue
            names = {word.arg for word in node.keywords}
            if names & COVERED:
                places.add((source.name(path), *sorted(map(str, names))))
    assert places == set()


# ── The chain holds after each ───────────────────────────────────────────────
@pytest.mark.parametrize(
    "site",
    sorted(set(writers.SITES) - DEMO - COMMITTED - {SELFTEST_SITE}),
    ids=lambda site: "-".join(site),
)
def test_the_chain_holds_after(world: World, reached: set[Site], site: Site) -> None:
    writers.SITES[site](world)
    assert site in reached
    check()


@pytest.mark.slow
@pytest.mark.parametrize("site", sorted(COMMITTED), ids=lambda site: "-".join(site))
def test_the_chain_holds_after_a_whole_erasure(
    shared_world: World, reached: set[Site], site: Site
) -> None:
    """Tables are rewritten, which PostgreSQL does in no transaction of a test."""
    writers.SITES[site](shared_world)
    assert site in reached
    check()


@pytest.mark.slow
def test_the_chain_holds_after_the_demo(world: World, reached: set[Site]) -> None:
    [demo] = {writers.SITES[site] for site in DEMO}
    demo(world)
    assert reached >= DEMO
    check()


@pytest.mark.parametrize("name", WRITING)
def test_the_chain_holds_after_the_operation(world: World, name: str) -> None:
    writers.operation(name)(world)
    check()


@pytest.mark.slow
def test_the_chain_holds_after_every_dialect(
    shared_world: World, reached: set[Site], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each integration keeps its promises; its workspace is verified before removal."""
    counts: list[int] = []
    strike = parity_harness.remove_workspace

    def judge(workspace: Workspace) -> None:
        counts.append(JournalEntry.objects.filter(workspace=workspace).count())
        check()
        strike(workspace)

    monkeypatch.setattr(parity_harness, "remove_workspace", judge)
    monkeypatch.setattr(selftest_runs, "PROVIDERS", ("native",))
    report = writers.SITES[SELFTEST_SITE](shared_world)
    assert SELFTEST_SITE in reached
    assert report.counts["broken"] == 0  # type: ignore[attr-defined]
    # The workspaces of the self-tests of integrations and of the provider.
    assert len(counts) >= 2
    assert min(counts) > 10
    check()
