"""The saved views of the lists, on their pages."""

from __future__ import annotations

from html import unescape

import pytest

from memory.models import SavedView
from tests.web.test_journal_page import get, row_ids
from tests.world import World

SAVE = "/views/journal/"


def test_the_filters_in_view_are_saved_opened_and_forgotten(world: World) -> None:
    row = world.entry("Refund denied")
    world.entry("Parcel sent")
    browser = world.page("viewer")
    reply = browser.post(f"{SAVE}?q=refund&agent_id=&cursor=x", {"name": "Refunds"})
    assert reply.headers["Location"] == "/journal/?q=refund"
    _, text = get(browser, "/journal/")
    assert 'href="/journal/?q=refund"' in text
    assert row_ids(get(browser, "/journal/", q="refund")[1]) == [row.id]
    view = SavedView.objects.get()
    reply = browser.post(f"{SAVE}{view.pk}/forget/?q=refund")
    assert reply.headers["Location"] == "/journal/?q=refund"
    assert not SavedView.objects.exists()


def test_the_view_that_is_open_is_marked(world: World) -> None:
    browser = world.page("viewer")
    browser.post(f"{SAVE}?q=refund&severity=warn", {"name": "Refunds"})
    _, text = get(browser, "/journal/", q="refund", severity="warn")
    assert (
        '<a class="button small plain" href="/journal/?q=refund&amp;severity=warn" '
        'aria-current="true">' in text
    )
    _, text = get(browser, "/journal/", q="refund")
    assert 'severity=warn" aria-current' not in text


def test_nothing_is_saved_without_a_filter(world: World) -> None:
    browser = world.page("viewer")
    assert "Save this view" not in get(browser, "/journal/")[1]
    assert "Save this view" in get(browser, "/journal/", q="refund")[1]


def test_a_long_filter_is_refused_in_words(world: World) -> None:
    browser = world.page("viewer")
    reply = browser.post(f"{SAVE}?q={'x' * 600}", {"name": "Long"}, follow=True)
    text = unescape(reply.content.decode())
    assert "These filters are 602 characters long" in text
    assert not SavedView.objects.exists()


def test_hostile_names_and_filters_stay_text(world: World) -> None:
    browser = world.page("viewer")
    browser.post(
        f"{SAVE}?q=%22%3E%3Cscript%3Ealert(1)%3C/script%3E&next=//evil.example",
        {"name": '"><script>alert(2)</script>\0'},
    )
    view = SavedView.objects.get()
    _, text = get(browser, "/journal/")
    assert "<script>alert" not in text
    assert view.name == '"><script>alert(2)</script>'
    reply = browser.post(f"{SAVE}{view.pk}/forget/?q=a%0D%0AX-Y:1")
    assert reply.headers["Location"] == "/journal/?q=a%0D%0AX-Y%3A1"


@pytest.mark.parametrize("who", ["owner", "stranger"])
def test_nobody_else_sees_or_forgets_a_view(world: World, who: str) -> None:
    world.page("viewer").post(f"{SAVE}?q=refund", {"name": "Refunds"})
    view = SavedView.objects.get()
    other = world.page(who)
    assert "Refunds" not in get(other, "/journal/")[1]
    assert other.post(f"{SAVE}{view.pk}/forget/").status_code == 404
    assert other.post(f"/views/records/{view.pk}/forget/").status_code == 404
    assert SavedView.objects.exists()


def test_a_page_of_no_list_and_one_that_is_forbidden_are_refused(world: World) -> None:
    browser = world.page("viewer")
    assert browser.post("/views/nowhere/", {"name": "x"}).status_code == 404
    assert browser.post("/views/quarantine/", {"name": "x"}).status_code == 403
    assert browser.get(SAVE).status_code == 405


@pytest.mark.parametrize(
    ("page", "address"),
    [
        ("quarantine", "/quarantine/?state=held&source=tool"),
        ("records", "/records/?q=refund"),
        ("agents", "/workspace/agents/?q=ada"),
    ],
)
def test_the_other_lists_have_views_too(world: World, page: str, address: str) -> None:
    browser = world.page("owner")
    query = address.partition("?")[2]
    reply = browser.post(f"/views/{page}/?{query}", {"name": "Mine"})
    assert reply.headers["Location"] == address
    assert f'href="{address}"' in unescape(get(browser, address.partition("?")[0])[1])
