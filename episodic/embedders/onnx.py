"""The local model: a folder with model.onnx and tokenizer.json, run by onnxruntime.

It owns the loaded sessions, one per folder and process, and everything between a text
and its unit vector: ids, workers, pooling. The model that comes with the project lies
in ``minilm`` beside this file and is checked against its digests before it runs.
"""

from __future__ import annotations

import functools
import hashlib
import importlib
import json
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from episodic.embedders import base, perprocess, thread_priority, wordpiece
from episodic.embedders.rests import rests
from memory.rules.translation import gettext_noop

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

MODEL, TOKENIZER, SUMS = "model.onnx", "tokenizer.json", "SHA256SUMS"
MINILM = Path(__file__).resolve().parent / "minilm"
MINILM_MODEL = "all-MiniLM-L6-v2-int8"
MINILM_DIM = 384
THREADS = 2
# So many texts are embedded in the caller's thread, not queued behind a backlog.
FEW = 4
POOLED = "sentence_embedding"
PER_TOKEN = ("last_hidden_state", "token_embeddings")


class Tokenizer(Protocol):
    """Turns a text into ids, frame included, cut to the model's length."""

    def encode(self, text: str) -> list[int]: ...


@dataclass(frozen=True, slots=True)
class Loaded:
    """A session that is ready to run, what it reads and gives, and its workers."""

    session: Any
    tokenizer: Tokenizer
    inputs: frozenset[str]
    output: str
    workers: ThreadPoolExecutor

    def embed(self, text: str) -> base.Vectors:
        """Return one float32 unit vector, (dim,). Raises BadAnswer."""
        tokens = np.array([self.tokenizer.encode(base.sendable(text))], dtype=np.int64)
        feed = {"input_ids": tokens, "attention_mask": np.ones_like(tokens)}
        if "token_type_ids" in self.inputs:
            feed["token_type_ids"] = np.zeros_like(tokens)
        try:
            (answer,) = self.session.run([self.output], feed)
        except runtime_errors() as error:
            raise base.BadAnswer(
                gettext_noop("The local model failed on a text.")
            ) from error
        return base.unit(pooled(answer))


_sessions: dict[Path, perprocess.PerProcess[Loaded]] = {}


def loaded(folder: Path, threads: int) -> Loaded:
    """Return this process's session for a folder, loading it at the first call.

    One session serves every embedder of a folder; the first one sets its workers.
    """
    making = perprocess.PerProcess(functools.partial(load, folder, threads))
    return _sessions.setdefault(folder, making).get()


def load(folder: Path, threads: int) -> Loaded:
    """Check the files and start a session. Raises Damaged or NotConfigured."""
    checked(folder)
    tokenizer = tokenizer_of(folder)
    session = started(folder / MODEL)
    outputs = [output.name for output in session.get_outputs()]
    output = next((name for name in (POOLED, *PER_TOKEN) if name in outputs), None)
    if output is None:
        raise base.Damaged(
            gettext_noop("The local model does not give sentence or token vectors.")
        )
    inputs = frozenset(node.name for node in session.get_inputs())
    # Whichever thread has the first texts: a worker inherits its priority.
    workers = ThreadPoolExecutor(
        threads, thread_name_prefix="embed", initializer=thread_priority.lower
    )
    return Loaded(session, tokenizer, inputs, output, workers)


def checked(folder: Path) -> None:
    """Compare the files with SHA256SUMS beside them. Raises Damaged.

    Only a folder of the operator's own may come without digests.
    """
    sums = folder / SUMS
    if folder != MINILM and not sums.exists():
        return
    try:
        lines = sums.read_text(encoding="ascii").splitlines()
        expected = {
            name.strip(): value for value, name in (s.split(" ", 1) for s in lines)
        }
        digests = {name: digest(folder / name) for name in expected}
    except (OSError, ValueError) as error:
        raise base.Damaged(
            gettext_noop("The local model's files cannot be read.")
        ) from error
    if digests != expected or not {MODEL, TOKENIZER} <= expected.keys():
        raise base.Damaged(
            gettext_noop("The local model's files are not the ones shipped.")
        )


def digest(path: Path) -> str:
    """Return the SHA-256 of a file in hexadecimal. Raises OSError."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def started(path: Path) -> Any:
    """Start an onnxruntime session on the processor. Raises Damaged."""
    # Imported here: it costs 20 MB and 0.1 s that a process without embedding saves.
    onnxruntime = importlib.import_module("onnxruntime")
    # Some builds report through the operating system, which no environment forbids.
    onnxruntime.disable_telemetry_events()
    options = onnxruntime.SessionOptions()
    # One thread to a text is quicker than two (0.9 ms against 1.4 ms a question), and
    # no thread of the session's own spins on a core while there is nothing to do.
    options.intra_op_num_threads = 1
    options.inter_op_num_threads = 1
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    options.add_session_config_entry("session.inter_op.allow_spinning", "0")
    options.log_severity_level = 3
    try:
        return onnxruntime.InferenceSession(
            path, options, providers=["CPUExecutionProvider"]
        )
    except runtime_errors() as error:
        raise base.Damaged(gettext_noop("The local model does not load.")) from error


def runtime_errors() -> tuple[type[Exception], ...]:
    """Return what onnxruntime raises; its own errors have no common base."""
    state = importlib.import_module("onnxruntime.capi.onnxruntime_pybind11_state")
    own = (
        value
        for value in vars(state).values()
        if isinstance(value, type) and issubclass(value, Exception)
    )
    return (OSError, RuntimeError, ValueError, *own)


def tokenizer_of(folder: Path) -> Tokenizer:
    """Read a folder's tokenizer. Raises Damaged or NotConfigured."""
    try:
        parts = wordpiece.read(folder / TOKENIZER)
        if wordpiece.understands(parts):
            return wordpiece.WordPiece(parts)
    except (OSError, AttributeError, LookupError, TypeError, ValueError) as error:
        raise base.Damaged(
            gettext_noop("The local model's tokenizer cannot be read.")
        ) from error
    return Foreign(json.dumps(parts))


class Foreign:
    """A tokenizer of another kind, run by the optional package ``tokenizers``."""

    def __init__(self, text: str) -> None:
        try:
            tokenizers = importlib.import_module("tokenizers")
        except ModuleNotFoundError as error:
            raise base.NotConfigured(
                gettext_noop(
                    "This model's tokenizer needs the package tokenizers; install it."
                )
            ) from error
        try:
            self._tokenizer = tokenizers.Tokenizer.from_str(text)
        except Exception as error:  # it raises no narrower type
            raise base.Damaged(
                gettext_noop("The local model's tokenizer is not valid.")
            ) from error
        self._tokenizer.no_padding()
        self._tokenizer.enable_truncation(wordpiece.LIMIT)

    def encode(self, text: str) -> list[int]:
        ids: list[int] = self._tokenizer.encode(text).ids
        return ids


def pooled(answer: NDArray[np.float32]) -> base.Vectors:
    """Return (dim,) from one text's answer: (1, dim), or (1, tokens, dim) averaged."""
    first: base.Vectors = answer[0]
    if first.ndim == 1:
        return first
    mean: base.Vectors = first.mean(axis=0)
    return mean


class OnnxEmbedder:
    """A local model; loaded at the first text, safe to share between threads.

    A text is cut at 256 pieces. Texts run side by side, one to a worker, and never as
    one batch: an int8 model scales its arithmetic over the whole batch, so a vector
    would depend a little on its neighbours (cosine down to 0.95), which may be another
    tenant's. On two cores entries of a hundred words are as quick as in batches. A few
    texts run in the caller's thread, so that a question that brings some along does not
    wait for a sweep.
    """

    def __init__(
        self,
        folder: Path,
        *,
        name: str,
        model: str,
        threads: int = THREADS,
        query_prefix: str = "",
        document_prefix: str = "",
    ) -> None:
        self.name = name
        self.model = model
        self.dim: int | None = None
        self._folder = folder
        self._threads = threads
        self._query_prefix = query_prefix
        self._document_prefix = document_prefix

    def embed_documents(self, texts: Sequence[str]) -> base.Vectors:
        if not texts:
            return np.zeros((0, self.dim or 0), dtype=np.float32)
        model = loaded(self._folder, self._threads)
        passages = [self._document_prefix + text for text in texts]
        if len(passages) <= FEW:
            rows = np.stack([model.embed(passage) for passage in passages])
        else:
            embed = rests.between(model.embed)
            rows = np.stack(list(model.workers.map(embed, passages)))
        self.dim = rows.shape[1]
        return rows

    def embed_query(self, text: str) -> base.Vectors:
        """See Embedder; runs in the caller's thread, not queued with documents."""
        model = loaded(self._folder, self._threads)
        vector = model.embed(self._query_prefix + text)
        self.dim = len(vector)
        return vector


class MiniLM(OnnxEmbedder):
    """The model that comes with the project: English, 384 dimensions."""

    def __init__(self, *, threads: int = THREADS) -> None:
        super().__init__(
            MINILM, name="local:minilm", model=MINILM_MODEL, threads=threads
        )
        self.dim = MINILM_DIM
