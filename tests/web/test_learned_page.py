"""The page of what decisions taught, without scripts: read, approve, decline, undo."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from django.test import Client
from pytest_django import Settings

from memory import scanner, workspace_settings
from memory.models import ProposalKind, ScannerProposal
from memory.review.decide import Decision
from memory.workspace_settings import declarations
from tests.memory.files import kit, learning
from tests.world import World

PATH = "/quarantine/rules/learned/"


@pytest.fixture(autouse=True)
def data_dir(tmp_path: Path, settings: Settings) -> Path:
    """A folder of its own for the files of each test."""
    settings.DATA_DIR = tmp_path
    return tmp_path


def lowered(world: World) -> ScannerProposal:
    """Return a proposal of a lower weight."""
    learning.decide_texts(world, 10)
    (row,) = learning.of_kind(world, ProposalKind.WEIGHT)
    return row


def guarded(world: World) -> ScannerProposal:
    """Return a proposal of a passage with a secret."""
    for number in range(3):
        text = f"# Till {number}\n\n{learning.SECRET}\n"
        learning.decided(world, Decision.RELEASE, text=text, number=number)
    (row,) = learning.propose(world)
    return row


def html_of(page: Client, path: str = PATH) -> str:
    return " ".join(page.get(path).content.decode().split())


def text_of(html: str) -> str:
    return " ".join(re.sub(r"<[^>]+>", " ", html).split())


def post(page: Client, row: ScannerProposal, **fields: str) -> int:
    body = {"version": str(row.version), **fields}
    return page.post(f"{PATH}{row.id}/", body).status_code


def test_an_empty_page_says_what_is_needed(world: World) -> None:
    html = html_of(world.page("operator"))
    assert "No proposal waits" in html
    assert "Nothing is proposed." in html
    assert "never above: no proposal makes a text held" in html
    assert "lets no text pass with a finding of hidden text or secrets" in html
    assert "2 proposals" not in html_of(world.page("operator"), "/quarantine/rules/")


def test_a_diff_is_shown_with_what_it_rests_on(world: World) -> None:
    row = lowered(world)
    html = html_of(world.page("owner"))
    rule = scanner.rule(row.subject)
    assert "2 proposals wait for a decision" in html
    assert f"<del>− {rule.weight:.2f}</del> <ins>+ 0.25</ins>" in html
    text = text_of(html)
    assert "People confirmed 0 of 10 decided texts" in text
    assert "0 %, between 0 and 28 %." in text
    assert "10 released, 0 confirmed as attacks, 0 still waiting." in text
    assert "The newest 10 decisions it rests on" in text
    for case in row.evidence["cases"]:
        assert f'href="/quarantine/{case}/"' in html
    assert "2 proposals" in html_of(world.page("operator"), "/quarantine/rules/")


def test_an_admin_approves_and_takes_it_back(world: World) -> None:
    row, page = lowered(world), world.page("owner")
    setting = declarations.SCANNER_WEIGHTS
    assert post(page, row, action="approve") == 302
    assert workspace_settings.value(world.acme.id, setting) == {row.subject: "0.25"}
    assert "Approved; it holds from now on" in html_of(page)
    html = html_of(page, "/quarantine/rules/?state=changed")
    assert "1 rule runs differently here" in html
    assert "weight 0.25 here" in html
    assert "shipped" in html_of(page, f"/quarantine/rules/{row.subject}/")
    assert post(page, row, action="decline", reason="Late") == 409
    row.refresh_from_db()
    assert post(page, row, action="undo") == 302
    assert workspace_settings.value(world.acme.id, setting) == {}


def test_declining_needs_a_reason(world: World) -> None:
    row, page = lowered(world), world.page("owner")
    assert post(page, row, action="decline", reason=" ") == 422
    assert post(page, row, action="decline", reason="<b>Not</b> yet") == 302
    html = html_of(page)
    assert "&lt;b&gt;Not&lt;/b&gt; yet" in html
    assert post(page, row, action="explode") == 422


def test_a_text_with_a_secret_is_allowed_only_when_somebody_says_so(
    world: World,
) -> None:
    row, page = guarded(world), world.page("owner")
    html = html_of(page)
    assert "such texts may pass" in html
    assert "sk_live_••••••••••••2a7c" in html
    assert "NotARealKey" not in html
    assert post(page, row, action="approve") == 422
    assert post(page, row, action="approve", allows_all="1") == 302


def test_a_long_text_is_cut_with_its_length_and_a_link(world: World) -> None:
    text = f"# Till\n\n{kit.POISON}\n" + "Tea was sold at noon.\n" * 40
    for number in range(3):
        learning.decided(world, Decision.RELEASE, text=text, number=number)
    (row,) = learning.of_kind(world, ProposalKind.TEXT)
    html = html_of(world.page("owner"))
    assert f"These are the first 400 of {len(text.strip()):,} characters" in html
    assert f'<a href="/quarantine/{row.held_id}/">Read all of it</a>' in html
    assert "…</pre>" in html


def test_a_short_text_is_shown_whole(world: World) -> None:
    for number in range(3):
        learning.decided(world, Decision.RELEASE, number=number)
    learning.propose(world)
    html = html_of(world.page("owner"))
    assert kit.POISON in html
    assert "characters; all of them" not in html


def test_an_operator_reads_and_others_do_not(world: World) -> None:
    row = lowered(world)
    html = html_of(world.page("operator"))
    assert "An admin decides about it." in html
    assert 'value="approve"' not in html
    assert post(world.page("operator"), row, action="approve") == 403
    for person, status in {"viewer": 403, "compliance": 403}.items():
        assert world.page(person).get(PATH).status_code == status
    stranger = world.page("stranger")
    assert row.id not in html_of(stranger)
    assert post(stranger, row, action="approve") == 404
    row.refresh_from_db()
    assert row.is_pending


def test_a_rule_shows_its_decisions(world: World) -> None:
    rule = learning.lone_rule()
    page = world.page("operator")
    text = text_of(html_of(page, f"/quarantine/rules/{rule.id}/"))
    assert "too few to say: under 10 decisions" in text
    cases = learning.decide_texts(world, 10)
    html = html_of(page, f"/quarantine/rules/{rule.id}/")
    assert "0 %, between 0 and 28 %" in text_of(html)
    assert html.count("Honest") == 10
    assert all(f'href="/quarantine/{case.id}/"' in html for case in cases)
    list_text = text_of(html_of(page, f"/quarantine/rules/?q={rule.id}"))
    assert "0 % confirmed 0 of 10; 0 to 28 %" in list_text


def test_the_labels_are_downloaded(world: World) -> None:
    case = learning.decided(world, Decision.DISCARD)
    response = world.page("operator").post("/quarantine/labels/")
    assert response["Content-Disposition"].startswith("attachment")
    assert response["Cache-Control"] == "no-store"
    lines = b"".join(response.streaming_content).splitlines()  # type: ignore[attr-defined]
    assert [json.loads(line)["id"] for line in lines] == [case.id]
    assert world.page("viewer").post("/quarantine/labels/").status_code == 403
    assert world.page("operator").get("/quarantine/labels/").status_code == 405
