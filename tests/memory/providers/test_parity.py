"""The parity suite on every built-in provider, and on the example."""

from __future__ import annotations

import json
from io import StringIO
from pathlib import Path

import pytest
from django.conf import settings
from django.core.management import call_command
from django.db.models import signals

from memory.accounts import workspaces
from memory.models import Crew, ProviderRun, Workspace
from memory.providers import parity_harness, parity_runs, registry
from memory.providers.base import Provider
from memory.providers.parity import suite as parity
from memory.rules import errors
from tests.memory.providers.example_provider import InMemory, Store
from tests.world import World

pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.usefixtures("patient_health"),
]


class ExampleHarness(parity_harness.WorkspaceHarness):
    name = "example"

    def reset(self) -> None:
        super().reset()
        self.store = Store()

    def provider(self, role: str = "agent") -> Provider:
        return InMemory(self.binding(role), self.store)

    def unbound(self) -> Provider:
        return InMemory(None, Store())


def test_the_workspace_is_removed_while_jobs_write_for_it() -> None:
    """Scheduled jobs do not know this workspace: they add rows during its removal."""
    rows: list[str] = []

    def add_row(instance: Workspace, **_: object) -> None:
        if not rows:
            rows.append(Crew.objects.create(workspace=instance, slug="late").pk)

    workspace, _ = workspaces.ensure_workspace("parity-late")
    signals.pre_delete.connect(add_row, sender=Workspace)
    try:
        parity_harness.remove_workspace(workspace)
    finally:
        signals.pre_delete.disconnect(add_row, sender=Workspace)
    assert rows
    assert not Workspace.objects.filter(slug="parity-late").exists()


def _failures(report: parity.Report) -> list[str]:
    return [
        f"{outcome.id} {outcome.note}"
        for outcome in report.outcomes
        if outcome.state == parity.FAILED
    ]


@pytest.mark.parametrize("name", parity_runs.TESTED_PROVIDERS)
def test_every_provider_holds_the_contract(shared_world: World, name: str) -> None:
    with parity_harness.open_harness(name) as harness:
        report = parity.run(harness)
    assert _failures(report) == []
    assert report.count(parity.PASSED) >= 60
    notes = [o.note for o in report.outcomes if o.state == parity.NOT_APPLICABLE]
    assert all(notes)


def test_the_example_in_the_readme_holds_the_contract(
    shared_world: World, tmp_path: Path
) -> None:
    report = parity.run(ExampleHarness(shared_world.acme, tmp_path))
    assert _failures(report) == []
    assert report.count(parity.PASSED) >= 48


def test_the_list_of_checks_is_complete() -> None:
    ids = {check.id for check in parity.checks()}
    assert {f"P{n:02}" for n in range(1, 49)} <= ids
    assert len(ids) == len(parity.checks())


def test_the_workspace_of_the_suite_is_removed(shared_world: World) -> None:
    before = set(Workspace.objects.values_list("id", flat=True))
    with parity_harness.open_harness("tierfiles") as harness:
        harness.reset()
        harness.poison("pins.md", "text")
    assert set(Workspace.objects.values_list("id", flat=True)) == before
    assert not list((settings.DATA_DIR / "files").glob("parity-*"))


def test_a_broken_provider_fails_the_suite(shared_world: World, tmp_path: Path) -> None:
    class ForgetfulHarness(ExampleHarness):
        def provider(self, role: str = "agent") -> Provider:
            return InMemory(self.binding(role), Store())

    report = parity.run(ForgetfulHarness(shared_world.acme, tmp_path))
    assert not report.is_green


def test_a_run_is_kept_and_in_the_journal(shared_world: World) -> None:
    acme = shared_world.acme
    run = parity_runs.run_now(acme, "native", by=shared_world.actor("owner"))
    assert (run.failed, run.passed > 55) == (0, True)
    assert parity_runs.last_run(acme.id, "native") == run
    assert parity_runs.last_run(acme.id, "remote") is None
    with pytest.raises(errors.Forbidden):
        parity_runs.run_now(acme, "native", by=shared_world.actor("viewer"))
    with pytest.raises(errors.NotFound):
        parity_runs.run_now(acme, "attic", by=shared_world.actor("owner"))
    assert ProviderRun.objects.count() == 1


def test_every_provider_has_its_status(shared_world: World) -> None:
    states = {
        state.entry.name: state
        for state in parity_runs.provider_states(shared_world.acme.id)
    }
    assert set(states) == {entry.name for entry in registry.entries()}
    assert states["tierfiles"].pulse.ok and states["tierfiles"].is_chosen
    pulse = states["tierfiles"].pulse
    assert pulse.last_good_at == pulse.checked_at
    assert not states["remote"].pulse.ok
    assert "address" in states["remote"].pulse.message


def test_the_command_prints_json(shared_world: World) -> None:
    out = StringIO()
    call_command("provider_parity", "native", "--json", stdout=out)
    document = json.loads(out.getvalue())
    assert document["ok"] and document["failed"] == 0
