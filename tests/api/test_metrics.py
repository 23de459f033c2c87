"""What ``/metrics`` gives: bounded names, and nothing that costs a large table."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import timedelta

import fakeredis
import pytest
from django.conf import settings
from django.core.cache import cache
from django.db import OperationalError, connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone
from prometheus_client.core import Metric
from prometheus_client.parser import text_string_to_metric_families

from crewship_memory.metrics import (
    index_figures,
    installation,
    machine,
    queue_figures,
)
from episodic.embedders.none import NoEmbedder
from episodic.index import engine, sweep
from episodic.models import Embedding, State
from gdpr.cases import actions
from gdpr.models import Case
from memory.jobs import backlogs
from memory.jobs import registry as jobs
from memory.jobs.registry import Job, Outcome
from memory.measurements import declared
from memory.models import JournalEntry
from tests import factories
from tests.gdpr import requests as make
from tests.world import World

Samples = dict[tuple[str, tuple[tuple[str, str], ...]], float]


def families(query: str = "") -> list[Metric]:
    answer = Client(SERVER_NAME="localhost").get(f"/metrics{query}")
    assert answer.status_code == 200
    return list(text_string_to_metric_families(answer.content.decode()))


def samples(query: str = "") -> Samples:
    """Return what a scrape gives now, whatever was cached before."""
    return {
        (sample.name, tuple(sorted(sample.labels.items()))): sample.value
        for family in families(query)
        for sample in family.samples
    }


def value(name: str, /, **labels: str) -> float:
    return samples().get((name, tuple(sorted(labels.items()))), 0.0)


@pytest.fixture(autouse=True)
def uncached(monkeypatch: pytest.MonkeyPatch) -> None:
    """Read every figure anew."""
    monkeypatch.setattr(cache, "get", lambda *_: None)


# ── Names ────────────────────────────────────────────────────────────────────
def test_every_name_and_label_is_declared(world: World) -> None:
    world.api("ada").post("/journal", {"entry_type": "note.taken", "summary": "x"})
    world.api("ada").post("/episodic/recall", {"query": "parcel"})
    by_series = {
        series: set(figure.labels)
        for figure in declared.figures()
        for series in figure.series
    }
    for name, labels in samples():
        if not name.startswith(("process_", "crewship_")) or name.endswith("_created"):
            continue
        names = {label for label, _ in labels} - {"le"}
        expected = {"pid", "role"} if name.startswith("process_") else by_series[name]
        assert names <= expected, name


def test_a_path_gets_into_no_figure(world: World) -> None:
    world.api("owner").get("/journal/j_ada.quill@example.com")
    Client().get("/nowhere/ada-quill")
    Client().generic("ADAQUILL", "/livez")
    text = str(samples())
    assert "quill" not in text.lower()
    assert "api/v1/journal/<entry_id>" in text


@pytest.mark.parametrize(
    ("part", "names"),
    [
        ("machine", {"crewship_database_up"}),
        ("installation", {"crewship_workspaces"}),
        ("", {"crewship_database_up", "crewship_workspaces"}),
    ],
)
def test_figures_of_the_installation_can_be_left_to_one_machine(
    db: None, part: str, names: set[str]
) -> None:
    single_names = {"crewship_database_up", "crewship_workspaces"}
    read = {family.name for family in families(f"?figures={part}")}
    assert read & single_names == names


def test_an_unknown_part_is_refused(db: None) -> None:
    answer = Client(SERVER_NAME="localhost").get("/metrics?figures=all")
    assert answer.status_code == 422


# ── What is counted ──────────────────────────────────────────────────────────
def test_a_request_is_measured_by_its_route_and_class_of_status(world: World) -> None:
    name = "crewship_request_seconds_count"
    labels = {"method": "POST", "route": "api/v1/journal"}
    good = value(name, **labels, status="2xx")
    bad = value(name, **labels, status="4xx")
    world.api("ada").post("/journal", {"entry_type": "note.taken", "summary": "x"})
    world.api("ada").post("/journal", {"entry_type": "note.taken"})
    assert value(name, **labels, status="2xx") == good + 1
    assert value(name, **labels, status="4xx") == bad + 1


def test_appends_and_recalls_are_measured(world: World) -> None:
    appended = value("crewship_appended_entries_total", kind="batch")
    recalls = value("crewship_recalls_total", mode="sparse")
    stage = {"mode": "sparse", "stage": "sparse"}
    stages = value("crewship_recall_seconds_count", **stage)
    entry = {"entry_type": "note.taken", "summary": "A parcel"}
    world.api("ada").post("/journal/batch", {"entries": [entry, entry, {}]})
    world.api("ada").post("/episodic/recall", {"query": "parcel", "mode": "sparse"})
    assert value("crewship_appended_entries_total", kind="batch") == appended + 2
    assert value("crewship_recalls_total", mode="sparse") == recalls + 1
    assert value("crewship_recall_seconds_count", **stage) == stages + 1


def test_a_degraded_recall_is_counted(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    engine.use(NoEmbedder())
    before = value("crewship_recalls_degraded_total", mode="hybrid")
    world.api("ada").post("/episodic/recall", {"query": "parcel"})
    assert value("crewship_recalls_degraded_total", mode="hybrid") == before + 1


def test_a_job_that_fails_is_counted_by_its_name(
    db: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(_workspace_id: str) -> Outcome:
        raise LookupError

    job = Job("broken", "Broken", "never", fail, house_wide=True)
    monkeypatch.setitem(jobs._registry, "broken", job)
    run = jobs.claim(job, "", "now")
    assert run is not None
    failed = {"name": "broken", "state": "failed"}
    before = value("crewship_job_runs_total", **failed)
    jobs.execute(job, run)
    assert value("crewship_job_runs_total", **failed) == before + 1
    success = "crewship_job_last_success_timestamp_seconds"
    assert (success, (("name", "broken"),)) not in samples()


def analyse() -> None:
    """Let PostgreSQL know how many rows there are."""
    if connection.vendor == "postgresql":
        with connection.cursor() as cursor:
            cursor.execute("ANALYZE journal_embeddings")


# ── What waits ───────────────────────────────────────────────────────────────
def test_the_lag_of_the_index_counts_also_what_no_sweep_has_read(world: World) -> None:
    sweep.discover(world.acme.id)
    Embedding.objects.all().update(state=State.INDEXED)
    before = value("crewship_index_unread")
    entry = factories.append(world.actor("ada"), entry_type="peer.escalation")
    hour = timezone.now() - timedelta(hours=1)
    JournalEntry.objects.filter(pk=entry.pk).update(recorded_at=hour)
    assert value("crewship_index_unread") == before + 1
    assert value("crewship_index_oldest_pending_seconds") >= 3_600
    assert value("crewship_index_pending") == 0


def test_rows_by_state_and_the_oldest_that_is_pending(world: World) -> None:
    for _ in range(3):
        entry = factories.append(world.actor("ada"), entry_type="peer.escalation")
    sweep.discover(entry.workspace_id)
    Embedding.objects.all().update(state=State.INDEXED)
    old, failed = Embedding.objects.filter(workspace_id=entry.workspace_id)[:2]
    Embedding.objects.filter(pk=old.pk).update(state=State.PENDING)
    Embedding.objects.filter(pk=failed.pk).update(state=State.FAILED)
    day = timezone.now() - timedelta(days=1)
    JournalEntry.objects.filter(pk=old.pk).update(recorded_at=day)
    analyse()
    assert value("crewship_index_pending") == 1
    assert value("crewship_index_failed") == 1
    assert value("crewship_index_indexed") == Embedding.objects.count() - 2
    assert value("crewship_index_oldest_pending_seconds") >= 86_400


def test_rows_without_a_vector_are_read_through_their_own_index(world: World) -> None:
    """On a small table PostgreSQL reads it whole unless that is forbidden."""
    explain = "EXPLAIN QUERY PLAN" if connection.vendor == "sqlite" else "EXPLAIN"
    with connection.cursor() as cursor:
        if connection.vendor == "postgresql":
            cursor.execute("SET LOCAL enable_seqscan = off")
        for sql, params in (
            (index_figures._COUNTS, [index_figures.COUNT_LIMIT]),
            (index_figures._FIRST, []),
        ):
            cursor.execute(f"{explain} {sql}", params)
            assert "embedding_waiting" in str(cursor.fetchall())


@pytest.mark.postgres
def test_the_number_of_vectors_is_the_estimate_of_the_database(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    entry = factories.append(world.actor("ada"), entry_type="peer.escalation")
    sweep.discover(entry.workspace_id)
    Embedding.objects.all().update(state=State.INDEXED)
    analyse()
    # Whoever counted would stop here.
    monkeypatch.setattr(index_figures, "COUNT_LIMIT", 0)
    assert value("crewship_index_indexed") == Embedding.objects.count() > 0


@pytest.mark.postgres
def test_a_database_that_is_away_is_not_waited_for(
    db: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    pool = connection.pool  # type: ignore[attr-defined]
    monkeypatch.setattr(machine, "DATABASE_SECONDS_MOST", 0.01)
    connections = [pool.getconn() for _ in range(pool.max_size - 1)]
    try:
        read = samples()
    finally:
        for plain in connections:
            pool.putconn(plain)
    assert read["crewship_database_up", ()] == 0
    assert read["crewship_figures_read", (("part", "index"),)] == 0


def test_no_figure_counts_the_journal_or_every_vector(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    quick = tuple(p for p in installation.PARTS if p.seconds == installation.SECONDS)
    monkeypatch.setattr(installation, "PARTS", quick)
    with CaptureQueriesContext(connection) as queries:
        list(installation.collect())
    for query in queries:
        sql = query["sql"].lower()
        assert not ("count(" in sql and "journal_entries" in sql)
        if "count(" in sql and "journal_embeddings" in sql:
            assert "not (journal_embeddings.state = 'indexed') order by" in sql


def test_a_figure_is_read_once_in_a_while(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.undo()
    list(installation.collect())
    with CaptureQueriesContext(connection) as queries:
        list(installation.collect())
    assert len(queries) == 0


def test_cases_by_kind_those_due_and_those_late(world: World) -> None:
    now = timezone.now()
    make.opened(world, kind="erasure", received_at=now - timedelta(days=60))
    due, _ = make.opened(world, kind="access"), make.opened(world, kind="access")
    Case.objects.filter(pk=due.pk).update(due_at=now + timedelta(hours=3))
    extended = make.opened(world, kind="objection")
    late = {
        "due_at": now - timedelta(days=1),
        "extended_until": now + timedelta(days=9),
    }
    Case.objects.filter(pk=extended.pk).update(**late)
    closed = make.opened(world, received_at=now - timedelta(days=60))
    actions.refuse(closed, "no", by=world.actor("compliance"))
    read = samples()

    def numbers(kind: str) -> list[float]:
        names = ("cases_open", "cases_due", "cases_overdue")
        return [read[f"crewship_{name}", (("kind", kind),)] for name in names]

    assert numbers("erasure") == [1, 0, 1]
    assert numbers("access") == [2, 1, 0]
    assert numbers("objection") == [1, 0, 0]
    assert numbers("portability") == [0, 0, 0]


# ── Outages ──────────────────────────────────────────────────────────────────
def test_without_a_database_the_scrape_says_so(
    db: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    def silent() -> None:
        raise OperationalError("password=hunter2")

    with monkeypatch.context() as patch:
        patch.setattr(connection, "cursor", silent)
        patch.setattr(machine, "database_seconds", lambda: None)
        answer = Client(SERVER_NAME="localhost").get("/metrics")
    text = answer.content.decode()
    assert answer.status_code == 200
    assert "\ncrewship_database_up 0.0" in text
    assert '\ncrewship_figures_read{part="index"} 0.0' in text
    assert "crewship_index_pending " not in text
    assert "hunter2" not in text


def test_without_redis_the_scrape_says_so(
    db: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(settings, "REDIS_URL", "redis://127.0.0.1:1/0")
    read = samples()
    assert read["crewship_redis_up", ()] == 0
    assert read["crewship_figures_read", (("part", "queues"),)] == 0


# ── Queues ───────────────────────────────────────────────────────────────────
@pytest.fixture
def redis(monkeypatch: pytest.MonkeyPatch) -> Iterator[fakeredis.FakeRedis]:
    client = fakeredis.FakeRedis()
    monkeypatch.setattr(settings, "REDIS_URL", "redis://127.0.0.1:1/0")
    for module in (machine, queue_figures):
        monkeypatch.setattr(module, "redis_client", lambda _url: client)
    yield client
    client.close()


def message(age: float) -> str:
    """Return a message as Celery puts it into Redis, sent some seconds ago."""
    headers: dict[str, object] = {}
    backlogs.note_time(headers)
    headers["sent_at"] = float(str(headers["sent_at"])) - age
    return json.dumps({"body": "", "headers": headers})


def test_a_queue_has_its_length_and_the_age_of_its_oldest_message(
    db: None, redis: fakeredis.FakeRedis
) -> None:
    (name, *_) = queue_figures.names()
    for age in (500.0, 5.0):
        redis.lpush(name, message(age))
    assert value("crewship_queue_messages", queue=name) == 2
    assert value("crewship_queue_oldest_seconds", queue=name) >= 500


@pytest.mark.parametrize("text", ["", "not JSON", "{}", '{"headers": {}}', "[1]"])
def test_a_message_without_its_time_has_no_age(
    db: None, redis: fakeredis.FakeRedis, text: str
) -> None:
    (name, *_) = queue_figures.names()
    redis.lpush(name, text)
    assert value("crewship_queue_messages", queue=name) == 1
    assert value("crewship_queue_oldest_seconds", queue=name) == 0
