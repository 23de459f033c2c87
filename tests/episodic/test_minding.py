"""What the ground floor's provider learns of the embedder and the chat model."""

from __future__ import annotations

from datetime import UTC, datetime

import httpx
import pytest
from pytest_django import Settings

from episodic import consolidation, engine
from episodic.embedders.none import NoEmbedder
from episodic.minding import Mind
from episodic.summarisers.ollama import OllamaSummariser
from memory.providers.ours import upstairs
from memory.providers.ours.upstairs import Statement

NOW = datetime(2026, 5, 4, tzinfo=UTC)
SAID = [Statement(f"rec_{n}", f"Lena takes train {n}.", NOW) for n in range(3)]
ANSWER = (
    '{"rules": [{"pattern": "Lena travels.", "action": "Book a train.",'
    ' "confidence": 0.9, "evidence": [1, 2, 99]}]}'
)


def test_the_embedder_in_place_is_named() -> None:
    found = Mind().engine()
    assert found.provider == "transformers"
    assert found.model == engine.embedder().model
    assert found.dimensions == engine.embedder().dim


def test_without_an_embedder_it_is_words() -> None:
    engine.use(NoEmbedder())
    try:
        assert Mind().engine() == upstairs.WORDS
    finally:
        engine.use(None)


def test_without_a_chat_model_nobody_thinks() -> None:
    assert Mind().thinker() == upstairs.NOBODY
    assert Mind().think(SAID) is None


def _chat(monkeypatch: pytest.MonkeyPatch, answer: httpx.Response) -> None:
    made = OllamaSummariser(
        "http://127.0.0.1:1",
        "small",
        transport=httpx.MockTransport(lambda _: answer),
    )
    monkeypatch.setattr(consolidation, "summariser", lambda: made)


def test_a_chat_model_s_rules_become_thoughts(monkeypatch: pytest.MonkeyPatch) -> None:
    _chat(monkeypatch, httpx.Response(200, json={"message": {"content": ANSWER}}))
    (one,) = Mind().think(SAID) or []
    assert one.content == "Lena travels. Book a train."
    assert one.evidence == ("rec_0", "rec_1")
    assert Mind().thinker() == "ollama:small"


def test_a_model_that_fails_leaves_the_extractive_way(
    monkeypatch: pytest.MonkeyPatch, settings: Settings
) -> None:
    _chat(monkeypatch, httpx.Response(500))
    assert Mind().think(SAID) is None


def test_the_port_is_filled_at_start_up() -> None:
    assert isinstance(upstairs.mind(), Mind)
