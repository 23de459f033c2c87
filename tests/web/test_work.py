"""Long work: how far it is, its own page, what stopped, and starting it again."""

from __future__ import annotations

import html
from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from memory.jobs import progress, work
from memory.jobs import registry as jobs
from memory.jobs.progress import ResultLine
from memory.jobs.registry import Job, Outcome
from memory.models import JobRun, RunState
from memory.rules import errors
from tests.world import World


def _text(response: Any) -> str:
    return html.unescape(response.content.decode())


@pytest.fixture
def act(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[Any]]:
    """Register a job ``sums`` that does what is put into the list."""
    acts: list[Any] = []

    def do(home: str) -> Outcome:
        outcome: Outcome = acts[-1](home)
        return outcome

    monkeypatch.setattr(jobs, "_registry", dict(jobs._registry))
    jobs.register(Job("sums", "Sums", "when asked", do))
    yield acts


def running(world: World, **fields: Any) -> JobRun:
    values = {"name": "sums", "slot": "one", "workspace": world.acme} | fields
    return JobRun.objects.create(**values)


def address(run: JobRun) -> str:
    return f"/jobs/sums/runs/{run.pk}/"


def test_a_run_says_how_far_it_is_while_it_works(world: World, act: list[Any]) -> None:
    seen: list[str] = []

    def half(_home: str) -> Outcome:
        progress.report(3, 6, "sums")
        run = JobRun.objects.get(name="sums")
        seen.append(_text(world.page("operator").get(address(run))))
        progress.report(6, 6, "sums")
        return Outcome({"added": 6})

    act.append(half)
    run = jobs.run_now("sums", by=world.actor("operator"))
    assert "3 of 6 sums" in seen[0]
    assert '<progress class="work-progress" max="6" value="3"' in seen[0]
    assert 'hx-trigger="every 1s"' in seen[0]
    page = _text(world.page("operator").get(address(run)))
    assert "6 of 6 sums" in page
    assert "6 added." in page
    assert (
        "hx-trigger"
        not in page.partition('class="panel work"')[2].partition("</sec")[0]
    )


def test_outside_a_run_reporting_does_nothing() -> None:
    progress.report(1, 2, "sums")
    progress.add_item("sum", "s_1")
    assert progress.params() == {}


def test_what_was_not_done_is_named_with_why_and_a_link(
    world: World, act: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    def partly(_home: str) -> Outcome:
        progress.report(65, 67, "sums")
        progress.add_item("sum", "s_1", "<b>not even</b>")
        return Outcome(fault="1 sum did not add up")

    def lines(_home: str, items: list[dict[str, str]]) -> list[ResultLine]:
        return [ResultLine(item["id"], item["why"], "/health/") for item in items]

    jobs.register(
        Job("sums", "Sums", "when asked", lambda home: partly(home), lines=lines)
    )
    run = jobs.run_now("sums", by=world.actor("operator"))
    raw = world.page("operator").get(address(run)).content.decode()
    assert "65 of 67 sums" in raw
    assert '<a href="/health/"><bdi>s_1</bdi></a>' in raw
    assert "&lt;b&gt;not even" in raw
    assert "<b>not even" not in raw
    assert "1 sum did not add up" in raw


def test_the_rest_is_said_only_once_it_can_be_known(
    world: World, act: list[Any]
) -> None:
    run = running(world, done=1, total=100, unit="sums")
    by = world.actor("operator")
    JobRun.objects.update(started_at=timezone.now() - timedelta(seconds=50))
    assert work.of_id(by, "sums", run.pk).rest_seconds is None
    JobRun.objects.update(done=25)
    assert work.of_id(by, "sums", run.pk).rest_seconds == pytest.approx(150, abs=5)
    assert "about 2 m left" in _text(world.page("operator").get(address(run)))
    JobRun.objects.update(started_at=timezone.now())
    assert work.of_id(by, "sums", run.pk).rest_seconds is None
    JobRun.objects.update(total=None)
    page = _text(world.page("operator").get(address(run)))
    assert "It is not known yet how much there is to do." in page


def test_a_run_whose_process_died_is_stopped_and_starts_again(
    world: World, act: list[Any]
) -> None:
    asked: list[dict[str, str]] = []

    def note(_home: str) -> Outcome:
        asked.append(progress.params())
        return Outcome({"added": 1})

    act.append(note)
    run = running(world, done=2, total=9, unit="sums", params={"crew_id": "c1"})
    client = world.page("operator")
    assert "Start again" not in _text(client.get(address(run)))
    old = timezone.now() - timedelta(minutes=5)
    JobRun.objects.update(heartbeat_at=old)
    page = _text(client.get(address(run)))
    assert "Stopped" in page
    assert "Its process gives no sign of life" in page
    assert "2 of 9 sums" in page
    answer = client.post(f"{address(run)}repeat/")
    new = JobRun.objects.latest("pk")
    assert answer.headers["Location"] == address(new)
    assert (new.state, asked[0]["crew_id"]) == (RunState.DONE, "c1")
    assert asked[0]["by_id"] == world.actor("operator").id


def test_a_run_that_is_done_is_not_started_again(world: World, act: list[Any]) -> None:
    run = running(world, state=RunState.DONE, ended_at=timezone.now())
    assert "Start again" not in _text(world.page("operator").get(address(run)))
    with pytest.raises(errors.Conflict):
        work.repeat(world.actor("operator"), "sums", run.pk)


def test_a_requester_is_the_person_and_without_one_the_system(
    world: World, act: list[Any]
) -> None:
    actors = []

    def note(home: str) -> Outcome:
        actors.append(progress.requester(home, "sums"))
        return Outcome()

    act.append(note)
    by = world.actor("operator")
    jobs.run_now("sums", by=by)
    run = jobs.claim(jobs.get("sums"), world.acme.id, "tonight")
    assert run is not None
    jobs.execute(jobs.get("sums"), run)
    assert [(actor.id, actor.type) for actor in actors] == [
        (by.id, "user"), ("sums", "system"),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("person", "status"),
    [("owner", 200), ("viewer", 403), ("compliance", 403), ("stranger", 404),
     ("nobody", 302)],
)  # fmt: skip
def test_who_sees_a_run(world: World, act: list[Any], person: str, status: int) -> None:
    run = running(world)
    client = world.page(person)
    assert client.get(address(run)).status_code == status
    if status != 200:
        assert client.post(f"{address(run)}repeat/").status_code == status
    assert client.get(f"/jobs/sums/runs/{2**70}/").status_code != 200


def test_htmx_gets_the_panel_alone(world: World, act: list[Any]) -> None:
    run = running(world)
    name = f"work-jobs-sums-runs-{run.pk}"
    headers = {"HX-Request": "true", "HX-Target": name}
    part = _text(world.page("operator").get(address(run), headers=headers))
    assert "<html" not in part
    assert f'id="{name}"' in part
    assert "Running" in _text(world.page("operator").get("/jobs/sums/"))


def test_a_run_that_waits_is_not_queued_twice(world: World, act: list[Any]) -> None:
    old = timezone.now() - timedelta(minutes=5)
    run = running(world, state=RunState.WAITING, started_at=old, heartbeat_at=old)
    page = _text(world.page("operator").get(address(run)))
    assert "Not started" in page
    assert "Start again" not in page
    with pytest.raises(errors.Conflict, match="still waits"):
        work.repeat(world.actor("operator"), "sums", run.pk)
    assert JobRun.objects.count() == 1


def test_a_dead_run_does_not_stay_above_those_after_it(
    world: World, act: list[Any]
) -> None:
    running(world, heartbeat_at=timezone.now() - timedelta(minutes=5))
    client = world.page("operator")
    assert 'class="panel work"' in _text(client.get("/jobs/sums/"))
    running(world, slot="two", state=RunState.DONE, ended_at=timezone.now())
    assert 'class="panel work"' not in _text(client.get("/jobs/sums/"))
