"""Labelled sets for the quality of recall: one form for every source.

A set is a folder of two files in JSON lines:

docs.jsonl       {"id", "thread", "order", "speaker", "ts", "text", "tenant"}
questions.jsonl  {"id", "text", "relevant": [ids of docs], "tenant", "split"}

``tenant`` names the memory a line belongs to: a question is asked in its tenant only.
``thread`` is a conversation, a meeting or a trace, and ``order`` the place of a line
in it; ``thread``, ``speaker`` and ``ts`` may be null. ``split`` is train or test:
ranking is tuned on the first half and judged on the second.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict, dataclass
from datetime import datetime
from pathlib import Path
from typing import Any, Final, TypeVar

from memory.rules.entries import ID_CHARS

DOCS: Final = "docs.jsonl"
QUESTIONS: Final = "questions.jsonl"
TRAIN: Final = "train"
TEST: Final = "test"
SPLITS: Final = (TRAIN, TEST)

Row = TypeVar("Row", bound="Document | Question")


class SetError(ValueError):
    """A labelled set that cannot be read, with the file and the line."""


@dataclass(frozen=True, slots=True)
class Document:
    """A text to find again: a turn of a conversation, an abstract, an entry."""

    id: str
    text: str
    tenant: str
    thread: str | None = None
    order: int = 0
    speaker: str | None = None
    ts: str | None = None


@dataclass(frozen=True, slots=True)
class Question:
    """A question and the documents that answer it."""

    id: str
    text: str
    relevant: tuple[str, ...]
    tenant: str
    split: str


@dataclass(frozen=True, slots=True)
class LabelledSet:
    """The documents and the questions of one source."""

    name: str
    documents: tuple[Document, ...]
    questions: tuple[Question, ...]

    @property
    def tenants(self) -> list[str]:
        """Return the tenants that have questions, in order of their documents."""
        with_questions = {question.tenant for question in self.questions}
        tenants = dict.fromkeys(document.tenant for document in self.documents)
        return [tenant for tenant in tenants if tenant in with_questions]

    def sample(self, split: str, limit: int | None) -> list[Question]:
        """Return the questions of a half; with a limit, the same so many each time."""
        half = [question for question in self.questions if question.split == split]
        if limit is None or len(half) <= limit:
            return half
        return sorted(half, key=lambda question: _digest(question.id))[:limit]


def _digest(value: str) -> bytes:
    return hashlib.sha256(value.encode()).digest()


def split_of(question_id: str) -> str:
    """Return the half a question belongs to: fixed by its id, so the same anywhere."""
    return SPLITS[_digest(question_id)[0] % 2]


def question(
    name: str, question_id: str, text: str, relevant: Iterable[str], tenant: str
) -> Question:
    """Return a question in its fixed half of a set."""
    ids = tuple(dict.fromkeys(relevant))
    split = split_of(f"{name}:{question_id}")
    return Question(question_id, text, ids, tenant, split)


# ── Reading and writing ──────────────────────────────────────────────────────
def write(labelled: LabelledSet, folder: Path) -> None:
    """Write the two files of a set into a folder, which is made if need be."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, rows in ((DOCS, labelled.documents), (QUESTIONS, labelled.questions)):
        lines = (json.dumps(asdict(row), ensure_ascii=False) for row in rows)
        (folder / name).write_text("".join(f"{line}\n" for line in lines), "utf-8")


def folders(path: Path) -> list[Path]:
    """Return the sets at a path: the folder itself, or the folders inside it."""
    if (path / DOCS).is_file():
        return [path]
    inside = sorted(file.parent for file in path.glob(f"*/{DOCS}"))
    if not inside:
        message = f"{path} is no labelled set, and has none: {DOCS} and {QUESTIONS}"
        raise SetError(message)
    return inside


def read(folder: Path) -> LabelledSet:
    """Return the set of a folder; raise SetError on the first line that is wrong."""
    documents = tuple(_rows(folder / DOCS, _document))
    questions = tuple(_rows(folder / QUESTIONS, _question))
    labelled = LabelledSet(folder.resolve().name, documents, questions)
    check(labelled)
    return labelled


def check(labelled: LabelledSet) -> None:
    """Raise SetError for a doubled id, an answer elsewhere, or no question at all."""
    if not labelled.questions:
        raise SetError(f"{labelled.name}: no question to ask")
    tenant_of: dict[str, str] = {}
    for document in labelled.documents:
        if document.id in tenant_of:
            raise SetError(f"{labelled.name}: two documents have the id {document.id}")
        tenant_of[document.id] = document.tenant
    question_ids: set[str] = set()
    for item in labelled.questions:
        if item.id in question_ids:
            raise SetError(f"{labelled.name}: two questions have the id {item.id}")
        question_ids.add(item.id)
        for relevant in item.relevant:
            if tenant_of.get(relevant) != item.tenant:
                message = (
                    f"question {item.id}: {relevant} is not a document of {item.tenant}"
                )
                raise SetError(f"{labelled.name}: {message}")


def check_rows(labelled: LabelledSet) -> None:
    """Raise SetError for a row that ``read`` would refuse, had it been written."""
    for rows, parse in (
        (labelled.documents, _document),
        (labelled.questions, _question),
    ):
        for row in rows:
            try:
                parse(asdict(row))
            except (ValueError, TypeError) as error:
                raise SetError(f"{labelled.name}, {row.id}: {error}") from error


def json_lines(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield number and object of every line that is not empty.

    Raises SetError with file and line for what is no JSON object.
    """
    try:
        file = path.open("rb")
    except OSError as error:
        raise SetError(f"{path}: {error.strerror}") from error
    with file:
        for number, line in enumerate(file, 1):
            if not line.strip():
                continue
            try:
                row = json.loads(line)
            except (ValueError, RecursionError) as error:
                raise SetError(f"{path}, line {number}: {error}") from error
            if not isinstance(row, dict):
                raise SetError(f"{path}, line {number}: this is no JSON object")
            yield number, row


def _rows(path: Path, parse: Callable[[dict[str, Any]], Row]) -> Iterator[Row]:
    """Yield the rows of a file; a wrong one is named by its line."""
    for number, row in json_lines(path):
        try:
            yield parse(row)
        except (ValueError, TypeError, KeyError) as error:
            reason = f"{error} is missing" if isinstance(error, KeyError) else error
            raise SetError(f"{path}, line {number}: {reason}") from error


def _text(row: dict[str, Any], name: str) -> str:
    value = row[name]
    if not isinstance(value, str) or not value.strip():
        raise ValueError(f"'{name}' should be a text that is not empty")
    value.encode()  # half a surrogate pair cannot be stored
    return value


def _text_or_none(row: dict[str, Any], name: str) -> str | None:
    return None if row.get(name) is None else _text(row, name)


def _document(row: dict[str, Any]) -> Document:
    order = row.get("order") or 0
    if not isinstance(order, int):
        raise TypeError("'order' should be a whole number")
    thread = _text_or_none(row, "thread")
    if thread is not None and len(thread) > ID_CHARS:
        # It becomes the trace of an entry.
        raise ValueError(f"'thread' has more than {ID_CHARS} characters")
    ts = _text_or_none(row, "ts")
    if ts is not None:
        datetime.fromisoformat(ts)
    return Document(
        id=_text(row, "id"),
        text=_text(row, "text"),
        tenant=_text(row, "tenant"),
        thread=thread,
        order=order,
        speaker=_text_or_none(row, "speaker"),
        ts=ts,
    )


def _question(row: dict[str, Any]) -> Question:
    relevant = row["relevant"]
    if not isinstance(relevant, list | tuple) or not relevant:
        raise ValueError("'relevant' should be a list with at least one id")
    if not all(isinstance(document_id, str) for document_id in relevant):
        raise ValueError("'relevant' should hold ids of documents")
    if row["split"] not in SPLITS:
        raise ValueError("'split' should be train or test")
    return Question(
        id=_text(row, "id"),
        text=_text(row, "text"),
        relevant=tuple(dict.fromkeys(relevant)),
        tenant=_text(row, "tenant"),
        split=row["split"],
    )
