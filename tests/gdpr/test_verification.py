"""The search finds deleted data while it is there, and nothing after cleaning."""

from __future__ import annotations

import sqlite3
import struct
import threading
from collections.abc import Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings
from django.db import connection
from hypothesis import given
from hypothesis import strategies as st

from episodic.models import Embedding
from gdpr.data_map.base import Person, Trace
from gdpr.matching.matcher import Matcher, Name
from gdpr.verification import (
    byte_search,
    expected_words,
    file_scan,
    read_paths,
    search,
    sqlite,
)
from gdpr.verification.byte_search import Finder
from gdpr.verification.report import Report
from memory.journal import erasure
from tests.gdpr import erasing
from tests.world import World

WORD = "zanzibarquokkafeather"
MAIL = "maria.lopez@canary.example"


def _person(world: World, *names: tuple[str, str]) -> Person:
    names_known = [
        Name("sub_1", kind, value) for kind, value in names or [("email", MAIL)]
    ]
    return Person(world.acme.id, "sub_1", Matcher(names_known), Matcher([]), {})


def _report(world: World, *tokens: bytes, names: Sequence[str] = (MAIL,)) -> Report:
    report = Report()
    person = _person(world, *(("email", name) for name in names))
    search.search_bytes(person, set(tokens), report)
    return report


# ── Finding ──────────────────────────────────────────────────────────────────
@given(
    st.binary(max_size=300),
    st.lists(st.binary(min_size=8, max_size=20), min_size=1, max_size=30),
    st.data(),
)
def test_the_search_finds_exactly_what_is_there(
    noise: bytes, searched: list[bytes], data: st.DataObject
) -> None:
    low = [pattern.lower() for pattern in searched]
    at = data.draw(st.integers(0, len(noise)))
    text = noise[:at] + data.draw(st.sampled_from(searched)) + noise[at:]
    expected = {pattern for pattern in low if pattern in text.lower()}
    assert Finder(low).find(text) == expected


def test_a_pattern_that_spans_two_pieces_of_a_file_is_found(
    tmp_path: Path, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.DATA_DIR = tmp_path
    monkeypatch.setattr(file_scan, "PIECE", 64)
    (tmp_path / "left").write_bytes(b"." * 60 + MAIL.encode() + b"." * 60)
    finder = Finder(byte_search.of_alias(MAIL))
    hits = file_scan.search(finder, Finder([]), Report(), lambda _: False)
    assert MAIL.encode() in hits
    assert hits[MAIL.encode()] == "left"


@pytest.mark.parametrize(
    "shape",
    [
        MAIL.encode(),
        MAIL.upper().encode(),
        MAIL.encode("utf-16-le"),
        MAIL.encode("utf-16-be"),
        MAIL.replace("@", "%40").encode(),
        MAIL[8:].encode(),
    ],
)
def test_a_name_is_found_in_every_shape(shape: bytes) -> None:
    assert Finder(byte_search.of_alias(MAIL)).find(b"\x00x" + shape + b"\x00")


@pytest.mark.parametrize("spelling", ["Jürgen Öztürk", "JÜRGEN ÖZTÜRK", "J\\u00fcrgen"])
def test_a_name_beyond_ascii_is_found(spelling: str) -> None:
    finder = Finder(
        byte_search.of_alias("Jürgen Öztürk") | byte_search.of_alias("Jürgen")
    )
    assert finder.find(b"note: " + spelling.encode() + b" ")


def test_a_short_name_counts_only_as_a_word_of_text() -> None:
    finder = Finder(byte_search.of_alias("Anna"))
    assert finder.find(b"ask Anna about it")
    assert not finder.find(b"the annals of it")
    assert not finder.find(b"\x01\x02\x03\x04anna\x05\x06\x07\x01")


def test_two_letters_are_no_two_small_numbers() -> None:
    """Catalogues hold many small numbers: ``97, 108`` is ``al`` in UTF-16."""
    numbers = struct.pack("<6h", 0, 97, 108, 0, 97, 110)
    for name in ("al", "Al", "AL"):
        assert not Finder(byte_search.of_alias(name)).find(numbers)
    assert Finder(byte_search.of_alias("Ann")).find("Ann".encode("utf-16-le"))
    (sentence,) = byte_search.too_short(["al", "Ann", "Anna", MAIL])
    assert sentence.startswith("2 names are too short")
    assert byte_search.too_short(["Anna", "王伟"]) == []


def test_the_start_of_a_vector_is_found() -> None:
    vector = struct.pack("<6f", 0.1, -0.2, 0.3, 0.4, 0.5, -0.6)
    assert Finder(byte_search.of_tokens([vector])).find(b"head" + vector + b"tail")


def test_a_stem_of_the_index_is_sought() -> None:
    assert b"reconciliatori" not in byte_search.of_tokens([b"short"])
    patterns = byte_search.of_tokens([b"hypercompensations"])
    assert {b"hypercompensations", b"hypercompens"} <= patterns


def test_signs_that_only_look_alike_in_another_case_are_told_apart() -> None:
    finder = Finder([b"maria@canary.example"])
    assert finder.find(b"xxMARIA@CANARY.EXAMPLE")
    assert not finder.find(b"xxmaria`canary.examplexx")
    assert not finder.find(b"xxmaria@canary\x0eexamplexx")


# ── SQLite ───────────────────────────────────────────────────────────────────
@pytest.mark.sqlite
def test_erased_words_lie_in_the_files_until_they_are_cleaned(
    shared_world: World,
) -> None:
    world = shared_world
    row = world.indexed(f"{MAIL} asked about {WORD}", payload={"text": WORD * 2})
    erasure.erase(world.acme.id, [row.id])
    before = _report(world, WORD.encode())
    assert before.traces, "nothing was found where something lies"
    answer, _ = sqlite.clean()
    assert answer[0] == 0
    after = _report(world, WORD.encode())
    assert after.traces == []
    assert after.patterns > 0
    assert after.bytes > 0


@pytest.mark.sqlite
def test_a_row_that_stays_is_no_trace(shared_world: World) -> None:
    world = shared_world
    row = world.entry(f"{MAIL} asked about {WORD}")
    world.entry(f"Somebody else writes {WORD}")
    erasure.erase(world.acme.id, [row.id])
    sqlite.clean()
    report = _report(world, WORD.encode())
    assert report.traces == []
    assert report.shared > 0


@pytest.mark.sqlite
@pytest.mark.parametrize(
    "name", ["blobs/ws/ab/orphan", "files/left.tmp", "exports/x", "deep/er/log.txt"]
)
def test_a_file_that_nobody_owns_is_searched(shared_world: World, name: str) -> None:
    path = Path(settings.DATA_DIR) / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"about {MAIL}")
    report = _report(shared_world)
    assert [trace.where for trace in report.traces] == [name]
    assert MAIL not in str(report.as_json())


@pytest.mark.sqlite
def test_a_file_named_after_the_person_is_told_without_the_name(
    shared_world: World,
) -> None:
    path = Path(settings.DATA_DIR) / "locks" / f"{MAIL}.lock"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.touch()
    report = _report(shared_world)
    assert [trace.description for trace in report.traces] == ["name of a file"]
    assert MAIL not in str(report.as_json())


@pytest.mark.sqlite
def test_a_reader_keeps_the_log_and_is_told(
    shared_world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sqlite, "TRIES", 2)
    monkeypatch.setattr(sqlite, "WAIT", 0.01)
    name = str(connection.settings_dict["NAME"])
    with closing(sqlite3.connect(name, isolation_level=None)) as reader:
        shared_world.entry("before")
        reader.execute("BEGIN")
        reader.execute("SELECT count(*) FROM journal_entries").fetchone()
        shared_world.entry("after")
        assert sqlite.checkpoint()[0] == 1
        reader.execute("ROLLBACK")
    assert sqlite.checkpoint()[0] == 0


@pytest.mark.sqlite
def test_a_database_that_was_deleted_in_openly_is_rewritten_once(
    shared_world: World,
) -> None:
    world = shared_world
    row = world.entry(f"{MAIL} asked about {WORD}")
    with connection.cursor() as cursor:
        cursor.execute("PRAGMA user_version = 0")
    erasing.leave_bytes()
    erasure.erase(world.acme.id, [row.id])
    sqlite.mark_clean()
    sqlite.clean()
    assert _report(world, WORD.encode()).traces, "the old bytes lie there"
    with connection.cursor() as cursor:
        cursor.execute("PRAGMA user_version = 0")
    _, methods = sqlite.clean()
    assert "VACUUM, for what was deleted before" in methods
    assert _report(world, WORD.encode()).traces == []
    _, methods = sqlite.clean()
    assert not any("VACUUM" in method for method in methods)


@pytest.mark.sqlite
def test_the_word_index_is_asked_for_words_of_rows_that_are_gone(
    shared_world: World,
) -> None:
    world = shared_world
    row = world.entry(f"about {WORD}")
    with connection.cursor() as cursor:
        # What a deletion without the triggers would leave.
        cursor.execute("DROP TRIGGER journal_fts_update")
        erasure.erase(world.acme.id, [row.id])
        assert sqlite.stale(sqlite.listed_terms(set(byte_search.stems([WORD])))) == {
            "journal_fts": 1
        }
        cursor.execute("INSERT INTO journal_fts(journal_fts) VALUES ('rebuild')")
        _put_back(cursor)
    assert sqlite.stale(sqlite.listed_terms(set(byte_search.stems([WORD])))) == {}


def _put_back(cursor: Any) -> None:
    from importlib import import_module

    migration = import_module("memory.migrations.0001_schema")
    cursor.execute(next(sql for sql in migration.SQLITE if "journal_fts_update" in sql))


# ── What stays ───────────────────────────────────────────────────────────────
def test_known_files_are_read_with_the_rows(world: World) -> None:
    file = world.file(f"Notes about {WORD}.")
    known_files = expected_words.KnownFiles()
    live = Path(settings.DATA_DIR) / "files" / file.path
    assert known_files(live)
    assert not known_files(live.with_name("stranger.md"))
    shared_words = expected_words.shared_patterns(Finder([WORD.encode()]), known_files)
    assert shared_words == {WORD.encode()}


def test_a_stem_of_an_entry_that_stays_is_no_trace(world: World) -> None:
    """An index of words has stems, which no text has as they are written."""
    row = world.entry("Zanzibarquokkafeathery weather")
    stem, tail = b"zanzibarquokkafeatheri", b"quokkafeatheri"
    for patterns in ({stem, tail}, {tail}):
        assert _explained(patterns) == patterns
    erasure.erase(world.acme.id, [row.id])
    assert _explained({stem}) == set()


def _explained(patterns: set[bytes]) -> set[bytes]:
    known_files = expected_words.KnownFiles()
    in_texts = expected_words.shared_patterns(Finder(patterns), known_files)
    return in_texts | expected_words.stem_patterns(Finder(patterns))


@pytest.mark.postgres
def test_a_stem_explains_no_file_but_that_of_its_index(world: World) -> None:
    world.entry("Zanzibarquokkafeathery weather")
    stray = Path(settings.DATA_DIR) / "stray.txt"
    stray.write_text("zanzibarquokkafeatheri")
    try:
        # The server's files have rows that other tests deleted, with their names.
        report = _report(world, b"zanzibarquokkafeatheri", names=["only@here.example"])
    finally:
        stray.unlink()
    assert [trace.where for trace in report.traces] == ["stray.txt"]


def test_rows_are_read_until_everything_is_found(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    reads: list[int] = []

    def rows() -> Iterator[bytes]:
        for number in range(3):
            reads.append(number)
            yield WORD.encode() if number == 1 else b"nothing"

    monkeypatch.setattr(expected_words, "rows", rows)
    monkeypatch.setattr(expected_words, "terms", lambda: iter(()))
    known_files = expected_words.KnownFiles()
    assert expected_words.shared_patterns(Finder([WORD.encode()]), known_files) == {
        WORD.encode()
    }
    assert reads == [0, 1]


@pytest.mark.sqlite
def test_words_are_read_before_bytes(shared_world: World) -> None:
    row = shared_world.indexed(f"about {WORD}")
    vector = bytes(Embedding.objects.get(pk=row.pk).vector)[:24]
    texts = list(expected_words._sqlite_texts())
    word = next(at for at, text in enumerate(texts) if WORD.encode() in text)
    assert word < next(at for at, text in enumerate(texts) if vector in text)


def test_ids_of_entries_that_are_there_are_not_sought(shared_world: World) -> None:
    token = shared_world.entry("stays").id.removeprefix("j_").encode()
    unknown_id = b"0" * len(token)
    assert search._entry_id_tokens({token, unknown_id, b"marmalade"}) == {token}


@pytest.mark.sqlite
def test_the_id_of_an_entry_is_nobodys_word(
    shared_world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    row = shared_world.entry("stays")

    def nothing_to_ask(*_: Any) -> set[bytes]:
        pytest.fail("Every row was read for the id of an entry.")

    monkeypatch.setattr(expected_words, "shared_patterns", nothing_to_ask)
    token = row.id.removeprefix("j_").encode()
    assert _report(shared_world, token).traces == []


# ── Concurrency ──────────────────────────────────────────────────────────────
def test_bytes_are_searched_after_every_question(
    shared_world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = Path(settings.DATA_DIR) / "left-by-a-question"

    def leaves_something(_person: Person) -> tuple[int, list[Trace]]:
        file.write_text(MAIL)
        return 1, []

    monkeypatch.setattr(read_paths, "search", leaves_something)
    report = Report()
    try:
        search.run(_person(shared_world), [], search.Tokens(), report)
    finally:
        file.unlink()
    assert file.name in [trace.where for trace in report.traces]


def test_what_fails_beside_fails_the_search(
    shared_world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: Any) -> dict[bytes, str]:
        raise RuntimeError("The disk is gone.")

    monkeypatch.setattr(file_scan, "search", broken)
    with pytest.raises(RuntimeError, match="disk is gone"):
        _report(shared_world)


def test_a_lost_lease_ends_the_search_of_bytes(
    shared_world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    stopped = threading.Event()

    def endless(*arguments: Any) -> dict[bytes, str]:
        beat = arguments[-1]
        try:
            while True:
                beat()
        finally:
            stopped.set()

    def lose_lease() -> None:
        raise RuntimeError("Somebody else has the case.")

    monkeypatch.setattr(file_scan, "search", endless)
    monkeypatch.setattr(file_scan, "holding", lambda *_: {})
    with pytest.raises(RuntimeError, match="else has the case"):
        search.search_bytes(_person(shared_world), set(), Report(), lose_lease)
    assert stopped.is_set()
