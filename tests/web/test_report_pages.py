"""Pages of reports: who sees them, what they hold, and what they let out."""

from __future__ import annotations

import csv
import io
import re
from typing import Any

import pytest
from django.urls import reverse

from gdpr.cases import actions
from gdpr.data_map import registry
from gdpr.models import Case, ProcessingPurpose
from gdpr.reports import audit_export, register
from tests.gdpr import kit
from tests.gdpr import requests as make
from tests.world import World

PAGES = ("reports/", "reports/register/", "processing/", "calendar/")
FILES = ("reports/month.csv", "processing/record.csv")
POSTED = ("reports/register.csv", "reports/audit-log/", "cases/list.csv")


def text(answer: Any) -> str:
    if answer.streaming:
        return b"".join(answer.streaming_content).decode()
    return re.sub(r"\s+", " ", answer.content.decode())


def get(world: World, path: str, person: str = "compliance") -> Any:
    return world.page(person).get(f"/privacy/{path}")


def post(world: World, path: str, person: str = "compliance", /, **body: Any) -> Any:
    return world.page(person).post(f"/privacy/{path}", body)


@pytest.mark.parametrize(
    ("person", "status"),
    [("owner", 200), ("compliance", 200), ("operator", 403), ("viewer", 403)],
)
def test_who_reads_reports(world: World, person: str, status: int) -> None:
    for path in (*PAGES, *FILES):
        assert get(world, path, person).status_code == status, path
    for path in POSTED:
        answer = post(world, path, person)
        assert (answer.status_code, bool(text(answer))) == (status, True), path
        assert get(world, path, person).status_code in (404, 405), path


def test_another_workspace_reads_nothing_of_ours(world: World) -> None:
    case = make.opened(world)
    post(world, "processing/journal/", purpose="ours", legal_basis="ours alone")
    for path in (*PAGES, *FILES):
        page = text(get(world, path, "stranger"))
        assert case.id not in page
        assert "ours alone" not in page
    for path in POSTED:
        assert case.id not in text(post(world, path, "stranger"))


@pytest.mark.parametrize("person", ["operator", "viewer"])
def test_others_change_nothing(world: World, person: str) -> None:
    fields = {"purpose": "p", "legal_basis": "l"}
    assert post(world, "processing/journal/", person, **fields).status_code == 403
    assert post(world, "processing/controller/", person).status_code == 403
    assert post(world, "calendar/", person).status_code == 403
    assert not ProcessingPurpose.objects.exists()


def test_an_officer_does_not_name_the_controller(world: World) -> None:
    assert post(world, "processing/controller/").status_code == 403
    answer = post(world, "processing/controller/", "owner", controller="Acme AG")
    assert answer.status_code == 302
    assert "Acme AG" in text(get(world, "processing/"))


# ── The month ────────────────────────────────────────────────────────────────
def test_a_faulty_month_is_told_and_the_present_one_shown(world: World) -> None:
    answer = get(world, "reports/?month=2026-13")
    assert answer.status_code == 422
    assert "A month is written like 2026-11" in text(answer)


def test_the_month_has_its_numbers_and_a_file(world: World) -> None:
    cases = [make.opened(world) for _ in range(3)]
    actions.refuse(cases[0], "=Unfounded", by=world.actor("owner"))
    page = text(get(world, "reports/"))
    assert "1 request answered, 1 in time" in page
    assert "=Unfounded" in page
    table = list(csv.DictReader(io.StringIO(text(get(world, "reports/month.csv")))))
    by_name = {(row["figure"], row["of"]): row["month"] for row in table}
    assert by_name[("total_received", "")] == "3"
    assert by_name[("received", "erasure")] == "3"
    assert by_name[("refusal_ground", cases[0].id)] == "'=Unfounded"


# ── Lists as files ───────────────────────────────────────────────────────────
def rows_of(answer: Any) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(text(answer))))


def test_the_list_comes_as_its_filters_show_it(world: World) -> None:
    person = kit.subject(world)
    open_case = make.opened(world, subject=person, ticket="=cmd|' /C calc'!A0")
    closed = make.opened(world, subject=person)
    actions.refuse(closed, "no", by=world.actor("owner"))
    [row] = rows_of(post(world, "cases/list.csv"))
    assert (row["id"], row["ticket"][0]) == (open_case.id, "'")
    assert "Anna" not in str(row)
    [row] = rows_of(post(world, "cases/list.csv?state=closed"))
    assert row["id"] == closed.id
    assert rows_of(post(world, "cases/list.csv?kind=access")) == []
    entries = make.entries(world, "gdpr.cases_exported")
    assert entries[0].payload["filter"] in ({"state": "open"}, {"state": "closed"})
    assert len(entries) == 3


def test_the_register_has_no_name_and_every_case_of_the_period(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(register, "BATCH", 2)
    person = kit.subject(world)
    cases = [make.opened(world, subject=person, requester="Anna K") for _ in range(3)]
    by = world.actor("owner")
    actions.extend(cases[0], 1, "Anna Kowalczyk has many entries", by=by)
    actions.refuse(cases[1], "asked as anna.k@example.com before", by=by)
    rows = rows_of(post(world, "reports/register.csv"))
    assert {row["case_id"] for row in rows} == {case.id for case in cases}
    by_id = {row["case_id"]: row for row in rows}
    assert by_id[cases[0].id]["extension_reason"] == "[name] has many entries"
    refusals = by_id[cases[1].id]
    assert (refusals["result"], refusals["days"], refusals["in_time"]) == (
        "refused", "0", "True",
    )  # fmt: skip
    page = text(get(world, "reports/register/"))
    for body in (page, str(rows)):
        assert "Kowalczyk" not in body
        assert "anna.k@" not in body
        assert "Anna K" not in body
    assert len(make.entries(world, "gdpr.register_exported")) == 1


def test_a_period_that_ends_before_it_begins_is_told(world: World) -> None:
    answer = get(world, "reports/register/?since=2026-05-01&until=2026-04-01")
    assert answer.status_code == 422
    assert "A period begins before it ends" in text(answer)


def test_the_days_of_the_register_stand_in_its_form(world: World) -> None:
    page = text(get(world, "reports/register/?since=2026-02-01&until=2026-03-01"))
    assert 'value="2026-02-01" id="f-since"' in page
    page = text(get(world, "reports/register/"))
    assert re.search(r'value="\d{4}-01-01" id="f-since"', page)


def test_a_case_of_another_time_is_not_in_the_register(world: World) -> None:
    make.opened(world)
    page = post(world, "reports/register.csv", since="2020-01-01", until="2020-12-31")
    assert rows_of(page) == []


def test_the_sealed_log_is_a_file_that_the_journal_knows(world: World) -> None:
    answer = post(world, "reports/audit-log/")
    assert answer["Content-Type"] == audit_export.CONTENT_TYPE
    assert answer["Cache-Control"] == "no-store"
    assert '"format":"crewship audit log v1"' in text(answer)
    assert len(make.entries(world, "gdpr.actions_exported")) == 1


# ── The record of processing ─────────────────────────────────────────────────
def test_a_purpose_is_confirmed_and_journaled(world: World) -> None:
    assert "proposed" in text(get(world, "processing/"))
    fields = {"purpose": "Support", "legal_basis": "Article 6(1)(b)"}
    post(world, "processing/journal/", **fields)
    answer = post(world, "processing/journal/", **{**fields, "purpose": "Billing"})
    assert answer["Location"] == reverse("privacy:processing") + "#journal"
    page = text(get(world, "processing/"))
    assert "Billing" in page
    assert "compliance@acme.example" in page
    entries = make.entries(world, "gdpr.processing_confirmed")
    now = {**fields, "purpose": "Billing"}
    payload = {"place": "journal", "now": now, "was": fields}
    assert payload in [entry.payload for entry in entries]
    assert entries[0].actor_id == world.actor("compliance").id


@pytest.mark.parametrize("fields", [{"purpose": " ", "legal_basis": "x"}, {}])
def test_an_empty_purpose_is_told_at_its_place(
    world: World, fields: dict[str, str]
) -> None:
    answer = post(world, "processing/journal/", **fields)
    assert answer.status_code == 422
    assert '<details class="edit" open>' in text(answer)
    assert not ProcessingPurpose.objects.exists()


def test_an_unknown_place_is_not_found(world: World) -> None:
    answer = post(world, "processing/moon/", purpose="x", legal_basis="y")
    assert answer.status_code == 404


def _picks(page: str) -> list[str]:
    return re.findall(r'type="checkbox" name="items" value="([^"]+)"', page)


def test_the_ticked_purposes_are_confirmed_as_proposed(world: World) -> None:
    picks = _picks(text(get(world, "processing/")))
    assert len(picks) == len(registry.ALL)
    own = {"purpose": "Support", "legal_basis": "Article 6(1)(b)"}
    post(world, "processing/journal/", **own)
    answer = post(world, "processing/confirm/", items=picks)
    assert answer.context["report"].done_count == len(picks) - 1
    (refused,) = (item for item in answer.context["report"].items if not item.ok)
    assert (refused.id, refused.code) == ("journal", "already_confirmed")
    assert ProcessingPurpose.objects.get(place="journal").purpose == "Support"
    assert _picks(text(get(world, "processing/"))) == []
    entries = make.entries(world, "gdpr.processing_confirmed")
    assert {entry.payload["place"] for entry in entries} == {
        pick.partition(":")[0] for pick in picks
    }


def test_a_wording_that_nobody_read_is_not_confirmed(world: World) -> None:
    answer = post(world, "processing/confirm/", items=["journal:0", "moon:0"])
    codes = {item.id: item.code for item in answer.context["report"].items}
    assert codes == {"journal": "stale_version", "moon": "not_found"}
    assert post(world, "processing/confirm/").status_code == 422
    assert not ProcessingPurpose.objects.exists()


def test_a_viewer_ticks_no_purposes(world: World) -> None:
    for person in ("viewer", "operator"):
        assert post(world, "processing/confirm/", person).status_code == 403


def test_cases_stay_as_they_are_after_every_report(world: World) -> None:
    case = make.opened(world)
    for path in (*PAGES, *FILES):
        get(world, path)
    for path in POSTED:
        text(post(world, path))
    assert Case.objects.get(pk=case.pk).version == case.version
