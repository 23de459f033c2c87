"""The demo workspace has what its data files describe."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.utils import timezone

from crewship_memory.demo import load, story
from episodic.index import engine
from episodic.models import LoggedHit, LoggedQuestion
from episodic.recall import unanswered
from gdpr.cases import dry_run, privacy_settings
from gdpr.cases import workflow as cases_workflow
from gdpr.letters import placeholders
from gdpr.models import Case, Hold, Letter
from memory.models import HeldFile, MemoryFile, Record


def _assert_that_an_admin_can_walk(cases: dict[str, Case]) -> None:
    """The admin approves one plan, and carries out another that is approved."""
    approvable, executable = cases["4471"], cases["4499"]
    admin, officer = f"admin@{load.HOST}", f"compliance@{load.HOST}"
    rules = privacy_settings.of(approvable.workspace_id)
    assert (rules.two_person, rules.require_identity) == (True, True)
    assert (approvable.opened_by, executable.opened_by) == (officer, admin)
    assert (executable.approved_by, cases["4495"].approved_by) == (officer, admin)
    for case in (approvable, executable):
        plan = cases_workflow.latest_plan(case)
        assert plan is not None
        assert cases_workflow.undecided_count(plan) == 0
        dry_run.require_current(case, plan.plan_hash)


@pytest.mark.django_db(transaction=True)
def test_every_line_of_the_data_files_is_in_the_workspace(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(unanswered.NEAR_COSINE, engine.embedder().model, 0.4)
    workspace = load.load().workspace
    today = timezone.now().date()

    held_rows = story.document("held.toml", today)["held"]
    held = HeldFile.objects.filter(workspace=workspace)
    assert held.count() == len(held_rows)
    decided = held.exclude(decision="").values_list("decision", flat=True)
    assert sorted(decided) == sorted(
        row["decision"] for row in held_rows if "decision" in row
    )
    yesterday = f"daily/{today - timedelta(days=1)}.md"
    paths = MemoryFile.objects.filter(workspace=workspace).values_list("path")
    assert sum(path.endswith(yesterday) for (path,) in paths) == 3

    rows = story.document("records.toml", today)["record"]
    saved = Record.objects.filter(workspace=workspace)
    assert {record.external_id: record.content for record in saved} == {
        row["name"]: row["text"] for row in rows
    }

    rows = story.document("people.toml", today)["person"]
    people = {row["ticket"]: row for row in rows}
    cases = {case.ticket: case for case in Case.objects.filter(workspace=workspace)}
    assert cases.keys() == people.keys()
    for ticket, row in people.items():
        days_left = (cases[ticket].due_at.date() - today).days
        # The last days of a long month follow no day of a shorter one.
        assert row["left"] - 3 <= days_left <= row["left"]
    assert {ticket: case.state for ticket, case in cases.items()} == {
        "4502": "received",
        "4488": "identified",
        "4471": "planned",
        "4479": "on_hold",
        "4510": "received",
        "4495": "running",
        "4499": "approved",
    }
    _assert_that_an_admin_can_walk(cases)
    [letter] = Letter.objects.filter(workspace=workspace)
    assert (letter.case, letter.sent_at) == (cases["4488"], None)
    assert placeholders.left_open(letter.opened()["body"]) == []
    assert Hold.objects.get(workspace=workspace).subject == cases["4479"].subject

    rows = story.document("questions.toml", today)["question"]
    questions = LoggedQuestion.objects.filter(workspace=workspace)
    assert questions.count() == sum(len(row["at"]) for row in rows)
    assert questions.filter(unanswered=True).exists()
    assert LoggedHit.objects.filter(workspace=workspace).exists()
    assert load.load().entries == 0
    assert questions.count() == sum(len(row["at"]) for row in rows)
