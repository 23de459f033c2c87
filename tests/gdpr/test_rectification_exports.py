"""A correction after an export: our own bundle is no trace of the wrong words."""

from __future__ import annotations

import pytest

from gdpr import bundle_files, erasure
from gdpr.certificates import limits
from gdpr.export import storage
from gdpr.models import CaseKind, CaseState, Certificate, Export, ExportState
from tests.gdpr import erasing
from tests.gdpr.erasing import MAIL
from tests.world import World

WRONG, RIGHT = "lives in Timbuktuville", "lives in Oslo"


@pytest.mark.slow
def test_a_correction_after_an_export_is_complete(shared_world: World) -> None:
    world = shared_world
    world.indexed(f"{MAIL} {WRONG}")
    maria = erasing.maria(world)
    access = erasing.started(world, erasing.opened(world, maria, CaseKind.ACCESS))
    erasure.run(access.workspace_id, access.pk)
    bundle = Export.objects.get()
    assert bundle_files.path(bundle).is_file()
    case = erasing.opened(
        world,
        maria,
        CaseKind.RECTIFICATION,
        correction={"wrong": WRONG, "right": RIGHT},
    )
    case = erasing.started(world, case)
    erasure.run(case.workspace_id, case.pk)
    case.refresh_from_db()
    assert case.state == CaseState.COMPLETE, erasing.failure_text(case)
    plan = case.plans.get()
    assert plan.rows["exports"] == [[bundle.id, "delete"]]
    bundle.refresh_from_db()
    assert bundle.state == ExportState.GONE
    assert not bundle_files.path(bundle).exists()
    document = Certificate.objects.get(case=case).document
    assert limits.REQUESTS_STAY in document
    # A new bundle says the right thing.
    second_answer = erasing.started(
        world, erasing.opened(world, maria, CaseKind.ACCESS)
    )
    erasure.run(second_answer.workspace_id, second_answer.pk)
    text = b"".join(storage.pieces(Export.objects.get(state=ExportState.READY)))
    assert text
