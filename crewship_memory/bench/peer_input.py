"""What a peer is given: vectors, texts and questions, read in parts."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray

BLOCK: Final = 10_000
# Of a question, by its number: the rows of the nearest vectors, best first.
Ask = Callable[[int], Sequence[int]]


@dataclass(frozen=True, slots=True)
class PeerInput:
    """What ``crewship_memory.bench.peers`` wrote, and a folder for the peer's own."""

    folder: Path
    own: Path
    workspace_id: str
    entries: int
    dim: int
    top: int
    questions: list[str]

    def question_vectors(self) -> NDArray[np.float32]:
        """Return the vectors of the questions."""
        return np.fromfile(self.folder / "questions.f32", "<f4").reshape(-1, self.dim)

    def blocks(self) -> Iterator[tuple[int, NDArray[np.float32]]]:
        """Yield the vectors in parts, each with the number of its first row."""
        with (self.folder / "vectors.f32").open("rb") as file:
            for first in range(0, self.entries, BLOCK):
                count = min(BLOCK, self.entries - first) * self.dim
                yield first, np.fromfile(file, "<f4", count).reshape(-1, self.dim)

    def texts(self) -> Iterator[tuple[str, str]]:
        """Yield each row's entry id and text."""
        with (self.folder / "texts.jsonl").open(encoding="utf-8") as file:
            for line in file:
                entry_id, text = json.loads(line)
                yield entry_id, text


def read(folder: Path, own: Path) -> PeerInput:
    """Return what was written to ``folder``."""
    description = json.loads((folder / "about.json").read_text(encoding="utf-8"))
    return PeerInput(folder, own, **description)
