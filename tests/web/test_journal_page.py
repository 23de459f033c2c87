"""The journal's pages: filters, paging, one entry, priorities, verification."""

from __future__ import annotations

import re
from html import unescape
from typing import Any

import pytest
from django.conf import settings
from django.test import Client

from memory.journal import verify
from memory.models import JournalEntry
from memory.rules.entries import Severity
from memory.web import journal_page
from tests import factories
from tests.world import World

HOSTILE = (
    '"',
    "'; DROP TABLE journal_entries; --",
    "NEAR(a b) OR *",
    "a AND (",
    "^col:x*",
    '"unclosed phrase',
    "<script>alert(1)</script>",
    "%00",
    "\u202e\u200b",
    "x" * 1000,
)
SWAP = {"HX-Request": "true", "HX-Boosted": "true", "HX-Target": "journal"}


def get(browser: Client, path: str, **query: Any) -> tuple[int, str]:
    """Return the status and the HTML of a page."""
    response = browser.get(path, query)
    return response.status_code, response.content.decode()


def row_ids(text: str) -> list[str]:
    """Return the entries listed, in order."""
    return re.findall(r'id="at-(j_\w+)"', text)


# ── The list ─────────────────────────────────────────────────────────────────
def test_the_newest_entry_stands_first(world: World) -> None:
    older = world.entry("First", ts=factories.ago(3))
    newer = world.entry("Second", ts=factories.ago(1))
    _, text = get(world.page("viewer"), "/journal/", entry_type="peer.escalation")
    assert row_ids(text) == [newer.id, older.id]


def test_entries_are_grouped_by_day(world: World) -> None:
    for days in (1, 2, 3):
        world.entry(f"Day {days}", ts=factories.ago(days))
    _, text = get(world.page("viewer"), "/journal/", entry_type="peer.escalation")
    assert text.count('class="day"') == 3


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ({"q": "refund"}, {"a"}),
        ({"q": '"refund denied"'}, {"a"}),
        ({"severity": "error"}, {"b"}),
        ({"severity": "warn,error"}, {"a", "b"}),
        ({"entry_type": "approval.denied"}, {"a"}),
        ({"exclude_entry_type": "approval.denied"}, {"b", "c"}),
        ({"mission_id": "m_1"}, {"b"}),
        ({"trace_id": "t_1"}, {"b"}),
        ({"subject": "MARTA@example.com"}, {"c"}),
        ({"priority": "normal"}, {"a", "b", "c"}),
        ({"priority": "pin"}, set()),
        ({"until": "2020-01-01"}, set()),
        ({"since": "2020-01-01T00:00:00Z"}, {"a", "b", "c"}),
        ({"since": "2020-01-01T00:00:00+02:00"}, {"a", "b", "c"}),
    ],
)
def test_filters_choose(
    world: World, query: dict[str, str], expected: set[str]
) -> None:
    rows = {
        "a": world.entry(
            "Refund denied", entry_type="approval.denied", severity=Severity.WARN
        ),
        "b": world.entry(
            "Parcel", severity=Severity.ERROR, mission_id="m_1", trace_id="t_1"
        ),
        "c": world.entry("Letter", subjects=("marta@example.com",)),
    }
    status, text = get(
        world.page("viewer"), "/journal/", agent_id=world.agents["ada"].id, **query
    )
    assert status == 200
    assert set(row_ids(text)) == {rows[name].id for name in expected}


def test_a_day_as_upper_limit_holds_the_whole_day(world: World) -> None:
    row = world.entry("Late", ts=factories.ago(2))
    day = row.ts.date().isoformat()
    _, text = get(world.page("viewer"), "/journal/", since=day, until=day)
    assert row_ids(text) == [row.id]


@pytest.mark.parametrize("q", HOSTILE)
def test_hostile_words_find_nothing_and_break_nothing(world: World, q: str) -> None:
    status, text = get(world.page("viewer"), "/journal/", q=q)
    assert status == 200
    assert "<script>alert" not in text


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("severity", "loud"),
        ("priority", "urgent,high"),
        ("since", "yesterday"),
        ("since", "2026-02-31"),
        ("since", "0001-01-01T00:00:00+14:00"),
        ("until", "9999-12-31T23:59:59-12:00"),
        ("crew_id", "c_nowhere"),
        ("agent_id", "a_nobody"),
        ("q", "\x00"),
        ("q", "x" * 1001),
        ("mission_id", "m" * 200),
        ("subject", "s" * 400),
    ],
)
def test_a_bad_filter_has_its_fault_beside_it(
    world: World, field: str, value: str
) -> None:
    world.entry("Something")
    status, text = get(world.page("viewer"), "/journal/", **{field: value})
    assert status == 422
    assert f'id="f-{field}_error"' in text
    assert row_ids(text) == []


def test_a_range_that_contradicts_itself_is_a_fault(world: World) -> None:
    status, text = get(
        world.page("viewer"), "/journal/", since="2026-02-02", until="2026-02-01"
    )
    assert status == 422
    assert 'id="f-until_error"' in text


def test_another_workspace_has_no_crew_here(world: World) -> None:
    foreign_crew_id = world.crews["other/support"].id
    status, text = get(world.page("viewer"), "/journal/", crew_id=foreign_crew_id)
    assert status == 422
    assert 'id="f-crew_id_error"' in text


def test_filters_in_force_can_be_removed_one_by_one(world: World) -> None:
    _, text = get(world.page("viewer"), "/journal/", q="refund", severity="warn")
    hrefs = re.findall(r'<a class="button small" href="([^"]+)"', text)
    assert hrefs == ["/journal/?severity=warn", "/journal/?q=refund"]


def test_an_empty_answer_says_what_is_true(world: World) -> None:
    _, text = get(world.page("viewer"), "/journal/", q="zyzzyva")
    assert "No entry matches all of these filters." in text


def test_paging_goes_there_and_back_without_scripts(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(journal_page, "PAGE", 3)
    rows = [world.entry(f"Entry {n}", ts=factories.ago(hours=n)) for n in range(1, 9)]
    browser = world.page("viewer")
    query = {"entry_type": "peer.escalation"}
    pages: list[list[str]] = []
    _, text = get(browser, "/journal/", **query)
    while True:
        pages.append(row_ids(text))
        link = re.search(r'href="([^"]+)" rel="next"', text)
        if link is None:
            break
        _, text = get(browser, unescape(link[1]))
    assert [len(page) for page in pages] == [3, 3, 2]
    assert [row_id for page in pages for row_id in page] == [row.id for row in rows]
    assert "7 to 8 of 8" in text
    for expected in (pages[1], pages[0]):
        link = re.search(r'href="([^"]+)" rel="prev"', text)
        assert link is not None
        _, text = get(browser, unescape(link[1]))
        assert row_ids(text) == expected
    assert 'rel="prev"' not in text


def test_a_damaged_cursor_offers_the_newest_page(world: World) -> None:
    status, text = get(world.page("viewer"), "/journal/", cursor="zzz", q="a")
    assert status == 422
    assert "The cursor is damaged." in text
    assert 'href="/journal/?q=a"' in text


def test_entries_of_one_moment_are_neither_lost_nor_doubled(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(journal_page, "PAGE", 2)
    moment = factories.ago(1)
    rows = factories.append_many(
        world.actor("ada"), [f"Twin {n}" for n in range(5)], ts=moment
    )
    browser, listed_ids = world.page("viewer"), []
    path: str | None = "/journal/?q=twin"
    while path:
        _, text = get(browser, path)
        listed_ids += row_ids(text)
        link = re.search(r'href="([^"]+)" rel="next"', text)
        path = unescape(link[1]) if link else None
    assert listed_ids == [row.id for row in reversed(rows)]


# ── One entry ────────────────────────────────────────────────────────────────
def test_an_entry_opens_beside_the_list_without_scripts(world: World) -> None:
    row = world.indexed("Refund above the limit", mission_id="m_7")
    _, list_html = get(world.page("viewer"), "/journal/", q="refund")
    link = re.search(rf'id="at-{row.id}" href="([^"]+)"', list_html)
    assert link is not None
    status, text = get(world.page("viewer"), unescape(link[1]))
    assert status == 200
    for expected in (
        "Refund above the limit",
        "Hash checks out",
        "Indexed",
        "?mission_id=m_7",
        'aria-current="true"',
        "ada</a>, crew support",
    ):
        assert expected in text
    assert 'value="refund"' in text


def test_a_linked_entry_opens_at_its_place_in_the_list(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(journal_page, "PAGE", 5)
    rows = [world.entry(f"Entry {n}", ts=factories.ago(hours=n)) for n in range(1, 20)]
    _, text = get(world.page("viewer"), f"/journal/{rows[14].id}/")
    assert row_ids(text) == [row.id for row in rows[11:16]]


def test_an_entry_outside_its_filters_leaves_the_newest_list(world: World) -> None:
    row = world.entry("Letter")
    other = world.entry("Parcel")
    _, text = get(world.page("viewer"), f"/journal/{row.id}/", q="parcel")
    assert row_ids(text) == [other.id]
    assert "Letter" in text


@pytest.mark.parametrize("path", ["/journal/{}/", "/journal/{}/?q=a"])
def test_another_workspaces_entry_is_not_found(world: World, path: str) -> None:
    foreign = world.entry("Secret of theirs", by="olga")
    status, text = get(world.page("owner"), path.format(foreign.id))
    owner = world.page("owner")
    unknown_status, unknown_html = get(owner, path.format("j_0000000000000000"))
    assert (status, unknown_status) == (404, 404)
    assert "Secret" not in text
    actual, expected = (
        page.split("<main")[1].split("</main")[0] for page in (text, unknown_html)
    )
    assert actual == expected


@pytest.mark.parametrize("name", ["%00", "a%20b", "..%2f..", "j_" + "0" * 300])
def test_an_impossible_id_is_not_found(world: World, name: str) -> None:
    assert get(world.page("viewer"), f"/journal/{name}/")[0] == 404


def test_the_trace_of_an_entry_leads_to_its_conversation(world: World) -> None:
    turns = [world.entry(text, trace_id="t_1").id for text in ("Hello", "Hi", "Bye")]
    world.entry("Elsewhere", trace_id="t_2")
    page = world.page("viewer")
    _, text = get(page, f"/journal/{turns[1]}/")
    [link] = re.findall(r'<a class="hash" href="([^"]*trace_id=[^"]*)"', text)
    _, listing = get(page, unescape(link))
    assert row_ids(listing) == turns[::-1]


def test_what_an_agent_wrote_is_shown_as_text(world: World) -> None:
    evil = "<script>alert(1)</script><img src=x onerror=alert(2)>"
    row = world.entry(
        evil,
        payload={"<b>key</b>": evil, "deep": [{"'\"": "</span></pre><script>"}]},
        refs={"<i>": "<svg onload=alert(3)>"},
        mission_id='"><script>alert(4)</script>',
        trace_id="'><b>",
        subjects=("<u>eve</u>",),
    )
    world.page("operator").post(
        f"/journal/{row.id}/priority/", {"priority": "high", "reason": evil}
    )
    _, text = get(world.page("viewer"), f"/journal/{row.id}/")
    main_html = text.split("<main", 1)[1].replace('<script src="/static/', "")
    for tag in ("<script", "<img", "<svg onload", "<b>", "<i>", "<u>"):
        assert tag not in main_html
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in main_html


def test_what_the_eye_cannot_see_is_shown_as_its_escape(world: World) -> None:
    row = world.entry("Plain", payload={"note": "left\u202eright\u200b"})
    _, text = get(world.page("viewer"), f"/journal/{row.id}/")
    assert "left\\u202eright\\u200b" in text


def test_a_long_payload_is_cut_and_can_be_shown_whole(world: World) -> None:
    row = world.entry("Long", payload={"lines": [f"line {n}" for n in range(500)]})
    path = f"/journal/{row.id}/"
    _, short_html = get(world.page("viewer"), path)
    _, full_html = get(world.page("viewer"), path, payload="all")
    assert "line 499" not in short_html
    assert "Show all of the payload" in short_html
    assert "line 499" in full_html


def test_an_entry_whose_embedding_waits_can_be_indexed_by_operators(
    world: World,
) -> None:
    row = world.entry("Waiting")
    path = f"/recall/entries/{row.id}/index/"
    assert path in get(world.page("operator"), f"/journal/{row.id}/")[1]
    assert path not in get(world.page("viewer"), f"/journal/{row.id}/")[1]


# ── Fragments ────────────────────────────────────────────────────────────────
def test_a_swap_gets_the_region_and_a_clean_address(world: World) -> None:
    world.entry("Refund")
    query = {"q": "refund", "severity": "", "since": ""}
    response = world.page("viewer").get("/journal/", query, headers=SWAP)
    text = response.content.decode()
    assert "<html" not in text
    assert 'id="journal"' in text
    assert 'id="said"' in text
    assert response["HX-Push-Url"] == "/journal/?q=refund"


def test_going_back_through_history_gets_the_whole_page(world: World) -> None:
    headers = {"HX-Request": "true", "HX-History-Restore-Request": "true"}
    response = world.page("viewer").get("/journal/", headers=headers)
    assert b"<html" in response.content


# ── Priorities ───────────────────────────────────────────────────────────────
@pytest.mark.parametrize(
    ("user", "status"),
    [("owner", 302), ("operator", 302), ("compliance", 403), ("viewer", 403)],
)
def test_operators_set_a_priority(world: World, user: str, status: int) -> None:
    row = world.entry("Mark me")
    path = f"/journal/{row.id}/priority/"
    response = world.page(user).post(path, {"priority": "high", "reason": "often"})
    assert response.status_code == status
    row.refresh_from_db()
    assert row.priority == ("high" if status == 302 else "normal")


def test_a_priority_is_told_and_ledgered(world: World) -> None:
    row = world.entry("Mark me")
    browser = world.page("operator")
    path = f"/journal/{row.id}/priority/?q=mark"
    response = browser.post(
        path, {"priority": "pin", "reason": "the court asked"}, follow=True
    )
    assert response.redirect_chain == [(f"/journal/{row.id}/?q=mark", 302)]
    text = response.content.decode()
    assert "Priority set to pin, was normal" in text
    assert "the court asked" in text
    assert "operator@acme.example" in text


def test_a_swapped_priority_answers_with_the_region_and_a_toast(world: World) -> None:
    row = world.entry("Mark me")
    headers = {"HX-Request": "true", "HX-Target": "journal"}
    response = world.page("operator").post(
        f"/journal/{row.id}/priority/", {"priority": "high"}, headers=headers
    )
    assert response.status_code == 200
    assert "Priority set to high, was normal" in response["HX-Trigger"]
    assert b"<html" not in response.content


@pytest.mark.parametrize("body", [{}, {"priority": "urgent"}, {"priority": ""}])
def test_a_bad_priority_is_a_fault(world: World, body: dict[str, str]) -> None:
    row = world.entry("Mark me")
    response = world.page("operator").post(f"/journal/{row.id}/priority/", body)
    assert response.status_code == 422
    assert b'id="id_priority_error"' in response.content


def test_a_priority_of_another_workspace_is_not_found(world: World) -> None:
    foreign = world.entry("Theirs", by="olga")
    path = f"/journal/{foreign.id}/priority/"
    assert world.page("operator").post(path, {"priority": "pin"}).status_code == 404
    foreign.refresh_from_db()
    assert foreign.priority == "normal"


def test_a_priority_needs_the_form_of_this_site(world: World) -> None:
    row = world.entry("Mark me")
    browser = Client(enforce_csrf_checks=True)
    browser.force_login(
        world.people["operator"],
        backend="django.contrib.auth.backends.ModelBackend",
    )
    response = browser.post(f"/journal/{row.id}/priority/", {"priority": "pin"})
    assert response.status_code == 403


# ── The chain ────────────────────────────────────────────────────────────────
@pytest.mark.parametrize(
    ("user", "status"), [("owner", 200), ("operator", 200), ("viewer", 403)]
)
def test_operators_verify_the_chain(world: World, user: str, status: int) -> None:
    world.entry("Linked")
    response = world.page(user).post("/journal/verify/")
    assert response.status_code == status
    assert (b"The chain holds" in response.content) is (status == 200)
    button = b"Verify the chain" in world.page(user).get("/journal/").content
    assert button is (status == 200)


def test_a_break_is_listed_with_its_entry(world: World) -> None:
    row = world.entry("Honest")
    JournalEntry.objects.filter(pk=row.pk).update(summary="Forged")
    headers = {"HX-Request": "true", "HX-Target": "chain-report"}
    response = world.page("operator").post("/journal/verify/", headers=headers)
    text = response.content.decode()
    assert "<html" not in text
    assert "content_break" in text
    assert f"/journal/{row.id}/" in text
    _, html = get(world.page("viewer"), f"/journal/{row.id}/")
    assert "Hash is broken" in html


def test_the_next_breaks_stand_behind_a_summary(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(verify, "MAX_BREAKS", 12)
    rows = factories.append_many(world.actor("ada"), [f"Row {n}" for n in range(14)])
    ids = [row.pk for row in rows]
    JournalEntry.objects.filter(pk__in=ids).update(summary="Forged")
    text = world.page("operator").post("/journal/verify/").content.decode()
    assert "14 breaks in the chain" in text
    assert "Show the next 2" in text
    assert "The first 12 are listed" in text


def test_visiting_the_verification_leads_to_the_journal(world: World) -> None:
    response = world.page("operator").get("/journal/verify/")
    assert response["Location"] == "/journal/"


# ── Who, and how dear ────────────────────────────────────────────────────────
def test_nobody_is_sent_to_sign_in(world: World) -> None:
    response = world.page("nobody").get("/journal/")
    assert response.status_code == 302
    assert response["Location"].startswith("/accounts/login/")


def test_authors_are_named_as_people_know_them(world: World) -> None:
    row = world.entry("By an agent")
    world.page("operator").post(f"/journal/{row.id}/priority/", {"priority": "pin"})
    _, text = get(world.page("viewer"), "/journal/", show="all")
    assert "peer.escalation · ada" in text
    assert "memory.priority_changed · operator@acme.example" in text
    assert "agent.created · system" in text


def test_a_page_costs_the_same_however_long_the_journal_is(
    world: World, django_assert_max_num_queries: Any
) -> None:
    rows = factories.append_many(world.actor("ada"), [f"Row {n}" for n in range(60)])
    browser = world.page("operator")
    with django_assert_max_num_queries(23):
        assert browser.get("/journal/").status_code == 200
    with django_assert_max_num_queries(33):
        assert browser.get(f"/journal/{rows[3].id}/").status_code == 200


def test_pages_hold_no_inline_script_or_style(world: World) -> None:
    row = world.entry("Plain")
    for path in ("/journal/", f"/journal/{row.id}/"):
        response = world.page("operator").get(path)
        text = response.content.decode()
        assert " style=" not in text
        assert re.search(r"<script(?![^>]*\bsrc=)", text) is None
        assert "'self'" in response["Content-Security-Policy"]
    assert settings.CONTENT_SECURITY_POLICY["DIRECTIVES"]["default-src"] == ["'self'"]
