"""The jobs page: last runs, what failed and why, and running one now."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from memory.jobs import registry as jobs
from memory.models import JobRun, RunState
from tests.world import World


def text(response: Any) -> str:
    return str(response.content.decode())


@pytest.mark.parametrize(
    ("user", "status"),
    [("owner", 200), ("operator", 200), ("compliance", 403), ("viewer", 403)],
)
def test_operators_see_the_page_and_the_way_to_it(
    world: World, user: str, status: int
) -> None:
    page = world.page(user)
    assert page.get("/jobs/").status_code == status
    assert page.get("/jobs/decay/").status_code == status
    assert page.post("/jobs/decay/run/").status_code in (302, status)
    assert ('href="/jobs/"' in text(page.get("/workspace/members/"))) == (status == 200)


def test_a_stranger_to_the_house_is_sent_to_the_door(world: World) -> None:
    assert world.page("nobody").get("/jobs/").status_code == 302


def test_a_run_by_hand_shows_what_it_did(world: World) -> None:
    world.indexed()
    page = world.page("operator")
    assert "No run yet" in text(page.get("/jobs/"))
    html = text(page.post("/jobs/decay/run/", follow=True))
    assert "Importance decay done: 1 rows" in html
    assert "Every job that ran finished its work" in html
    history = text(page.get("/jobs/decay/"))
    assert "operator@acme.example" in history
    foreign_html = text(world.page("stranger").get("/jobs/decay/"))
    assert "operator@acme.example" not in foreign_html
    assert page.get("/jobs/nothing/").status_code == 404
    assert page.post("/jobs/nothing/run/").status_code == 404


def test_a_job_that_is_not_needed_has_no_place_where_it_runs(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    job = replace(jobs.get("files_sweep"), schedule="not needed, as", unused=True)
    monkeypatch.setitem(jobs._registry, job.name, job)
    page = world.page("operator")
    assert "not needed, as</small>" in text(page.get("/jobs/"))
    assert "Not needed, as. The last" in text(page.get("/jobs/files_sweep/"))


def test_failures_and_stuck_runs_lead_the_page(world: World) -> None:
    now = timezone.now()
    JobRun.objects.create(
        name="decay", slot="a", workspace=world.acme, state=RunState.FAILED,
        ended_at=now, error="Decay stopped: <b>1</b> of 2 rows",
    )  # fmt: skip
    page = text(world.page("operator").get("/jobs/"))
    assert "Importance decay did not finish the last time" in page
    assert "Decay stopped: &lt;b&gt;1&lt;/b&gt; of 2 rows" in page
    JobRun.objects.create(
        name="compaction", slot="b", workspace=world.acme,
        heartbeat_at=now - timedelta(minutes=5),
    )  # fmt: skip
    page = text(world.page("operator").get("/jobs/"))
    assert "Compaction is stuck" in page
    assert "no sign of life" in page
    # A dead run does not prevent a new one.
    assert jobs.run_now("compaction", by=world.actor("operator")).state == RunState.DONE


def test_a_running_job_is_not_started_twice(world: World) -> None:
    JobRun.objects.create(name="decay", slot="a", workspace=world.acme)
    html = text(world.page("operator").post("/jobs/decay/run/", follow=True))
    assert "Importance decay is running already." in html
    reply = world.api("operator").post("/jobs/decay/run")
    assert (reply.status, reply.code) == (409, "job_running")


def test_the_api_tells_the_same(world: World) -> None:
    api = world.api("operator")
    ran = api.post("/jobs/decay/run")
    assert ran.status == 202
    assert ran.data["state"] == "done"
    items = {item["name"]: item for item in api.get("/jobs").data["items"]}
    assert items["decay"]["last"]["id"] == ran.data["id"]
    assert items["compaction"]["last"] is None
    assert items["decay"]["next_at"].endswith("T03:00:00.000Z")
    assert api.post("/jobs/nothing/run").status == 404


def test_the_fragment_is_the_table_alone(world: World) -> None:
    headers = {"HX-Request": "true", "HX-Target": "jobs"}
    part = world.page("operator").get("/jobs/", headers=headers)
    assert text(part).lstrip().startswith('<section class="panel" id="jobs"')


def test_the_number_of_queries_does_not_grow_with_the_history(world: World) -> None:
    page = world.page("operator")

    def query_count(address: str) -> int:
        with CaptureQueriesContext(connection) as queries:
            assert page.get(address).status_code == 200
        return len(queries)

    page.get("/jobs/")
    counts_before = query_count("/jobs/"), query_count("/jobs/decay/")
    for number in range(20):
        JobRun.objects.create(
            name="decay", slot=str(number), workspace=world.acme,
            state=RunState.DONE, ended_at=timezone.now(),
        )  # fmt: skip
    assert (query_count("/jobs/"), query_count("/jobs/decay/")) == counts_before
