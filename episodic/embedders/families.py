"""The prefixes that each family of embedding models expects."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Prefixes:
    """Words put before a document and before a query; empty for most families."""

    document: str = ""
    query: str = ""


NONE = Prefixes()
NOMIC = Prefixes("search_document: ", "search_query: ")
E5 = Prefixes("passage: ", "query: ")
MXBAI = Prefixes(
    query="Represent this sentence for searching relevant passages: ",
)


def prefixes(model: str) -> Prefixes:
    """Return the prefixes for a model by its name, with or without owner and tag."""
    name = model.lower().rpartition("/")[2].partition(":")[0]
    if name.startswith("nomic-embed-text"):
        return NOMIC
    if name.startswith("mxbai-embed-large"):
        return MXBAI
    if name.startswith(("e5", "multilingual-e5")):
        return E5
    return NONE
