"""From a setting to an embedder."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING

import httpx
import pytest

from episodic.embedders import ollama, onnx, registry
from episodic.embedders.base import EmbedderError

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize(
    ("kind", "name", "model", "dim"),
    [
        ("local", "local:minilm", "all-MiniLM-L6-v2-int8", 384),
        ("ollama", "ollama", "nomic-embed-text", None),
        ("none", "none", "", None),
        ("hashing", "hashing", "hashing-512-v1", 512),
    ],
)
def test_each_kind_builds_its_embedder(
    kind: str, name: str, model: str, dim: int | None
) -> None:
    embedder = registry.build(kind, ollama_host="gpu")
    assert (embedder.name, embedder.model, embedder.dim) == (name, model, dim)


def test_the_multilingual_model_is_built_without_its_package() -> None:
    embedder = registry.build("local", local_model="e5")
    assert (embedder.name, embedder.dim) == ("local:e5", 384)


@pytest.mark.parametrize("kind", ["", "openai", "LOCAL"])
def test_an_unknown_kind_names_the_known_ones(kind: str) -> None:
    with pytest.raises(ValueError, match="local, ollama, none, hashing"):
        registry.build(kind)


@pytest.mark.parametrize("model", ["", "gpt", "/nowhere/at/all"])
def test_an_unknown_local_model_names_the_known_ones(model: str) -> None:
    with pytest.raises(ValueError, match=r"minilm, e5, or a folder with model\.onnx"):
        registry.build("local", local_model=model)


def test_no_workers_are_refused() -> None:
    with pytest.raises(ValueError, match="threads"):
        registry.build("local", threads=0)


def test_a_folder_is_a_model_named_by_its_content(tmp_path: Path) -> None:
    folder = tmp_path / "e5-tiny"
    folder.mkdir()
    (folder / onnx.MODEL).write_bytes(b"one")
    (folder / onnx.TOKENIZER).write_bytes(b"{}")
    first = registry.build("local", local_model=str(folder))
    assert first.name == "local:e5-tiny"
    assert first.model.startswith("e5-tiny-")
    (folder / onnx.MODEL).write_bytes(b"two")
    assert registry.build("local", local_model=str(folder)).model != first.model


def test_a_copy_of_the_shipped_model_works_from_a_folder(tmp_path: Path) -> None:
    for name in (onnx.MODEL, onnx.TOKENIZER):
        shutil.copy(onnx.MINILM / name, tmp_path / name)
    embedder = registry.build("local", local_model=str(tmp_path))
    assert embedder.dim is None
    assert embedder.embed_query("hello").shape == (384,)
    assert embedder.dim == 384


@pytest.mark.parametrize(
    ("host", "address"),
    [
        ("gpu", "http://gpu:11434"),
        ("gpu:8080", "http://gpu:8080"),
        (" gpu/ ", "http://gpu:11434"),
        ("https://gpu/ollama", "https://gpu/ollama"),
        ("[::1]:9", "http://[::1]:9"),
    ],
)
def test_an_address_is_completed(host: str, address: str) -> None:
    assert ollama.address(host) == address


@pytest.mark.parametrize("host", ["", "  ", "gpu:port"])
def test_ollama_needs_an_address(host: str) -> None:
    with pytest.raises(ValueError, match="address"):
        registry.build("ollama", ollama_host=host)


def test_the_time_limit_of_the_server_is_the_one_that_is_set() -> None:
    """A server that answers late is given up after the time that is set."""
    timeouts: list[object] = []

    def slow(request: httpx.Request) -> httpx.Response:
        timeouts.append(request.extensions["timeout"]["read"])
        raise httpx.ReadTimeout("slow", request=request)

    embedder = registry.build("ollama", ollama_host="gpu", ollama_timeout=3.5)
    assert isinstance(embedder, ollama.OllamaEmbedder)
    late = ollama.OllamaEmbedder(
        "gpu", timeout=embedder.timeout, transport=httpx.MockTransport(slow)
    )
    with pytest.raises(EmbedderError):
        late.embed_query("x")
    assert timeouts == [3.5]
