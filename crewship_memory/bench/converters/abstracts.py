"""Classical collections: a tenant of abstracts without threads or speakers."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from crewship_memory.bench.converters.files import SPACES, lines
from crewship_memory.bench.sets import Document, LabelledSet, json_lines, question

Pairs = Iterable[tuple[str, str]]


def beir(path: Path) -> LabelledSet:
    """Return a set of BEIR: corpus.jsonl, queries.jsonl, and qrels/test.tsv."""
    texts = {
        row["_id"]: (row.get("title") or "", row["text"])
        for _, row in json_lines(path / "corpus.jsonl")
    }
    queries = {row["_id"]: row["text"] for _, row in json_lines(path / "queries.jsonl")}
    rows = [line.split("\t") for line in lines(path / "qrels" / "test.tsv")[1:]]
    pairs = [(query_id, document) for query_id, document, grade in rows if int(grade)]
    return _collection(path.resolve().name, texts, queries, pairs)


def cranfield(path: Path) -> LabelledSet:
    """Return Cranfield 1400: cran.all.1400, cran.qry, cranqrel.

    The judgements number the questions by their place in cran.qry, not by its ids.
    """
    numbered = enumerate(_smart(path / "cran.qry"), 1)
    queries = {str(place): row["W"] for place, row in numbered}
    rows = [line.split()[:3] for line in lines(path / "cranqrel")]
    pairs = [(query_id, document) for query_id, document, g in rows if int(g) > 0]
    return _collection("cranfield", _texts(path / "cran.all.1400"), queries, pairs)


def cisi(path: Path) -> LabelledSet:
    """Return CISI: CISI.ALL, CISI.QRY, CISI.REL."""
    queries = {row["I"]: row["W"] for row in _smart(path / "CISI.QRY")}
    rows = (line.split() for line in lines(path / "CISI.REL"))
    pairs = [(row[0], row[1]) for row in rows]
    return _collection("cisi", _texts(path / "CISI.ALL"), queries, pairs)


def _collection(
    name: str,
    texts: Mapping[str, tuple[str, str]],
    queries: Mapping[str, str],
    pairs: Pairs,
) -> LabelledSet:
    """Return a set of id → title and text, id → query, and what answers what."""
    documents = [
        Document(own_id, _titled(title, text), name)
        for own_id, (title, text) in texts.items()
        if title or text
    ]
    ids = {document.id for document in documents}
    relevant: dict[str, list[str]] = {}
    for query_id, document_id in pairs:
        if query_id in queries and document_id in ids:
            relevant.setdefault(query_id, []).append(document_id)
    questions = [
        question(name, query_id, queries[query_id], document_ids, name)
        for query_id, document_ids in relevant.items()
    ]
    return LabelledSet(name, tuple(documents), tuple(questions))


def _titled(title: str, text: str) -> str:
    """Return a text under its title, where it does not begin with it."""
    return text if text.startswith(title) else f"{title}\n{text}".strip()


def _texts(path: Path) -> dict[str, tuple[str, str]]:
    return {row["I"]: (row.get("T", ""), row.get("W", "")) for row in _smart(path)}


def _smart(path: Path) -> Iterator[dict[str, str]]:
    """Yield the records of a file in the SMART form: field letter → text."""
    records: list[dict[str, list[str]]] = []
    field = ""
    for line in lines(path):
        if line.startswith(".I"):
            records.append({"I": [str(int(line[2:]))]})
        elif re.fullmatch(r"\.[A-Z]\s*", line):
            field = line[1]
        elif records:
            records[-1].setdefault(field, []).append(line)
    for record in records:
        yield {
            name: SPACES.sub(" ", " ".join(texts)).strip()
            for name, texts in record.items()
        }
