"""Every wire keeps its promises here, on a stand that leaves nothing behind."""

from __future__ import annotations

import pytest
from django.utils.html import escape
from pytest_django import Settings

from memory.integrations import selftest_runs
from memory.integrations.selftest import WIRES
from memory.integrations.selftest_server import Stand, Wire, demand
from memory.models import JobRun, JournalEntry, ProviderRun, Workspace
from memory.rules import errors
from tests.world import World

pytestmark = pytest.mark.usefixtures("patient_health")


def test_all_promises_are_kept_and_the_stand_is_gone(
    shared_world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(selftest_runs, "PROVIDERS", ("native",))
    acme, before = shared_world.acme, Workspace.objects.count()
    selftest_runs.begin(by=shared_world.actor("operator"))
    board = selftest_runs.board(by=shared_world.actor("viewer"))
    broken = [
        (one["text"], one["note"])
        for line in board.lines
        for one in (line.run.details if line.run else [])
        if one["state"] == "failed"
    ]
    assert broken == []
    assert board.untried == board.failed == []
    for line in board.lines:
        assert line.run is not None
        assert line.run.passed == len(line.wire.promises) > 2
    tried = {name: run for name, _, run in board.providers if run}
    assert set(tried) == {"native"} and not tried["native"].failed
    assert Workspace.objects.count() == before
    told = JournalEntry.objects.filter(workspace=acme, entry_type="wire.checked")
    assert told.count() == len(WIRES)


def _wire() -> Wire:
    return Wire(
        name="toy", title="Toy", prefix="/toy", client="none", about="", snippets={}
    )


def _falls_over(_: Stand) -> None:
    raise KeyError("no such key")


def test_a_broken_promise_says_why_and_stops_no_other(
    shared_world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    toy = _wire()
    toy.promise("Breaks")(lambda _: demand(False, "it is broken"))
    toy.promise("Falls over")(_falls_over)
    toy.promise("Knows no such address")(lambda at: at.ask("GET", "/compat/mem0/x"))
    toy.promise("Is kept")(lambda at: at.ask("GET", "/livez", who="nobody"))
    monkeypatch.setattr(selftest_runs, "WIRES", (toy,))
    monkeypatch.setattr(selftest_runs, "PROVIDERS", ())
    outcome = selftest_runs.run(shared_world.acme.id)
    assert (outcome.counts, bool(outcome.fault)) == ({"kept": 1, "broken": 3}, True)
    run = ProviderRun.objects.get(provider="wire:toy")
    notes = [one["note"] for one in run.details]
    assert notes[0] == "it is broken"
    assert notes[1].startswith("KeyError")
    assert notes[2] == "GET /compat/mem0/x answered 404, not 200"
    assert notes[3] == ""


def test_two_runs_at_once_are_one(shared_world: World) -> None:
    by = shared_world.actor("operator")
    waiting = JobRun.objects.create(
        name=selftest_runs.JOB,
        slot="by hand 1",
        workspace=shared_world.acme,
        state="running",
    )
    with pytest.raises(errors.Conflict):
        selftest_runs.begin(by=by)
    assert selftest_runs.board(by=by).going_on == waiting


def test_who_may_look_and_who_may_run(world: World) -> None:
    for who in ("owner", "operator", "compliance", "viewer"):
        assert selftest_runs.board(by=world.actor(who)).lines
    with pytest.raises(errors.Forbidden):
        selftest_runs.board(by=world.actor("ada"))
    with pytest.raises(errors.Forbidden):
        selftest_runs.begin(by=world.actor("viewer"))


def test_the_page_tells_promises_and_snippets(world: World) -> None:
    page = world.page("viewer").get("/conformance/").content.decode()
    for wire in WIRES:
        assert wire.title in page
        assert escape(wire.promises[0].says) in page
    assert "http://testserver/compat/mem0" in page
    assert "Bearer ${CREWSHIP_KEY}" in page
    assert "Run now" not in page
    assert "Run now" in world.page("operator").get("/conformance/").content.decode()


def test_a_viewer_starts_no_run(world: World) -> None:
    assert world.page("viewer").post("/conformance/run/").status_code == 403


def test_no_snippet_is_left_with_a_hole() -> None:
    for wire in WIRES:
        for title, text in wire.shown("https://house.example"):
            assert "https://house.example" in text, (wire.name, title)
            assert "{url}" not in text
            assert "cmk_" not in text


def test_an_installation_with_a_name_and_https_is_asked_like_any_other(
    shared_world: World, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.ALLOWED_HOSTS = [".memory.example"]
    settings.SECURE_SSL_REDIRECT = True
    settings.SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https")
    # Made anew, with these settings.
    settings.WSGI_APPLICATION = None
    toy = _wire()
    toy.promise("Answers")(lambda at: at.ask("GET", "/gateway/health", who="nobody"))
    monkeypatch.setattr(selftest_runs, "WIRES", (toy,))
    monkeypatch.setattr(selftest_runs, "PROVIDERS", ())
    assert selftest_runs.run(shared_world.acme.id).counts == {"kept": 1, "broken": 0}
