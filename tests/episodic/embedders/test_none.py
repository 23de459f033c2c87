"""The embedder that is not there."""

from __future__ import annotations

import pytest

from episodic.embedders import base, none


def test_it_says_that_nothing_is_configured() -> None:
    embedder: base.Embedder = none.NoEmbedder()
    assert (embedder.name, embedder.dim) == ("none", None)
    with pytest.raises(base.NotConfigured) as caught:
        embedder.embed_query("a question")
    assert caught.value.reason == "not_configured"
    with pytest.raises(base.NotConfigured):
        embedder.embed_documents([])
