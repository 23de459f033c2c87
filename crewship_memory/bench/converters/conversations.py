"""Conversations with their evidence at single turns.

They become memories as one agent would keep: a season of scenes, the chats of a channel
or several meetings of one committee are a tenant, with a thread for each.
"""

from __future__ import annotations

import bisect
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from crewship_memory.bench.converters.files import matching_files, plain
from crewship_memory.bench.sets import Document, LabelledSet, Question, question

SPAN_MOST: Final = 10
TURNS_MOST: Final = 1_000
EVIDENCE_WORDS: Final = 4
CHANNEL: Final = "ubuntu"


# ── FriendsQA ────────────────────────────────────────────────────────────────
def friendsqa(path: Path) -> LabelledSet:
    """Return FriendsQA: scenes of one season are a tenant, utterances the evidence.

    ``path`` is the folder ``dat`` of the published files (friendsqa_*.json).
    """
    documents: list[Document] = []
    questions: list[Question] = []
    files = matching_files(path, "friendsqa_*.json")
    scenes = [s for file in files for s in json.loads(file.read_text("utf-8"))["data"]]
    for scene in sorted(scenes, key=lambda scene: str(scene["title"])):
        title, tenant = scene["title"], f"season-{scene['title'][1:3]}"
        for paragraph in scene["paragraphs"]:
            utterances = [u for u in paragraph["utterances:"] if plain(u["utterance"])]
            documents += [_utterance(title, tenant, u) for u in utterances]
            numbers = {utterance["uid"] for utterance in utterances}
            questions += [
                _scene_question(title, tenant, item)
                for item in paragraph["qas"]
                if {answer["utterance_id"] for answer in item["answers"]} <= numbers
            ]
    return LabelledSet("friendsqa", tuple(documents), tuple(questions))


def _utterance(title: str, tenant: str, utterance: Mapping[str, Any]) -> Document:
    speaker = ", ".join(utterance["speakers"])
    return Document(
        id=f"{title}:{utterance['uid']}",
        text=plain(utterance["utterance"]),
        tenant=tenant,
        thread=title,
        order=utterance["uid"],
        speaker=None if speaker == "#NOTE#" else speaker,
    )


def _scene_question(title: str, tenant: str, item: Mapping[str, Any]) -> Question:
    relevant = [f"{title}:{answer['utterance_id']}" for answer in item["answers"]]
    return question("friendsqa", item["id"], plain(item["question"]), relevant, tenant)


# ── QMSum ────────────────────────────────────────────────────────────────────
def qmsum(path: Path) -> LabelledSet:
    """Return QMSum: meetings of one committee in a row are a tenant.

    ``path`` is a folder of meetings as published (``data/Committee/all``). A question
    whose evidence is more than SPAN_MOST turns is too general and left out; a turn of
    fewer than EVIDENCE_WORDS words ("Thank you.") is no evidence.
    """
    documents: list[Document] = []
    questions: list[Question] = []
    for tenant, name, meeting in _meetings(path):
        speakers = [turn["speaker"] for turn in meeting["meeting_transcripts"]]
        turns = [plain(turn["content"]) for turn in meeting["meeting_transcripts"]]
        documents += [
            Document(f"{name}:{order}", text, tenant, name, order, speaker)
            for order, (text, speaker) in enumerate(zip(turns, speakers, strict=True))
            if text
        ]
        for number, item in enumerate(meeting["specific_query_list"]):
            evidence = _evidence(item["relevant_text_span"], turns)
            if evidence:
                ids = [f"{name}:{order}" for order in evidence]
                text, own_id = plain(item["query"]), f"{name}:q{number}"
                questions.append(question("qmsum", own_id, text, ids, tenant))
    return LabelledSet("qmsum", tuple(documents), tuple(questions))


def _meetings(path: Path) -> Iterator[tuple[str, str, dict[str, Any]]]:
    """Yield tenant, name and meeting; a tenant is filled up to TURNS_MOST turns."""
    last_series, number, turns = "", 0, 0
    for file in sorted(matching_files(path, "*.json"), key=_series):
        meeting = json.loads(file.read_text("utf-8"))
        size = len(meeting["meeting_transcripts"])
        series = _series(file)[0]
        if series != last_series:
            last_series, number, turns = series, 1, 0
        elif turns + size > TURNS_MOST:
            number, turns = number + 1, 0
        turns += size
        yield f"{series}-{number}", file.stem, meeting


def _series(file: Path) -> tuple[str, int, str]:
    """Return the series of meetings that a file is of, and its place in it."""
    match = re.fullmatch(r"([A-Za-z_]+?)_?(\d+)(.*)", file.stem)
    return (match[1], int(match[2]), match[3]) if match else (file.stem, 0, "")


def _evidence(spans: Sequence[Sequence[str]], turns: Sequence[str]) -> list[int]:
    """Return the turns of the spans that say something; none where they are many."""
    orders = {n for first, last in spans for n in range(int(first), int(last) + 1)}
    if len(orders) > SPAN_MOST:
        return []
    return [
        order
        for order in sorted(orders)
        if order < len(turns) and len(turns[order].split()) >= EVIDENCE_WORDS
    ]


# ── Molweni ──────────────────────────────────────────────────────────────────
def molweni(path: Path) -> LabelledSet:
    """Return Molweni: chats of one channel are a tenant, a question has one turn.

    ``path`` is the folder ``MRC(withDiscourse)`` (test.json). A question without an
    answer in its chat is left out.
    """
    documents: list[Document] = []
    questions: list[Question] = []
    chats = json.loads((path / "test.json").read_text("utf-8"))["data"]["dialogues"]
    for number, chat in enumerate(chats):
        thread = f"chat-{number:03}"
        documents += [
            Document(
                id=f"{thread}:{order}",
                text=plain(turn["text"]),
                tenant=CHANNEL,
                thread=thread,
                order=order,
                speaker=turn["speaker"],
            )
            for order, turn in enumerate(chat["edus"])
        ]
        questions += _chat_questions(thread, chat)
    return LabelledSet("molweni", tuple(documents), tuple(questions))


def _chat_questions(thread: str, chat: Mapping[str, Any]) -> Iterator[Question]:
    """Yield the questions of a chat; one that two people put is one question.

    An answer is a place in the chat as one text, "speaker: text speaker: text …".
    """
    starts = [0]
    for turn in chat["edus"]:
        starts.append(starts[-1] + len(f"{turn['speaker']}: {turn['text']} "))
    answers: dict[str, set[int]] = {}
    for item in chat["qas"]:
        places = {answer["answer_start"] for answer in item["answers"]}
        answers.setdefault(plain(item["question"]), set()).update(places)
    for number, (text, places) in enumerate(answers.items()):
        ids = [f"{thread}:{bisect.bisect(starts, place) - 1}" for place in places]
        if ids:
            yield question("molweni", f"{thread}:q{number}", text, ids, CHANNEL)
