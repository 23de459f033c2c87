"""Decay and reinforcement by hand, with the numbers of the design document."""

from __future__ import annotations

import io
import json
import uuid
from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any

import pytest
import time_machine
from django.core.management import CommandError, call_command
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone
from hypothesis import given
from hypothesis import strategies as st

from episodic.index import decay, engine
from episodic.index import sweep as index
from episodic.models import Embedding, EmbeddingChange
from memory.journal import append as journal
from memory.rules.entries import Priority, Severity
from tests import factories
from tests.world import World

AT = timezone.now()


def indexed(world: World, days: float, references: int, **fields: Any) -> Embedding:
    """Return an embedding that was first indexed some days before AT."""
    row = world.indexed(fields.pop("summary", uuid.uuid4().hex), **fields)
    Embedding.objects.filter(pk=row.pk).update(
        indexed_at=AT - timedelta(days=days), reference_count=references
    )
    return Embedding.objects.get(pk=row.pk)


def after(row: Embedding, world: World, at: datetime = AT) -> float:
    """Return a row's importance after a run."""
    decay.run(world.acme.id, at=at)
    row.refresh_from_db()
    return row.importance_score


@pytest.mark.parametrize(
    ("severity", "priority", "days", "references", "value"),
    [
        # base × recency × boost, of § 2.6; the first is its own worked check.
        ("warn", "high", 90, 10, 0.85 * 0.5 * 1.43243),
        ("info", "normal", 0, 0, 0.70),
        ("info", "normal", 30, 3, 0.70 * (1 - 30 / 180) * 1.25),
        ("warn", "normal", 182, 26, 0.1359),
        ("error", "normal", 162, 0, 0.095),
        ("info", "pin", 400, 0, 0.08),
        ("info", "permanent", 400, 0, 0.95),
        ("error", "normal", 0, 255, 1.0),
        ("info", "normal", -3, 0, 0.70),
    ],
)
def test_a_night_by_hand(
    world: World,
    severity: str,
    priority: str,
    days: float,
    references: int,
    value: float,
) -> None:
    row = indexed(world, days, references, severity=Severity(severity))
    if priority != "normal":
        operator = world.actor("operator")
        journal.prioritise(row.entry, Priority(priority), "", by=operator)
    assert after(row, world) == pytest.approx(value, abs=0.0005)


def test_it_is_idempotent_for_one_moment_and_never_builds_on_itself(
    world: World,
) -> None:
    row = indexed(world, 90, 10)
    first = after(row, world)
    changes = EmbeddingChange.objects.count()
    report = decay.run(world.acme.id, at=AT)
    assert (report.rows, report.updated, report.unchanged) == (1, 0, 1)
    assert EmbeddingChange.objects.count() == changes
    for day in range(1, 4):
        after(row, world, AT + timedelta(days=day))
    assert after(row, world, AT) == first


def test_what_no_longer_changes_leaves_no_trace_in_the_change_log(
    world: World,
) -> None:
    indexed(world, 200, 0)
    assert decay.run(world.acme.id, at=AT).updated == 1
    assert decay.run(world.acme.id, at=AT + timedelta(days=1)).updated == 0


def test_the_priority_is_the_live_one(world: World) -> None:
    row = indexed(world, 0, 0)
    operator = world.actor("operator")
    journal.prioritise(row.entry, Priority.PERMANENT, "", by=operator)
    assert after(row, world, AT + timedelta(days=500)) == 0.95
    journal.prioritise(row.entry, Priority.NORMAL, "", by=operator)
    assert after(row, world, AT + timedelta(days=500)) == pytest.approx(0.07)


def test_embedding_again_keeps_the_clock(world: World) -> None:
    row = indexed(world, 90, 0)
    aged = after(row, world)
    Embedding.objects.filter(pk=row.pk).update(model="another model")
    assert index.sweep().indexed == 1
    row.refresh_from_db()
    assert row.model == engine.embedder().model
    assert row.embedded_at is not None
    assert row.embedded_at > AT - timedelta(days=1)
    assert row.indexed_at == AT - timedelta(days=90)
    assert after(row, world) == aged == pytest.approx(0.35)


def test_rows_without_a_vector_and_other_workspaces_are_left_alone(
    world: World,
) -> None:
    foreign = indexed(world, 100, 0, by="olga")
    world.entry()
    index.discover(world.acme.id)
    assert decay.run(world.acme.id, at=AT).rows == 0
    foreign.refresh_from_db()
    assert foreign.importance_score == pytest.approx(0.70)


def test_batches_cover_every_row_once(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(decay, "BATCH", 3)
    factories.append_many(world.actor("ada"), [uuid.uuid4().hex for _ in range(9)])
    index.sweep()
    sizes, batch = list[int](), decay._batch

    def recorded(entry_ids: Sequence[str]) -> list[dict[str, Any]]:
        sizes.append(len(entry_ids))
        return batch(entry_ids)

    monkeypatch.setattr(decay, "_batch", recorded)
    report = decay.run(world.acme.id, at=AT + timedelta(days=18))
    assert (report.rows, report.updated, sizes) == (9, 9, [3, 3, 3])
    values = set(Embedding.objects.values_list("importance_score", flat=True))
    assert all(value == pytest.approx(0.63, abs=0.001) for value in values)


def test_the_number_of_queries_does_not_grow_with_the_rows(world: World) -> None:
    def queries() -> int:
        with CaptureQueriesContext(connection) as captured:
            decay.run(world.acme.id, at=AT + timedelta(days=5))
        return sum(
            "SAVEPOINT" not in query["sql"] for query in captured.captured_queries
        )

    world.indexed("one")
    small = queries()
    # On PostgreSQL a batch of so few rows has ten at most.
    factories.append_many(world.actor("ada"), [uuid.uuid4().hex for _ in range(8)])
    index.sweep()
    assert queries() == small == 3


def test_a_batch_that_loses_a_row_is_taken_back_and_told(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    row = indexed(world, 90, 0)
    before = row.importance_score
    read = decay._batch

    def with_a_ghost(entry_ids: list[str]) -> list[dict[str, Any]]:
        rows = read(entry_ids)
        return rows + [{**row, "entry_id": "j_ghost"} for row in rows]

    monkeypatch.setattr(decay, "_batch", with_a_ghost)
    with pytest.raises(decay.RowsLost, match="1 of 2 rows"):
        decay.run(world.acme.id, at=AT)
    row.refresh_from_db()
    assert row.importance_score == before


@given(
    st.floats(0, 1e4), st.floats(0, 1e4), st.integers(0, 10**6), st.integers(0, 10**6)
)
def test_older_is_never_heavier_and_used_never_lighter(
    days: float, extra_days: float, references: int, extra: int
) -> None:
    def value(age: float, uses: int) -> float:
        row = {
            "kind": "peer.escalation",
            "loud": "warn",
            "mark": "normal",
            "indexed_at": AT - timedelta(days=age),
            "reference_count": uses,
        }
        return decay._value(row, AT)

    assert 0 <= value(days + extra_days, references) <= value(days, references) <= 1
    assert value(days, references + extra) >= value(days, references)


# ── What is shown of it ──────────────────────────────────────────────────────
@time_machine.travel(AT, tick=False)
def test_the_api_explains_an_importance(world: World) -> None:
    row = indexed(world, 90, 10, severity=Severity.WARN)
    journal.prioritise(row.entry, Priority.HIGH, "", by=world.actor("operator"))
    detail = world.api("ada").get(f"/journal/{row.pk}").data["embedding"]
    assert detail["importance_parts"] == {
        "base": 0.85,
        "recency": 0.5,
        "boost": 1.4324,
        "floor": 0.0,
        "value": pytest.approx(0.6088, abs=1e-4),
        "days": 90.0,
        "references": 10,
    }
    pending = world.entry()
    data = world.api("ada").get(f"/journal/{pending.id}").data["embedding"]
    assert data["importance_parts"] is None


def test_the_entry_page_loads_the_explanation_and_it_stands_alone(
    world: World,
) -> None:
    row = indexed(world, 90, 10)
    page = world.page("viewer").get(f"/journal/{row.pk}/").content.decode()
    address = f"/recall/entries/{row.pk}/"
    assert f'hx-get="{address}"' in page
    assert f'href="{address}"' in page
    entry_page = world.page("viewer").get(address)
    assert entry_page.status_code == 200
    text = entry_page.content.decode()
    assert "0.70 × 0.500 × 1.432 = 0.50" in text
    part = world.page("viewer").get(address, headers={"HX-Request": "true"})
    assert "<html" not in part.content.decode()
    assert world.page("stranger").get(address).status_code == 404


def test_the_explanation_draws_and_lists_relations(world: World) -> None:
    first = world.indexed("The refund above the limit was denied")
    second = world.indexed("The refund above the limit was denied again")
    part = world.page("viewer").get(
        f"/recall/entries/{first.id}/", headers={"HX-Request": "true"}
    )
    text = part.content.decode()
    assert "<svg" in text
    assert text.count(f"/journal/{second.id}/") == 2
    assert "permanent" in text


# ── By hand ──────────────────────────────────────────────────────────────────
def test_the_command_tells_what_it_did(world: World) -> None:
    indexed(world, 90, 0)
    out = io.StringIO()
    call_command("episodic_decay", "--workspace", "acme", "--json", stdout=out)
    payload = json.loads(out.getvalue())
    assert (payload["rows"], payload["changed"]) == (1, 1)
    with pytest.raises(CommandError, match="no workspace"):
        call_command("episodic_decay", "--workspace", "nowhere")
