"""The local model, the real one that comes with the project and a tiny one."""

from __future__ import annotations

import base64
import json
import multiprocessing
import shutil
import sys
import threading
from concurrent.futures import ProcessPoolExecutor
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from episodic.embedders import base, onnx, wordpiece
from tests.waiting import LIMIT_SECONDS

if TYPE_CHECKING:
    from pathlib import Path

# One Gather on a table of ten rows, [1 2 3 4], [5 6 7 8] …, at input_ids plus
# token_type_ids; written with onnx.helper, because the package onnx is not installed.
TINY = base64.b64decode(
    "CAg6lAMKIwoJaW5wdXRfaWRzCg50b2tlbl90eXBlX2lkcxIBaSIDQWRkCiUKBXRhYmxlCgFpEhFsYXN0"
    "X2hpZGRlbl9zdGF0ZSIGR2F0aGVyEgFnKrABCAoIBBABQgV0YWJsZUqgAQAAgD8AAABAAABAQAAAgEAA"
    "AKBAAADAQAAA4EAAAABBAAAQQQAAIEEAADBBAABAQQAAUEEAAGBBAABwQQAAgEEAAIhBAACQQQAAmEEA"
    "AKBBAACoQQAAsEEAALhBAADAQQAAyEEAANBBAADYQQAA4EEAAOhBAADwQQAA+EEAAABCAAAEQgAACEIA"
    "AAxCAAAQQgAAFEIAABhCAAAcQgAAIEJaHQoJaW5wdXRfaWRzEhAKDggHEgoKAxIBYgoDEgFzWiIKDmF0"
    "dGVudGlvbl9tYXNrEhAKDggHEgoKAxIBYgoDEgFzWiIKDnRva2VuX3R5cGVfaWRzEhAKDggHEgoKAxIB"
    "YgoDEgFzYikKEWxhc3RfaGlkZGVuX3N0YXRlEhQKEggBEg4KAxIBYgoDEgFzCgIIBEIECgAQDQ=="
)
MINILM = onnx.MiniLM()
DOCUMENTS = [
    "The automobile would not start this morning.",
    "Quarterly revenue grew by nine percent.",
    "",
    "Payroll failed: " + "the bank refused the transfer and " * 60,
    "ok",
]


def tiny(folder: Path, parts: dict[str, Any] | None = None) -> onnx.OnnxEmbedder:
    """Put a model of four dimensions and a vocabulary of seven into a folder."""
    words = ["[UNK]", "[CLS]", "[SEP]", "a", "b", "q", "d"]
    usual = wordpiece.read(onnx.MINILM / onnx.TOKENIZER)
    usual["model"]["vocab"] = {word: at for at, word in enumerate(words)}
    usual["added_tokens"] = []
    usual["post_processor"] = {
        "type": "BertProcessing",
        "cls": ["[CLS]", 1],
        "sep": ["[SEP]", 2],
    }
    (folder / onnx.MODEL).write_bytes(TINY)
    (folder / onnx.TOKENIZER).write_text(json.dumps(parts or usual), encoding="utf-8")
    return onnx.OnnxEmbedder(
        folder, name="t", model="tiny", query_prefix="q ", document_prefix="d "
    )


def shipped(folder: Path) -> None:
    for name in (onnx.MODEL, onnx.TOKENIZER, onnx.SUMS):
        shutil.copy(onnx.MINILM / name, folder / name)


def expected(*rows: int) -> base.Vectors:
    table = np.arange(40, dtype=np.float32).reshape(10, 4) + 1
    return base.unit(table[list(rows)].mean(axis=0))


def test_texts_give_unit_rows_in_their_order() -> None:
    rows = MINILM.embed_documents(DOCUMENTS)
    assert rows.shape == (len(DOCUMENTS), 384)
    assert rows.dtype == np.float32
    assert np.allclose(np.linalg.norm(rows, axis=1), 1, atol=1e-5)
    assert np.allclose(rows[::-1], MINILM.embed_documents(DOCUMENTS[::-1]), atol=1e-5)


def test_a_vector_does_not_depend_on_its_neighbours() -> None:
    rows = MINILM.embed_documents(DOCUMENTS)
    single = [MINILM.embed_query(text) for text in DOCUMENTS]
    assert np.allclose(rows, np.stack(single), atol=1e-6)


def test_it_knows_meaning_and_not_only_spelling() -> None:
    scores = MINILM.embed_documents(DOCUMENTS) @ MINILM.embed_query("my car is broken")
    assert int(scores.argmax()) == 0
    assert scores[0] > scores[1] + 0.2


def test_no_texts_need_no_model(tmp_path: Path) -> None:
    assert MINILM.embed_documents([]).shape == (0, 384)
    empty = onnx.OnnxEmbedder(tmp_path, name="n", model="m")
    assert empty.embed_documents([]).shape == (0, 0)


def test_lone_surrogates_and_long_texts_do_no_harm() -> None:
    assert MINILM.embed_query("a\ud800" * 5000).shape == (384,)


def test_one_session_serves_a_folder() -> None:
    MINILM.embed_query("x")
    onnx.MiniLM().embed_query("y")
    session, other = (onnx.loaded(onnx.MINILM, threads) for threads in (1, 2))
    assert session is other


def test_many_threads_get_the_same_answer() -> None:
    expected = MINILM.embed_query("who approved it?")
    vectors: list[base.Vectors] = []
    threads = [
        threading.Thread(
            target=lambda: vectors.append(MINILM.embed_query("who approved it?"))
        )
        for _ in range(6)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(vectors) == 6
    assert all(np.array_equal(vector, expected) for vector in vectors)


def embedded_there() -> base.Vectors:
    return MINILM.embed_documents(DOCUMENTS)


def test_a_forked_child_works() -> None:
    parent_vectors = MINILM.embed_documents(DOCUMENTS)
    fork = multiprocessing.get_context("fork")
    with ProcessPoolExecutor(1, mp_context=fork) as child:
        child_vectors = child.submit(embedded_there).result(timeout=LIMIT_SECONDS)
    assert np.allclose(parent_vectors, child_vectors, atol=1e-6)


def test_token_vectors_are_averaged_and_prefixes_are_put_before(
    tmp_path: Path,
) -> None:
    embedder = tiny(tmp_path)
    assert embedder.dim is None
    assert np.allclose(embedder.embed_query("a b"), expected(1, 5, 3, 4, 2))
    rows = embedder.embed_documents(["a", "x"])
    assert np.allclose(rows, [expected(1, 6, 3, 2), expected(1, 6, 0, 2)])
    assert embedder.dim == 4


def test_a_text_the_model_fails_on_is_a_bad_answer(tmp_path: Path) -> None:
    embedder = tiny(tmp_path)
    text = (tmp_path / onnx.TOKENIZER).read_text(encoding="utf-8")
    parts = json.loads(text)
    parts["model"]["vocab"]["a"] = 99  # no such row in the table
    (tmp_path / onnx.TOKENIZER).write_text(json.dumps(parts), encoding="utf-8")
    with pytest.raises(base.BadAnswer) as caught:
        embedder.embed_query("a secret")
    assert "secret" not in str(caught.value)


def test_a_vector_without_direction_is_a_bad_answer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(onnx, "pooled", lambda _: np.zeros(4, dtype=np.float32))
    with pytest.raises(base.BadAnswer):
        tiny(tmp_path).embed_query("a")


@pytest.mark.parametrize("name", [onnx.MODEL, onnx.TOKENIZER, onnx.SUMS])
def test_a_changed_file_is_not_run(tmp_path: Path, name: str) -> None:
    shipped(tmp_path)
    with (tmp_path / name).open("ab") as file:
        file.write(b" ")
    with pytest.raises(base.Damaged) as caught:
        onnx.OnnxEmbedder(tmp_path, name="n", model="m").embed_query("x")
    assert caught.value.reason == "damaged"


@pytest.mark.parametrize("name", [onnx.MODEL, onnx.TOKENIZER])
def test_a_missing_file_is_damaged(tmp_path: Path, name: str) -> None:
    shipped(tmp_path)
    (tmp_path / name).unlink()
    embedder = onnx.OnnxEmbedder(tmp_path, name="n", model="m")
    with pytest.raises(base.Damaged):
        embedder.embed_query("x")
    shutil.copy(onnx.MINILM / name, tmp_path / name)
    assert embedder.embed_query("x").shape == (384,)  # repaired, without a restart


@pytest.mark.parametrize("sums", [None, "", "only-a-word", "00  model.onnx\n"])
def test_the_shipped_model_needs_its_digests(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, sums: str | None
) -> None:
    shipped(tmp_path)
    (tmp_path / onnx.SUMS).unlink()
    if sums is not None:
        (tmp_path / onnx.SUMS).write_text(sums, encoding="ascii")
    monkeypatch.setattr(onnx, "MINILM", tmp_path)
    with pytest.raises(base.Damaged):
        onnx.MiniLM().embed_query("x")


@pytest.mark.parametrize("content", [b"", b"not a model", TINY[:200]])
def test_a_file_that_is_no_model_is_damaged(tmp_path: Path, content: bytes) -> None:
    embedder = tiny(tmp_path)
    (tmp_path / onnx.MODEL).write_bytes(content)
    with pytest.raises(base.Damaged):
        embedder.embed_query("a")


def test_a_model_without_text_vectors_is_damaged(tmp_path: Path) -> None:
    embedder = tiny(tmp_path)
    other = TINY.replace(b"last_hidden_state", b"some_other_output")
    (tmp_path / onnx.MODEL).write_bytes(other)
    with pytest.raises(base.Damaged, match="vectors"):
        embedder.embed_query("a")


@pytest.mark.parametrize("text", ["", "[]", '"x"', '{"model": 1}', "{", "\\ud800"])
def test_a_file_that_is_no_tokenizer_is_damaged(tmp_path: Path, text: str) -> None:
    embedder = tiny(tmp_path)
    (tmp_path / onnx.TOKENIZER).write_text(text, encoding="utf-8")
    with pytest.raises(base.Damaged):
        embedder.embed_query("a")


WORDS = {
    "version": "1.0",
    "pre_tokenizer": {"type": "Whitespace"},
    "model": {
        "type": "WordLevel",
        "vocab": {"[UNK]": 0, "a": 3, "q": 5},
        "unk_token": "[UNK]",
    },
}


def test_another_kind_of_tokenizer_runs_with_its_package(tmp_path: Path) -> None:
    pytest.importorskip("tokenizers", reason="the package tokenizers, optional")
    embedder = tiny(tmp_path, WORDS)
    assert np.allclose(embedder.embed_query("a x"), expected(5, 3, 0))


def test_another_kind_of_tokenizer_that_is_invalid_is_damaged(tmp_path: Path) -> None:
    pytest.importorskip("tokenizers", reason="the package tokenizers, optional")
    with pytest.raises(base.Damaged):
        tiny(tmp_path, {"model": {"type": "Nothing"}}).embed_query("a")


def test_without_its_package_the_package_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "tokenizers", None)
    with pytest.raises(base.NotConfigured, match="tokenizers"):
        tiny(tmp_path, WORDS).embed_query("a")


def test_the_notice_names_origin_and_licence() -> None:
    notice = (onnx.MINILM / "NOTICE").read_text(encoding="utf-8")
    assert "sentence-transformers/all-MiniLM-L6-v2" in notice
    assert "Apache License, Version 2.0" in notice


def test_the_script_makes_the_files_that_are_shipped() -> None:
    script = (onnx.MINILM / "make_model.py").read_text(encoding="utf-8")
    sums = (onnx.MINILM / onnx.SUMS).read_text(encoding="ascii")
    assert all(line.split()[0] in script for line in sums.splitlines())
