"""Recall over large journals on PostgreSQL: latency by stage, recall, disk.

The questions are asked of the recall service, without HTTP. The embedder takes its
real time for each, and then the vector of the topic that the question was made of.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from typing import Any, Final

import numpy as np
from django.db import connection, transaction
from django.test.utils import CaptureQueriesContext

from crewship_memory.bench import (
    dataset,
    scale_naive,
    scale_rows,
    scale_space,
)
from crewship_memory.bench.dataset import BenchWorkspace
from crewship_memory.bench.scale_rows import MODEL
from crewship_memory.bench.scale_topics import DIM, TOPICS, Topics
from crewship_memory.bench.spread import spread, timed
from episodic.embedders import registry
from episodic.embedders.base import Vectors
from episodic.index import engine
from episodic.recall import search as recall
from episodic.recall.request import Request, Timings
from episodic.vectors import pg_counts, pg_mean
from episodic.vectors.base import SearchResult, VectorScope
from episodic.vectors.pg import PgIndex
from memory.models import Agent

QUESTIONS: Final = 40
LIMIT: Final = 50
BEST: Final = 10
# A larger journal would need a second one of its size for the comparison.
NAIVE_ROWS: Final = 1_000_000
Say = Callable[[str], object]


@dataclass(frozen=True, slots=True)
class Plan:
    """What to measure: workspace sizes in order, how many beside, and the plans."""

    sizes: Sequence[int]
    workspaces: int = 1
    explain: bool = False


class TopicEmbedder:
    """The installation's embedder, whose vectors are exchanged for those of topics."""

    name, model, dim = "bench", MODEL, DIM

    def __init__(self, topics: Topics) -> None:
        self._inner = registry.build("local", local_model="minilm", threads=1)
        self._topics, self._rng = topics, np.random.default_rng(41)
        self.of_question: dict[str, int] = {}

    def embed_query(self, text: str) -> Vectors:
        self._inner.embed_query(text)
        return self.vector(text)

    def vector(self, text: str) -> Vectors:
        """Return a question's vector, without embedding it."""
        place = np.array([self.of_question[text]])
        vector: Vectors = self._topics.vectors(place, self._rng)[0]
        return vector

    def embed_documents(self, texts: Sequence[str]) -> Vectors:
        return self._inner.embed_documents(texts)

    def vectors(self, count: int) -> list[Vectors]:
        """Return the vectors of questions."""
        return [self.vector(text) for text in self.questions(count)]

    def questions(self, count: int) -> list[str]:
        """Return questions, each of one topic."""
        texts = []
        for topic in self._rng.integers(0, TOPICS, count).tolist():
            text = self._topics.question(topic, self._rng)
            self.of_question[text] = topic
            texts.append(text)
        return texts


class Scale:
    """The measurements of one run, in the database at hand."""

    def __init__(self, plan: Plan, say: Say) -> None:
        self._plan, self._say, self._start = plan, say, time.monotonic()
        self._embedder = TopicEmbedder(Topics())
        engine.use(self._embedder)

    def run(self) -> dict[str, Any]:
        """Fill and measure each size, then again beside the other workspaces."""
        first, agents = self._opened(0)
        figures_alone = []
        for size in self._plan.sizes:
            self._fill([(first, agents)], size)
            figures_alone.append(
                {"entries": size} | self._measured(first, agents, size)
            )
        report: dict[str, Any] = {"alone": figures_alone}
        if self._plan.workspaces > 1:
            size = self._plan.sizes[-1]
            workspaces = [self._opened(n) for n in range(1, self._plan.workspaces)]
            self._fill(workspaces, size)
            total = size * self._plan.workspaces
            figures = self._measured(first, agents, total)
            report["beside"] = {"entries": size, "entries_in_all": total} | figures
        return report | {"seconds": round(time.monotonic() - self._start)}

    def _opened(self, number: int) -> tuple[BenchWorkspace, list[Agent]]:
        workspace = dataset.open_workspace(f"scale-{number}")
        return workspace, dataset.open_agents(workspace)

    def _fill(
        self, workspaces: Sequence[tuple[BenchWorkspace, list[Agent]]], size: int
    ) -> None:
        """Copy the rows without HNSW, then build it."""
        if all(scale_rows.entries_in(w.workspace_id) >= size for w, _ in workspaces):
            scale_rows.build_graphs()
            return
        scale_rows.drop_graphs()
        for number, (workspace, agents) in enumerate(workspaces, start=1):
            scale_rows.fill(workspace, size, agents=agents)
            self._tell(f"{number} of {len(workspaces)} workspaces filled to {size}")
        scale_rows.build_graphs()
        self._tell("HNSW built")
        # As the sweep does; a load that was copied is in many rows for each agent.
        pg_counts.fold()
        with connection.cursor() as cursor:
            cursor.execute("VACUUM ANALYZE")
        self._tell("analysed")

    def _tell(self, event: str) -> None:
        seconds = round(time.monotonic() - self._start)
        megabytes = scale_space.database_bytes() // 2**20
        self._say(f"{seconds:>6} s  {megabytes:>7} MB  {event}")

    # ── Measuring ────────────────────────────────────────────────────────────
    def _measured(
        self, workspace: BenchWorkspace, agents: list[Agent], rows: int
    ) -> dict[str, Any]:
        crew = VectorScope(
            workspace_id=workspace.workspace_id,
            model=MODEL,
            crew_id=agents[0].crew_id,
            agent_id=workspace.actor.id,
        )
        own = VectorScope(
            workspace_id=workspace.workspace_id, model=MODEL, agent_id=agents[0].id
        )
        figures: dict[str, Any] = {"hybrid": self._hybrid(workspace)}
        self._tell("hybrid measured")
        figures["dense"] = {"crew": self._dense(crew), "own": self._dense(own)}
        self._tell("dense measured")
        figures["space"] = scale_space.measure(rows)
        if rows <= NAIVE_ROWS:
            figures["naive"] = self._naive(crew)
            self._tell("naive design measured")
        return figures

    def _hybrid(self, workspace: BenchWorkspace) -> dict[str, Any]:
        """Return the latency of the default recall in a crew's scope, by stage."""
        answered: list[Timings] = []
        for text in self._embedder.questions(QUESTIONS + 3):
            request = Request(query=text, scope="crew_shared", k=5, mark=False)
            answered.append(recall.search(request, by=workspace.actor).timings)
        # The first ones pay for what a process does once.
        warm, names = answered[3:], [field.name for field in fields(Timings)]
        return {name: spread([getattr(t, name) for t in warm]) for name in names}

    def _dense(self, scope: VectorScope) -> dict[str, Any]:
        """Return latency and recall of the dense ranking, beside the exact one."""
        vectors = self._embedder.vectors(QUESTIONS)
        report: dict[str, Any] = {}
        for order in ("centred", "product"):
            centred = order == "centred"
            times: tuple[list[float], list[float]] = ([], [])
            answers: tuple[list[SearchResult], list[SearchResult]] = ([], [])
            for vector in vectors:
                for place, index in enumerate((PgIndex(), PgIndex(is_exact=True))):
                    with timed(times[place]):
                        answer = index.search(vector, scope, LIMIT, centred=centred)
                    answers[place].append(answer)
            report[order] = {
                "considered": answers[0][0].considered,
                "is_counted_right": all(
                    quick.considered == exact.considered
                    for quick, exact in zip(*answers, strict=True)
                ),
                "ms": spread(times[0]),
                "exact_ms": spread(times[1]),
                "recall_at_10": _recall(*answers),
                "lowest_off_by": _lowest_off_by(*answers),
            }
        if self._plan.explain:
            report["explain"] = self._explained(vectors[0], scope)
        return report

    def _explained(self, vector: Vectors, scope: VectorScope) -> list[str]:
        with CaptureQueriesContext(connection) as queries:
            PgIndex().search(vector, scope, LIMIT, centred=True)
        statements = [query["sql"] for query in queries.captured_queries]
        settings = [text for text in statements if "set_config" in text]
        [search] = [text for text in statements if "halfvec_send" in text]
        with transaction.atomic(), connection.cursor() as cursor:
            for text in settings:
                cursor.execute(text.replace("%", "%%"), [])
            return _plan_of(search, [])

    def _naive(self, scope: VectorScope) -> dict[str, Any]:
        """Return the same of the obvious design, which is built for it and dropped."""
        scale_naive.build()
        with connection.cursor() as cursor:
            mean = pg_mean.of(cursor, scope, DIM)
        assert mean is not None  # noqa: S101  (there are thousands of vectors)
        vectors = self._embedder.vectors(QUESTIONS)
        times, shares, counts = list[float](), list[float](), list[int]()
        for vector in vectors:
            with timed(times):
                ids, count = scale_naive.search(vector, mean, scope, LIMIT)
            exact = PgIndex(is_exact=True).search(vector, scope, LIMIT, centred=True)
            best = {hit.entry_id for hit in exact.hits[:BEST]}
            shares.append(len(best & set(ids[:BEST])) / BEST)
            counts.append(len(ids))
        report: dict[str, Any] = {
            "ms": spread(times),
            "recall_at_10": round(float(np.mean(shares)), 4),
            "fewest_brought": min(counts),
        }
        if self._plan.explain:
            pairs = scale_naive.statements(vectors[0], mean, scope, LIMIT, count)
            report["explain"] = [line for pair in pairs for line in _plan_of(*pair)]
        scale_naive.drop()
        return report


def _recall(quick: list[SearchResult], exact: list[SearchResult]) -> float:
    """Return the share of the exact first ten that the quick answers have there."""
    shares = [
        len(
            {hit.entry_id for hit in answer.hits[:BEST]}
            & {hit.entry_id for hit in reference.hits[:BEST]}
        )
        / max(1, min(BEST, len(reference.hits)))
        for answer, reference in zip(quick, exact, strict=True)
    ]
    return round(float(np.mean(shares)), 4)


def _lowest_off_by(quick: list[SearchResult], exact: list[SearchResult]) -> float:
    """Return how far the lowest value is off, in shares of the whole span."""
    shares = [
        abs(a.lowest - b.lowest) / max(b.highest - b.lowest, 1e-9)
        for a, b in zip(quick, exact, strict=True)
    ]
    return round(float(np.mean(shares)), 4)


def _plan_of(sql: str, params: Sequence[Any]) -> list[str]:
    text = sql if params else sql.replace("%", "%%")
    with connection.cursor() as cursor:
        cursor.execute(f"EXPLAIN (ANALYZE, BUFFERS) {text}", params)
        return [str(line)[:200] for (line,) in cursor.fetchall()]


def measure(plan: Plan, say: Say) -> dict[str, Any]:
    """Fill the database at hand with generated entries and measure it."""
    return Scale(plan, say).run()
