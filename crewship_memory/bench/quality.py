"""Known-item quality of recall, per mode, on a journal in JSON lines.

Every entry whose payload.text has more than TEXT_LEAST characters is one question: its
summary asks, and its payload.text alone was indexed. The one right answer is the same
line. The summary says what the text says in other words only in part, so that the set
favours the ranking by words; paraphrases without a common word are not in it.

Both rankings are computed as in production for K = 10 (MIN_RANKING entries each). A
control picks ten entries at random.
"""

from __future__ import annotations

import json
import random
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from crewship_memory.bench import dataset, scoring
from crewship_memory.bench.dataset import BenchWorkspace
from episodic.index import engine
from episodic.index import sweep as index
from episodic.models import Embedding, State
from episodic.recall import fusion, ranking
from episodic.recall.ranking import MIN_RANKING, Rankings
from episodic.recall.request import Mode, Request, Timings
from episodic.scopes import Reach
from memory.journal import append as journal
from memory.models import JournalEntry
from memory.rules import entries
from memory.rules.entries import NewEntry, Severity
from memory.rules.fusion import Fusion

TEXT_LEAST: Final = 200
HEAD_BYTES: Final = 4_000
BATCH: Final = 500
K: Final = scoring.TOP
DEFAULT: Final = "hybrid rrf k=60"
SMALL: Final = (5, 10)
CONVEX: Final = "hybrid convex 0.5"
NOT_MEASURED: Final = (
    "Neighbours of the same trace: in the reference journal every trace has one entry."
)

Scores = Mapping[str, float]


@dataclass(frozen=True, slots=True)
class Item:
    """A question and the id of its one right answer."""

    question: str
    entry_id: str


# ── The set ──────────────────────────────────────────────────────────────────
def lines(path: Path) -> Iterator[dict[str, Any]]:
    """Return the entries of a file that make a question."""
    with path.open(encoding="utf-8") as file:
        for raw in file:
            entry = json.loads(raw) if raw.strip() else {}
            text = (entry.get("payload") or {}).get("text")
            if isinstance(text, str) and len(text) > TEXT_LEAST and entry["summary"]:
                yield entry


def split(text: str) -> tuple[str, str]:
    """Return a text in two parts: a summary holds no more than HEAD_BYTES."""
    head = text.encode()[:HEAD_BYTES].decode("utf-8", "ignore")
    if head == text:
        return text, ""
    boundary = max(head.rfind(" "), head.rfind("\n"))
    head = head[:boundary] if boundary > 0 else head
    return head, text[len(head) :]


def document(entry: Mapping[str, Any]) -> NewEntry:
    """Return the text that is indexed for an entry, without its summary."""
    head, rest = split(entry["payload"]["text"].replace("\x00", " "))
    return NewEntry(
        entry_type=entry["entry_type"],
        severity=Severity(entry.get("severity", "info")),
        summary=head,
        payload={"text": rest} if rest else {},
        refs={"episodic": True},
        ts=datetime.fromisoformat(entry["ts"]),
    )


def fill(workspace: BenchWorkspace, path: Path) -> list[Item]:
    """Append and embed the documents; return the questions."""
    entry_rows = [e for e in lines(path) if entries.is_type(e["entry_type"])]
    items: list[Item] = []
    for start in range(0, len(entry_rows), BATCH):
        part = entry_rows[start : start + BATCH]
        rows = journal.write([document(entry) for entry in part], by=workspace.actor)
        items += [
            Item(entry["summary"], row.id)
            for entry, row in zip(part, rows, strict=True)
            if row.embeddable
        ]
    while index.sweep(limit=512).indexed:
        pass
    return items


# ── The modes ────────────────────────────────────────────────────────────────
def small_rrf(dense: Sequence[str], words: Sequence[str], k: int) -> Scores:
    """Return reciprocal rank fusion with another k than the product's."""
    scores: dict[str, float] = {}
    for ids in (dense, words):
        for rank, entry_id in enumerate(ids, 1):
            scores[entry_id] = scores.get(entry_id, 0.0) + 1.0 / (k + rank)
    return scores


class Cosines:
    """Cosines of a query with every vector of the workspace, plain and centred."""

    def __init__(self, workspace_id: str) -> None:
        model = engine.embedder().model
        embeddings = Embedding.objects.filter(
            workspace_id=workspace_id, state=State.INDEXED, model=model
        )
        rows = list(embeddings.values_list("entry_id", "vector"))
        self.ids = [entry_id for entry_id, _ in rows]
        blob = b"".join(bytes(blob) for _, blob in rows)
        wide = len(blob) // 4 // max(1, len(self.ids))
        self._all = np.frombuffer(blob, "<f4").reshape(-1, max(1, wide))
        self._mean = self._all.mean(axis=0)
        centred = self._all - self._mean
        self._centred = centred / np.linalg.norm(centred, axis=1, keepdims=True)

    def plain(self, vector: NDArray[np.float32]) -> NDArray[np.float32]:
        return self._all @ vector

    def centred(self, vector: NDArray[np.float32]) -> NDArray[np.float32]:
        """Return the cosines after the mean vector was subtracted on both sides."""
        offset = vector - self._mean
        scores: NDArray[np.float32] = self._centred @ (offset / np.linalg.norm(offset))
        return scores

    def scores(self, values: NDArray[np.float32], size: int) -> dict[str, float]:
        """Return the best ``size`` entries as id → score."""
        best = np.argsort(-values, kind="stable")[:size]
        return {self.ids[i]: float(values[i]) for i in best}


def _mixed(rankings: Rankings, cosines: Cosines, values: NDArray[np.float32]) -> Scores:
    """Return the convex fusion of the word ranking with unweighted cosines."""
    dense = cosines.scores(values, MIN_RANKING)
    words = {hit.entry_id: hit.score for hit in rankings.words}
    return fusion.convex(
        dense, words, lowest=float(values.min()), highest=float(values.max())
    )


def modes(request: Request, rankings: Rankings, cosines: Cosines) -> dict[str, Scores]:
    """Return mode → (id → score) for one question."""
    assert rankings.vector is not None  # noqa: S101  (checked before measuring)
    plain, centred = cosines.plain(rankings.vector), cosines.centred(rankings.vector)
    dense = replace(request, mode=Mode.DENSE)
    convex = replace(request, fusion=Fusion.CONVEX)
    pure = cosines.scores(plain, MIN_RANKING)
    return {
        "dense, pure cosine": pure,
        "dense, cosine × importance": ranking.fuse(dense, rankings),
        "dense, centred cosine": cosines.scores(centred, MIN_RANKING),
        "sparse": fusion.rrf([rankings.word_ids]),
        DEFAULT: ranking.fuse(request, rankings),
        **{
            f"hybrid rrf k={k}": small_rrf(rankings.dense_ids, rankings.word_ids, k)
            for k in SMALL
        },
        "hybrid rrf k=60, pure cosine": fusion.rrf([list(pure), rankings.word_ids]),
        "hybrid rrf k=10, pure cosine": small_rrf(list(pure), rankings.word_ids, 10),
        CONVEX: ranking.fuse(convex, rankings),
        "hybrid convex 0.5, pure cosine": _mixed(rankings, cosines, plain),
        "hybrid convex 0.5, centred cosine": _mixed(rankings, cosines, centred),
    }


def rank(scores: Scores, entry_id: str, seq: Mapping[str, int]) -> int | None:
    """Return the rank of an entry, 1 the best; the newer of equals is first."""
    if entry_id not in scores:
        return None
    own_key = (-scores[entry_id], -seq.get(entry_id, 0), entry_id)
    better = sum((-s, -seq.get(e, 0), e) < own_key for e, s in scores.items())
    return better + 1


def ask(
    workspace: BenchWorkspace, items: Sequence[Item]
) -> dict[str, list[int | None]]:
    """Ask every question in every mode; return the ranks of the right answers."""
    cosines = Cosines(workspace.workspace_id)
    reach = Reach(workspace.workspace_id, "workspace")
    rows = JournalEntry.objects.filter(workspace_id=workspace.workspace_id)
    seq = dict(rows.values_list("id", "seq"))
    ranks: dict[str, list[int | None]] = {}
    for item in items:
        request = Request(query=item.question, k=K, fusion=Fusion.RRF, mark=False)
        rankings = ranking.rank(request, reach, Timings())
        if rankings.vector is None:
            message = f"The embedder gave no vector: {rankings.degraded}"
            raise RuntimeError(message)
        for mode, scores in modes(request, rankings, cosines).items():
            ranks.setdefault(mode, []).append(rank(scores, item.entry_id, seq))
    rng = random.Random(scoring.SEED)  # noqa: S311  (not for secrets)
    sample = [rng.randint(1, len(items)) for _ in items]
    ranks["control: random"] = [rank if rank <= K else None for rank in sample]
    return ranks


def measure(path: Path) -> dict[str, Any]:
    """Fill a workspace from a file, ask every question, and return the report."""
    workspace = dataset.open_workspace("bench-quality")
    start = time.perf_counter()
    items = fill(workspace, path)
    filled = time.perf_counter()
    ranks = ask(workspace, items)
    rivals = [f"hybrid rrf k={k}" for k in SMALL] + [CONVEX]
    return {
        "set": {
            "questions": len(items),
            "kind": "known item: summary asks, payload.text alone was indexed",
            "leg": MIN_RANKING,
            "seconds_to_index": round(filled - start, 1),
            "seconds_to_ask": round(time.perf_counter() - filled, 1),
        },
        "columns": "mean, low and high of the 95 % bootstrap interval",
        "modes": scoring.table(ranks),
        "default": DEFAULT,
        "verdict": scoring.verdict(ranks, DEFAULT, rivals),
        "not_measured": NOT_MEASURED,
    }
