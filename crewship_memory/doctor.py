"""The checks of ``doctor``: a function per check, a Finding per result.

Nothing here changes anything, and no finding holds a secret: a database address, a key
or a stored text never appears in one.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from functools import partial
from pathlib import Path
from typing import Any, Final

from celery import current_app
from django.conf import settings
from django.core import checks as system_checks
from django.db import DatabaseError, connection
from django.db.models import Count, Min, Q
from django.utils import timezone
from kombu.exceptions import KombuError

from crewship_memory import data_folder as folders
from crewship_memory import healthz
from crewship_memory.backup import snapshot
from crewship_memory.postgresql import pooler
from episodic.embedders import onnx
from episodic.embedders.base import EmbedderError
from episodic.index import engine
from episodic.models import Embedding, State
from gdpr.erasure import replay
from memory import outages
from memory.installation import identity as installation
from memory.installation import schema_version
from memory.jobs import pulses
from memory.journal import verify
from memory.models import ChainHead
from memory.rules import errors

LEAST_PGVECTOR: Final = (0, 8)
LATE_SECONDS: Final = 300
PRAGMAS: Final = {
    "journal_mode": "wal",
    "synchronous": 2,
    "secure_delete": 1,
    "foreign_keys": 1,
}


class Level(StrEnum):
    """Severity of a finding; only a fault makes ``doctor`` exit with 1."""

    OK = "ok"
    WARN = "warn"
    FAIL = "fail"


@dataclass(frozen=True, slots=True)
class Finding:
    """One result: what was checked, its state, and what to do."""

    check: str
    level: Level
    message: str
    hint: str = ""


Check = Callable[[], list[Finding]]


def _ok(check: str, message: str) -> Finding:
    return Finding(check, Level.OK, message)


def _warn(check: str, message: str, hint: str) -> Finding:
    return Finding(check, Level.WARN, message, hint)


def _fail(check: str, message: str, hint: str) -> Finding:
    return Finding(check, Level.FAIL, message, hint)


# ── Configuration and folders ────────────────────────────────────────────────
def configuration() -> list[Finding]:
    """Run Django's and our own system checks."""
    findings = []
    for message in system_checks.run_checks(include_deployment_checks=False):
        level = Level.FAIL if message.is_serious() else Level.WARN
        text = f"{message.id}: {message.msg}"
        findings.append(Finding("configuration", level, text, message.hint or ""))
    return findings or [_ok("configuration", "The settings are consistent.")]


def data_folder() -> list[Finding]:
    """Check the data folder: writable, private, with free space."""
    folder = settings.DATA_DIR
    if not os.access(folder, os.W_OK | os.X_OK):
        hint = "Give it to the user this process runs as, or set CREWSHIP_DATA_DIR."
        return [_fail("data_folder", f"{folder} cannot be written to.", hint)]
    return [_permissions(), _disk_space()]


def _permissions() -> Finding:
    reason = folders.exposed()
    if reason is not None:
        hint = "manage.py up makes it private, or names what it cannot change."
        return _fail("data_folder", reason, hint)
    return _ok("data_folder", f"{settings.DATA_DIR} is writable and private.")


def _disk_space() -> Finding:
    free = healthz.free_bytes()
    message = f"{free / 1024**2:,.0f} MiB free."
    if free < healthz.FULL_BYTES:
        hint = "Make room: until there is some, appends are refused with 507."
        return _fail("disk", message, hint)
    if free < healthz.LOW_BYTES:
        return _warn("disk", message, "An erasure rewrites tables and needs room.")
    return _ok("disk", message)


def proxies() -> list[Finding]:
    """Report a forwarded request from a proxy that is not configured."""
    if settings.TRUSTED_PROXIES:
        return [_ok("proxies", "The trusted proxies are named.")]
    if not settings.UNKNOWN_PROXY_MARK.exists():
        return [_ok("proxies", "No request came through a proxy that is not named.")]
    message = "Requests came with X-Forwarded-For, and no proxy is trusted."
    hint = (
        "Behind a proxy set CREWSHIP_TRUSTED_PROXIES, or all clients share its limits; "
        f"without one remove {settings.UNKNOWN_PROXY_MARK}."
    )
    return [_warn("proxies", message, hint)]


def identity() -> list[Finding]:
    """Compare the keys and the data folder with what the database has on record."""
    reason = installation.problem()
    if reason is None:
        return [_ok("installation", "Keys and data folder belong to this database.")]
    return [_fail("installation", reason, "Until then nothing is written.")]


# ── The database ─────────────────────────────────────────────────────────────
def database() -> list[Finding]:
    """Connect and count the migrations that are not applied."""
    try:
        healthz.check_database()
        pending = healthz.waiting_migrations()
    except (healthz.NotReady, DatabaseError, LookupError) as error:
        hint = "Look at DATABASE_URL and at the server's own log."
        return [_fail("database", f"No answer: {type(error).__name__}.", hint)]
    findings = [_ok("database", f"{connection.vendor} answers.")]
    newer = schema_version.unknown()
    if newer:
        message = schema_version.refusal(newer).detail
        findings.append(_fail("schema", message, "Install the newer version again."))
    if pending:
        message = f"{len(pending)} migrations wait: {', '.join(pending[:5])}."
        return [*findings, _fail("migrations", message, "Run manage.py migrate.")]
    return [*findings, _ok("migrations", "All are applied.")]


def _scalar(sql: str) -> Any:
    with connection.cursor() as cursor:
        cursor.execute(sql)
        return (cursor.fetchone() or (None,))[0]


def features() -> list[Finding]:
    """Check the settings that durability, erasure and search depend on."""
    return _sqlite() if connection.vendor == "sqlite" else _postgres()


def _sqlite() -> list[Finding]:
    findings = []
    for name, expected in PRAGMAS.items():
        value = _scalar(f"PRAGMA {name}")
        if value == expected:
            findings.append(_ok("sqlite", f"{name} is {value}."))
        else:
            hint = "Another program opened the database, or its folder is remote."
            message = f"{name} is {value}, not {expected}."
            findings.append(_fail("sqlite", message, hint))
    return [*findings, _fts5(), _pages()]


def _pages() -> Finding:
    if _scalar("PRAGMA quick_check(1)") == "ok":
        return _ok("integrity", "No page of the database is damaged.")
    return _fail("integrity", "A page of the database is damaged.", outages.DAMAGED)


def _fts5() -> Finding:
    if _scalar("SELECT 1 FROM pragma_module_list WHERE name = 'fts5'"):
        return _ok("fts5", f"SQLite {_scalar('SELECT sqlite_version()')} has FTS5.")
    hint = "Use a Python whose SQLite was built with FTS5."
    return _fail("fts5", "This SQLite has no FTS5.", hint)


def _postgres() -> list[Finding]:
    version = _scalar("SELECT extversion FROM pg_extension WHERE extname = 'vector'")
    if version is None:
        hint = "CREATE EXTENSION vector; the image pgvector/pgvector has it."
        return [_fail("pgvector", "The extension is missing.", hint)]
    if tuple(int(part) for part in str(version).split(".")[:2]) < LEAST_PGVECTOR:
        hint = "Install pgvector 0.8 or newer, then ALTER EXTENSION vector UPDATE."
        return [_fail("pgvector", f"pgvector {version} is too old.", hint)]
    return [_ok("pgvector", f"pgvector {version}."), _pooler()]


def _pooler() -> Finding:
    with connection.wrap_database_errors:
        state = pooler.detect(partial(snapshot.connected, connection))
    if state is pooler.Pooler.SHARES:
        hint = "Let it keep sessions (PgBouncer: pool_mode = session), or leave it out."
        return _fail("pooler", state.value, hint)
    return _ok("pooler", state.value)


# ── The embedder and its backlog ─────────────────────────────────────────────
def embedder() -> list[Finding]:
    """Embed one word."""
    using = engine.embedder()
    if using.name == "none":
        hint = "Set CREWSHIP_EMBEDDER=local to recall by meaning."
        return [_warn("embedder", "Switched off: recall is by words alone.", hint)]
    try:
        vectors = using.embed_documents(["doctor"])
    except EmbedderError as error:
        hint = f"Recall is by words alone until it answers ({error.reason})."
        return [_fail("embedder", f"{using.name}: {error}", hint)]
    size = vectors.shape[1]
    message = f"{using.name} answers: model {using.model}, {size} dimensions"
    message += _model_digest()
    if using.name.startswith("hashing"):
        return [_warn("embedder", message, "It knows spelling, not meaning.")]
    return [_ok("embedder", message)]


def _model_digest() -> str:
    """Return the start of the local model's digest, empty for another embedder."""
    if settings.EMBEDDER != "local":
        return ""
    name = settings.LOCAL_MODEL
    file = (onnx.MINILM if name == "minilm" else Path(name)) / onnx.MODEL
    return f", SHA-256 {onnx.digest(file)[:16]}…" if file.is_file() else ""


def backlog() -> list[Finding]:
    """Count pending embeddings and how long the oldest has waited."""
    rows = Embedding.objects.exclude(state=State.INDEXED).aggregate(
        pending=Count("state", filter=Q(state=State.PENDING)),
        failed=Count("state", filter=Q(state=State.FAILED)),
        oldest=Min("entry__recorded_at", filter=Q(state=State.PENDING)),
    )
    oldest = rows["oldest"]
    oldest_seconds = (timezone.now() - oldest).total_seconds() if oldest else 0
    message = (
        f"{rows['pending']} pending (oldest {oldest_seconds:.0f} s),"
        f" {rows['failed']} failed."
    )
    if rows["failed"]:
        return [_warn("backlog", message, "Run manage.py episodic_index; it says why.")]
    if oldest_seconds > LATE_SECONDS:
        return [_warn("backlog", message, "Is a worker running? `up` has one inside.")]
    return [_ok("backlog", message)]


def broker() -> list[Finding]:
    """Connect to the broker, if one is configured."""
    if not settings.REDIS_URL:
        return [_ok("broker", "None is needed: the worker runs in the web process.")]
    try:
        with current_app.connection_for_write() as link:
            link.ensure_connection(max_retries=1, timeout=3)
    except (KombuError, OSError) as error:
        hint = "Tasks wait until it is back; appends and recall go on."
        return [_fail("broker", f"No answer: {type(error).__name__}.", hint)]
    return [_ok("broker", "It answers.")]


def workers() -> list[Finding]:
    """Look for queues that no worker serves, and for the clock."""
    hint = "Start `celery -A crewship_memory worker` and one `beat`; see OPERATING.md."
    findings = [_fail("workers", text, hint) for text in pulses.missing()]
    return findings or [_ok("workers", "Nothing waits for a worker or a clock to run.")]


# ── The chain ────────────────────────────────────────────────────────────────
def chain_heads() -> list[Finding]:
    """Verify the signed head of every workspace's chain, without reading the chain."""
    heads = list(ChainHead.objects.select_related("workspace"))
    broken = [head.workspace.slug for head in heads if not verify.head_holds(head)]
    if broken:
        message = f"The signed end does not hold in {', '.join(broken[:10])}."
        hint = "Run manage.py journal_verify --workspace SLUG; was the key changed?"
        return [_fail("chain", message, hint)]
    return [_ok("chain", f"The signed ends of {len(heads)} chains hold.")]


# ── Erasures ─────────────────────────────────────────────────────────────────
def erasures() -> list[Finding]:
    """Compare the database with the tombstones: a restored backup lacks erasures."""
    state = replay.state()
    if state["fault"]:
        hint = "Bring back the folder erasures from where it is kept, untouched."
        return [_fail("erasures", state["fault"], hint)]
    if state["behind"]:
        message = f"The database lacks {state['behind']} erasures: the data is back."
        return [_fail("erasures", message, "Run manage.py gdpr_replay before serving.")]
    return [_ok("erasures", "The database knows every erasure.")]


CHECKS: Final[tuple[Check, ...]] = (
    configuration,
    data_folder,
    proxies,
    database,
    features,
    identity,
    embedder,
    backlog,
    broker,
    workers,
    chain_heads,
    erasures,
)


def _run_check(check: Check) -> list[Finding]:
    try:
        return check()
    except errors.Unavailable as error:
        hint = "Mend the installation first; its finding says how."
        return [_fail(check.__name__, error.detail, hint)]
    except DatabaseError as error:
        outage = outages.meaning(error)
        if outage is not None and outage.problem_code == "database_damaged":
            return [_fail("integrity", f"{type(error).__name__}.", outages.DAMAGED)]
        hint = "Mend the database first; the other findings say how."
        return [_fail(check.__name__, f"{type(error).__name__}.", hint)]


def run() -> list[Finding]:
    """Run every check; a database error inside a check is a fault, not the end."""
    return [finding for check in CHECKS for finding in _run_check(check)]
