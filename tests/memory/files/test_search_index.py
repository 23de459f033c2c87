"""The word index of files."""

from __future__ import annotations

import itertools

import pytest

from memory.files import search_index
from memory.models import MemoryChunk, MemoryFile
from tests.memory.files import kit
from tests.world import World

TEXT = """# Refunds

The lead approves above 200 EUR.

## Gift cards

Gift cards are never refunded.
"""
BROKEN = [
    '"', '""', "'", "NEAR(", "a NEAR/2 b", "AND", "OR OR", "NOT", "*", "a*", "^a", "-a",
    "col:umn", "heading:x", "{a b}", "(", ")", "((((",
    "a AND (", "\\", "\x00", "%", "_",
    "; DROP TABLE memory_chunks", "ä" * 500, "🙂", "\u202e", " ", "a" * 2_000,
    " ".join(f"w{n}" for n in range(500)), "the of and", "'); --", "<b>", "?" * 50,
]  # fmt: skip


def _files(world: World) -> list[str]:
    kit.write(world, TEXT)
    return [kit.row(world).id]


def test_a_hit_tells_heading_and_line(world: World) -> None:
    hit = search_index.find(_files(world), "gift cards", 5)[0]
    assert hit.heading == "Refunds › Gift cards"
    assert hit.line == 7
    assert "never refunded" in hit.text


def test_words_are_or_ed(world: World) -> None:
    hits = search_index.find(_files(world), "lead zebra", 5)
    assert [hit.line for hit in hits] == [3]


def test_the_exact_phrase_comes_first(world: World) -> None:
    kit.write(world, "# A\nblue whale whale whale blue\n# B\na blue whale swims\n")
    filler = " ".join(["ocean"] * 40)
    kit.write(world, f"# C\nwhale {filler} blue\n", "pins.md")
    ids = [kit.row(world).id, kit.row(world, "pins.md").id]
    hits = search_index.find(ids, "blue whale", 5)
    assert "whale" in hits[-1].text
    assert hits[-1].heading == "C"
    assert all(a.score >= b.score for a, b in itertools.pairwise(hits))


def test_a_chunk_with_the_phrase_beats_a_denser_one_without(world: World) -> None:
    kit.write(world, "# A\nwhale and blue and whale and blue and whale\n", "pins.md")
    filler = " ".join(f"word{n}" for n in range(60))
    kit.write(world, f"# B\n{filler} blue whale {filler}\n")
    ids = [kit.row(world).id, kit.row(world, "pins.md").id]
    first = search_index.find(ids, "blue whale", 2)[0]
    assert first.heading == "B"


def test_the_name_of_a_file_is_no_part_of_the_match(world: World) -> None:
    kit.write(world, "Nothing about it.", "peers/jane.md")
    ids = [kit.row(world, "peers/jane.md").id]
    assert search_index.find(ids, "jane", 5) == []
    assert search_index.find(ids, "peers", 5) == []


def test_only_the_files_asked_for_are_searched(world: World) -> None:
    kit.write(world, "secret of bob", by="bob")
    file_ids = _files(world)
    assert search_index.find(file_ids, "secret", 5) == []
    assert search_index.find([], "secret", 5) == []


@pytest.mark.parametrize("query", BROKEN)
def test_no_query_breaks_the_grammar(world: World, query: str) -> None:
    search_index.find(_files(world), query, 5)


def test_a_new_text_replaces_the_old_words(world: World) -> None:
    ids = _files(world)
    kit.write(world, "Only couriers now.")
    assert search_index.find(ids, "gift", 5) == []
    assert len(search_index.find(ids, "couriers", 5)) == 1


def test_a_removed_file_has_no_words(world: World) -> None:
    from memory.files import writer

    ids = _files(world)
    writer.remove(
        kit.owner(world), kit.place("AGENT.md"), source="tool", by=world.actor("ada")
    )
    assert search_index.find(ids, "gift", 5) == []
    assert not MemoryChunk.objects.filter(file_id=ids[0]).exists()
    assert MemoryFile.objects.filter(pk=ids[0]).exists()
