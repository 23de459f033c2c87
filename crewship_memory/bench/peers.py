"""Other ways to find the nearest vectors, measured on the same vectors.

Each peer runs in a process of its own (``crewship_memory.bench.peer_process``), so that
what it takes of memory is its own and its failure is nobody else's. None of them is a
dependency: one that is not installed is named with the command that installs it.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from itertools import islice
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from crewship_memory.bench.dataset import Writer
from episodic.models import Embedding, State

QUESTIONS: Final = 100
TOP: Final = 10
# How long one peer may load and be asked; an own service takes each entry singly.
SECONDS: Final = 300
PART: Final = 10_000


@dataclass(frozen=True, slots=True)
class Peer:
    """One way to search; ``modules`` are what has to be importable."""

    name: str
    how: str
    modules: tuple[str, ...] = ()
    packages: str = ""

    def missing(self) -> bool:
        """Return whether one of its modules is not installed."""
        return any(find_spec(module) is None for module in self.modules)


PEERS: Final = (
    Peer("crewship", "this project's scan over SQLite, without words and HTTP"),
    Peer("numpy", "one product of a float32 matrix, argpartition", ("numpy",), "numpy"),
    Peer(
        "sqlite-vec",
        "vec0 table in a file, exact",
        ("sqlite_vec",),
        "sqlite-vec",
    ),
    Peer("faiss-flat", "IndexFlatIP in memory, exact", ("faiss",), "faiss-cpu"),
    Peer("usearch-exact", "its index in memory, exact=True", ("usearch",), "usearch"),
    Peer("usearch-hnsw", "the same index, approximate (HNSW)", ("usearch",), "usearch"),
    Peer(
        "mcp-memory-service",
        "its SQLite storage with texts; it caches the vectors of questions",
        ("mcp_memory_service",),
        "mcp-memory-service==12.2",
    ),
    Peer(
        "mem0",
        "add(infer=False) and search over its default store, Qdrant in a folder; each"
        " question's vector is asked of a server on loopback",
        ("mem0",),
        "mem0ai",
    ),
)


def measure(workspace_id: str, peers: Sequence[Peer] = PEERS) -> dict[str, Any]:
    """Ask every installed peer for the nearest ten of the workspace's vectors."""
    with tempfile.TemporaryDirectory(prefix="crewship-peers-") as folder:
        input_folder = Path(folder)
        right = _write(workspace_id, input_folder)
        return {
            "vectors": right.count,
            "top": TOP,
            "questions": QUESTIONS,
            "data": "generated: random unit vectors, which have no neighbourhoods",
            "peers": [_report(peer, input_folder, right.rows) for peer in peers],
        }


def _write(workspace_id: str, input_folder: Path) -> _Best:
    """Write what the peers read; return the right rows of each question, by float64.

    Vectors are float32 rows in a file of their own, which a peer reads in parts, and
    texts one JSON line each, which only some read.
    """
    rows = Embedding.objects.filter(workspace_id=workspace_id, state=State.INDEXED)
    columns = ("entry_id", "vector", "entry__summary", "entry__body")
    blobs = rows.order_by("seq").values_list(*columns).iterator(chunk_size=1_000)
    first, queries, best = 0, np.empty((0, 0), "<f4"), _Best()
    with (
        (input_folder / "vectors.f32").open("wb") as vectors,
        (input_folder / "texts.jsonl").open("w", encoding="utf-8") as texts,
    ):
        while part := list(islice(blobs, PART)):
            block = np.stack([np.frombuffer(vector, "<f4") for _, vector, *_ in part])
            if not first:
                queries = _questions(block.shape[1])
            best.add(queries, block, first)
            vectors.write(block.tobytes())
            for n, (entry_id, _, summary, body) in enumerate(part, first):
                # The number makes each text one of its own.
                texts.write(json.dumps([entry_id, f"{n} {summary} {body}"]) + "\n")
            first += len(part)
    if not first:
        message = "The workspace has no vectors."
        raise RuntimeError(message)
    queries.tofile(input_folder / "questions.f32")
    words = Writer(97)
    description = {
        "workspace_id": workspace_id,
        "entries": first,
        "dim": queries.shape[1],
        "top": TOP,
        "questions": [f"q{n} {words.sentence(6)}" for n in range(QUESTIONS)],
    }
    (input_folder / "about.json").write_text(json.dumps(description), encoding="utf-8")
    return best


def _questions(dim: int) -> NDArray[np.float32]:
    """Return unit vectors in random directions."""
    rng = np.random.default_rng(97)
    queries = rng.standard_normal((QUESTIONS, dim), dtype=np.float32)
    queries /= np.linalg.norm(queries, axis=1, keepdims=True)
    return queries


class _Best:
    """The nearest rows of each question among the blocks added so far."""

    def __init__(self) -> None:
        self.count = 0
        self.rows = np.empty((QUESTIONS, 0), np.int64)
        self._cosines = np.empty((QUESTIONS, 0))

    def add(
        self, queries: NDArray[np.float32], block: NDArray[Any], first: int
    ) -> None:
        """Compare the questions with a block whose first row has that number."""
        cosines = queries.astype(np.float64) @ block.astype(np.float64).T
        numbers = np.broadcast_to(np.arange(first, first + len(block)), cosines.shape)
        self.count += len(block)
        cosines = np.hstack([self._cosines, cosines])
        numbers = np.hstack([self.rows, numbers])
        order = np.argsort(-cosines, axis=1, kind="stable")[:, :TOP]
        self.rows = np.take_along_axis(numbers, order, 1)
        self._cosines = np.take_along_axis(cosines, order, 1)


def _report(peer: Peer, input_folder: Path, right: NDArray[np.int64]) -> dict[str, Any]:
    """Return the figures of one peer, or why there are none."""
    report: dict[str, Any] = {"peer": peer.name, "how": peer.how}
    if peer.missing():
        return report | {"not_installed": f"pip install {peer.packages}"}
    command = [sys.executable, "-m", "crewship_memory.bench.peer_process", peer.name]
    with tempfile.TemporaryDirectory(prefix="peer-", dir=input_folder) as own:
        try:
            process = subprocess.run(  # noqa: S603  (our own command and arguments)
                [*command, str(input_folder), own],
                capture_output=True,
                check=False,
                timeout=SECONDS,
            )
        except subprocess.TimeoutExpired:
            return report | {"failed": f"not done within {SECONDS} s"}
    lines = (process.stdout if not process.returncode else process.stderr).splitlines()
    last = lines[-1].decode(errors="replace") if lines else ""
    if process.returncode:
        return report | {"failed": last or f"ended with code {process.returncode}"}
    figures: dict[str, Any] = json.loads(last)
    report |= {"recall_at_10": _recall(figures.pop("nearest"), right)}
    return report | figures


def _recall(nearest: Sequence[Sequence[int]], right: NDArray[np.int64]) -> float:
    """Return which share of the right rows was found."""
    blobs = sum(
        len(set(rows) & set(of_question))
        for rows, of_question in zip(nearest, right.tolist(), strict=True)
    )
    return round(blobs / right.size, 4)
