"""The record of processing: every place of the data map, from the settings in force."""

from __future__ import annotations

import csv
import io
from typing import Any

import pytest
from django.test import override_settings

from gdpr.data_map import registry
from gdpr.data_map.base import Holder
from gdpr.processing import controller, place_defaults, safeguards
from gdpr.processing import record as processing
from memory.models import Webhook
from memory.rules import errors
from tests.gdpr import requests as make
from tests.world import World


def record(world: World, person: str = "compliance") -> processing.Record:
    return processing.of(world.actor(person))


def activity(world: World, place: str) -> processing.Activity:
    return {row.place: row for row in record(world).activities}[place]


def test_every_place_of_the_data_map_is_an_activity(world: World) -> None:
    places = [row.place for row in record(world).activities]
    assert places == [holder.name for holder in registry.ALL]


def test_a_place_that_is_new_appears_by_itself(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Moon(Holder):
        name, title = "moon", "Moon"

        def find(self, _: Any) -> Any:
            return iter(())

    monkeypatch.setattr(registry, "ALL", (*registry.ALL, Moon()))
    row = activity(world, "moon")
    assert (row.state, row.title) == ("proposed", "Moon")
    assert row.purpose
    processing.confirm(world.actor("owner"), "moon", "tides", "contract")
    assert activity(world, "moon").purpose == "tides"


def test_every_place_has_a_proposal_of_its_own() -> None:
    assert set(place_defaults.PROPOSALS) == {holder.name for holder in registry.ALL}


def test_a_confirmed_purpose_says_who_and_belongs_to_its_workspace(
    world: World,
) -> None:
    processing.confirm(world.actor("compliance"), "journal", " Support ", "contract")
    row = activity(world, "journal")
    assert (row.state, row.purpose, row.confirmed_by) == (
        "confirmed", "Support", "compliance@acme.example",
    )  # fmt: skip
    assert row.confirmed_at is not None
    assert record(world).proposed == len(registry.ALL) - 1
    assert record(world, "stranger").proposed == len(registry.ALL)


def test_who_may_confirm(world: World) -> None:
    for person in ("operator", "viewer"):
        with pytest.raises(errors.Forbidden):
            processing.confirm(world.actor(person), "journal", "a", "b")
    with pytest.raises(errors.TooLarge):
        processing.confirm(world.actor("owner"), "journal", "a" * 2_001, "b")


# ── What comes from settings ─────────────────────────────────────────────────
def test_days_are_those_of_the_settings(world: World) -> None:
    make.settings(world, export_days=9, backup_days=33)
    world.set(recall_log_days=7, versions_retention_days=0)
    assert activity(world, "exports").retention == "9 days after it was made."
    assert activity(world, "recall_log").retention.startswith("7 days")
    assert "Off now" in activity(world, "recall_log").retention
    assert activity(world, "files").retention == (
        "No end is set, and every version is kept."
    )
    assert "33 days" in " ".join(record(world).safeguards)


def test_recipients_are_hosts_that_are_set_up(world: World) -> None:
    assert record(world).recipients == []
    secret = "https://hooks.example/t/s3cret"
    Webhook.objects.create(workspace=world.acme, url=secret, created_by="x")
    world.set(remote_provider_url="https://brain.example/base")
    names = {row.name: row for row in record(world).recipients}
    assert set(names) == {"hooks.example", "brain.example"}
    assert activity(world, "deliveries").recipients == ["hooks.example"]
    assert "s3cret" not in str(processing.as_json(record(world)))
    assert record(world, "stranger").recipients == []
    Webhook.objects.update(active=False)
    assert {row.name for row in record(world).recipients} == {"brain.example"}


@override_settings(EMBEDDER="ollama", OLLAMA_HOST="http://gpu.example:11434")
def test_a_model_service_of_the_installation_is_a_recipient(world: World) -> None:
    [row] = record(world).recipients
    assert (row.kind, row.name) == ("embedder", "gpu.example")


@pytest.mark.parametrize(
    ("name", "on", "off"),
    [
        ("two_person", "A second person approves", "One person may carry out"),
        ("require_identity", "identity is verified before", "before the person’s"),
    ],
)
def test_measures_say_what_is_set(world: World, name: str, on: str, off: str) -> None:
    for value, words in ((True, on), (False, off)):
        make.settings(world, **{name: value})
        assert words in " ".join(safeguards.measures(world.acme.id))


def test_who_answers_is_a_setting_of_the_workspace(world: World) -> None:
    values = {"controller": "Acme AG", "controller_contact": "Basel", "dpo_contact": ""}
    controller.change(values, by=world.actor("owner"))
    assert controller.of(world.acme.id).is_complete
    assert not controller.of(world.other.id).is_complete
    [entry] = make.entries(world, "workspace.settings_changed")
    assert entry.payload["changed"]["controller"] == "Acme AG"
    with pytest.raises(errors.Forbidden):
        controller.change(values, by=world.actor("compliance"))
    controller.change(dict.fromkeys(values, ""), by=world.actor("owner"))
    assert not controller.of(world.acme.id).controller


def test_the_file_holds_no_formula(world: World) -> None:
    processing.confirm(world.actor("owner"), "journal", "=1+1", "@x")
    text = "".join(processing.csv(record(world)))
    rows = {row["place"]: row for row in csv.DictReader(io.StringIO(text))}
    assert (rows["journal"]["purpose"], rows["journal"]["legal_basis"]) == (
        "'=1+1", "'@x",
    )  # fmt: skip
    assert len(rows) == len(registry.ALL)
