"""Compaction: what may leave, what must stay, and that nothing is lost on the way."""

from __future__ import annotations

import io
import json
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.core.management import call_command
from django.utils import timezone
from hypothesis import given
from hypothesis import strategies as st

from episodic.index import sweep as index
from episodic.models import Embedding
from memory import fulltext
from memory.journal import append as journal
from memory.journal import compaction, integrity, queries, verify
from memory.journal.queries import JournalFilter
from memory.models import (
    ArchivedEntry,
    ChainCheckpoint,
    JournalEntry,
    PriorityChange,
    SubjectMention,
)
from memory.rules import errors
from memory.rules.entries import Priority, Severity
from memory.word_index import ranking
from tests import factories
from tests.world import World

NOISE = "container.metrics"
OLD = datetime.combine(timezone.now().date(), datetime.min.time(), UTC) - timedelta(
    days=40
)


def noise(world: World, count: int = 12, **fields: Any) -> list[JournalEntry]:
    """Append old noise of one day, one entry a minute."""
    kind, start = fields.pop("entry_type", NOISE), fields.pop("ts", OLD)
    by = world.actor(fields.pop("by", "ada"))
    return [
        factories.append(
            by,
            entry_type=kind,
            summary=fields.get("summary", f"cpu at {n} percent"),
            payload=fields.get("payload", {"cpu": n}),
            **{k: v for k, v in fields.items() if k not in ("summary", "payload")},
            ts=start + timedelta(minutes=n),
        )
        for n in range(count)
    ]


def ids(rows: list[JournalEntry]) -> set[str]:
    return {row.id for row in rows}


def live(rows: list[JournalEntry]) -> int:
    return JournalEntry.objects.filter(pk__in=ids(rows)).count()


def holds(world: World) -> verify.Report:
    return verify.verify(world.acme.id, by=world.system())


# ── What leaves ──────────────────────────────────────────────────────────────
def test_a_bucket_leaves_and_the_chain_still_verifies(world: World) -> None:
    before, rows, later = world.entry("before"), noise(world), world.entry("after")
    report = compaction.run(world.acme.id)
    assert (report.buckets, report.archived, report.refused) == (1, 12, [])
    assert report.bytes == sum(compaction.size(row) for row in rows)
    assert live(rows) == 0
    assert live([before, later]) == 2
    archived = {row.id: row for row in ArchivedEntry.objects.all()}
    assert set(archived) == ids(rows)
    for row in rows:
        for name in compaction.COPIED_COLUMNS:
            assert getattr(archived[row.id], name) == getattr(row, name), name
    verified = holds(world)
    assert (verified.ok, verified.checkpoints) == (True, 1)
    assert compaction.run(world.acme.id).buckets == 0


def test_the_summary_entry_says_what_left(world: World) -> None:
    rows = noise(world)
    compaction.run(world.acme.id)
    summary = JournalEntry.objects.get(entry_type="system.compaction")
    day = OLD.date().isoformat()
    assert summary.ts.isoformat() == f"{day}T23:59:59+00:00"
    assert (summary.severity, summary.crew_id) == (
        "info",
        world.crews["support"].id,
    )
    payload = summary.payload
    point = ChainCheckpoint.objects.get()
    assert payload == {
        "bucket_date": day,
        "entry_type": NOISE,
        "count": 12,
        "bytes_sum": sum(compaction.size(row) for row in rows),
        "first_ts": journal.stamp(rows[0].ts),
        "last_ts": journal.stamp(rows[-1].ts),
        "checkpoint": point.pk,
    }


def test_each_crew_day_and_type_is_a_bucket_of_its_own(world: World) -> None:
    noise(world, 10)
    noise(world, 10, by="bob")
    noise(world, 10, ts=OLD - timedelta(days=1))
    noise(world, 10, entry_type="llm.call")
    noise(world, 10, by="olga")
    assert len(compaction.plan(world.acme.id)) == 4
    assert compaction.run(world.acme.id).archived == 40
    assert JournalEntry.objects.filter(workspace=world.other, ts__lt=OLD).count() == 0
    assert JournalEntry.objects.filter(entry_type=NOISE).count() == 10
    assert holds(world).ok


def test_the_word_index_follows(world: World) -> None:
    noise(world, summary="the zebrafish measured itself")
    filters = JournalFilter(q="zebrafish")
    assert queries.filtered(world.system(), filters).count() == 12
    compaction.run(world.acme.id)
    assert queries.filtered(world.system(), filters).count() == 0
    scope = fulltext.WordScope(workspace_id=world.acme.id, embeddable_only=False)
    query = fulltext.word_query("zebrafish")
    assert ranking.search(query, scope, 5).hits == []


def test_what_hangs_on_an_entry_goes_along_and_people_stay_findable(
    world: World,
) -> None:
    noise(world, entry_type="llm.call", refs={"episodic": True}, subjects=("Jané",))
    index.sweep()
    assert Embedding.objects.count() == 12
    compaction.run(world.acme.id)
    assert Embedding.objects.count() == 0
    assert SubjectMention.objects.count() == 0
    filters = JournalFilter(subject="JANE", include_archive=True)
    assert queries.count(world.system(), filters) == 12


# ── What stays ───────────────────────────────────────────────────────────────
@pytest.mark.parametrize("severity", ["warn", "error"])
def test_what_was_loud_stays(world: World, severity: str) -> None:
    rows = noise(world, severity=Severity(severity))
    assert compaction.run(world.acme.id).archived == 0
    assert live(rows) == 12


@pytest.mark.parametrize("kind", ["peer.escalation", "mission.status_change"])
def test_other_types_stay(world: World, kind: str) -> None:
    noise(world, entry_type=kind)
    assert compaction.plan(world.acme.id) == []


def test_nine_of_a_kind_and_young_entries_stay(world: World) -> None:
    noise(world, 9)
    noise(world, 12, ts=timezone.now() - timedelta(days=29, hours=20))
    assert compaction.plan(world.acme.id) == []
    assert len(compaction.plan(world.acme.id, days=20)) >= 1


@pytest.mark.parametrize("priority", ["pin", "high", "permanent"])
@pytest.mark.parametrize("is_taken_back", [False, True])
def test_what_was_ever_marked_stays(
    world: World, priority: str, is_taken_back: bool
) -> None:
    rows = noise(world)
    operator = world.actor("operator")
    journal.prioritise(rows[3], Priority(priority), "", by=operator)
    if is_taken_back:
        journal.prioritise(rows[3], Priority.NORMAL, "", by=operator)
    assert compaction.run(world.acme.id).archived == 11
    assert live(rows) == 1
    assert PriorityChange.objects.filter(entry=rows[3]).exists()
    assert holds(world).ok


def test_what_was_marked_at_emit_stays(world: World) -> None:
    rows = noise(world)
    JournalEntry.objects.filter(pk=rows[0].pk).update(priority_at_emit="permanent")
    compaction.run(world.acme.id)
    assert live(rows) == 1


# ── Fences ───────────────────────────────────────────────────────────────────
@pytest.mark.parametrize(
    "forged",
    [
        {"summary": "nothing to see"},
        {"entry_hash": "0" * 64},
        {"prev_hash": "0" * 64},
        {"commitment": "0" * 64},
    ],
    ids=lambda forged: next(iter(forged)),
)
def test_a_tampered_entry_is_never_destroyed(
    world: World, forged: dict[str, str]
) -> None:
    rows, other_rows = noise(world), noise(world, by="bob")
    JournalEntry.objects.filter(pk=rows[5].pk).update(**forged)
    report = compaction.run(world.acme.id)
    assert (report.buckets, len(report.refused)) == (1, 1)
    # An altered hash already shows at the entry that follows it.
    assert any(row.id in report.refused[0] for row in rows[5:7])
    assert (live(rows), live(other_rows)) == (12, 0)
    assert not holds(world).ok
    assert not ArchivedEntry.objects.filter(pk__in=ids(rows)).exists()


def test_an_entry_behind_an_unexplained_gap_is_evidence(world: World) -> None:
    rows = noise(world, 13)
    JournalEntry.objects.filter(pk=rows[4].pk).delete()
    assert len(compaction.run(world.acme.id).refused) == 1
    assert live(rows) == 12


def test_a_forged_checkpoint_covers_nothing(world: World) -> None:
    noise(world)
    after = world.entry()
    compaction.run(world.acme.id)
    summary = JournalEntry.objects.get(entry_type="system.compaction")
    assert queries.entry_place(after).verdict == "holds"
    point = ChainCheckpoint.objects.get()
    point.removed = [[seq, "f" * 64] for seq, _ in point.removed]
    point.save()
    assert not holds(world).ok
    assert queries.entry_place(after).verdict == "broken"
    assert queries.entry_place(summary).verdict == "holds"


def test_a_verdict_knows_what_left_also_without_the_archive(world: World) -> None:
    noise(world)
    after = world.entry()
    compaction.run(world.acme.id)
    ArchivedEntry.objects.all().delete()
    place = queries.entry_place(after)
    assert place.verdict == "holds"
    assert place.previous is not None
    assert place.previous.seq < after.seq - 1
    JournalEntry.objects.filter(pk=place.previous.pk).delete()
    assert integrity.removed_hash(world.acme.id, 1) is None


# ── Nothing is lost on the way ───────────────────────────────────────────────
def unchanged(world: World, rows: list[JournalEntry]) -> None:
    """Assert that a bucket is as it was."""
    assert live(rows) == len(rows)
    assert not ArchivedEntry.objects.exists()
    assert not ChainCheckpoint.objects.exists()
    assert not JournalEntry.objects.filter(entry_type="system.compaction").exists()
    assert holds(world).ok


def test_an_archive_that_fails_stops_the_deletion(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = noise(world)

    def fails(_rows: object) -> None:
        raise OSError("disk full")

    monkeypatch.setattr(compaction, "_store", fails)
    with pytest.raises(OSError, match="disk full"):
        compaction.run(world.acme.id)
    unchanged(world, rows)


def test_an_archive_that_loses_a_row_is_noticed(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows, store = noise(world), compaction._store
    monkeypatch.setattr(
        compaction, "_store", lambda archive_rows: store(list(archive_rows)[:-1])
    )
    with pytest.raises(compaction.RowsLost, match="of 12 rows 11 were archived"):
        compaction.run(world.acme.id)
    unchanged(world, rows)


def test_a_summary_that_cannot_be_written_takes_the_bucket_back(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = noise(world)

    def fails(*_: object, **__: object) -> None:
        raise errors.Invalid("no")

    with monkeypatch.context() as patch:
        patch.setattr(journal, "write", fails)
        with pytest.raises(errors.Invalid):
            compaction.run(world.acme.id)
    unchanged(world, rows)


# ── Cutting ──────────────────────────────────────────────────────────────────
@given(st.dictionaries(st.text(max_size=9), st.text(max_size=600), max_size=3))
def test_a_payload_is_cut_to_valid_json(payload: dict[str, str]) -> None:
    text = json.dumps(payload, ensure_ascii=False)
    shortened = compaction.cut_payload(text)
    assert len(shortened) <= 400
    assert isinstance(json.loads(shortened), dict)
    if len(text) > 400:
        assert text.startswith(json.loads(shortened)["cut"])


def test_texts_are_cut_between_characters(world: World) -> None:
    noise(world, summary="ü" * 300, payload={"line": "😀" * 500})
    compaction.run(world.acme.id)
    row = ArchivedEntry.objects.all()[0]
    assert row.summary == "ü" * 200
    assert "😀" in row.payload["cut"]
    assert row.original_size_bytes > 2_600


# ── Reading it ───────────────────────────────────────────────────────────────
def test_the_list_shows_the_archive_on_request_and_pages_through_it(
    world: World,
) -> None:
    rows = noise(world)
    between = world.entry("between", ts=OLD + timedelta(minutes=5, seconds=30))
    compaction.run(world.acme.id)
    api = world.api("operator")
    params = {
        "include_archive": "true",
        "until": (OLD + timedelta(hours=1)).isoformat(),
    }
    items: list[dict[str, Any]] = []
    cursor: str | None = None
    while True:
        cursor_params = {"cursor": cursor} if cursor else {}
        page = api.get("/journal", {**params, "limit": 5, **cursor_params}).data
        assert page["count"] == len(page["entries"]) <= 5
        items += page["entries"]
        cursor = page["next_cursor"]
        if cursor is None:
            break
    expected = sorted([*rows, between], key=lambda r: (r.ts, r.seq), reverse=True)
    assert [item["id"] for item in items] == [row.id for row in expected]
    assert {item["id"] for item in items if not item["archived"]} == {between.id}
    assert api.get("/journal/count", params).data == {"total": 13}
    del params["include_archive"]
    assert api.get("/journal/count", params).data == {"total": 1}


@pytest.mark.parametrize(
    ("actor", "query", "expected"),
    [
        ("operator", {"q": "cpu percent"}, 12),
        ("operator", {"q": '"at 3 percent"'}, 1),
        ("operator", {"q": "giraffe"}, 0),
        ("operator", {"q": "!!"}, 0),
        ("operator", {"entry_type": NOISE}, 12),
        ("operator", {"exclude_entry_type": NOISE, "until": "2001-01-01T00:00:00Z"}, 0),
        ("ada", {"entry_type": NOISE}, 12),
        ("lena", {"entry_type": NOISE}, 12),
        ("bob", {"entry_type": NOISE}, 0),
        ("stranger", {"entry_type": NOISE}, 0),
    ],
)
def test_the_archive_is_filtered_and_scoped_like_the_journal(
    world: World, actor: str, query: dict[str, str], expected: int
) -> None:
    noise(world)
    compaction.run(world.acme.id)
    params = {"include_archive": "true", **query}
    assert world.api(actor).get("/journal/count", params).data == {"total": expected}


# ── By hand ──────────────────────────────────────────────────────────────────
def test_the_command_counts_before_it_moves(world: World) -> None:
    rows = noise(world)

    def run(*args: str) -> Any:
        out = io.StringIO()
        call_command("compact", "--workspace", "acme", "--json", *args, stdout=out)
        return json.loads(out.getvalue())

    assert (run("--dry-run")["archived"], live(rows)) == (12, 12)
    assert (run()["archived"], live(rows)) == (12, 0)
    assert run()["archived"] == 0


def test_an_archived_entry_answers_by_its_id(world: World) -> None:
    row = noise(world)[3]
    compaction.run(world.acme.id)
    response = world.api("ada").get(f"/journal/{row.id}")
    assert response.status == 200
    body = response.data
    assert (body["archived"], body["summary"]) == (True, row.summary)
    assert body["chain"]["verdict"] == "archived"
    assert body["chain"]["entry_hash"] == row.entry_hash
    for actor in ("bob", "olga", "stranger"):
        assert world.api(actor).get(f"/journal/{row.id}").status == 404, actor
    page = world.page("viewer").get(f"/journal/{row.id}/")
    assert page.status_code == 200
    assert "Compaction took this entry out" in page.content.decode()
    assert world.page("stranger").get(f"/journal/{row.id}/").status_code == 404
    ArchivedEntry.objects.update(restricted_at=timezone.now())
    assert world.api("ada").get(f"/journal/{row.id}").status == 404
    assert world.api("compliance").get(f"/journal/{row.id}").status == 200
