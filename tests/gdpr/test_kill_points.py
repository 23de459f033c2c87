"""A run killed at any point ends the same way, and signs only at the end."""

from __future__ import annotations

import random
import signal
import time
from datetime import timedelta

import pytest
from django.conf import settings
from django.utils import timezone

from gdpr import erasure
from gdpr.cases import sealed_names
from gdpr.erasure import failpoints, tombstones
from gdpr.models import Case, CaseState, Certificate, GdprAction, Subject
from memory.journal import verify
from memory.models import JournalEntry
from tests import processes
from tests.gdpr import erasing
from tests.gdpr.erasing import MAIL
from tests.waiting import LIMIT_SECONDS
from tests.world import World

pytestmark = pytest.mark.slow


def _killed_at(case: Case, failpoint: str, times: int = 1) -> bool:
    """Run a case in another process to a failpoint; return whether it died there."""
    child = processes.start(
        "tests.gdpr.crasher",
        str(settings.DATA_DIR),
        case.workspace_id,
        case.pk,
        failpoint,
        str(times),
    )
    child.communicate(timeout=LIMIT_SECONDS)
    return child.returncode == -signal.SIGKILL


def _expire_lease(case: Case) -> None:
    """Expire the dead runner's lease."""
    past = timezone.now() - timedelta(seconds=1)
    Case.objects.filter(pk=case.pk).update(lease_until=past)


def _resume(case: Case) -> Case:
    _expire_lease(case)
    erasure.run(case.workspace_id, case.pk)
    return Case.objects.get(pk=case.pk)


def _is_over(world: World, case: Case, rows: dict[str, JournalEntry]) -> None:
    """Assert the result that every run must have."""
    assert case.state == CaseState.COMPLETE, erasing.failure_text(case)
    own_entry = JournalEntry.objects.get(pk=rows["mine"].pk)
    assert (own_entry.summary, own_entry.erased_at is None) == ("", False)
    assert Certificate.objects.filter(case=case).count() == 1
    assert GdprAction.objects.filter(case_ref=case.pk).count() == 1
    assert JournalEntry.objects.filter(entry_type="gdpr.erased").count() == 1
    records = tombstones.read(world.acme.id)
    assert {(record.case_id, record.run) for record in records} == {(case.pk, 1)}
    assert Subject.objects.get(pk=case.subject_ref).erased_at is not None
    assert sealed_names.get(case) is None
    assert verify.verify(world.acme.id, by=world.system()).ok


@pytest.mark.parametrize("moment", failpoints.NAMES)
def test_killed_at_any_moment_the_end_is_the_same(
    shared_world: World, moment: str
) -> None:
    world = shared_world
    rows = erasing.lived_in(world)
    case = erasing.started(world, erasing.opened(world, erasing.maria(world)))
    assert _killed_at(case, moment), "the moment never came"
    before = Certificate.objects.filter(case=case).exists()
    assert before is (
        failpoints.NAMES.index(moment) >= failpoints.NAMES.index("certified")
    )
    if moment == "closed":
        case.refresh_from_db()
        assert case.state == CaseState.COMPLETE
    _is_over(world, _resume(case), rows)


@pytest.mark.sqlite
@pytest.mark.parametrize("moment", failpoints.DEEPER)
def test_killed_while_it_cleans_more_the_end_is_the_same(
    shared_world: World, moment: str
) -> None:
    world = shared_world
    rows = erasing.lived_in(world)
    case = erasing.started(world, erasing.opened(world, erasing.maria(world)))
    erasing.leave_bytes()
    assert _killed_at(case, moment), "the moment never came"
    assert not Certificate.objects.filter(case=case).exists()
    case = _resume(case)
    _is_over(world, case, rows)
    assert not case.steps.get(name="residue").counts["rewriting"]


def test_killed_again_and_again(shared_world: World) -> None:
    world = shared_world
    rows = erasing.lived_in(world)
    case = erasing.started(world, erasing.opened(world, erasing.maria(world)))
    for moment in ("announced", "batch_erased", "names_sealed", "cleaned"):
        assert _killed_at(case, moment), moment
        _expire_lease(case)
    _is_over(world, _resume(case), rows)


def test_killed_at_a_random_instant(shared_world: World) -> None:
    world = shared_world
    rows = erasing.lived_in(world)
    case = erasing.started(world, erasing.opened(world, erasing.maria(world)))
    for _ in range(4):
        child = processes.start(
            "tests.gdpr.crasher",
            str(settings.DATA_DIR),
            case.workspace_id,
            case.pk,
            "none",
            "1",
        )
        time.sleep(random.uniform(0.0, 1.0))
        child.kill()
        child.communicate()
        _expire_lease(case)
    _is_over(world, _resume(case), rows)


def test_lost_sealed_names_never_yield_a_complete_certificate(
    shared_world: World,
) -> None:
    world = shared_world
    erasing.lived_in(world)
    case = erasing.started(world, erasing.opened(world, erasing.maria(world)))
    assert _killed_at(case, "verifying")
    sealed_names.drop(case)
    closed_case = _resume(case)
    assert closed_case.state == CaseState.PARTIAL
    assert Certificate.objects.get(case=case).result == "partial"


def test_nothing_names_the_person_between_wiping_and_the_end(
    shared_world: World,
) -> None:
    world = shared_world
    erasing.lived_in(world)
    case = erasing.started(world, erasing.opened(world, erasing.maria(world)))
    assert _killed_at(case, "cleaned")
    for path in settings.DATA_DIR.rglob("*"):
        if path.is_file():
            assert MAIL.encode() not in processes.bytes_of(path), path.name
    assert _resume(case).state == CaseState.COMPLETE
