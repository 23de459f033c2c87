"""The embedder that knows spelling, not meaning."""

from __future__ import annotations

import hashlib

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from episodic.embedders import base, hashing

EMBEDDER = hashing.HashingEmbedder()


def likeness(text: str, other: str) -> float:
    return float(EMBEDDER.embed_query(text) @ EMBEDDER.embed_query(other))


@given(st.text(st.characters(codec=None), max_size=80))
def test_every_text_has_a_unit_vector_and_only_one(text: str) -> None:
    vector = EMBEDDER.embed_query(text)
    assert vector.shape == (hashing.DIM,)
    assert vector.dtype == np.float32
    assert abs(float(np.linalg.norm(vector)) - 1) < 1e-5
    assert np.array_equal(EMBEDDER.embed_documents([text, "x"])[0], vector)


def test_no_texts_give_no_rows() -> None:
    assert EMBEDDER.embed_documents([]).shape == (0, hashing.DIM)


def test_the_vectors_are_the_same_on_every_machine() -> None:
    vector = EMBEDDER.embed_query("Payroll failed twice")
    rounded = np.round(vector * 1000).astype("<i2").tobytes()
    digest = hashlib.sha256(rounded).hexdigest()
    assert digest.startswith("5517c142f8f0bfea")


def test_shared_words_bring_texts_close() -> None:
    assert likeness("payroll failed", "the payroll run failed") > 0.5
    assert likeness("payroll failed", "quarterly audit passed") < 0.2


def test_spelling_counts_and_case_and_accents_do_not() -> None:
    assert likeness("Café Ångström", "cafe angstrom") > 0.999
    assert likeness("reconciliation", "reconciliations") > 0.5


def test_blank_texts_are_alike_and_unlike_others() -> None:
    assert likeness("", " \n") > 0.999
    assert abs(likeness("", "payroll")) < 0.2


def test_signs_without_letters_still_differ() -> None:
    assert likeness("🙂", "🙃") < 0.9


def test_it_is_an_embedder() -> None:
    embedder: base.Embedder = EMBEDDER
    assert (embedder.name, embedder.dim) == ("hashing", 512)
