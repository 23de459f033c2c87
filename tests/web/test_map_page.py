"""The page Map: the list beside the picture, its filters, a question, and who may."""

from __future__ import annotations

import json
import re
from html import unescape
from typing import Any

import pytest
from django.db import connection
from django.http import QueryDict
from django.test.utils import CaptureQueriesContext

from episodic.index import sweep
from episodic.map import compute, picture
from episodic.models import Embedding, MemoryMap
from episodic.web import map_page
from memory.journal import erasure
from memory.models import JobRun
from tests import factories
from tests.world import World

PATH = "/map/"
HOSTILE = '</script><img src=x onerror="alert(1)"> refund'


@pytest.fixture
def ids(world: World) -> list[str]:
    """Embed five entries and compute the map; return their ids in order."""
    texts = ("Refund of the tent", "Refund of the stove", "Parcel to Bergen is late",
             "Parcel to Oslo is late", HOSTILE)  # fmt: skip
    # A second apart: entries of one millisecond stand in the order of their ids.
    moments = [factories.ago(seconds=60 - number) for number in range(len(texts))]
    rows = [world.entry(text, ts=ts) for text, ts in zip(texts, moments, strict=True)]
    sweep.sweep()
    Embedding.objects.filter(pk=rows[0].id).update(reference_count=3)
    compute.compute(world.acme.id)
    return [row.id for row in rows]


def page(
    world: World, person: str = "viewer", /, *, status: int = 200, **query: Any
) -> str:
    response = world.page(person).get(PATH, query)
    assert response.status_code == status, response.content
    return str(response.content.decode())


def listed(text: str) -> list[str]:
    """Return the ids of the entries in the page's table."""
    table = text.partition("<tbody")[2].partition("</tbody>")[0]
    return re.findall(r'href="/journal/(j_\w+)/"', table)


def state(text: str) -> dict[str, Any]:
    found = re.search(r'<script id="map-state"[^>]*>(.*?)</script>', text)
    assert found is not None
    return dict(json.loads(found[1]))


def test_the_list_has_every_entry_of_the_picture(world: World, ids: list[str]) -> None:
    text = page(world)
    assert listed(text) == ids[::-1]
    assert "with 5 of the 5 entries in the index" in text
    assert "All 5 entries" in text


def test_an_entry_that_came_later_is_said_to_be_missing(
    world: World, ids: list[str]
) -> None:
    world.indexed("One more parcel")
    assert "with 5 of the 6 entries in the index" in page(world)


def test_a_link_of_the_legend_narrows_the_list(world: World, ids: list[str]) -> None:
    text = page(world, colour="recalled")
    href = re.search(r'href="([^"]*recalled=few[^"]*)"', text)
    assert href is not None
    narrowed = world.page("viewer").get(unescape(href[1])).content.decode()
    assert listed(narrowed) == [ids[0]]
    assert "1 entry selected" in narrowed
    assert state(narrowed)["filters"] == {"recalled": 1}
    removal = re.search(r'href="([^"]*)"><bdi>Recalled: recalled 1 to 9', narrowed)
    assert removal is not None
    whole = world.page("viewer").get(unescape(removal[1])).content.decode()
    assert listed(whole) == ids[::-1]


def test_the_sentences_lead_to_what_they_count(world: World, ids: list[str]) -> None:
    world.indexed("Parcel to Oslo is late")
    compute.compute(world.acme.id)
    text = page(world)
    for name, words in (("relations", "isolated"), ("topic", "apart"),
                        ("copies", "near copy")):  # fmt: skip
        match = re.search(rf'href="([^"]*{name}=[^"]*)">(\d+)[^<]* {words}', text)
        assert match is not None, name
        target = world.page("viewer").get(unescape(match[1])).content.decode()
        assert len(listed(target)) == int(match[2])
        assert state(target)["colour"] == name


def test_what_is_said_of_few_points_a_sample_and_another_model(
    world: World, ids: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    sampled_only = "looked for among the sampled entries only"
    text = page(world)
    assert "Of the ten points nearest" not in text
    assert sampled_only not in text
    for number in range(6):
        world.entry(f"Parcel {number} is late")
    sweep.sweep()
    compute.compute(world.acme.id)
    assert "Of the ten points nearest" in page(world)
    monkeypatch.setattr(compute, "MOST_POINTS", 10)
    assert sampled_only in page(world)
    MemoryMap.objects.update(model="another")
    text = page(world)
    assert "Another model’s map" in text
    assert "entries in the index" not in text


def test_the_page_says_which_points_it_is_of(world: World, ids: list[str]) -> None:
    def version() -> str:
        data = json.loads(world.page("viewer").get(f"{PATH}points/").content)
        assert state(page(world))["version"] == data["version"]
        return str(data["version"])

    versions = {version()}
    erasure.erase(world.acme.id, [ids[2]])
    versions.add(version())
    compute.compute(world.acme.id)
    versions.add(version())
    assert len(versions) == 3


def test_turning_the_list_over_leaves_the_focus_with_it(
    world: World, ids: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = listed(page(world))
    for module in (picture, map_page):
        monkeypatch.setattr(module, "PAGE", 2)

    def focused(text: str) -> list[str]:
        return re.findall(r'id="(h-\w+)" tabindex="-1" data-focus', text)

    text = page(world, query="parcel", at="0,1")
    assert focused(text) == ["h-spot", "h-trail"]
    for words, expected in (("Older", whole[2:4]), ("Newest", whole[:2])):
        link = re.search(rf'href="([^"]*)"[^>]*>{words}<', text)
        assert link is not None
        query: dict[str, Any] = QueryDict(unescape(link[1])[1:]).dict()
        text = page(world, **query)
        assert listed(text) == expected
        assert focused(text) == ["h-entries"]
    assert ">Newest<" not in text


def test_a_page_behind_the_end_is_the_first(world: World, ids: list[str]) -> None:
    text = page(world, cursor="9999")
    assert listed(text) == ids[::-1]
    assert ">Newest<" not in text


def test_the_hits_of_a_question_are_numbered_with_their_places(
    world: World, ids: list[str]
) -> None:
    world.indexed("A parcel that came after the map")
    text = page(world, query="parcel")
    steps = text.partition('class="map-steps"')[2].partition("</ol>")[0]
    hits = re.findall(r"/journal/(j_\w+)/", steps)
    assert set(ids[2:4]) <= set(hits)
    assert "no point on the map" in steps
    ranks = [rank for _, _, rank in state(text)["trail"]]
    assert len(ranks) == len(hits) - 1
    assert ranks == sorted(ranks)
    counts = Embedding.objects.filter(pk__in=ids[2:4])
    assert set(counts.values_list("reference_count", flat=True)) == {0}


def test_one_point_shows_its_entry(world: World, ids: list[str]) -> None:
    data = json.loads(world.page("viewer").get(f"{PATH}points/").content)
    text = page(world, at=f"{data['x'][0]},{data['y'][0]}")
    assert "at this point" in text
    spot = text.partition("h-spot")[2].partition("</section>")[0]
    assert len(re.findall(r"/journal/j_\w+/", spot)) == 1
    assert "No entry at this point" in page(world, at="0,1")


def test_an_area_selects_what_lies_inside(world: World, ids: list[str]) -> None:
    assert len(listed(page(world, area="0,0,4095,0,4095,4095,0,4095"))) == 5
    data = json.loads(world.page("viewer").get(f"{PATH}points/").content)
    x, y = max(1, data["x"][0]), max(1, data["y"][0])
    around = f"{x - 1},{y - 1},{x + 1},{y - 1},{x + 1},{y + 1},{x - 1},{y + 1}"
    text = page(world, area=around)
    assert len(listed(text)) < 5
    assert "An area you drew" in text
    assert "No entry of the map is selected" in page(world, crew="nobody")


@pytest.mark.parametrize(
    "query",
    [
        {"area": "0,0,1"},
        {"area": "0,0,9999,9999,1,1"},
        {"area": "x,y"},
        {"area": ",".join(["1"] * 400)},
        {"at": "1"},
        {"colour": "nothing"},
    ],
)
def test_an_address_that_means_nothing_is_refused(
    world: World, ids: list[str], query: dict[str, str]
) -> None:
    assert world.page("viewer").get(PATH, query).status_code == 422


def test_a_question_that_is_too_long_is_refused_at_its_field(
    world: World, ids: list[str]
) -> None:
    assert "at most 4,000 characters" in page(world, status=422, query="x" * 4001)


def test_hostile_text_is_text(world: World, ids: list[str]) -> None:
    queries: list[dict[str, Any]] = [
        {},
        {"query": HOSTILE},
        {"crew": HOSTILE},
        {"query": "refund"},
    ]
    for query in queries:
        assert "<img" not in page(world, **query)
    data = world.page("viewer").get(f"{PATH}points/")
    assert data.headers["Content-Type"] == "application/json"


def test_the_points_name_no_entry(world: World, ids: list[str]) -> None:
    response = world.page("viewer").get(f"{PATH}points/")
    data = json.loads(response.content)
    assert len(data["x"]) == len(data["y"]) == 5
    assert {len(codes) for codes in data["codes"].values()} == {5}
    assert "j_" not in response.content.decode()


def test_an_erased_entry_is_nowhere(world: World, ids: list[str]) -> None:
    # A word names a group when two of its texts have it: of four, two share one.
    others = [world.indexed("Parcel to Bergen is lost").id for _ in range(3)]
    compute.compute(world.acme.id)
    before = world.page("viewer").get(f"{PATH}points/").content.decode()
    assert "bergen" in before
    assert "Bergen is l" in page(world, query="Bergen")
    erasure.erase(world.acme.id, [ids[2], *others])
    text = page(world, query="Bergen")
    assert "Bergen is l" not in text
    assert ids[2] not in text
    data = world.page("viewer").get(f"{PATH}points/").content.decode()
    assert len(json.loads(data)["x"]) == 4
    assert "bergen" not in data


def test_a_stranger_sees_an_empty_map(world: World, ids: list[str]) -> None:
    text = page(world, "stranger")
    assert "No map yet" in text
    assert "Bergen" not in text
    assert world.page("stranger").get(f"{PATH}points/").status_code == 404
    assert world.page("nobody").get(PATH).status_code == 302


@pytest.mark.parametrize(
    ("person", "status"), [("operator", 302), ("viewer", 403), ("compliance", 403)]
)
def test_operators_compute_the_map(
    world: World, ids: list[str], person: str, status: int
) -> None:
    world.indexed("One more parcel")
    client = world.page(person)
    assert client.get(f"{PATH}compute/").status_code == 405
    assert client.post(f"{PATH}compute/").status_code == status
    is_done = status == 302
    assert (len(listed(page(world))) == 6) == is_done
    assert JobRun.objects.filter(name="map").exists() == is_done
    assert ("Compute again" in page(world, person)) == is_done


def test_htmx_is_given_the_list_alone(world: World, ids: list[str]) -> None:
    headers = {"HX-Request": "true", "HX-Target": "map-side"}
    response = world.page("viewer").get(PATH, headers=headers)
    text = response.content.decode().strip()
    assert text.startswith('<div class="stack" id="map-side"')
    assert "<h1" not in text


def test_more_entries_cost_no_more_queries(world: World, ids: list[str]) -> None:
    query: dict[str, Any] = {"colour": "age", "group": "0"}

    def count() -> int:
        page(world, **query)
        with CaptureQueriesContext(connection) as queries:
            page(world, **query)
        return len(queries)

    before = count()
    for number in range(30):
        world.entry(f"Parcel {number} is late")
    sweep.sweep()
    compute.compute(world.acme.id)
    assert count() == before
