"""The two passes of a search: the same best entries as float64 brute force."""

from __future__ import annotations

import subprocess
import sys
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from episodic.vectors import centre, matrix, passes, quantised, rows
from episodic.vectors.base import VectorScope
from episodic.vectors.cosine import Rows
from episodic.vectors.matrix import Matrix, Snapshot
from episodic.vectors.quantised import Question
from episodic.vectors.scan import ScanIndex
from memory.word_index import entry_rows
from memory.word_index.entry_rows import Ids
from tests.episodic import matrices

DIM = 24
WHOLE_SCOPE = VectorScope(workspace_id="ws_1", model="m")
KINDS = [(True, False), (False, False), (True, True), (False, True)]
CREWS = ["crew_1", "crew_2", None]
SCOPES = [
    {},
    {"agent_id": "agent_1"},
    {"crew_id": "crew_1"},
    {"crew_id": "crew_2", "agent_id": "agent_0"},
    {"only_crewless": True},
    {"agent_id": "agent_9"},
]


@dataclass
class Entry:
    """What brute force knows of an entry."""

    vector: NDArray[np.float32]
    importance: float
    agent: str
    crew: str | None
    ts: int


@dataclass
class Memory(ScanIndex):
    """A matrix beside a dict of the same entries, without a database."""

    matrix: Matrix = field(default_factory=lambda: Matrix(DIM))
    entries: dict[str, Entry] = field(default_factory=dict)

    def view(self, scope: VectorScope, dim: int) -> tuple[Matrix, Snapshot]:  # noqa: ARG002
        return self.matrix, self.matrix.snapshot()

    def put(self, entries: dict[str, Entry]) -> None:
        values = list(entries.values())
        batch = matrices.batch(
            list(entries),
            np.stack([entry.vector for entry in values]),
            importance=[entry.importance for entry in values],
            agents=[entry.agent for entry in values],
            crews=[entry.crew for entry in values],
            ts=[entry.ts for entry in values],
        )
        self.matrix.put(batch)
        self.entries |= entries

    def drop(self, ids: list[str]) -> None:
        self.matrix.drop(ids)
        for entry_id in ids:
            self.entries.pop(entry_id, None)

    def read(
        self, _workspace: str, _model: str, _dim: int, ids: Ids
    ) -> tuple[NDArray[np.float32], NDArray[np.bool_]]:
        """Answer as the database does."""
        names = [name.decode() for name in ids.tolist()]
        zero = np.zeros(DIM, dtype=np.float32)
        vectors = [self.entries[e].vector if e in self.entries else zero for e in names]
        results = np.array([e in self.entries for e in names], dtype=np.bool_)
        return np.array(vectors, dtype=np.float32).reshape(-1, DIM), results

    def brute_force(
        self, query: NDArray[np.float32], scope: VectorScope, *, centred: bool
    ) -> list[tuple[str, float]]:
        """Return everything in scope with its value in float64, best first."""
        mean = self.matrix.snapshot().centre.mean.astype(np.float64)
        offset = query.astype(np.float64) - mean
        results = []
        for entry_id, entry in self.entries.items():
            vector = entry.vector.astype(np.float64)
            value = float(vector @ query.astype(np.float64))
            importance = float(np.float32(entry.importance))
            if centred and mean.any():
                other = vector - mean
                lengths = float(np.linalg.norm(other) * np.linalg.norm(offset))
                value = float(other @ offset) / lengths
            value *= 1.0 if centred else importance
            if _is_in(entry, scope):
                results.append((entry_id, value))
        results.sort(key=lambda e: (-round(e[1], 7), -self.entries[e[0]].ts, e[0]))
        return results


def _is_in(entry: Entry, scope: VectorScope) -> bool:
    if scope.only_crewless:
        return entry.crew is None
    owners = [
        entry.crew == scope.crew_id if scope.crew_id else None,
        entry.agent == scope.agent_id if scope.agent_id else None,
    ]
    owner_ids = [owner for owner in owners if owner is not None]
    return any(owner_ids) if owner_ids else True


@pytest.fixture(params=KINDS, ids=lambda kind: f"exact-{kind[0]}-many-{kind[1]}")
def memory(
    request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Memory]:
    """Return an index that keeps exact vectors or reads them, few rows or many."""
    keeps_exact, is_many = request.param
    with monkeypatch.context() as patched:
        patched.setattr(matrix, "EXACT_BYTES", 10**9 if keeps_exact else -1)
        patched.setattr(quantised, "MANY_ROWS", 1 if is_many else 10**9)
        patched.setattr(passes, "ONE_LAYER_ROWS", 50 if is_many else 10**9)
        index = Memory()
        patched.setattr(rows, "read_vectors", index.read)
        yield index


def vectors(
    count: int, seed: int, *, clusters: int = 0, common: float = 0.5
) -> NDArray[np.float32]:
    """Return unit vectors that share a direction, around so many topics or none."""
    rng = np.random.default_rng(seed)
    noise = rng.normal(size=(count, DIM))
    if clusters:
        topics = rng.normal(size=(clusters, DIM))
        noise = topics[rng.integers(0, clusters, count)] + 0.3 * noise
    noise[:, 0] += common * np.sqrt(DIM)
    noise /= np.linalg.norm(noise, axis=1, keepdims=True)
    unit: NDArray[np.float32] = noise.astype(np.float32)
    return unit


def entries(
    numbers: list[int], seed: int, clusters: int, importance: float | None = None
) -> dict[str, Entry]:
    """Return made-up entries; the same seed gives the same vectors."""
    rng = np.random.default_rng(seed)
    built_rows = vectors(200, seed, clusters=clusters)
    return {
        f"j_{n:016x}": Entry(
            built_rows[n],
            importance or round(float(rng.random()), 3),
            f"agent_{n % 3}",
            CREWS[n % len(CREWS)],
            n // 4,
        )
        for n in numbers
    }


CHANGES = st.lists(
    st.tuples(
        st.sampled_from(["put", "drop", "importance"]),
        st.integers(0, 3),
        st.lists(st.integers(0, 199), unique=True, min_size=1, max_size=90),
    ),
    min_size=1,
    max_size=8,
)


@given(CHANGES, st.integers(0, 5), st.sampled_from([0, 4]), st.sampled_from(SCOPES))
def check(
    memory: Memory,
    changes: list[tuple[str, int, list[int]]],
    request: int,
    clusters: int,
    fields: dict[str, object],
) -> None:
    """Search after some changes, and compare with brute force."""
    memory.matrix, memory.entries = Matrix(DIM), {}
    for change, seed, numbers in changes:
        fresh = entries(numbers, seed, clusters)
        if change == "drop":
            memory.drop(list(fresh))
        elif change == "put":
            memory.put(fresh)
        else:
            term_lists = {e: memory.entries[e] for e in fresh if e in memory.entries}
            for entry in term_lists.values():
                entry.importance = 0.25
            if term_lists:
                memory.put(term_lists)
    scope = VectorScope(workspace_id="ws_1", model="m", **fields)  # type: ignore[arg-type]
    query = vectors(6, 99, clusters=clusters)[request]
    for centred in (False, True):
        expected = memory.brute_force(query, scope, centred=centred)
        results = memory.search(query, scope, 10, centred=centred)
        assert results.considered == len(expected)
        values = [hit.centred if centred else hit.score for hit in results.hits]
        # The centre of brute force is the float32 one: the same to six places.
        assert values == pytest.approx([v for _, v in expected[:10]], abs=2e-6)
        best = {hit.entry_id for hit in results.hits}
        edge = expected[len(best) - 1][1] if expected else 0.0
        assert best >= {entry_id for entry_id, v in expected if v > edge + 4e-6}
        if expected:
            assert results.highest == pytest.approx(expected[0][1], abs=2e-6)
            assert results.lowest == pytest.approx(expected[-1][1], abs=0.1)


def test_the_best_are_those_of_brute_force(memory: Memory) -> None:
    check(memory)


def test_the_scan_is_never_further_off_than_it_says(memory: Memory) -> None:
    memory.put(entries(list(range(200)), 1, 5))
    view, query = memory.matrix.snapshot(), vectors(3, 2, clusters=5)[0]
    question, every_row = Question.of(query), np.arange(200)
    read = passes.exact(
        view, every_row, question, lambda ids: memory.read("", "", DIM, ids)
    )
    for order in (passes.SCORE, passes.COSINE, passes.CENTRED):
        scanned = passes.scan(view, None, question, order)
        off = np.abs(scanned.value - read.by(order))
        slack = scanned.slack(every_row)
        assert (off <= slack).all()
        assert slack.max() <= scanned.largest_slack() < 0.2


def test_of_rank_and_nearest_agree_with_search(memory: Memory) -> None:
    memory.put(entries(list(range(120)), 1, 5))
    query = vectors(3, 2, clusters=5)[1]
    for centred in (False, True):
        hits = memory.search(query, WHOLE_SCOPE, 200, centred=centred).hits
        ids = [hit.entry_id for hit in hits]
        assert memory.of(query, WHOLE_SCOPE, [*ids, "j_x"]) == dict(
            zip(ids, hits, strict=True)
        )
        for place in (1, 2, 60, 120):
            rank = memory.rank(query, WHOLE_SCOPE, ids[place - 1], centred=centred)
            assert rank == place
    cosines = memory.cosines(query, WHOLE_SCOPE, ids)
    close = memory.nearest(query, WHOLE_SCOPE, 200, 0.6)
    assert [hit.entry_id for hit in close] == sorted(
        (e for e in ids if cosines[e] >= 0.6), key=lambda e: -cosines[e]
    )
    assert memory.rank(query, WHOLE_SCOPE, "j_x") is None


def test_equal_scores_go_to_the_newer_then_by_id(
    memory: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(passes, "MOST_EXACT", 8)
    [vector] = vectors(1, 3)
    memory.put(
        {f"j_{n:016x}": Entry(vector, 0.5, "agent_1", None, n // 2) for n in range(90)}
    )
    hits = memory.search(vector, WHOLE_SCOPE, 4).hits
    assert [int(hit.entry_id[2:], 16) for hit in hits] == [88, 89, 86, 87]
    assert memory.rank(vector, WHOLE_SCOPE, f"j_{88:016x}") == 1


def test_rows_that_one_layer_cannot_tell_apart_are_scanned_with_both(
    memory: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(passes, "ONE_LAYER_ROWS", 2)
    memory.put(entries(list(range(120)), 1, 1))
    scans, scan = list[tuple[int, int]](), passes.scan

    def watching(view: Snapshot, rows: Rows | None, *args: Any) -> passes.Scan:
        scanned = scan(view, rows, *args)
        scans.append((scanned.layers, len(scanned.value)))
        return scanned

    monkeypatch.setattr(passes, "scan", watching)
    memory.search(vectors(3, 2, clusters=1)[0], WHOLE_SCOPE, 2)
    (first, every), (second, some) = scans
    assert (first, every, second) == (1, 120, quantised.LAYERS)
    assert passes.ONE_LAYER_ROWS <= some < every


def test_few_vectors_have_no_middle(memory: Memory) -> None:
    built_rows = entries(list(range(centre.FEWEST)), 1, 3)
    last = list(built_rows)[-1]
    small = {name: entry for name, entry in built_rows.items() if name != last}
    memory.put(small)
    query = vectors(1, 2)[0]
    hits = memory.search(query, WHOLE_SCOPE, 60, centred=True).hits
    assert all(hit.centred == hit.cosine for hit in hits)
    memory.put({last: built_rows[last]})
    hits = memory.search(query, WHOLE_SCOPE, 60, centred=True).hits
    assert any(abs(hit.centred - hit.cosine) > 0.1 for hit in hits)
    memory.drop([last])
    assert memory.matrix.snapshot().centre.is_zero


def test_the_middle_follows_the_vectors(memory: Memory) -> None:
    memory.put(entries(list(range(100)), 1, 3))
    old = memory.matrix.snapshot()
    memory.put(entries(list(range(100, 200)), 7, 3))
    memory.drop([f"j_{n:016x}" for n in range(80)])
    view = memory.matrix.snapshot()
    stacked = np.stack([entry.vector for entry in memory.entries.values()])
    offset = np.linalg.norm(view.centre.mean - stacked.mean(axis=0))
    assert offset <= centre.DRIFT + 1e-3
    assert np.linalg.norm(old.centre.mean - view.centre.mean) > centre.DRIFT


def test_what_was_erased_since_the_scan_is_no_hit(
    memory: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    memory.put(entries(list(range(20)), 1, 0))
    if memory.matrix.snapshot().columns.vectors.exact is not None:
        pytest.skip("exact vectors are read from the database only above a size")
    query = vectors(1, 2)[0]
    best = memory.search(query, WHOLE_SCOPE, 3).hits
    del memory.entries[best[0].entry_id]
    assert memory.search(query, WHOLE_SCOPE, 2).hits[0] == best[1]
    assert memory.of(query, WHOLE_SCOPE, [best[0].entry_id]) == {}


def test_an_importance_changes_in_place(memory: Memory) -> None:
    built_rows = entries([1, 2], 1, 0)
    memory.put(built_rows)
    before = memory.matrix.snapshot()
    built_rows[f"j_{1:016x}"].importance = 0.125
    memory.put(built_rows)
    after = memory.matrix.snapshot()
    assert (after.size, after.columns) == (before.size, before.columns)
    assert memory.of(vectors(1, 2)[0], WHOLE_SCOPE, [f"j_{1:016x}"])[
        f"j_{1:016x}"
    ].importance == pytest.approx(0.125)


def test_a_matrix_that_grows_large_keeps_codes_only(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(matrix, "EXACT_BYTES", 300 * DIM * 4)
    index = Memory()
    monkeypatch.setattr(rows, "read_vectors", index.read)
    index.put(entries(list(range(150)), 1, 3))
    small = index.matrix.bytes_used
    assert index.matrix.snapshot().columns.vectors.exact is not None
    for seed in range(2, 6):
        built_rows = entries(list(range(200)), seed, 3)
        index.put({f"{name}{seed}": entry for name, entry in built_rows.items()})
    assert index.matrix.snapshot().columns.vectors.exact is None
    large = index.matrix.bytes_used
    fixed = Matrix(DIM).bytes_used
    per_row = (large - fixed) / len(index.matrix)
    assert per_row == (small - fixed) / 150 - 4 * DIM
    query = vectors(1, 2)[0]
    expected = index.brute_force(query, WHOLE_SCOPE, centred=False)[:10]
    hits = index.search(query, WHOLE_SCOPE, 10).hits
    assert [hit.entry_id for hit in hits] == [entry_id for entry_id, _ in expected]


def test_wiped_rows_are_zero_in_every_array(memory: Memory) -> None:
    memory.put(entries(list(range(100)), 1, 3))
    view = memory.matrix.snapshot()
    memory.drop([f"j_{n:016x}" for n in range(0, 100, 3)])
    wipes = [matrices.is_wiped(view, n) for n in range(100)]
    assert wipes == [n % 3 == 0 for n in range(100)]


def test_ids_with_the_same_hash_are_told_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(entry_rows, "_FACTORS", np.zeros(4, dtype=np.uint64))
    filled = Matrix(2)
    ids = [f"j_{n}" for n in range(30)]
    filled.fill([matrices.batch(ids, np.ones((30, 2), dtype=np.float32))])
    filled.drop(ids[:10])
    assert filled.positions(ids).tolist() == [-1] * 10 + list(range(10, 30))
    assert filled.positions(["j_30", "j_" + "x" * 40, "", "j_é"]).tolist() == [-1] * 4


def test_readers_see_whole_rows_while_one_writes(memory: Memory) -> None:
    fixed = entries(list(range(60)), 1, 3)
    memory.put(fixed)
    query, lock, stop = vectors(1, 2)[0], threading.Lock(), threading.Event()
    expected = memory.cosines(query, WHOLE_SCOPE, list(fixed))
    faults: list[object] = []

    def read() -> None:
        while not stop.is_set():
            with lock:
                view = memory.matrix.snapshot()
            question = Question.of(query)
            results = passes.scan(view, None, question, passes.COSINE)
            for name, row in zip(
                fixed, view.find(entry_rows.encode(list(fixed))), strict=True
            ):
                off = abs(float(results.value[row]) - expected[name])
                if row < 0 or off > results.slack(np.array([row]))[0]:
                    faults.append((name, row, off))

    readers = [threading.Thread(target=read) for _ in range(2)]
    for reader in readers:
        reader.start()
    for turn in range(60):
        built_rows = entries(list(range(60, 200)), turn, 3)
        with lock:
            memory.put(built_rows)
        with lock:
            memory.drop(list(built_rows)[turn:])
    stop.set()
    for reader in readers:
        reader.join()
    assert faults == []
    assert len(memory.matrix) == len(memory.entries)


def test_a_forked_process_can_scan() -> None:
    code = (
        "import os, signal\n"
        "import numpy as np\n"
        "from episodic.vectors import quantised\n"
        "quantised.MANY_ROWS, quantised._threads['count'] = 1, 2\n"
        "store = quantised.QuantisedVectors(4000, 16, keep_exact=False)\n"
        "store.write(0, np.ones((4000, 16), dtype=np.float32) / 4)\n"
        "question = quantised.Question.of(np.ones(16, dtype=np.float32) / 4)\n"
        "store.cosines(question, None, 4000)\n"
        "child = os.fork()\n"
        "if child == 0:\n"
        "    signal.alarm(20)\n"
        "    store.cosines(question, None, 4000)\n"
        "    os._exit(0)\n"
        "print(os.waitpid(child, 0)[1])\n"
    )
    process = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert process.stdout.strip() == "0"
