"""The prefixes that each family of embedding models expects."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Prefixes:
    """Words put before a document and before a query; empty for most families."""

    document: str = ""
    query: str = ""


# By the beginning of a model's name.
FAMILIES = {
    "nomic-embed-text": Prefixes("search_document: ", "search_query: "),
    "mxbai-embed-large": Prefixes(
        query="Represent this sentence for searching relevant passages: "
    ),
    "e5": Prefixes("passage: ", "query: "),
    "multilingual-e5": Prefixes("passage: ", "query: "),
}


def prefixes(model: str) -> Prefixes:
    """Return the prefixes for a model by its name, with or without owner and tag."""
    name = model.lower().rpartition("/")[2].partition(":")[0]
    matches = (p for family, p in FAMILIES.items() if name.startswith(family))
    return next(matches, Prefixes())
