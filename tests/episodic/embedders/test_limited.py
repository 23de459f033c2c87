"""A server that accepts and never answers keeps a few threads, not all."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace

import numpy as np
import pytest

from episodic.embedders import limited, ollama
from episodic.embedders.base import TooSlow, Vectors
from episodic.embedders.hashing import HashingEmbedder
from episodic.embedders.limited import MOST_WAITING, LimitedQueries
from episodic.index import engine, sweep
from tests import waiting
from tests.world import World


class Hanging(HashingEmbedder):
    """Answers nothing until it is let go, and then that it was too slow."""

    def __init__(self) -> None:
        self.calls, self.over, self.is_well = 0, threading.Event(), False

    def embed_query(self, text: str) -> Vectors:
        self.calls += 1
        if not self.is_well:
            self.over.wait(waiting.LIMIT_SECONDS)
            raise ollama.slow()
        return super().embed_query(text)


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """Return the time that the limit reads."""
    now = [1_000.0]
    monkeypatch.setattr(limited, "time", SimpleNamespace(monotonic=lambda: now[0]))
    return now


def test_few_wait_the_others_are_refused_and_then_it_is_left_alone(
    clock: list[float],
) -> None:
    inner = Hanging()
    queries = LimitedQueries(inner)
    with ThreadPoolExecutor(MOST_WAITING) as threads:
        first = [threads.submit(queries.embed_query, "x") for _ in range(MOST_WAITING)]
        waiting.until(lambda: inner.calls == MOST_WAITING)
        clock[0] += limited.SLOW_SECONDS
        with pytest.raises(TooSlow):
            queries.embed_query("y")
        with pytest.raises(TooSlow), limited.for_a_question():
            queries.embed_documents(["y"])
        assert queries.embed_documents(["y"]).shape[0] == 1
        # A question that took this long: none is sent for a while.
        clock[0] += 0.1
        inner.over.set()
        assert all(isinstance(call.exception(), TooSlow) for call in first)
    with pytest.raises(TooSlow):
        queries.embed_query("y")
    assert inner.calls == MOST_WAITING
    inner.is_well = True
    clock[0] += limited.PAUSE_SECONDS
    assert np.array_equal(queries.embed_query("y"), HashingEmbedder().embed_query("y"))


@pytest.fixture
def silent_address() -> Iterator[str]:
    """Return the address of a server that takes every connection and says nothing."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield f"http://127.0.0.1:{server.getsockname()[1]}"


def test_texts_that_a_question_embeds_are_limited_as_a_question(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    world.entry("The lighthouse is dark")
    inside: list[bool] = []

    def embed_rows(_: object) -> list[object]:
        inside.append(limited._is_question.get())
        return []

    monkeypatch.setattr(sweep, "embed_rows", embed_rows)
    assert world.api("ada").post("/episodic/recall", {"query": "x"}).status == 200
    assert inside == [True]


def test_recall_answers_by_words_and_appends_go_on(
    world: World, silent_address: str
) -> None:
    row = world.entry("The lighthouse is dark")
    engine.use(ollama.OllamaEmbedder(silent_address, timeout=0.2))
    assert isinstance(engine.embedder().inner, LimitedQueries)
    reply = world.api("ada").post("/episodic/recall", {"query": "lighthouse"})
    assert reply.status == 200
    assert [hit["entry_id"] for hit in reply.data["hits"]] == [row.id]
    assert "timeout" in reply.data["degraded"]
    # The question alone waited for it, no text of an entry after that.
    assert len(engine.status().recent) == 1
    new = {"entry_type": "peer.escalation", "summary": "The keeper is away"}
    assert world.api("ada").post("/journal", new).status == 201
