"""Labelled sets in their common form, and the converters of published ones."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from crewship_memory.bench import convert, sets
from crewship_memory.bench.converters import conversations
from crewship_memory.bench.converters.files import plain
from crewship_memory.bench.sets import Document, LabelledSet, SetError
from tests.project import pages

DOCUMENT = {"id": "d1", "thread": "t", "order": 0, "speaker": "ada", "ts": None,
            "text": "The anchor is up.", "tenant": "north"}  # fmt: skip
QUESTION = {"id": "q1", "text": "Is it up?", "relevant": ["d1"], "tenant": "north",
            "split": "test"}  # fmt: skip


def folder(path: Path, documents: list[Any], questions: list[Any]) -> Path:
    """Write a set as it is given, right or wrong."""
    path.mkdir(parents=True)
    for name, rows in ((sets.DOCS, documents), (sets.QUESTIONS, questions)):
        lines = (row if isinstance(row, str) else json.dumps(row) for row in rows)
        (path / name).write_text("\n".join(lines), encoding="utf-8")
    return path


def texts(labelled: LabelledSet, document_ids: tuple[str, ...]) -> list[str]:
    """Return the texts of some documents."""
    by_id = {document.id: document.text for document in labelled.documents}
    return [by_id[document_id] for document_id in document_ids]


# ── The common form ──────────────────────────────────────────────────────────
def test_a_set_is_read_as_it_was_written(tmp_path: Path) -> None:
    documents = (Document("d1", "Ahoi ⚓", "north", "t", 3, "ada"),)
    request = sets.question("boats", "q1", "Who?", ["d1", "d1"], "north")
    labelled = LabelledSet("boats", documents, (request,))
    sets.write(labelled, tmp_path / "boats")
    assert sets.read(tmp_path / "boats") == labelled
    assert request.relevant == ("d1",)


@pytest.mark.parametrize(
    ("documents", "questions", "message"),
    [
        ([DOCUMENT, "{"], [QUESTION], r"docs.jsonl, line 2: Expecting"),
        ([DOCUMENT, "", "[]"], [QUESTION], r"docs.jsonl, line 3: this is no JSON obj"),
        ([{**DOCUMENT, "text": " "}], [], r"line 1: 'text' should be a text"),
        ([{**DOCUMENT, "id": 5}], [], r"line 1: 'id' should be a text"),
        ([{**DOCUMENT, "order": "one"}], [], r"'order' should be a whole number"),
        ([{**DOCUMENT, "ts": "yesterday"}], [], r"line 1: Invalid isoformat"),
        ([{**DOCUMENT, "thread": "t" * 129}], [], r"line 1: 'thread' has more than"),
        ([{"id": "d1", "text": "x"}], [], r"line 1: 'tenant' is missing"),
        ([DOCUMENT, DOCUMENT], [QUESTION], r"two documents have the id d1"),
        ([DOCUMENT], [QUESTION, QUESTION], r"two questions have the id q1"),
        ([DOCUMENT], [], r"boats: no question to ask"),
        ([DOCUMENT], [{**QUESTION, "relevant": []}], r"at least one id"),
        ([DOCUMENT], [{**QUESTION, "relevant": [1]}], r"should hold ids"),
        ([DOCUMENT], [{**QUESTION, "relevant": ["d2"]}], r"d2 is not a document of no"),
        ([DOCUMENT], [{**QUESTION, "tenant": "south"}], r"d1 is not a document of so"),
        ([DOCUMENT], [{**QUESTION, "split": "dev"}], r"questions.jsonl, line 1: 'spl"),
    ],
)
def test_what_is_wrong_is_named_by_file_and_line(
    tmp_path: Path, documents: list[Any], questions: list[Any], message: str
) -> None:
    with pytest.raises(SetError, match=message):
        sets.read(folder(tmp_path / "boats", documents, questions))


def test_a_folder_is_a_set_or_holds_sets(tmp_path: Path) -> None:
    boats = folder(tmp_path / "boats", [DOCUMENT], [QUESTION])
    cars = folder(tmp_path / "cars", [DOCUMENT], [QUESTION])
    (tmp_path / "READY").write_text("no set")
    assert sets.folders(boats) == [boats]
    assert sets.folders(tmp_path) == [boats, cars]
    with pytest.raises(SetError, match="has none"):
        sets.folders(tmp_path / "nowhere")
    (boats / sets.QUESTIONS).unlink()
    with pytest.raises(SetError, match=r"questions\.jsonl: No such file"):
        sets.read(boats)


def test_halves_are_fixed_and_about_as_large() -> None:
    halves = [sets.split_of(f"boats:q{number}") for number in range(1_000)]
    assert halves[:4] == ["train", "train", "test", "train"]
    assert 450 < halves.count("train") < 550


# ── Converters ───────────────────────────────────────────────────────────────
def test_the_page_says_of_every_converter_what_it_reads() -> None:
    names = [cells[0].strip("`") for cells in pages.rows("episodic/README.md", "Name")]
    assert sorted(names) == sorted(convert.CONVERTERS)


def test_a_tokenised_text_is_written_as_people_write() -> None:
    assert plain("Well , I do n't know {vocalsound} ( yet ) .") == (
        "Well, I don't know (yet)."
    )
    assert plain("You 're gon na see , I can not !") == "You're gonna see, I cannot!"


def test_scenes_of_a_season_are_a_tenant(tmp_path: Path) -> None:
    def scene(title: str) -> dict[str, Any]:
        turns = [
            (["#NOTE#"], "[ A harbour . ]"),
            (["Ada", "Lena"], "It is up ."),
        ]
        answers = [{"utterance_id": 1}, {"utterance_id": 1}]
        return {"title": title, "paragraphs": [{
            "utterances:": [{"uid": n, "speakers": speakers, "utterance": text}
                            for n, (speakers, text) in enumerate(turns)],
            "qas": [{"id": f"{title}_q", "question": "Is it ?", "answers": answers}],
        }]}  # fmt: skip

    for name, title in (("dev", "s02_e21_c01"), ("tst", "s01_e23_c02")):
        data = json.dumps({"data": [scene(title)]})
        (tmp_path / f"friendsqa_{name}.json").write_text(data)
    labelled = convert.convert("friendsqa", tmp_path)
    assert labelled.tenants == ["season-01", "season-02"]
    assert [document.speaker for document in labelled.documents[:2]] == [
        None, "Ada, Lena",
    ]  # fmt: skip
    assert texts(labelled, labelled.questions[0].relevant) == ["It is up."]


def meeting(spans: list[list[str]], turns: int = 12) -> dict[str, Any]:
    lines = [{"speaker": "Chair", "content": f"Turn {n} says quite enough ."}
             for n in range(turns)]  # fmt: skip
    lines[1]["content"] = "Thank you ."
    queries = [{"query": "What ?", "relevant_text_span": spans}]
    return {"meeting_transcripts": lines, "specific_query_list": queries}


def test_meetings_in_a_row_are_a_tenant_and_general_questions_are_left_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(conversations, "TURNS_MOST", 30)
    examples = {
        "covid_10": [["0", "2"]],
        "covid_2": [["0", "10"]],
        "covid_9": [["1", "1"]],
        "education_1": [["3", "4"], ["8", "8"]],
    }
    for name, spans in examples.items():
        (tmp_path / f"{name}.json").write_text(json.dumps(meeting(spans)))
    labelled = convert.convert("qmsum", tmp_path)
    tenants = {document.thread: document.tenant for document in labelled.documents}
    assert list(tenants.items()) == [
        ("covid_2", "covid-1"), ("covid_9", "covid-1"),
        ("covid_10", "covid-2"), ("education_1", "education-1"),
    ]  # fmt: skip
    # covid_2 asks for eleven turns, covid_9 for one that says nothing.
    assert {question.id: question.relevant for question in labelled.questions} == {
        "covid_10:q0": ("covid_10:0", "covid_10:2"),
        "education_1:q0": ("education_1:3", "education_1:4", "education_1:8"),
    }


def test_an_answer_in_a_chat_is_the_turn_around_its_place(tmp_path: Path) -> None:
    edus = [{"speaker": "ada", "text": "is it up ?"},
            {"speaker": "lena", "text": "the anchor is up ."}]  # fmt: skip
    context = " ".join(f"{edu['speaker']}: {edu['text']}" for edu in edus)

    def item(question: str, *answers: str) -> dict[str, Any]:
        places = [{"answer_start": context.index(answer)} for answer in answers]
        return {"question": question, "answers": places}

    qas = [item("Who asks ?", "is it"), item("What is up ?", "the anchor"),
           item("What is up ?", "is up ."), item("Why ?")]  # fmt: skip
    data = {"data": {"dialogues": [{"edus": edus, "qas": qas}]}}
    (tmp_path / "test.json").write_text(json.dumps(data))
    labelled = convert.convert("molweni", tmp_path)
    assert [(q.text, texts(labelled, q.relevant)) for q in labelled.questions] == [
        ("Who asks?", ["is it up?"]),
        ("What is up?", ["the anchor is up."]),
    ]


def test_cranfield_counts_its_questions_by_place(tmp_path: Path) -> None:
    (tmp_path / "cran.all.1400").write_text(
        ".I 1\n.T\nwings .\n.A\nlee\n.W\nwings . they\nlift .\n.I 2\n.T\ntails .\n.W\n"
        ".I 3\n.T\n.A\n.W\n"
    )
    (tmp_path / "cran.qry").write_text(".I 001\n.W\nlift\n.I 004\n.W\nwhat\ntail\n")
    (tmp_path / "cranqrel").write_text("1 1 2\n1 2 -1\n2 2 4 \n2 3 1\n")
    labelled = convert.convert("cranfield", tmp_path)
    # The third document is empty, as two are in the published file.
    assert [document.id for document in labelled.documents] == ["1", "2"]
    assert [(q.text, texts(labelled, q.relevant)) for q in labelled.questions] == [
        ("lift", ["wings . they lift ."]),
        ("what tail", ["tails ."]),
    ]


def test_cisi_counts_its_questions_by_id(tmp_path: Path) -> None:
    (tmp_path / "CISI.ALL").write_text(".I 1\n.T\nIndexes\n.W\nOf books.\n.X\n1 5 1\n")
    (tmp_path / "CISI.QRY").write_text(".I 7\n.W\nWhich\nindex?\n.I 9\n.W\nWhy?\n")
    (tmp_path / "CISI.REL").write_text("     7      1\t0\t0.000000\n")
    labelled = convert.convert("cisi", tmp_path)
    (only,) = labelled.questions
    assert (only.text, texts(labelled, only.relevant)) == (
        "Which index?", ["Indexes\nOf books."],
    )  # fmt: skip


def test_beir_judges_by_its_test_file(tmp_path: Path) -> None:
    (tmp_path / "qrels").mkdir()
    corpus = [{"_id": "5", "title": "Anchors", "text": "They hold."},
              {"_id": "6", "title": "", "text": "They sail."}]  # fmt: skip
    queries = [{"_id": "1", "text": "What holds?"}, {"_id": "2", "text": "No answer"}]
    for name, rows in (("corpus", corpus), ("queries", queries)):
        lines = "".join(f"{json.dumps(row)}\n" for row in rows)
        (tmp_path / f"{name}.jsonl").write_text(lines)
    judgement = "query-id\tcorpus-id\tscore\n1\t5\t1\n1\t6\t0\n"
    (tmp_path / "qrels" / "test.tsv").write_text(judgement)
    labelled = convert.convert("beir", tmp_path)
    (only,) = labelled.questions
    assert texts(labelled, only.relevant) == ["Anchors\nThey hold."]
    assert labelled.documents[1].text == "They sail."


def test_the_converter_writes_a_set_or_says_what_is_wrong(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    source = tmp_path / "covid_1.json"
    source.write_text(json.dumps(meeting([["3", "3"]])))
    folder = tmp_path / "sets" / "qmsum"
    assert convert.main(["qmsum", str(tmp_path), str(folder)]) == 0
    assert capsys.readouterr().out == "12 documents, 1 tenants, 1 questions\n"
    assert len(sets.read(folder).documents) == 12
    source.write_text('{"other": 1}')
    assert convert.main(["qmsum", str(tmp_path), str(folder)]) == 1
    assert "is not qmsum as published" in capsys.readouterr().err
    assert convert.main(["cisi", str(tmp_path), str(folder)]) == 1
    assert "CISI.QRY: No such file" in capsys.readouterr().err


@pytest.mark.parametrize(
    "line",
    [
        "[" * 100_000,
        b"\xff",
        {"payload": ["a"]},
        {"ts": "never"},
        {"ts": 5},
        {"agent": 5},
        {"summary": 5},
        {"trace_id": ["a"]},
        {"payload": {"text": "\ud800" + "tea " * 99}},
    ],
    ids=str,
)
def test_a_journal_in_another_form_is_an_error_in_one_line(
    tmp_path: Path, line: str | bytes | dict[str, Any]
) -> None:
    entry = {"summary": "Tea", "ts": None, "payload": {"text": "tea " * 99}}
    path = tmp_path / "journal.jsonl"
    path.write_text(json.dumps(entry))
    assert len(convert.convert("journal", path).documents) == 1
    if isinstance(line, dict):
        line = json.dumps(entry | line)
    path.write_bytes(line if isinstance(line, bytes) else line.encode())
    with pytest.raises(SetError):
        convert.convert("journal", path)


@pytest.mark.parametrize("line", [b"[" * 100_000, b"\xff"], ids=["deep", "bytes"])
def test_a_set_that_is_no_text_is_an_error_with_its_line(
    tmp_path: Path, line: bytes
) -> None:
    (tmp_path / sets.DOCS).write_bytes(line)
    (tmp_path / sets.QUESTIONS).write_bytes(b"")
    with pytest.raises(SetError, match="line 1"):
        sets.read(tmp_path)
