"""The registry of embedders: builds the one that a setting names."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from episodic.embedders import e5, families, hashing, none, ollama, onnx

if TYPE_CHECKING:
    from episodic.embedders import base

KINDS = ("local", "ollama", "none", "hashing")
LOCAL_MODELS = ("minilm", "e5")


def build(
    kind: str,
    *,
    local_model: str = "minilm",
    ollama_host: str = "",
    ollama_model: str = ollama.DEFAULT_MODEL,
    ollama_timeout: float = ollama.READ_TIMEOUT,
    threads: int = onnx.THREADS,
) -> base.Embedder:
    """Return the embedder for a setting; nothing is loaded or called yet.

    ``ollama_timeout`` is in seconds; ``threads`` is how many texts a local model embeds
    side by side. Raises ValueError, with the allowed values, for a setting that means
    nothing.
    """
    if threads < 1:
        raise ValueError("threads must be 1 or more")
    if kind == "local":
        return local(local_model, threads)
    if kind == "ollama":
        return ollama.OllamaEmbedder(
            ollama_host, model=ollama_model, timeout=ollama_timeout
        )
    if kind == "hashing":
        return hashing.HashingEmbedder()
    if kind == "none":
        return none.NoEmbedder()
    raise ValueError(f"the embedder must be one of {', '.join(KINDS)}")


def local(model: str, threads: int) -> base.Embedder:
    """Return a local model by name, or from a folder of the operator's own."""
    if model == "minilm":
        return onnx.MiniLM(threads=threads)
    if model == "e5":
        return e5.E5Embedder(threads=threads)
    folder = Path(model)
    if model and all((folder / n).is_file() for n in (onnx.MODEL, onnx.TOKENIZER)):
        return from_folder(folder.resolve(), threads)
    raise ValueError(
        f"the local model must be one of {', '.join(LOCAL_MODELS)}, or a folder with "
        f"{onnx.MODEL} and {onnx.TOKENIZER}"
    )


def from_folder(folder: Path, threads: int) -> onnx.OnnxEmbedder:
    """Return a model from a folder; its name carries the digest of its files.

    So the vectors count as another model's as soon as one of the files changes. The
    folder's name gives the family, and with it the prefixes.
    """
    digests = [onnx.digest(folder / name) for name in (onnx.MODEL, onnx.TOKENIZER)]
    prefixes = families.prefixes(folder.name)
    return onnx.OnnxEmbedder(
        folder,
        name=f"local:{folder.name}",
        model=f"{folder.name}-{digests[0][:8]}-{digests[1][:4]}",
        threads=threads,
        query_prefix=prefixes.query,
        document_prefix=prefixes.document,
    )
