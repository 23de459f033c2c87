"""Numbers that an erasure masked in the house's own rows are put right."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from django.db import migrations

from gdpr.matching import mask_repair

if TYPE_CHECKING:
    from django.apps.registry import Apps
    from django.db.backends.base.schema import BaseDatabaseSchemaEditor

COLUMNS: tuple[tuple[str, str, str, Callable[[Any], Any]], ...] = (
    ("episodic", "HealthSnapshot", "details", mask_repair.sections),
    ("memory", "JobRun", "counts", mask_repair.left),
    ("gdpr", "CaseStep", "counts", mask_repair.left),
    ("gdpr", "CaseEvent", "data", mask_repair.left),
    ("gdpr", "GdprAction", "scope", mask_repair.left),
)


def repair(apps: Apps, _editor: BaseDatabaseSchemaEditor) -> None:
    """Look at every row that holds numbers of the house."""
    for app, name, column, mend in COLUMNS:
        rows = apps.get_model(app, name).objects.only("pk", column)
        for row in rows.order_by("pk").iterator():
            value = getattr(row, column)
            if mask_repair.is_damaged(value):
                setattr(row, column, mend(value))
                row.save(update_fields=[column])
    _plans(apps)
    _results(apps)


def _plans(apps: Apps) -> None:
    for plan in apps.get_model("gdpr", "CasePlan").objects.order_by("pk").iterator():
        if mask_repair.is_damaged(plan.body):
            plan.body = mask_repair.plan(plan.body, plan.rows, plan.plan_hash)
            plan.save(update_fields=["body"])


def _results(apps: Apps) -> None:
    certificates = apps.get_model("gdpr", "Certificate").objects
    for case in apps.get_model("gdpr", "Case").objects.order_by("pk").iterator():
        if mask_repair.is_damaged(case.result):
            proof = certificates.filter(case_id=case.pk).order_by("-run").first()
            case.result = mask_repair.result(
                case.result, proof.document if proof else ""
            )
            case.save(update_fields=["result"])


class Migration(migrations.Migration):
    """Changes rows only."""

    dependencies = [
        ("gdpr", "0007_row_verdicts"),
        ("episodic", "0004_health"),
        ("memory", "0014_archive_rests"),
    ]

    operations = [migrations.RunPython(repair, migrations.RunPython.noop)]
