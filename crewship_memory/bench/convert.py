"""Converters: published test sets, as they are downloaded, into the common form of sets.

Each takes the path of the published files and returns a LabelledSet. Nothing of the
data is part of this project; SETS.md beside this file says where each set is to be had
and under what licence.

Conversations become memories as one agent would keep: a season of scenes, or several
meetings of one committee, are one tenant with a thread for each scene or meeting.

    python -m crewship_memory.bench.convert qmsum QMSum/data/Committee/all sets/qmsum
"""

from __future__ import annotations

import argparse
import bisect
import json
import re
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from crewship_memory.bench import sets
from crewship_memory.bench.sets import (
    Document,
    LabelledSet,
    Question,
    SetError,
    question,
)

SPAN_MOST: Final = 10
TURNS_MOST: Final = 1_000
EVIDENCE_WORDS: Final = 4
TEXT_LEAST: Final = 200

MARKS: Final = re.compile(r"\{[a-z]+\}|<[a-z]+>")
BEFORE: Final = re.compile(
    r" (?=[.,;:!?)\]]|n't\b|'(?:s|re|ve|ll|d|m)\b)", re.IGNORECASE
)
AFTER: Final = re.compile(r"(?<=[(\[]) ")
JOINED: Final = re.compile(r"\b([Cc]an|[Gg]on|[Gg]ot|[Ww]an) (not|na|ta)\b")
SPACES: Final = re.compile(r"\s+")


def plain(text: str) -> str:
    """Return a tokenised text as it is written: “do n't know .” is “don't know.”."""
    text = SPACES.sub(" ", MARKS.sub(" ", text)).strip()
    return JOINED.sub(r"\1\2", AFTER.sub("", BEFORE.sub("", text)))


# ── Conversations ────────────────────────────────────────────────────────────
def friendsqa(path: Path) -> LabelledSet:
    """Return FriendsQA: scenes of one season are a tenant, a question has utterances.

    ``path`` is the folder ``dat`` of the published files (friendsqa_*.json).
    """
    documents: list[Document] = []
    questions: list[Question] = []
    for scene in _scenes(path):
        title, tenant = scene["title"], f"season-{scene['title'][1:3]}"
        for paragraph in scene["paragraphs"]:
            kept = [u for u in paragraph["utterances:"] if plain(u["utterance"])]
            documents += [_line(title, tenant, u) for u in kept]
            ids = {u["uid"] for u in kept}
            questions += [
                _scene_question(title, tenant, item)
                for item in paragraph["qas"]
                if {a["utterance_id"] for a in item["answers"]} <= ids
            ]
    return LabelledSet("friendsqa", tuple(documents), tuple(questions))


def _scenes(path: Path) -> list[dict[str, Any]]:
    files = _found(path, "friendsqa_*.json")
    scenes = [s for f in files for s in json.loads(f.read_text("utf-8"))["data"]]
    return sorted(scenes, key=lambda scene: str(scene["title"]))


def _line(title: str, tenant: str, utterance: Mapping[str, Any]) -> Document:
    said_by = ", ".join(utterance["speakers"])
    return Document(
        id=f"{title}:{utterance['uid']}",
        text=plain(utterance["utterance"]),
        tenant=tenant,
        thread=title,
        order=utterance["uid"],
        speaker=None if said_by == "#NOTE#" else said_by,
    )


def _scene_question(title: str, tenant: str, item: Mapping[str, Any]) -> Question:
    relevant = [f"{title}:{a['utterance_id']}" for a in item["answers"]]
    return question("friendsqa", item["id"], plain(item["question"]), relevant, tenant)


def qmsum(path: Path) -> LabelledSet:
    """Return QMSum: meetings of one committee in a row are a tenant.

    ``path`` is a folder of meetings as published (``data/Committee/all``). A question
    whose evidence is more than SPAN_MOST turns is too general and left out; a turn of
    fewer than EVIDENCE_WORDS words ("Thank you.") is no evidence.
    """
    documents: list[Document] = []
    questions: list[Question] = []
    for tenant, file, meeting in _meetings(path):
        turns = [plain(turn["content"]) for turn in meeting["meeting_transcripts"]]
        for order, (text, turn) in enumerate(
            zip(turns, meeting["meeting_transcripts"], strict=True)
        ):
            if text:
                name = f"{file.stem}:{order}"
                row = Document(name, text, tenant, file.stem, order, turn["speaker"])
                documents.append(row)
        for number, item in enumerate(meeting["specific_query_list"]):
            evidence = _evidence(item["relevant_text_span"], turns)
            if evidence:
                ids = [f"{file.stem}:{order}" for order in evidence]
                name = f"{file.stem}:q{number}"
                text = plain(item["query"])
                questions.append(question("qmsum", name, text, ids, tenant))
    return LabelledSet("qmsum", tuple(documents), tuple(questions))


def _meetings(path: Path) -> Iterator[tuple[str, Path, dict[str, Any]]]:
    """Return tenant, file and meeting; a tenant is filled up to TURNS_MOST turns."""
    series, number, turns = "", 0, 0
    for file in sorted(_found(path, "*.json"), key=_by_number):
        meeting = json.loads(file.read_text("utf-8"))
        size = len(meeting["meeting_transcripts"])
        name = file.stem.rstrip("0123456789abcd").strip("_")
        if name != series:
            series, number, turns = name, 1, 0
        elif turns + size > TURNS_MOST:
            number, turns = number + 1, 0
        turns += size
        yield f"{series}-{number}", file, meeting


def _by_number(file: Path) -> tuple[str, int, str]:
    number = re.search(r"\d+", file.stem)
    return (
        file.stem[: number.start() if number else None],
        int(number[0]) if number else 0,
        file.stem,
    )


def _evidence(spans: list[list[str]], turns: list[str]) -> list[int]:
    """Return the turns of the spans that say something; none where they are many."""
    orders = {n for first, last in spans for n in range(int(first), int(last) + 1)}
    if len(orders) > SPAN_MOST:
        return []
    said = [n for n in sorted(orders) if n < len(turns)]
    return [n for n in said if len(turns[n].split()) >= EVIDENCE_WORDS]


def molweni(path: Path) -> LabelledSet:
    """Return Molweni: chats of one channel are a tenant, a question has one utterance.

    ``path`` is the folder ``MRC(withDiscourse)`` (test.json). A question without an
    answer in its chat is left out.
    """
    documents: list[Document] = []
    questions: list[Question] = []
    chats = json.loads((path / "test.json").read_text("utf-8"))["data"]["dialogues"]
    for place, chat in enumerate(chats):
        thread, start, starts = f"chat-{place:03}", 0, []
        for order, said in enumerate(chat["edus"]):
            text, speaker = plain(said["text"]), said["speaker"]
            name = f"{thread}:{order}"
            documents.append(Document(name, text, "ubuntu", thread, order, speaker))
            starts.append(start)
            start += len(said["speaker"]) + len(said["text"]) + 3
        asked: dict[str, set[int]] = {}
        for item in chat["qas"]:
            offsets = {answer["answer_start"] for answer in item["answers"]}
            asked.setdefault(plain(item["question"]), set()).update(offsets)
        for number, (text, offsets) in enumerate(asked.items()):
            found = [f"{thread}:{bisect.bisect(starts, one) - 1}" for one in offsets]
            if found:
                name = f"{thread}:q{number}"
                questions.append(question("molweni", name, text, found, "ubuntu"))
    return LabelledSet("molweni", tuple(documents), tuple(questions))


# ── Classical collections ────────────────────────────────────────────────────
def beir(path: Path) -> LabelledSet:
    """Return a set of BEIR: corpus.jsonl, queries.jsonl, and qrels/test.tsv."""
    name = path.resolve().name
    documents = tuple(
        Document(row["_id"], _titled(row), name)
        for row in _json_lines(path / "corpus.jsonl")
        if _titled(row)
    )
    ids = {document.id for document in documents}
    relevant: dict[str, list[str]] = {}
    for line in (path / "qrels" / "test.tsv").read_text("utf-8").splitlines()[1:]:
        query_id, document_id, grade = line.split("\t")
        if int(grade) > 0 and document_id in ids:
            relevant.setdefault(query_id, []).append(document_id)
    questions = tuple(
        question(name, row["_id"], row["text"], relevant[row["_id"]], name)
        for row in _json_lines(path / "queries.jsonl")
        if row["_id"] in relevant
    )
    return LabelledSet(name, documents, questions)


def _titled(row: Mapping[str, Any]) -> str:
    return f"{row.get('title') or ''}\n{row['text']}".strip()


def cranfield(path: Path) -> LabelledSet:
    """Return Cranfield 1400: cran.all.1400, cran.qry, cranqrel.

    The judgements number the questions by their place in cran.qry, not by its ids.
    """
    numbered = enumerate(_smart(path / "cran.qry"), 1)
    asked = {str(place): row["W"] for place, row in numbered}
    judged = [line.split()[:3] for line in _lines(path / "cranqrel")]
    pairs = [(query_id, doc) for query_id, doc, grade in judged if int(grade) > 0]
    return _collection("cranfield", path / "cran.all.1400", asked, pairs)


def cisi(path: Path) -> LabelledSet:
    """Return CISI: CISI.ALL, CISI.QRY, CISI.REL."""
    asked = {row["I"]: row["W"] for row in _smart(path / "CISI.QRY")}
    judged = [line.split()[:2] for line in _lines(path / "CISI.REL")]
    pairs = [(query_id, doc) for query_id, doc in judged]
    return _collection("cisi", path / "CISI.ALL", asked, pairs)


def _collection(
    name: str, texts: Path, asked: Mapping[str, str], pairs: list[tuple[str, str]]
) -> LabelledSet:
    rows = ((row["I"], row.get("T", ""), row.get("W", "")) for row in _smart(texts))
    documents = tuple(
        Document(own_id, text if text.startswith(title) else f"{title}\n{text}", name)
        for own_id, title, text in rows
        if title or text
    )
    ids = {document.id for document in documents}
    relevant: dict[str, list[str]] = {}
    for query_id, document_id in pairs:
        if query_id in asked and document_id in ids:
            relevant.setdefault(query_id, []).append(document_id)
    questions = tuple(
        question(name, query_id, asked[query_id], found, name)
        for query_id, found in relevant.items()
    )
    return LabelledSet(name, documents, questions)


def _smart(path: Path) -> Iterator[dict[str, str]]:
    """Return the records of a file in the SMART form: field letter → text."""
    record: dict[str, list[str]] = {}
    field = ""
    for line in [*_lines(path), ".I"]:
        if line.startswith(".I"):
            if record:
                yield {
                    k: SPACES.sub(" ", " ".join(v)).strip() for k, v in record.items()
                }
            record, field = {"I": [str(int(line[2:]))]} if line[2:].strip() else {}, ""
        elif re.fullmatch(r"\.[A-Z]\s*", line):
            field = line[1]
        else:
            record.setdefault(field, []).append(line)


# ── Known item ───────────────────────────────────────────────────────────────
def journal(path: Path) -> LabelledSet:
    """Return known items of a journal in JSON lines: its summaries ask for its texts.

    An entry whose payload.text has more than TEXT_LEAST characters is a document and a
    question with one right answer. The summary says what the text says in other words
    only in part, so that the set favours the ranking by words.
    """
    documents: list[Document] = []
    questions: list[Question] = []
    for number, entry in enumerate(_json_lines(path), 1):
        text = (entry.get("payload") or {}).get("text")
        if not isinstance(text, str) or len(text) <= TEXT_LEAST or not entry["summary"]:
            continue
        own_id = f"entry-{number}"
        thread = entry.get("trace_id") or f"{entry.get('crew')}/{entry.get('agent')}"
        row = Document(
            own_id, text, "journal", thread, number, entry.get("agent"), entry["ts"]
        )
        documents.append(row)
        asked = f"question-{number}"
        questions.append(
            question("journal", asked, entry["summary"], [own_id], "journal")
        )
    return LabelledSet("journal", tuple(documents), tuple(questions))


# ── Files ────────────────────────────────────────────────────────────────────
def _found(path: Path, pattern: str) -> list[Path]:
    files = sorted(path.glob(pattern))
    if not files:
        raise SetError(f"{path}: no file {pattern} here")
    return files


def _lines(path: Path) -> list[str]:
    return path.read_text("utf-8", errors="replace").splitlines()


def _json_lines(path: Path) -> Iterator[dict[str, Any]]:
    with path.open(encoding="utf-8") as file:
        for number, line in enumerate(file, 1):
            if not line.strip():
                continue
            try:
                row = json.loads(line)
            except ValueError as error:
                raise SetError(f"{path}, line {number}: {error}") from error
            if not isinstance(row, dict):
                raise SetError(f"{path}, line {number}: this is no JSON object")
            yield row


CONVERTERS: Final[Mapping[str, Callable[[Path], LabelledSet]]] = {
    "beir": beir,
    "cisi": cisi,
    "cranfield": cranfield,
    "friendsqa": friendsqa,
    "journal": journal,
    "molweni": molweni,
    "qmsum": qmsum,
}


def convert(kind: str, source: Path) -> LabelledSet:
    """Return a published set in the common form; raise SetError when it is another."""
    try:
        labelled = CONVERTERS[kind](source)
        sets.check(labelled)
    except OSError as error:
        raise SetError(f"{error.filename}: {error.strerror}") from error
    except (KeyError, TypeError, ValueError, IndexError) as error:
        if isinstance(error, SetError):
            raise
        message = f"{source} is not {kind} as published: {error!r}"
        raise SetError(message) from error
    return labelled


def main(arguments: list[str] | None = None) -> int:
    """Convert one published set into a folder; return the exit code."""
    parser = argparse.ArgumentParser(description="Convert a published test set.")
    parser.add_argument("kind", choices=sorted(CONVERTERS))
    parser.add_argument("source", type=Path, help="The published files.")
    parser.add_argument("folder", type=Path, help="Where the set is written.")
    options = parser.parse_args(arguments)
    try:
        labelled = convert(options.kind, options.source)
    except SetError as error:
        print(error, file=sys.stderr)  # noqa: T201  (a command line)
        return 1
    sets.write(labelled, options.folder)
    print(  # noqa: T201
        f"{len(labelled.documents)} documents, {len(labelled.tenants)} tenants,"
        f" {len(labelled.questions)} questions"
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
