"""The file pages: tree, text, history, restore, edit."""

from __future__ import annotations

from typing import Any

import pytest
from django.urls import reverse

from memory.files import listing, versions
from memory.files.listing import History
from memory.files.quarantine import HeldForReview
from memory.web import markdown
from tests.memory.files import kit
from tests.memory.files.test_search_index import BROKEN
from tests.world import World


def _file_url(world: World, label: str = "AGENT.md", of: str = "ada") -> str:
    owner = kit.owner(world, of)
    return reverse("files:file", args=[owner.id, label])


def _history_url(world: World, label: str = "AGENT.md") -> str:
    return reverse("files:versions", args=[world.agents["ada"].id, label])


def _restore(world: World, actor: str, number: Any) -> Any:
    url = reverse("files:restore", args=[world.agents["ada"].id, "AGENT.md"])
    return world.page(actor).post(url, {"number": number})


# ── The tree ─────────────────────────────────────────────────────────────────
def test_the_tree_shows_usage_against_the_cap(world: World) -> None:
    kit.write(world, "x" * 3_300)
    kit.write(world, "y", "pins.md", by="bob")
    tree = listing.tree(world.actor("viewer"))
    assert (tree.files, tree.nearly_full, tree.held) == (2, 1, 0)
    page = world.page("viewer").get(reverse("files:browse"))
    assert page.status_code == 200
    text = page.content.decode()
    assert "nearly full" in text
    assert "3,300" in text
    assert "olga" not in text


def test_days_stand_newest_first(world: World) -> None:
    for day in ("2026-05-20", "2026-05-21"):
        kit.write(world, "x", f"daily/{day}.md")
    kit.write(world, "x", "pins.md")
    tree = listing.tree(world.actor("viewer"))
    labels = [r.label for _, bs in tree.crews for b in bs for r in b.files]
    assert labels == ["pins.md", "daily/2026-05-21.md", "daily/2026-05-20.md"]


def test_what_is_no_tier_file_is_told_as_unrecorded(world: World) -> None:
    kit.write(world, "x")
    kit.put(kit.on_disk(world).with_name("notes.txt"), "stray")
    text = world.page("viewer").get(reverse("files:browse")).content.decode()
    assert "not recorded" in text
    assert "notes.txt" in text


def test_a_file_that_is_only_held_shows_in_the_tree(world: World) -> None:
    with pytest.raises(HeldForReview):
        kit.write(world, kit.POISON)
    tree = listing.tree(world.actor("viewer"))
    assert (tree.files, tree.held) == (0, 1)


def test_the_empty_page_says_so(world: World) -> None:
    text = world.page("viewer").get(reverse("files:browse")).content.decode()
    assert "No memory file yet" in text


def test_a_search_leads_to_the_line(world: World) -> None:
    kit.write(world, "# Refunds\n\nGift cards are never refunded.")
    page = world.page("viewer").get(reverse("files:browse"), {"q": "gift cards"})
    text = page.content.decode()
    assert "?view=raw#L3" in text
    none = world.page("viewer").get(reverse("files:browse"), {"q": "zebra"})
    assert "No file holds any of these words" in none.content.decode()


def test_a_shared_hit_is_shown_once(world: World) -> None:
    kit.write(world, "Gift cards", "CREW.md", by="lena")
    answers = listing.search(world.actor("viewer"), "gift")
    assert [(a.name, len(a.hits)) for a in answers] == [("support, shared", 1)]


@pytest.mark.parametrize("query", BROKEN)
def test_no_search_breaks_the_page(world: World, query: str) -> None:
    kit.write(world, "x")
    page = world.page("viewer").get(reverse("files:browse"), {"q": query})
    assert page.status_code == 200


def test_a_swap_gets_the_fragment(world: World) -> None:
    headers = {"HX-Request": "true", "HX-Target": "files"}
    page = world.page("viewer").get(reverse("files:browse"), headers=headers)
    assert "<html" not in page.content.decode()


@pytest.mark.parametrize(
    ("fields", "status"),
    [
        ({"tier": "pins"}, 302),
        ({"tier": "daily"}, 302),
        ({"tier": "CREW"}, 302),
        ({"tier": "peers"}, 422),
        ({"tier": "daily", "key": "../x"}, 422),
        ({"tier": "nothing"}, 422),
    ],
)
def test_a_file_is_opened_by_name(
    world: World, fields: dict[str, str], status: int
) -> None:
    params = {"owner": world.agents["ada"].id, **fields}
    page = world.page("viewer").get(reverse("files:open"), params)
    assert page.status_code == status


# ── One file ─────────────────────────────────────────────────────────────────
@pytest.mark.parametrize(
    ("actor", "status"), [("viewer", 200), ("operator", 200), ("stranger", 404)]
)
def test_who_sees_a_file(world: World, actor: str, status: int) -> None:
    kit.write(world, "mine")
    assert world.page(actor).get(_file_url(world)).status_code == status


@pytest.mark.parametrize("label", ["CREW.md", "agent.md", "../AGENT.md", "x.md"])
def test_a_label_that_is_not_theirs_is_not_found(world: World, label: str) -> None:
    url = f"/files/{world.agents['ada'].id}/{label}/"
    assert world.page("viewer").get(url).status_code == 404


def test_markdown_is_rendered_without_its_html(world: World) -> None:
    nasty = "# T\n\n<script>alert(1)</script> [x](javascript:alert(1)) **b** ![p](/x)"
    kit.write(world, nasty, by="operator", of="ada")
    text = world.page("viewer").get(_file_url(world)).content.decode()
    assert "<h3>T</h3>" in text
    assert "<strong>b</strong>" in text
    assert "<script>alert" not in text
    assert 'href="javascript' not in text
    assert "<img" not in text


@pytest.mark.parametrize(
    "text",
    [
        "<img src=x onerror=alert(1)>",
        "[a](data:text/html,x)",
        "[a](vbscript:x)",
        "<a href='javascript:x'>a</a>",
        "![a](https://evil.example/pixel)",
        '[a](https://x.example "\' onmouseover=alert(1)")',
        "<svg/onload=alert(1)>",
        "`<script>`",
        "[a]: javascript:alert(1)\n\n[a]",
    ],
)
def test_nothing_that_acts_comes_out_of_markdown(text: str) -> None:
    html = markdown.render(text).lower()
    for bad in ("<script", "<img", "<svg", 'href="javascript', 'href="data', " onm"):
        assert bad not in html.replace("title=\"' onm", "")
    assert 'href="vbscript' not in html


def test_raw_text_has_numbered_lines(world: World) -> None:
    kit.write(world, "one\ntwo")
    text = world.page("viewer").get(_file_url(world), {"view": "raw"}).content.decode()
    assert '<span id="L2">two</span>' in text


def test_a_held_text_is_named_beside_the_file(world: World) -> None:
    kit.write(world, "good")
    with pytest.raises(HeldForReview) as caught:
        kit.write(world, kit.POISON)
    text = world.page("operator").get(_file_url(world)).content.decode()
    assert str(caught.value.fields["held_id"]) in text
    assert "previous instructions" not in text


def test_history_states_are_told_apart(world: World) -> None:
    actor, owner = world.actor("viewer"), kit.owner(world)
    place = kit.place("AGENT.md")
    empty = listing.file(actor, owner, place)
    assert (empty.history, empty.count) == (History.RECORDED, 0)
    version = kit.write(world, "mine").version
    versions.blobs().write(
        (version.workspace_id, version.sha256[:2], version.sha256), b"forged"
    )
    assert listing.file(actor, owner, place).history is History.UNAVAILABLE
    kit.on_disk(world).rename(kit.on_disk(world).with_name("x"))
    kit.on_disk(world).symlink_to("x")
    linked = listing.file(actor, owner, place)
    assert linked.history is History.UNRECORDED
    assert linked.fault
    page = world.page("viewer").get(_file_url(world))
    assert page.status_code == 200
    assert "cannot be read" in page.content.decode()


# ── Editing ──────────────────────────────────────────────────────────────────
def _edit(world: World, actor: str = "operator", **fields: str) -> Any:
    base = kit.row(world).sha256
    data = {"mode": "replace", "text": "new", "base": base, **fields}
    return world.page(actor).post(_file_url(world), data)


def test_an_operator_replaces_and_appends(world: World) -> None:
    kit.write(world, "old")
    assert _edit(world).status_code == 302
    assert _edit(world, mode="append", text="more", base="").status_code == 302
    assert kit.on_disk(world).read_text() == "new\nmore"
    newest = versions.log(kit.row(world))[0]
    assert (newest.source, newest.written_by) == ("operator", "operator@acme.example")


@pytest.mark.parametrize(("actor", "status"), [("viewer", 403), ("stranger", 404)])
def test_who_may_not_edit(world: World, actor: str, status: int) -> None:
    kit.write(world, "old")
    assert _edit(world, actor).status_code == status
    assert kit.on_disk(world).read_text() == "old"


def test_there_is_no_default_mode_on_the_page(world: World) -> None:
    kit.write(world, "old")
    assert _edit(world, mode="").status_code == 422


def test_over_the_cap_the_page_shows_what_is_there(world: World) -> None:
    kit.write(world, "old body")
    page = _edit(world, text="z" * 4_100)
    text = page.content.decode()
    assert page.status_code == 409
    assert "old body" in text
    assert "z" * 4_100 in text
    assert "8 of 4,000 bytes" in text


def test_a_held_edit_is_told_honestly(world: World) -> None:
    kit.write(world, "old")
    page = _edit(world, text=kit.POISON)
    assert page.status_code == 409
    assert "waits for review" in page.content.decode()
    assert kit.on_disk(world).read_text() == "old"


def test_an_edit_on_an_old_state_is_refused(world: World) -> None:
    kit.write(world, "old")
    base = kit.row(world).sha256
    kit.write(world, "newer")
    page = _edit(world, base=base)
    assert page.status_code == 409
    assert "written since" in page.content.decode()
    assert kit.on_disk(world).read_text() == "newer"


def test_the_form_is_shown_to_operators_only(world: World) -> None:
    kit.write(world, "old")
    params = {"edit": "replace"}
    form = world.page("operator").get(_file_url(world), params).content.decode()
    none = world.page("viewer").get(_file_url(world), params).content.decode()
    assert "<textarea" in form
    assert "<textarea" not in none


# ── History ──────────────────────────────────────────────────────────────────
def test_two_versions_are_compared(world: World) -> None:
    kit.write(world, "one\nsame")
    kit.write(world, "two\nsame")
    text = world.page("viewer").get(_history_url(world)).content.decode()
    assert "<del>− one</del>" in text
    assert "<ins>+ two</ins>" in text
    back = world.page("viewer").get(_history_url(world), {"a": 2, "b": 1})
    assert "<del>− one</del>" in back.content.decode()


@pytest.mark.parametrize("a", ["x", "-1", "99", "", "1" * 30, "²"])
def test_odd_numbers_do_not_break_the_history(world: World, a: str) -> None:
    kit.write(world, "one")
    page = world.page("viewer").get(_history_url(world), {"a": a, "b": "1"})
    assert page.status_code in (200, 404)


def test_a_version_is_restored_as_a_new_one(world: World) -> None:
    kit.write(world, "one")
    kit.write(world, "two")
    assert _restore(world, "operator", 1).status_code == 302
    assert kit.on_disk(world).read_text() == "one"
    assert versions.log(kit.row(world))[0].number == 3


@pytest.mark.parametrize(
    ("actor", "number", "status"),
    [
        ("viewer", 1, 403),
        ("stranger", 1, 404),
        ("operator", 99, 404),
        ("operator", "x", 422),
        ("operator", "", 422),
    ],
)
def test_what_is_not_restored(
    world: World, actor: str, number: Any, status: int
) -> None:
    kit.write(world, "one")
    kit.write(world, "two")
    assert _restore(world, actor, number).status_code == status
    assert kit.on_disk(world).read_text() == "two"


def test_a_damaged_version_is_not_restored_and_told(world: World) -> None:
    first = kit.write(world, "one").version
    kit.write(world, "two")
    versions.blobs().write(
        (first.workspace_id, first.sha256[:2], first.sha256), b"forged"
    )
    page = _restore(world, "operator", 1)
    assert page.status_code == 409
    assert "changed" in page.content.decode()
    assert "cannot be compared" in page.content.decode()
