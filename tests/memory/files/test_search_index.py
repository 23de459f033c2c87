"""The word index of files."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

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


def test_no_other_files_words_count(world: World) -> None:
    """What is rare in the files asked for decides, not what is rare elsewhere."""
    kit.write(world, "# A\ntea\n# B\ncoffee and cake\n# C\ncoffee and milk\n")
    request = [kit.row(world).id]
    before = search_index.find(request, "tea coffee", 5)
    assert before[0].heading == "A"
    large = "".join(f"# Tea {n}\n\ntea tea tea\n\n" for n in range(30))
    kit.write(world, large, by="bob")
    assert search_index.find(request, "tea coffee", 5) == before


def test_what_stands_before_a_chunk_speaks_for_it(world: World) -> None:
    kit.write(world, "# A\nzeppelin tickets\n# B\nten euros\n# C\nrain\n", "pins.md")
    kit.write(world, "# D\nten euros\n# E\nsnow\n# F\nhail\n")
    ids = [kit.row(world).id, kit.row(world, "pins.md").id]
    hits = search_index.find(ids, "zeppelin euros", 5)
    assert [hit.heading for hit in hits] == ["A", "B", "D"]


def test_very_long_files_are_ranked_by_their_best_chunks(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    parts = [f"# Part {n}\n\nnothing {n}\n\n" for n in range(12)]
    parts[5] = "# Fares\n\nzeppelin tickets\n\n"
    parts[6] = "# Price\n\nten euros\n\n"
    kit.write(world, "".join(parts))
    ids = [kit.row(world).id]
    headings = [hit.heading for hit in search_index.find(ids, "zeppelin euros", 5)]
    monkeypatch.setattr(search_index, "MAX_RANKED", 5)
    hits = search_index.find(ids, "zeppelin euros", 5)
    assert [hit.heading for hit in hits] == headings == ["Fares", "Price"]
    assert search_index.find(ids, "zebra", 5) == []
    monkeypatch.setattr(search_index, "CANDIDATES", 1)
    assert len(search_index.find(ids, "nothing", 5)) <= 3


def test_a_phrase_in_a_very_long_file_comes_first(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    parts = [f"# Part {n}\n\nwhale and blue and whale\n\n" for n in range(12)]
    filler = " ".join(f"word{n}" for n in range(60))
    parts[7] = f"# Phrase\n\n{filler} blue whale {filler}\n\n"
    kit.write(world, "".join(parts))
    monkeypatch.setattr(search_index, "MAX_RANKED", 5)
    monkeypatch.setattr(search_index, "CANDIDATES", 2)
    first = search_index.find([kit.row(world).id], "blue whale", 2)[0]
    assert first.heading == "Phrase"


def test_a_file_written_anew_meanwhile_breaks_no_search(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    kit.write(world, "".join(f"# Part {n}\n\nzeppelin {n}\n\n" for n in range(12)))
    earlier = search_index.earlier

    def written_anew(workspace_id: str, chunk_ids: Sequence[int]) -> Any:
        before = earlier(workspace_id, chunk_ids)
        kit.write(world, "# New\n\nzeppelin\n")
        return before

    monkeypatch.setattr(search_index, "MAX_RANKED", 5)
    monkeypatch.setattr(search_index, "earlier", written_anew)
    search_index.find([kit.row(world).id], "zeppelin", 5)


def test_counting_what_holds_a_word(world: World) -> None:
    ids = _files(world)
    assert search_index.count(ids, "gift", 5) == 1
    assert search_index.count(ids, "refunds", 1) == 1
    assert search_index.count(ids, "zebra", 5) == search_index.count([], "gift", 5) == 0


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


# ── What comes before a chunk ────────────────────────────────────────────────
SECTIONS = "".join(f"# Part {n}\n\nThis is part {n}.\n\n" for n in range(5))


def _chunks(world: World, of: str = "ada") -> list[MemoryChunk]:
    rows = MemoryChunk.objects.filter(file=kit.row(world, of=of))
    return list(rows.order_by("line_start"))


def test_the_two_chunks_before_are_of_the_same_file_with_one_query(
    world: World,
) -> None:
    kit.write(world, SECTIONS)
    kit.write(world, "# Bob\n\nOf bob.\n\n# Again\n\nOf bob.\n", by="bob")
    adas, bobs = _chunks(world), _chunks(world, "bob")
    assert (len(adas), len(bobs)) == (5, 2)
    request = [chunk.id for chunk in (adas[4], adas[1], adas[0], bobs[1])]
    with CaptureQueriesContext(connection) as captured:
        before = search_index.earlier(world.acme.id, [*request, 10**9])
    assert len(captured) == 1
    assert {n: [part.id for part in parts] for n, parts in before.items()} == {
        adas[4].id: [adas[2].id, adas[3].id],
        adas[1].id: [adas[0].id],
        bobs[1].id: [bobs[0].id],
    }
    nearest = before[adas[4].id][-1]
    assert nearest.heading == "Part 3"
    assert "This is part 3." in nearest.text


def test_lines_say_which_chunk_comes_before(world: World) -> None:
    kit.write(world, SECTIONS)
    first, second, *_ = _chunks(world)
    MemoryChunk.objects.filter(pk=first.pk).update(line_start=1_000)
    before = search_index.earlier(world.acme.id, [first.id, second.id])
    assert len(before[first.id]) == 2
    assert second.id not in before


def test_chunks_of_another_workspace_have_nothing_before(world: World) -> None:
    kit.write(world, SECTIONS)
    ids = [chunk.id for chunk in _chunks(world)]
    assert search_index.earlier(world.other.id, ids) == {}
    assert search_index.earlier(world.acme.id, []) == {}
