"""What a question's words say of the candidates of a search."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from typing import Final, NamedTuple

import numpy as np
from django.db.models import TextField
from django.db.models.functions import Cast

from memory import authors, fulltext
from memory.models import Record
from memory.records import sessions, similarity
from memory.records.fusion import Words
from memory.records.sessions import SessionRow
from memory.rules import tokenizer
from memory.word_index import bare_questions, terms, texts
from memory.word_index.rows import stored_words
from memory.word_index.texts import Links, Places


class Candidate(NamedTuple):
    """The columns of a record that ranking needs: a large scope has many candidates.

    ``created`` and ``turns`` are texts: dates and lists would take longer than the
    ranking.
    """

    id: str
    content: str
    current_entry_id: str | None
    current_entry__docid: int | None
    crew_id: str | None
    agent_id: str | None
    scope_key: str | None
    scope_user: str
    scope_thread: str
    session_id: str
    created: str
    turns: str | None

    @classmethod
    def of(cls, row: Record) -> Candidate:
        """Return the columns of a full row."""
        entry = row.current_entry
        return cls(
            row.id,
            row.content,
            row.current_entry_id,
            entry.docid if entry else None,
            row.crew_id,
            row.agent_id,
            row.scope_key,
            row.scope_user,
            row.scope_thread,
            row.session_id,
            row.created_at.isoformat(),
            json.dumps(row.turn_range),
        )

    @property
    def session_row(self) -> SessionRow:
        turns = json.loads(self.turns) if self.turns else None
        return SessionRow(self.id, *self[4:10], turns, self.created)


# What ``Candidate`` names and the table has under another type.
AS_TEXT: Final = {
    "created": Cast("created_at", TextField()),
    "turns": Cast("turn_range", TextField()),
}


def _threads(candidates: Sequence[Candidate]) -> list[list[int]]:
    """Return the conversations of candidates, as places."""
    places = {
        row.id: place
        for place, row in enumerate(candidates)
        if row.session_id or row.scope_thread
    }
    rows = (candidates[place].session_row for place in places.values())
    return [[places[key] for key in thread] for thread in sessions.conversations(rows)]


def _numbers(threads: Sequence[Sequence[int]], size: int) -> Places:
    numbers = np.full(size, -1)
    for number, thread in enumerate(threads):
        numbers[list(thread)] = number
    return numbers


def _author_terms(
    query: fulltext.WordQuery, candidates: Sequence[Candidate]
) -> dict[int, list[int]]:
    """Return, by place, those terms of the question that only the author's name is.

    The stored words of an entry have its author's name before the text; a record is
    found by what it says itself.
    """
    question_terms = terms.of_words(query.terms).keys()
    extra: dict[int, list[int]] = {}
    names = authors.names({row.agent_id for row in candidates})
    for agent_id, name in names.items():
        words = [t for w in tokenizer.split(name) for t in terms.of_word(w)]
        name_terms = [term for term in words if term in question_terms]
        for place, row in enumerate(candidates if name_terms else ()):
            is_author = row.agent_id == agent_id
            if is_author and authors.attributed(name, row.content) != row.content:
                extra[place] = name_terms
    return extra


def read(query: str, candidates: Sequence[Candidate]) -> Words:
    """Return what the words of candidates say, within these candidates alone.

    Words come from their entries, as they are stored; what has none is split here.
    """
    word_query = fulltext.word_query(query)
    docids = [row.current_entry__docid for row in candidates]
    stored = stored_words([docid for docid in docids if docid is not None])
    extra = _author_terms(word_query, candidates)
    blobs = []
    for place, (row, docid) in enumerate(zip(candidates, docids, strict=True)):
        blob = stored.get(docid) if docid is not None else None
        if blob is None:
            extra.pop(place, None)
            blob = terms.words_of(row.content, "")
        blobs.append(blob)
    threads = _threads(candidates)
    links = Links.of(threads, len(candidates))
    scores = texts.score_stored(word_query, blobs, links, extra)
    asking = np.array([bare_questions.asks(row.content) for row in candidates], bool)
    scores = replace(scores, length=bare_questions.word_counts(scores.length, asking))
    return Words(
        scores,
        links,
        _numbers(threads, len(candidates)),
        similarity.holding(query, [row.content for row in candidates], scores.share),
    )
