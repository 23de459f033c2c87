"""The seam: unit vectors, the status of an embedder, the cache that can forget."""

from __future__ import annotations

import threading
from datetime import UTC
from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from episodic.embedders import base, hashing

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence


class Scripted(hashing.HashingEmbedder):
    """The hashing embedder, with something to happen before each call."""

    def __init__(self, before: Callable[[], None] = lambda: None) -> None:
        self.before = before
        self.asked: list[str] = []

    def embed_documents(self, texts: Sequence[str]) -> base.Vectors:
        self.before()
        return super().embed_documents(texts)

    def embed_query(self, text: str) -> base.Vectors:
        self.asked.append(text)
        self.before()
        return super().embed_query(text)


def failing(error: BaseException) -> Scripted:
    def fail() -> None:
        raise error

    return Scripted(fail)


def ask(embedder: base.Embedder, error: type[BaseException] | None = None) -> None:
    if error is None:
        embedder.embed_query("a question")
        return
    with pytest.raises(error):
        embedder.embed_query("a question")


@given(
    arrays.arrays(
        np.float32,
        (3, 5),
        elements=st.floats(-(2.0**99), 2.0**99, width=32).filter(bool),
    )
)
def test_unit_rows_have_length_one(rows: base.Vectors) -> None:
    scaled = base.unit(rows)
    assert scaled.dtype == np.float32
    assert np.allclose(np.linalg.norm(scaled, axis=1), 1, atol=1e-5)


@pytest.mark.parametrize("value", [0.0, np.nan, np.inf])
def test_a_row_without_a_direction_is_refused(value: float) -> None:
    rows = np.array([[1, 2], [value, value]], dtype=np.float32)
    with pytest.raises(base.BadAnswer):
        base.unit(rows)


def test_lone_surrogates_become_sendable() -> None:
    assert base.sendable("a\ud800b é") == "a?b é"


def test_every_error_has_its_own_reason() -> None:
    kinds = base.EmbedderError.__subclasses__()
    reasons = {kind.reason for kind in kinds} - {base.Reason.UNEXPECTED}
    assert len(reasons) == 5


def test_nothing_is_known_before_the_first_call() -> None:
    status = base.Observed(Scripted()).status()
    assert status == base.Status()
    assert status.state == "untried"


def test_an_answer_shows_and_passes_through() -> None:
    observed = base.Observed(Scripted())
    assert np.array_equal(observed.embed_query("x"), hashing.hashed("x"))
    assert observed.embed_documents(["x", "y"]).shape == (2, hashing.DIM)
    status = observed.status()
    assert (status.state, status.reason) == (base.State.ANSWERING, None)
    assert [beat.ok for beat in status.recent] == [True, True]
    assert status.last_ms == status.recent[-1].ms
    assert status.checked_at is not None
    assert status.checked_at.tzinfo is UTC


def test_the_wrappers_show_who_they_wrap() -> None:
    for wrapped in (base.Observed(Scripted()), base.CachedQueries(Scripted())):
        identity = (wrapped.name, wrapped.model, wrapped.dim)
        assert identity == ("hashing", "hashing-512-v1", 512)


def test_the_status_is_the_last_outcome_and_no_latch() -> None:
    inner = failing(base.Unreachable("Away."))
    observed = base.Observed(inner)
    ask(observed, base.Unreachable)
    assert observed.status().state == "failing"
    assert observed.status().reason == "unreachable"
    inner.before = lambda: None
    ask(observed)
    assert observed.status().state == "answering"
    assert [call.ok for call in observed.status().recent] == [False, True]


def test_an_error_outside_the_family_counts_and_passes_through() -> None:
    observed = base.Observed(failing(MemoryError()))
    ask(observed, MemoryError)
    assert observed.status().reason == "unexpected"


@pytest.mark.parametrize("error", [KeyboardInterrupt, SystemExit, GeneratorExit])
def test_a_caller_who_breaks_off_changes_nothing(error: type[BaseException]) -> None:
    inner = Scripted()
    observed = base.Observed(inner)
    ask(observed)
    before = observed.status()
    inner.before = failing(error()).before
    ask(observed, error)
    assert observed.status() == before


def test_no_texts_are_no_sign_of_life() -> None:
    observed = base.Observed(Scripted())
    assert observed.embed_documents([]).shape == (0, 512)
    assert observed.status().state == "untried"


def test_only_the_last_sixty_calls_are_kept() -> None:
    observed = base.Observed(Scripted())
    for _ in range(70):
        ask(observed)
    assert len(observed.status().recent) == base.RECENT_CALLS == 60


def test_the_status_survives_many_threads() -> None:
    observed = base.Observed(Scripted())

    def work() -> None:
        for _ in range(25):
            ask(observed)
            observed.status()

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(observed.status().recent) == 60


def test_a_question_asked_again_is_not_embedded_again() -> None:
    inner = Scripted()
    cached = base.CachedQueries(inner)
    first = cached.embed_query("why")
    assert cached.embed_query("why") is first
    assert inner.asked == ["why"]
    assert cached.counts() == base.CacheCounts(hits=1, misses=1, size=1)
    assert not first.flags.writeable


def test_documents_are_not_cached() -> None:
    cached = base.CachedQueries(Scripted())
    assert cached.embed_documents(["a"]).shape == (1, 512)
    assert cached.counts().size == 0


def test_the_question_unused_for_longest_goes_first() -> None:
    inner = Scripted()
    cached = base.CachedQueries(inner, size=2)
    for text in ("a", "b", "a", "c", "a", "b"):
        cached.embed_query(text)
    assert inner.asked == ["a", "b", "c", "b"]


def test_a_cache_of_size_zero_keeps_nothing() -> None:
    cached = base.CachedQueries(Scripted(), size=0)
    cached.embed_query("a")
    assert cached.counts().size == 0


def test_another_model_or_dim_makes_old_answers_void() -> None:
    inner = Scripted()
    cached = base.CachedQueries(inner)
    cached.embed_query("a")
    inner.model = "hashing-512-v2"
    cached.embed_query("a")
    inner.dim = 3
    cached.embed_query("a")
    assert inner.asked == ["a", "a", "a"]


def test_an_error_is_not_cached() -> None:
    inner = failing(base.TooSlow("Slow."))
    cached = base.CachedQueries(inner)
    ask(cached, base.TooSlow)
    inner.before = lambda: None
    ask(cached)
    assert cached.counts().size == 1


def test_the_cache_finds_and_forgets_a_person() -> None:
    inner = Scripted()
    cached = base.CachedQueries(inner)
    for text in ("what did Marta say", "budget", "marta's bank"):
        cached.embed_query(text)

    def names(text: str) -> bool:
        return "marta" in text.lower()

    assert cached.count(names) == 2
    assert cached.forget(names) == 2
    assert cached.count(names) == 0
    assert cached.clear() == 1
    assert cached.counts().size == 0


def test_an_answer_that_comes_after_an_erasure_is_not_kept() -> None:
    inner = Scripted()
    cached = base.CachedQueries(inner)

    def erase() -> None:
        cached.clear()

    inner.before = erase
    cached.embed_query("what did Marta say")
    assert cached.counts().size == 0
