"""Known items of a journal in JSON lines."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from crewship_memory.bench.sets import (
    Document,
    LabelledSet,
    Question,
    json_lines,
    question,
)

NAME: Final = "journal"
TEXT_LEAST: Final = 200


def known_items(path: Path) -> LabelledSet:
    """Return known items of a journal in JSON lines: its summaries ask for its texts.

    An entry whose payload.text has more than TEXT_LEAST characters is a document and a
    question with one right answer. The summary says what the text says in other words
    only in part, so that the set favours the ranking by words.
    """
    documents: list[Document] = []
    questions: list[Question] = []
    for number, entry in json_lines(path):
        text = (entry.get("payload") or {}).get("text")
        if not isinstance(text, str) or len(text) <= TEXT_LEAST:
            continue
        if not entry["summary"].strip():
            continue
        entry_id, agent = f"entry-{number}", entry.get("agent") or None
        thread = entry.get("trace_id") or f"{entry.get('crew')}/{agent}"
        documents.append(
            Document(entry_id, text, NAME, thread, number, agent, entry["ts"])
        )
        name, summary = f"question-{number}", entry["summary"]
        questions.append(question(NAME, name, summary, [entry_id], NAME))
    return LabelledSet(NAME, tuple(documents), tuple(questions))
