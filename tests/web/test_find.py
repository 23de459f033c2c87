"""The command palette: what it finds, for whom, and what it keeps."""

from __future__ import annotations

import pytest
from django.test import Client
from pytest_django import DjangoAssertNumQueries

from crewship_memory.find import rows, search
from memory.models import JournalEntry, MemoryFile
from tests.gdpr import erasing
from tests.world import World

HTMX = {"HX-Request": "true"}
HOSTILE = '"><script>alert(1)</script>'


def titles(world: World, person: str, text: str) -> dict[str, list[str]]:
    """Return the titles of what a person finds, by group."""
    groups = search.search(world.actor(person), text)
    return {group.title: [hit.title for hit in group.hits] for group in groups}


def fragment(client: Client, text: str) -> str:
    reply = client.post("/find/", {"find": text}, headers=HTMX)
    assert reply.status_code == 200
    return reply.content.decode()


# ── Ids ──────────────────────────────────────────────────────────────────────
def test_an_id_goes_straight_to_its_row(world: World) -> None:
    entry = world.entry("Refund above $200")
    held = world.held()
    record = world.record()
    client = world.page("owner")
    for row_id, url in {
        entry.id: f"/journal/{entry.id}/",
        f"  {held.id} ": f"/quarantine/{held.id}/",
        record.id: f"/records/{record.id}/",
        world.agents["lena"].pk: f"/workspace/agents/{world.agents['lena'].pk}/",
    }.items():
        reply = client.post("/find/", {"find": row_id})
        assert (reply.status_code, reply.headers.get("Location")) == (302, url)


@pytest.mark.parametrize("text", ["j_0123456789abcdef", "zz_0123456789abcdef"])
def test_an_absent_id_is_no_row(world: World, text: str) -> None:
    assert search.straight(world.actor("owner"), text) is None
    assert world.page("owner").get(f"/find/{text}/").status_code == 404


def test_a_foreign_row_is_like_an_absent_one(world: World) -> None:
    entry = world.entry("Refund")
    JournalEntry.objects.filter(pk=entry.id).update(workspace_id=world.other.id)
    assert rows.by_ids(world.actor("owner"), [entry.id]) == {}
    assert world.page("owner").get(f"/find/{entry.id}/").status_code == 404


def test_a_row_that_the_role_may_not_read_is_like_an_absent_one(world: World) -> None:
    held, subject = world.held(), erasing.maria(world)
    ids = [held.id, subject.pk]
    assert list(rows.by_ids(world.actor("owner"), ids)) == ids
    assert rows.by_ids(world.actor("viewer"), ids) == {}
    assert list(rows.by_ids(world.actor("compliance"), ids)) == [subject.pk]


# ── Words ────────────────────────────────────────────────────────────────────
def test_pages_acts_and_agents_are_found_by_a_part_of_their_name(world: World) -> None:
    assert "Records" in titles(world, "viewer", "recor")["Pages"]
    assert titles(world, "owner", "recompute")["Acts"] == ["Recompute health"]
    assert "Acts" not in titles(world, "viewer", "recompute")
    assert titles(world, "viewer", "LENA")["Agents and crews"] == [
        "lena",
        "Ask what lena recalls",
    ]


def test_a_page_whose_title_begins_with_the_text_comes_first(world: World) -> None:
    assert titles(world, "viewer", "rec")["Pages"][:2] == ["Recall", "Records"]


def test_people_are_found_by_those_who_may_read_them(world: World) -> None:
    name = erasing.maria(world).display_name
    assert titles(world, "compliance", name)["People"] == [name]
    assert "People" not in titles(world, "operator", name)


def test_a_file_is_found_by_its_path(world: World) -> None:
    world.file()
    path = MemoryFile.objects.get().path
    assert titles(world, "viewer", path[2:])["Files"] == [path]
    assert "Files" not in titles(world, "stranger", path[2:])


def test_every_line_leads_somewhere_that_opens(world: World) -> None:
    world.file()
    for person in ("owner", "viewer", "operator", "compliance"):
        client = world.page(person)
        for text in ("", "e", "lena"):
            for group in search.search(world.actor(person), text):
                for hit in group.hits:
                    status = client.get(hit.url, follow=True).status_code
                    assert status == 200, (person, hit)


def test_no_more_lines_than_the_palette_shows(world: World) -> None:
    groups = search.search(world.actor("owner"), "e")
    assert sum(len(group.hits) for group in groups) <= search.MAX_HITS


def test_the_number_of_queries_does_not_grow(
    world: World, django_assert_max_num_queries: DjangoAssertNumQueries
) -> None:
    actor = world.actor("owner")
    with django_assert_max_num_queries(8):
        search.search(actor, "lena")
    entries = [world.entry(f"Note {number}").id for number in range(12)]
    with django_assert_max_num_queries(2):
        assert len(rows.by_ids(actor, entries)) == 12


# ── The page and its fragment ────────────────────────────────────────────────
def test_words_show_a_page_that_needs_no_script(world: World) -> None:
    page = world.page("viewer").post("/find/", {"find": "lena"}).content.decode()
    assert "<h1>Find</h1>" in page
    assert f'href="/find/{world.agents["lena"].pk}/"' in page
    assert 'role="option"' not in page.split('id="main"')[1].split("</main>")[0]


def test_hostile_text_stays_text(world: World) -> None:
    page = fragment(world.page("viewer"), HOSTILE)
    assert "<html" not in page
    assert "<script>alert" not in page
    assert "&lt;script&gt;" in page


def test_recent_rows_come_first_and_vanish_with_the_row(world: World) -> None:
    entry = world.entry("Refund above $200")
    client = world.page("viewer")
    assert entry.id not in fragment(client, "")
    reply = client.get(f"/find/{entry.id}/")
    assert reply.headers["Location"] == f"/journal/{entry.id}/"
    assert client.session["recent"] == {world.acme.id: [entry.id]}
    part = fragment(client, "")
    assert part.index(entry.id) < part.index("Home")
    JournalEntry.objects.filter(pk=entry.id).update(workspace_id=world.other.id)
    assert entry.id not in fragment(client, "")


def test_a_stranger_is_sent_to_sign_in(world: World) -> None:
    reply = world.page("nobody").post("/find/", {"find": "lena"})
    assert reply.headers["Location"].startswith("/accounts/login/")
