"""What families of models want to read first."""

from __future__ import annotations

import pytest

from episodic.embedders import families


@pytest.mark.parametrize(
    ("model", "document", "query"),
    [
        ("nomic-embed-text", "search_document: ", "search_query: "),
        ("Nomic-Embed-Text:v1.5", "search_document: ", "search_query: "),
        ("owner/nomic-embed-text:latest", "search_document: ", "search_query: "),
        ("e5-large", "passage: ", "query: "),
        ("multilingual-e5-small", "passage: ", "query: "),
        (
            "mxbai-embed-large",
            "",
            "Represent this sentence for searching relevant passages: ",
        ),
        ("all-minilm", "", ""),
        ("bge-m3:567m", "", ""),
        ("", "", ""),
    ],
)
def test_prefixes_follow_the_family(model: str, document: str, query: str) -> None:
    assert families.prefixes(model) == families.Prefixes(document, query)
