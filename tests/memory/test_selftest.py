"""Every integration keeps its promises here, in a run that leaves nothing behind."""

from __future__ import annotations

import pytest
from django.utils.html import escape
from pytest_django import Settings

from memory.integrations import registry, selftest_runs
from memory.integrations.base import Integration
from memory.integrations.selftest_server import Client, Selftest, expect
from memory.models import JobRun, JournalEntry, ProviderRun, Workspace
from memory.rules import errors
from tests.world import World

pytestmark = pytest.mark.usefixtures("patient_health")


def test_all_promises_are_kept_and_the_workspace_is_gone(
    shared_world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(selftest_runs, "PROVIDERS", ("native",))
    acme, before = shared_world.acme, Workspace.objects.count()
    selftest_runs.begin(by=shared_world.actor("operator"))
    overview = selftest_runs.overview(by=shared_world.actor("viewer"))
    broken = [
        (outcome["text"], outcome["note"])
        for row in overview.integrations
        for outcome in (row.run.details if row.run else [])
        if outcome["state"] == "failed"
    ]
    assert broken == []
    assert overview.never_run == overview.failed == []
    for row in overview.integrations:
        assert row.run is not None
        assert row.run.passed == len(row.integration.selftest.promises) > 2
    provider_runs = {name: run for name, _, run in overview.providers if run}
    assert set(provider_runs) == {"native"} and not provider_runs["native"].failed
    assert Workspace.objects.count() == before
    entries = JournalEntry.objects.filter(workspace=acme, entry_type="wire.checked")
    assert entries.count() == len(registry.registered())


def _toy(selftest: Selftest) -> Integration:
    return Integration(
        name="toy",
        title="Toy",
        address="/toy",
        client="none",
        summary="",
        snippets={},
        selftest=selftest,
    )


def _falls_over(_: Client) -> None:
    raise KeyError("no such key")


def test_a_broken_promise_says_why_and_stops_no_other(
    shared_world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    toy = Selftest()
    toy.promise("Breaks")(lambda _: expect(False, "it is broken"))
    toy.promise("Falls over")(_falls_over)
    toy.promise("Knows no such address")(
        lambda client: client.call("GET", "/compat/mem0/x")
    )
    toy.promise("Is kept")(lambda client: client.call("GET", "/livez", sender="nobody"))
    monkeypatch.setattr(registry, "registered", lambda: (_toy(toy),))
    monkeypatch.setattr(selftest_runs, "PROVIDERS", ())
    outcome = selftest_runs.run(shared_world.acme.id)
    assert (outcome.counts, bool(outcome.fault)) == ({"kept": 1, "broken": 3}, True)
    run = ProviderRun.objects.get(provider="wire:toy")
    notes = [outcome["note"] for outcome in run.details]
    assert notes[0] == "it is broken"
    assert notes[1].startswith("KeyError")
    assert notes[2] == "GET /compat/mem0/x answered 404, not 200"
    assert notes[3] == ""


def test_what_was_not_kept_is_listed_with_why(
    shared_world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    toy = Selftest()
    toy.promise("Breaks")(lambda _: expect(False, "<b>it is broken"))
    toy.promise("Is kept")(lambda client: client.call("GET", "/livez", sender="nobody"))
    monkeypatch.setattr(registry, "registered", lambda: (_toy(toy),))
    monkeypatch.setattr(selftest_runs, "PROVIDERS", ())
    client = shared_world.page("operator")
    at = client.post("/conformance/run/").headers["Location"]
    run = JobRun.objects.get()
    assert (run.done, run.total, run.unit) == (2, 2, "promises")
    page = client.get(at).content.decode()
    assert "Toy: Breaks" in page
    assert "broken: &lt;b&gt;it is broken" in page
    assert "Toy: Is kept" not in page
    page = shared_world.page("viewer").get("/conformance/").content.decode()
    assert "1 of 2 promises kept; the other, and why" in page
    assert "&lt;b&gt;it is broken" in page


def test_two_runs_at_once_are_one(shared_world: World) -> None:
    by = shared_world.actor("operator")
    running_job = JobRun.objects.create(
        name=selftest_runs.JOB,
        slot="by hand 1",
        workspace=shared_world.acme,
        state="running",
    )
    with pytest.raises(errors.Conflict):
        selftest_runs.begin(by=by)
    assert selftest_runs.overview(by=by).current_run == running_job


def test_permissions_of_the_page_and_of_a_run(world: World) -> None:
    for role in ("owner", "operator", "compliance", "viewer"):
        assert selftest_runs.overview(by=world.actor(role)).integrations
    with pytest.raises(errors.Forbidden):
        selftest_runs.overview(by=world.actor("ada"))
    with pytest.raises(errors.Forbidden):
        selftest_runs.begin(by=world.actor("viewer"))


def test_the_page_shows_promises_and_snippets(world: World) -> None:
    page = world.page("viewer").get("/conformance/").content.decode()
    for integration in registry.registered():
        assert integration.title in page
        assert escape(integration.selftest.promises[0].text) in page
    assert "http://testserver/compat/mem0" in page
    assert "Bearer ${CREWSHIP_KEY}" in page
    assert "Run now" not in page
    assert "Run now" in world.page("operator").get("/conformance/").content.decode()


def test_a_viewer_starts_no_run(world: World) -> None:
    assert world.page("viewer").post("/conformance/run/").status_code == 403


def test_every_snippet_is_filled_in() -> None:
    for integration in registry.registered():
        for title, text in integration.snippets_for("https://house.example"):
            assert "https://house.example" in text, (integration.name, title)
            assert "{url}" not in text
            assert "cmk_" not in text


def test_a_run_works_on_an_installation_with_a_host_name_and_https(
    shared_world: World, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.ALLOWED_HOSTS = [".memory.example"]
    settings.SECURE_SSL_REDIRECT = True
    settings.SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https")
    # Made anew, with these settings.
    settings.WSGI_APPLICATION = None
    toy = Selftest()
    toy.promise("Answers")(
        lambda client: client.call("GET", "/gateway/health", sender="nobody")
    )
    monkeypatch.setattr(registry, "registered", lambda: (_toy(toy),))
    monkeypatch.setattr(selftest_runs, "PROVIDERS", ())
    assert selftest_runs.run(shared_world.acme.id).counts == {"kept": 1, "broken": 0}
