"""What is done on a German page is stored in English, and shown in German."""

from __future__ import annotations

from typing import Any

import pytest

from memory.jobs import registry as jobs
from memory.jobs.registry import Job, Outcome
from memory.models import (
    JobRun,
    JournalEntry,
    ProviderPulse,
    ProviderRun,
    WebhookDelivery,
    WorkspaceSetting,
)
from memory.rules import errors
from tests.world import World

GERMAN = {"Accept-Language": "de"}


def text(response: Any) -> str:
    return str(response.content.decode())


def fail(_workspace_id: str) -> Outcome:
    raise errors.NotFound


def test_a_job_that_fails_in_a_german_request_leaves_english(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    job = Job("broken", "Broken", "when asked", fail)
    monkeypatch.setitem(jobs._registry, "broken", job)
    page = world.page("operator").post("/jobs/broken/run/", headers=GERMAN, follow=True)
    assert JobRun.objects.get(name="broken").error == errors.NotFound.sentence
    assert "Fehlgeschlagen" in text(page)


def test_a_job_done_in_a_german_request_says_so_in_german(world: World) -> None:
    world.indexed()
    page = world.page("operator").post("/jobs/decay/run/", headers=GERMAN, follow=True)
    assert "Abklingen der Wichtigkeit fertig – Zeilen: 1" in text(page)
    assert JobRun.objects.get(name="decay").counts["rows"] == 1


def test_a_health_check_is_stored_in_english(world: World) -> None:
    page = text(world.page("owner").get("/providers/", headers=GERMAN))
    pulse = ProviderPulse.objects.get(workspace=world.acme, provider="remote")
    reason = "the remote provider has no address or no key"
    assert pulse.message == f"Not available now: {reason}."
    assert "der externe Anbieter hat keine Adresse oder keinen Schlüssel" in page
    assert reason not in page


def test_checks_of_a_provider_are_stored_in_english(world: World) -> None:
    url = "/providers/tierfiles/run/"
    page = world.page("owner").post(url, headers=GERMAN, follow=True)
    run = ProviderRun.objects.get(provider="tierfiles")
    texts = [check["text"] for check in run.details]
    assert "Forget by id removes the item" in texts
    assert "Vergessen nach Kennung entfernt das Element" in text(page)


def test_a_setting_changed_in_german_is_journaled_in_english(world: World) -> None:
    owner = world.page("owner")
    url = "/workspace/settings/fusion/"
    page = owner.post(url, {"value": "rrf", "version": 0}, headers=GERMAN, follow=True)
    assert "Gespeichert: Fusion" in text(page)
    assert WorkspaceSetting.objects.get(name="fusion").value == "rrf"
    entry = JournalEntry.objects.filter(entry_type="workspace.settings_changed").get()
    assert entry.summary == "Workspace settings changed: fusion"


def test_a_number_of_a_setting_is_shown_in_german_and_can_be_sent_back(
    world: World,
) -> None:
    world.set(cost_limit_usd_per_day=1234.5)
    page = text(world.page("owner").get("/workspace/settings/", headers=GERMAN))
    field = page.split('id="cost_limit_usd_per_day-value"')[0].rsplit("<input", 1)[1]
    assert 'value="1234.5"' in field
    assert "<td" in page
    assert "1 US-Dollar" in page


def test_a_fault_of_a_delivery_is_stored_in_english(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    owner = world.page("owner")
    owner.post(
        "/workspace/webhooks/",
        {"url": "https://hooks.example/x", "events": ["memory.health_band_changed"]},
    )
    monkeypatch.setattr("memory.http_out.socket.getaddrinfo", _no_name)
    hook_id = world.acme.webhooks.get().id
    page = owner.post(
        f"/workspace/webhooks/{hook_id}/test/", headers=GERMAN, follow=True
    )
    stored = WebhookDelivery.objects.get().last_error
    assert stored == "The host's name could not be resolved."
    assert "Der Name des Hosts ließ sich nicht auflösen." in text(page)


def _no_name(*_: Any, **__: Any) -> None:
    raise OSError
