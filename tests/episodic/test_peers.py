"""The benchmark's peers, and the generated workspace that they share."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import pytest
from django.core.management import CommandError, call_command
from django.db.models import QuerySet

from crewship_memory.bench import (
    dataset,
    peer_input,
    peer_libraries,
    peer_process,
    peer_services,
    peers,
    server,
)
from crewship_memory.bench.dataset import BenchWorkspace
from crewship_memory.bench.peer_input import Ask, PeerInput
from crewship_memory.bench.peers import Peer
from episodic.index import sweep as index
from episodic.models import Embedding, State
from memory.journal import append as journal
from memory.models import JournalEntry
from memory.rules.entries import NewEntry, Severity

ENTRIES = 40
# What differs between two entries, or says when.
OWN = {
    "entry_id",
    "seq",
    "vector",
    "dim",
    "model",
    "indexed_at",
    "embedded_at",
    "state",
}
Run = Callable[..., subprocess.CompletedProcess[bytes]]


@pytest.fixture
def workspace(db: None) -> BenchWorkspace:
    workspace = dataset.open_workspace("bench-peers")
    dataset.fill(workspace, ENTRIES)
    return workspace


def _in_this_process(load: Callable[[PeerInput], Ask]) -> Run:
    def run(command: Sequence[str], **_: Any) -> subprocess.CompletedProcess[bytes]:
        batch = peer_input.read(Path(command[-2]), Path(command[-1]))
        printed = json.dumps(peer_process.measure(load, batch)).encode()
        return subprocess.CompletedProcess(command, 0, b"Hello!\n" + printed, b"")

    return run


def _ends(code: int, stderr: bytes) -> Run:
    def run(command: Sequence[str], **_: Any) -> subprocess.CompletedProcess[bytes]:
        return subprocess.CompletedProcess(command, code, b"", stderr)

    return run


def _never(command: Sequence[str], **_: Any) -> subprocess.CompletedProcess[bytes]:
    raise AssertionError(command)


def _too_slow(
    command: Sequence[str], *, timeout: float, **_: Any
) -> subprocess.CompletedProcess[bytes]:
    raise subprocess.TimeoutExpired(command, timeout)


def _journal(workspace: BenchWorkspace) -> QuerySet[JournalEntry]:
    return JournalEntry.objects.filter(workspace_id=workspace.workspace_id)


def _report(
    workspace: BenchWorkspace, monkeypatch: pytest.MonkeyPatch, run: Run, peer: Peer
) -> dict[str, Any]:
    monkeypatch.setattr(subprocess, "run", run)
    measured = peers.measure(workspace.workspace_id, [peer])
    assert "generated" in measured["data"]
    of = Embedding.objects.filter(workspace_id=workspace.workspace_id)
    assert measured["vectors"] == of.count()
    (report,) = measured["peers"]
    assert report.pop("peer") == peer.name
    assert report.pop("how") == peer.how
    return dict(report)


def _half(batch: PeerInput) -> Ask:
    """Find the right rows of every question with an even number."""
    ask = peer_libraries.numpy(batch)
    return lambda number: [] if number % 2 else ask(number)


@pytest.mark.parametrize(
    ("load", "recall"),
    [(peer_libraries.numpy, 1.0), (_half, 0.5), (lambda _: lambda _: [], 0.0)],
)
def test_a_peer_is_measured_against_the_right_rows(
    workspace: BenchWorkspace,
    monkeypatch: pytest.MonkeyPatch,
    load: Callable[[PeerInput], Ask],
    recall: float,
) -> None:
    # Several parts on both sides, the last one short.
    monkeypatch.setattr(peers, "PART", 16)
    monkeypatch.setattr(peer_input, "BLOCK", 7)
    fake = Peer("fake", "somehow", ("json",), "fake")
    report = _report(workspace, monkeypatch, _in_this_process(load), fake)
    assert report["recall_at_10"] == recall
    assert set(report["ms"]) == {"p50", "p99"}
    assert set(report) == {"recall_at_10", "load_seconds", "ms", "memory_added_mb"}


def test_a_peer_that_is_not_installed_is_named_with_the_command(
    workspace: BenchWorkspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    ghost = Peer("ghost", "somehow", ("json", "no_such_module"), "ghost==1")
    report = _report(workspace, monkeypatch, _never, ghost)
    assert report == {"not_installed": "pip install ghost==1"}


@pytest.mark.parametrize(
    ("run", "message"),
    [
        (_ends(1, b"Traceback\nOSError: disk full\n"), "OSError: disk full"),
        (_ends(-9, b""), "ended with code -9"),
        (_too_slow, f"not done within {peers.SECONDS} s"),
    ],
)
def test_a_peer_that_fails_says_so_and_nothing_else_fails(
    workspace: BenchWorkspace, monkeypatch: pytest.MonkeyPatch, run: Run, message: str
) -> None:
    fake = Peer("fake", "somehow")
    assert _report(workspace, monkeypatch, run, fake) == {"failed": message}


def test_every_peer_has_a_loader() -> None:
    assert [peer.name for peer in peers.PEERS] == list(peer_process.LOADERS)


@pytest.mark.sqlite
def test_this_project_is_asked_as_a_peer_is(
    workspace: BenchWorkspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    fake = Peer("crewship", "its scan")
    run = _in_this_process(peer_process.LOADERS["crewship"])
    assert _report(workspace, monkeypatch, run, fake)["recall_at_10"] == 1.0


# ── Vectors for services ─────────────────────────────────────────────────────
def test_a_service_gets_the_given_vector_of_each_text(tmp_path: Path) -> None:
    rows = np.arange(12, dtype="<f4").reshape(6, 2)
    rows[:4].tofile(tmp_path / "vectors.f32")
    rows[4:].tofile(tmp_path / "questions.f32")
    batch = PeerInput(tmp_path, tmp_path, "w", 4, 2, 10, ["q0 x", "q1 x"])
    url = peer_services.embedding_server(peer_services.Vectors(batch).of)

    def ask(texts: str | list[str]) -> list[list[float]]:
        answer = httpx.post(f"{url}/embeddings", json={"input": texts, "model": "m"})
        return [row["embedding"] for row in answer.json()["data"]]

    assert ask(["2 two", "q1 who", "0 zero"]) == rows[[2, 5, 0]].tolist()
    assert ask("3 three") == [rows[3].tolist()]
    # A service that tries the address with a text of its own.
    assert ask("test") == [rows[0].tolist()]


# ── The generated workspace ──────────────────────────────────────────────────
def test_filling_leaves_what_the_index_would_have_made(
    workspace: BenchWorkspace,
) -> None:
    own_rows = Embedding.objects.filter(workspace_id=workspace.workspace_id)
    embeddable = _journal(workspace).filter(embeddable=True)
    assert _journal(workspace).count() == ENTRIES
    assert own_rows.count() == embeddable.count() > ENTRIES / 2
    assert set(own_rows.values_list("state", flat=True)) == {State.INDEXED}
    assert index.discover(workspace.workspace_id) == 0
    last = own_rows.select_related("entry").latest("seq")
    new = NewEntry(
        entry_type=last.entry.entry_type,
        severity=Severity(last.entry.severity),
        summary="As the index makes it",
    )
    journal.append(new, by=workspace.actor)
    assert index.discover(workspace.workspace_id) == 1
    waiting_row = own_rows.latest("seq")
    assert waiting_row.state == State.PENDING
    names = [column.attname for column in Embedding._meta.concrete_fields]
    common_names = set(names) - OWN
    assert {"workspace_id", "importance_score", "policy_version"} <= common_names
    assert {name: getattr(last, name) for name in common_names} == {
        name: getattr(waiting_row, name) for name in common_names
    }


def test_filling_gives_vectors_to_what_others_appended(
    workspace: BenchWorkspace,
) -> None:
    summary = "Appended in between"
    new = NewEntry(entry_type="memory.recorded", summary=summary)
    entry = journal.append(new, by=workspace.actor)
    dataset.fill(workspace, ENTRIES + 5)
    own_rows = Embedding.objects.filter(workspace_id=workspace.workspace_id)
    assert own_rows.get(entry_id=entry.id).state == State.INDEXED
    assert set(own_rows.values_list("state", flat=True)) == {State.INDEXED}
    assert _journal(workspace).count() == ENTRIES + 5


# ── The command ──────────────────────────────────────────────────────────────
def test_an_unknown_part_is_named() -> None:
    with pytest.raises(CommandError, match="Unknown part: beers"):
        call_command("bench", "peers", "beers")


@pytest.mark.sqlite
def test_the_command_asks_the_peers_once_per_size(
    db: None,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setenv("CREWSHIP_BENCH_INSIDE", "1")
    monkeypatch.setattr(peers, "PEERS", ())
    monkeypatch.setattr(peers, "measure", lambda workspace_id: {"asked": workspace_id})
    monkeypatch.setattr(server, "running", _never)
    call_command("bench", "peers", sizes="210,220")
    report = json.loads(capsys.readouterr().out)
    workspace = dataset.open_workspace("bench-recall")
    assert report["peers"] == [{"asked": workspace.workspace_id}] * 2
    assert "recall" not in report
    # The new key of this test is one more.
    assert _journal(workspace).count() == 221
    assert report["machine"]["cores"]
