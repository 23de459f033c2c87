"""Export and erasure in one call, and from the command line."""

from __future__ import annotations

import io
import json
import re

import pytest
from django.core.management import call_command
from django.core.management.base import CommandError

from gdpr import erasure
from gdpr.certificates import issue as certificates
from gdpr.erasure import one_call
from gdpr.models import Case, CaseState, GdprAction, Subject
from memory.rules import errors
from tests.gdpr import erasing
from tests.gdpr.erasing import MAIL, WORD
from tests.gdpr.requests import UNIDENTIFIED
from tests.world import World


def test_one_call_opens_plans_and_starts(world: World) -> None:
    erasing.lived_in(world)
    erasing.maria(world)
    started = one_call.erase(
        MAIL, "She asked", by=world.actor("compliance"), **UNIDENTIFIED
    )
    assert started.case.state == CaseState.RUNNING
    assert started.rows["journal"] >= 1
    assert GdprAction.objects.get(pk=started.action_id).case_ref == started.case.pk


def test_one_call_returns_everything(world: World) -> None:
    erasing.lived_in(world)
    erasing.maria(world)
    document = one_call.export_all(MAIL, by=world.actor("compliance"))
    assert WORD in str(document)


@pytest.mark.slow
def test_the_run_behind_one_call_ends_with_nothing_left(shared_world: World) -> None:
    world = shared_world
    erasing.lived_in(world)
    erasing.maria(world)
    started = one_call.erase(
        MAIL, "She asked", by=world.actor("compliance"), **UNIDENTIFIED
    )
    assert erasure.sweep()["run"] == 1
    case = Case.objects.get(pk=started.case.pk)
    assert case.state == CaseState.COMPLETE, erasing.failure_text(case)
    action = GdprAction.objects.get(pk=started.action_id)
    assert action.status == "completed"


@pytest.mark.slow
def test_the_command_plans_first_and_erases_with_the_phrase(
    shared_world: World,
) -> None:
    world = shared_world
    erasing.lived_in(world)
    erasing.maria(world)
    out = io.StringIO()
    options = {
        "workspace": "acme",
        "reason": "She asked",
        "stdout": out,
        **UNIDENTIFIED,
    }
    call_command("gdpr_erase", MAIL, **options)
    match = re.search(r'--case (\S+) --phrase "([^"]+)"', out.getvalue())
    assert match is not None, out.getvalue()
    wrong = {**options, "case": match[1], "phrase": "erase her"}
    with pytest.raises(CommandError):
        call_command("gdpr_erase", MAIL, **wrong)
    right = {**options, "case": match[1], "phrase": match[2]}
    call_command("gdpr_erase", MAIL, **right)
    assert Case.objects.get(pk=match[1]).state == CaseState.COMPLETE


@pytest.mark.slow
def test_the_command_erases_at_once_and_answers_json(shared_world: World) -> None:
    world = shared_world
    erasing.lived_in(world)
    erasing.maria(world)
    out = io.StringIO()
    # Two workspaces, one of which knows her.
    call_command(
        "gdpr_erase",
        MAIL,
        reason="She asked",
        apply=True,
        json=True,
        stdout=out,
        **UNIDENTIFIED,
    )
    answer = json.loads(out.getvalue())
    assert answer["state"] == CaseState.COMPLETE
    assert certificates.verify(answer["certificate"]).valid
    with pytest.raises(CommandError, match="workspace"):
        call_command("gdpr_erase", "nobody@example.org", reason="She asked")


def test_a_person_whom_only_a_writer_named_can_be_erased(world: World) -> None:
    world.entry("She likes tea", subjects=("jo@example.org",))
    document = one_call.export_all("jo@example.org", by=world.actor("compliance"))
    assert "likes tea" in str(document["places"])
    started = one_call.erase(
        "jo@example.org", "Asked", by=world.actor("compliance"), **UNIDENTIFIED
    )
    assert started.rows["journal"] == 1


def test_whom_nobody_named_has_nothing_to_read_and_nothing_to_erase(
    world: World,
) -> None:
    by = world.actor("compliance")
    for text in ("zoe@example.org", "sub_0000000000000000"):
        with pytest.raises(errors.NotFound):
            one_call.export_all(text, by=by)
    assert not Subject.objects.exists()
    assert one_call.erase("zoe@example.org", "Asked", by=by, **UNIDENTIFIED).rows == {}
    with pytest.raises(errors.NotFound):
        one_call.erase("sub_0000000000000000", "Asked", by=by, **UNIDENTIFIED)
