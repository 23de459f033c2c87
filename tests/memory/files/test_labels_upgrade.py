"""An installation that decided about texts before there were labels gets them."""

from __future__ import annotations

from importlib import import_module
from types import SimpleNamespace
from typing import Any

import pytest
from django.apps import apps
from django.core.management import call_command
from django.db import connection

from memory import distribution
from memory.files import erasure
from memory.models import Clearance, HeldFile, ReviewLabel
from memory.review.decide import Decision, decide
from tests.memory.files import kit, learning
from tests.memory.files.test_quarantine import hold_text
from tests.world import World

migration = import_module("memory.migrations.0013_review_labels")


def rows() -> list[dict[str, Any]]:
    fields = [field.attname for field in ReviewLabel._meta.concrete_fields]
    fields.remove("id")
    return list(ReviewLabel.objects.order_by("held_id").values(*fields))


def label_again() -> None:
    """Write the labels as an installation does that had none."""
    ReviewLabel.objects.all().delete()
    with connection.cursor() as cursor:
        editor = SimpleNamespace(connection=connection, execute=cursor.execute)
        migration.label(apps, editor)


def test_texts_that_were_decided_get_the_labels_of_their_decisions(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(migration, "ROWS_AT_ONCE", 2)
    learning.decide_texts(world, 3)
    learning.decided(world, Decision.DISCARD, number=8)
    hold_text(world, label=learning.label(9))
    suppressed = learning.decided(world, Decision.DISCARD, number=10)
    HeldFile.objects.filter(pk=suppressed.pk).update(family="suppressed")
    ReviewLabel.objects.filter(held=suppressed).delete()
    before = rows()
    label_again()
    assert rows() == before
    assert len(before) == 4


def test_an_erased_text_gets_no_label_for_the_block_that_stays(world: World) -> None:
    case = learning.decided(world, Decision.BLOCK_SOURCE)
    erasure.discard_held(world.acme.id, [case.id])
    case.refresh_from_db()
    assert (case.state, case.bytes) == ("discarded", 0)
    label_again()
    assert rows() == []


@pytest.mark.parametrize(
    ("source", "writer"), [("tool", "own"), ("operator_curated", "operator")]
)
@pytest.mark.parametrize("outcome", [{}, {"context": {"writer": "somebody else"}},
                                     {"context": {"writer": ["own"]}}])  # fmt: skip
def test_a_text_judged_without_a_writer_is_whose_its_source_says(
    world: World, source: str, writer: str, outcome: dict[str, Any]
) -> None:
    case = hold_text(world, kit.POISON)
    HeldFile.objects.filter(pk=case.pk).update(source=source, outcome=outcome)
    case.refresh_from_db()
    by = world.actor("operator")
    decide(case, Decision.DISCARD, version=1, reason="An attack", by=by)
    before = rows()
    assert [row["writer"] for row in before] == [writer]
    label_again()
    assert rows() == before


def test_an_earlier_version_takes_nothing_narrow_for_a_text_that_passes(
    world: World,
) -> None:
    case = learning.decided(world, Decision.RELEASE_AND_ALLOW)
    fields = {"workspace": world.acme, "held": case, "cleared_by": "x"}
    Clearance.objects.create(kind="passage", fingerprint="f", **fields)
    Clearance.objects.create(fingerprint="g", allows_all=False, **fields)
    migration.forget_narrow(apps, None)
    assert [row.fingerprint for row in Clearance.objects.all()] == [case.fingerprint]


@pytest.mark.postgres
@pytest.mark.slow
def test_the_new_tables_are_keyed_by_workspace_where_others_are(
    shared_world: World,
) -> None:
    learning.decided(shared_world, Decision.DISCARD)
    before = rows()
    call_command("migrate", "memory", "0012", verbosity=0)
    call_command("migrate", "memory", verbosity=0)
    assert rows() == before
    with connection.cursor() as cursor:
        assert distribution.faults(cursor) == []
        cursor.execute("SELECT to_regclass(%s)", [migration.UNIQUE])
        assert cursor.fetchone() == (None,)
