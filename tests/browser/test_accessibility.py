"""Every page, in light and dark: nothing serious to axe, no fault, no lost focus."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import TYPE_CHECKING, Any, Literal

import pytest
from django.utils import timezone
from playwright.sync_api import expect

from episodic.index import sweep as index
from episodic.map import compute as memory_map
from gdpr.cases import dry_run, legal_holds, privacy_settings
from gdpr.cases.legal_holds import NewHold
from gdpr.cases.privacy_settings import Change
from memory.accounts import invitations
from memory.models import JobRun, User
from memory.rules.entries import Severity
from memory.rules.permissions import Role
from tests.api import gdpr_operations
from tests.episodic.test_questions import logged
from tests.gdpr import erasing, letter_kit

if TYPE_CHECKING:
    from playwright.sync_api import Page
    from pytest_django.live_server_helper import LiveServer

    from tests.world import World

# Name → address and the status it answers with, as the owner.
PAGES: dict[str, tuple[str, int]] = {
    "home": ("/", 200),
    "journal": ("/journal/", 200),
    "journal, filtered": ("/journal/?q=refund&severity=error", 200),
    "journal, counts": ("/journal/counts/", 200),
    "journal, import": ("/journal/import/", 200),
    "calendar": ("/journal/calendar/?agent_id={agent}", 200),
    "journal, empty": ("/journal/?q=zeppelin", 200),
    "journal, wrong": ("/journal/?since=yesterday", 422),
    "entry": ("/journal/{entry}/", 200),
    "life of an entry": ("/recall/entries/{entry}/", 200),
    "recall": ("/recall/", 200),
    "recall, answered": ("/recall/?query=refund", 200),
    "recall, compared": ("/recall/?query=refund&against=dense", 200),
    "recall, what if": (
        "/recall/?query=refund&if_entry_id={entry}&if_priority=permanent",
        200,
    ),
    "recall, no such agent": ("/recall/?query=refund&agent_id=zeppelin", 422),
    "index": ("/recall/index/", 200),
    "recall checks": ("/recall/checks/", 200),
    "questions": ("/recall/questions/", 200),
    "questions, all": ("/recall/questions/?show=all", 200),
    "questions, wrong": ("/recall/questions/?agent_id=nobody", 422),
    "health": ("/health/", 200),
    "map": ("/map/", 200),
    "map, selected": ("/map/?colour=relations&relations=none&query=refund", 200),
    "map, empty": ("/map/?crew=nobody", 200),
    "pairs of records": ("/health/duplicates/", 200),
    "proposals": ("/proposals/", 200),
    "files": ("/files/", 200),
    "records": ("/records/", 200),
    "records, none": ("/records/?q=zeppelin", 200),
    "record": ("/records/{record}/", 200),
    "quarantine": ("/quarantine/", 200),
    "rules": ("/quarantine/rules/", 200),
    "rules, drafted": ("/quarantine/rules/?set=override.instructions:off", 200),
    "policy changes": ("/quarantine/rules/policy/?set=override.instructions:off", 200),
    "rule": ("/quarantine/rules/override.instructions/", 200),
    "proposals from decisions": ("/quarantine/rules/learned/", 200),
    "providers": ("/providers/", 200),
    "conformance": ("/conformance/", 200),
    "agents": ("/workspace/agents/", 200),
    "agents, none": ("/workspace/agents/?q=zeppelin", 200),
    "agent": ("/workspace/agents/{agent}/", 200),
    "crew": ("/workspace/crews/{crew}/", 200),
    "keys": ("/workspace/keys/", 200),
    "members": ("/workspace/members/", 200),
    "invitations": ("/invitations/", 200),
    "memory gateway": ("/workspace/gateway/", 200),
    "webhooks": ("/workspace/webhooks/", 200),
    "settings": ("/workspace/settings/", 200),
    "jobs": ("/jobs/", 200),
    "job": ("/jobs/index_sweep/", 200),
    "job run": ("/jobs/index_sweep/runs/{run}/", 200),
    "cases": ("/privacy/cases/", 200),
    "cases, none": ("/privacy/cases/?kind=access", 200),
    "case": ("/privacy/cases/{case}/", 200),
    "new case": ("/privacy/cases/new/", 200),
    "draft of a letter": ("/privacy/cases/{case}/letters/new/?occasion=received", 200),
    "letter": ("/privacy/cases/{case}/letters/{letter}/", 200),
    "texts of letters": ("/privacy/settings/letters/", 200),
    "text of a letter": (
        "/privacy/settings/letters/text/?occasion=refused&language=de",
        200,
    ),
    "subjects": ("/privacy/subjects/", 200),
    "subject": ("/privacy/subjects/{subject}/", 200),
    "holds": ("/privacy/holds/", 200),
    "certificates": ("/privacy/certificates/", 200),
    "ledger": ("/privacy/ledger/", 200),
    "exports": ("/privacy/exports/", 200),
    "words of other people": ("/privacy/exports/{export}/words/", 200),
    "sure words": ("/privacy/exports/{export}/words/?sure=1", 200),
    "suppressed names": ("/privacy/kept-out/", 200),
    "retention": ("/privacy/retention/", 200),
    "retention rule": ("/privacy/retention/{retention}/", 200),
    "monthly report": ("/privacy/reports/", 200),
    "register of requests": ("/privacy/reports/register/", 200),
    "record of processing": ("/privacy/processing/", 200),
    "recipients": ("/privacy/recipients/", 200),
    "recipients of a case": ("/privacy/cases/{case}/recipients/", 200),
    "recipients, notified": ("/privacy/cases/{notified}/recipients/", 200),
    "calendar of deadlines": ("/privacy/calendar/", 200),
    "privacy settings": ("/privacy/settings/", 200),
    "find": ("/find/?find=e", 200),
    "glossary": ("/glossary/", 200),
    "password": ("/accounts/password/change/", 200),
    "two-factor": ("/accounts/2fa/", 200),
    "nothing here": ("/journal/j_0000000000000000/", 404),
    "no such address": ("/no/such/address/", 404),
}
SCHEMES: tuple[Literal["light", "dark"], ...] = ("light", "dark")
OPEN: dict[str, tuple[str, int]] = {
    "login": ("/accounts/login/", 200),
    "lost password": ("/accounts/password/reset/", 200),
    "invitation": ("/login/invitation/{invitation}/", 200),
    "used link": ("/login/eA/eA-eA/", 410),
    "certificate check": ("/certificates/check/", 200),
    "request form": ("/requests/acme/", 200),
}


@pytest.fixture
def page_urls(shared_world: World, settings: Any) -> dict[str, str]:
    """Put something on every page; return what addresses name."""
    settings.MAIL_SERVER = True
    privacy_settings.change(Change(intake=True), by=shared_world.actor("owner"))
    row = shared_world.entry(
        "Refund above $200 was denied", payload={"reason": "limit"}
    )
    shared_world.entry("The receipt is lost", by="lena", severity=Severity.ERROR)
    shared_world.file()
    shared_world.held()
    logged(shared_world, "Who parked the submarine?", unanswered=True)
    shared_world.entry("The parcel is late")
    index.sweep()
    memory_map.compute(shared_world.acme.id)
    admin = shared_world.actor("owner")
    guest = invitations.invite("guest@b.example", Role.VIEWER, by=admin)
    subject = erasing.maria(shared_world)
    case = erasing.opened(shared_world, subject)
    dry_run.make(case, by=shared_world.actor("compliance"))
    waiting = gdpr_operations.words_of(shared_world, subject)
    running = JobRun.objects.create(
        name="index_sweep", slot="one", workspace=shared_world.acme, done=3, total=9,
        unit="entries", items=[{"kind": "entry", "id": row.id, "why": ""}],
    )  # fmt: skip
    return {
        "entry": row.id,
        "agent": shared_world.agents["ada"].id,
        "crew": shared_world.crews["support"].id,
        "record": shared_world.record().id,
        "run": str(running.pk),
        "case": case.id,
        "export": waiting.pk,
        "subject": subject.id,
        "notified": gdpr_operations.notified(shared_world).case_id,
        "retention": gdpr_operations.retention_rule(shared_world).id,
        "letter": letter_kit.letter(shared_world, case).id,
        "invitation": invitations.link_path(guest, by=admin).split("/")[3],
    }


def visit(page: Page, server: LiveServer, path: str) -> int:
    """Open a page and return its status."""
    answer = page.goto(server.url + path)
    assert answer is not None
    return answer.status


def test_every_page_is_for_everybody(
    page: Page,
    live_server: LiveServer,
    page_urls: dict[str, str],
    sign_in: Callable[..., Page],
    axe: Callable[[Page], list[str]],
    faults: list[str],
    subtests: pytest.Subtests,
) -> None:
    sign_in(page, "owner")
    for name, (path, status) in PAGES.items():
        with subtests.test(name):
            assert visit(page, live_server, path.format(**page_urls)) == status
            assert judgement(page, axe, faults) == []
            assert page.title()
            assert page.locator("main").count() == 1


def test_every_page_before_the_door_is_for_everybody(
    page: Page,
    live_server: LiveServer,
    page_urls: dict[str, str],
    axe: Callable[[Page], list[str]],
    faults: list[str],
    subtests: pytest.Subtests,
) -> None:
    for name, (path, status) in OPEN.items():
        with subtests.test(name):
            assert visit(page, live_server, path.format(**page_urls)) == status
            assert judgement(page, axe, faults) == []


def judgement(
    page: Page, axe: Callable[[Page], list[str]], faults: list[str]
) -> list[str]:
    """Return what is wrong with a page, in light and dark; faults are taken along."""
    assert page.locator("h1").count() == 1
    wrong = []
    for scheme in SCHEMES:
        # A colour that is still fading would be judged half-way.
        page.emulate_media(color_scheme=scheme, reduced_motion="reduce")
        wrong += [f"{scheme}: {fault}" for fault in axe(page)]
    wrong += [text for text in faults if "status of 4" not in text]
    faults.clear()
    return wrong


def test_the_admin_opens_without_faults(
    page: Page,
    live_server: LiveServer,
    shared_world: World,
    sign_in: Callable[..., Page],
    faults: list[str],
) -> None:
    owner = shared_world.people["owner"]
    User.objects.filter(pk=owner.pk).update(is_staff=True, is_superuser=True)
    sign_in(page, "owner")
    assert visit(page, live_server, "/admin/") == 200
    assert "Tables" in page.title()


WIDTHS = (360, 390, 768, 1280, 1440)


def test_no_page_scrolls_sideways(
    page: Page,
    live_server: LiveServer,
    page_urls: dict[str, str],
    sign_in: Callable[..., Page],
    subtests: pytest.Subtests,
) -> None:
    sign_in(page, "owner")
    inside = (
        "document.documentElement.scrollWidth <= document.documentElement.clientWidth"
    )
    # A row of pages that is cut does not show that it scrolls.
    in_full = (
        "[...document.querySelectorAll('.place-tabs, .report-pages')]"
        ".every(row => row.scrollWidth <= row.clientWidth)"
    )
    for name, (path, _) in PAGES.items():
        visit(page, live_server, path.format(**page_urls))
        for width in WIDTHS:
            with subtests.test(name, width=width):
                page.set_viewport_size({"width": width, "height": 800})
                assert page.evaluate(inside)
                assert page.evaluate(in_full)


TABLES = (
    "/privacy/ledger/",
    "/privacy/kept-out/",
    "/privacy/certificates/",
    "/privacy/holds/",
    "/files/",
    "/providers/",
    "/recall/questions/",
)


def test_no_cell_of_a_narrow_table_runs_into_the_next(
    page: Page,
    live_server: LiveServer,
    shared_world: World,
    sign_in: Callable[..., Page],
    subtests: pytest.Subtests,
) -> None:
    shared_world.file()
    for asker in ("ada", "lena"):
        logged(shared_world, "Who parked it?", by=asker, unanswered=True)
    erasing.erased(shared_world, erasing.maria(shared_world))
    legal_holds.place(
        erasing.otto(shared_world),
        NewHold(reason="A claim", review_at=timezone.now() + timedelta(days=30)),
        by=shared_world.actor("compliance"),
        places=frozenset(),
    )
    page.set_viewport_size({"width": 360, "height": 800})
    sign_in(page, "owner")
    wide = "cells => cells.filter(c => c.scrollWidth > c.clientWidth + 1).length"
    for path in TABLES:
        with subtests.test(path):
            visit(page, live_server, path)
            cells = page.locator(".stacked tbody :is(th, td)")
            assert cells.count() > 0
            assert cells.evaluate_all(wide) == 0


@pytest.mark.parametrize("height", [600, 900])
def test_the_rail_shows_where_you_are_and_who(
    page: Page,
    live_server: LiveServer,
    shared_world: World,
    sign_in: Callable[..., Page],
    height: int,
) -> None:
    page.set_viewport_size({"width": 1440, "height": height})
    sign_in(page, "owner")
    visit(page, live_server, "/jobs/")
    expect(page.locator(".places [aria-current]")).to_be_in_viewport(ratio=1)
    expect(page.locator(".account summary")).to_be_in_viewport(ratio=1)
    page.locator(".account summary").click()
    expect(page.get_by_role("button", name="Sign out")).to_be_in_viewport(ratio=1)


def test_the_keyboard_reaches_the_content_first(
    page: Page,
    live_server: LiveServer,
    page_urls: dict[str, str],
    sign_in: Callable[..., Page],
) -> None:
    sign_in(page, "owner")
    visit(page, live_server, "/journal/")
    page.keyboard.press("Tab")
    skip = page.evaluate("document.activeElement.getAttribute('href')")
    assert skip is not None
    assert skip.startswith("#")
    page.keyboard.press("Enter")
    assert page.locator(f"{skip}:target").count() == 1


def test_a_stranger_to_scripts_can_still_search(
    shared_world: World, page_urls: dict[str, str]
) -> None:
    answer = shared_world.page("viewer").get("/journal/", {"q": "refund"})
    assert answer.status_code == 200
    assert b"Refund above $200 was denied" in answer.content
