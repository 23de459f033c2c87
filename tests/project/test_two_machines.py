"""Two web processes with a data folder each serve the same memory, on PostgreSQL."""

from __future__ import annotations

import json
import os
import re
import secrets
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit

import httpx
import psycopg
import pytest
from django.conf import settings
from django.db import connection

from tests import processes, waiting
from tests.memory.files.kit import POISON

pytestmark = [pytest.mark.slow, pytest.mark.postgres]
MANAGE: Final = settings.BASE_DIR / "manage.py"
TOKEN: Final = re.compile(r'name="csrfmiddlewaretoken" value="([^"]+)"')
ACCOUNT: Final = ("--workspace", "harbour", "--email", "admin@example.com")
PERSON: Final = "maria.keller@canary.example"
SECRET: Final = secrets.token_urlsafe(48)
APPENDS: Final = 10


class Machine:
    """One machine: a data folder of its own, and a web process."""

    def __init__(self, folder: Path, database: str, secret: str = SECRET) -> None:
        folder.mkdir()
        self.data, self.log = folder / "data", folder / "web.log"
        self.url = f"http://127.0.0.1:{processes.free_port()}"
        self.process: subprocess.Popen[str] | None = None
        self.env = {
            name: value
            for name, value in os.environ.items()
            if not name.startswith("CREWSHIP_") and name != "DJANGO_SETTINGS_MODULE"
        } | {
            "CREWSHIP_DATA_DIR": str(self.data),
            "CREWSHIP_SECRET_KEY": secret,
            "CREWSHIP_EMBEDDER": "hashing",
            "DATABASE_URL": database,
            # Nobody listens there: what Redis is for is not proved here.
            "REDIS_URL": "redis://127.0.0.1:1/0",
        }

    def manage(self, *args: str, code: int = 0) -> str:
        process = subprocess.run(
            [sys.executable, str(MANAGE), *args],
            env=self.env, capture_output=True, text=True, check=False,
        )  # fmt: skip
        assert process.returncode == code, process.stdout + process.stderr
        return process.stdout.strip()

    def python(self, code: str) -> str:
        return self.manage("shell", "--no-imports", "-c", code)

    def start(self) -> None:
        port = self.url.rpartition(":")[2]
        with self.log.open("w") as log:
            self.process = subprocess.Popen(
                [sys.executable, str(MANAGE), "web", "--port", port],
                env=self.env, stdout=log, stderr=subprocess.STDOUT, text=True,
            )  # fmt: skip
        waiting.until(lambda: self.ready() is not None, interval=0.05)

    def ready(self) -> dict[str, Any] | None:
        """Return what ``/readyz`` says, None while nobody answers."""
        assert self.process is not None
        assert self.process.poll() is None, self.log.read_text()
        try:
            answer = httpx.get(f"{self.url}/readyz", timeout=waiting.LIMIT_SECONDS)
        except httpx.TransportError:
            return None
        return dict(answer.json())

    def stop(self) -> None:
        if self.process is not None and self.process.poll() is None:
            self.process.kill()
            self.process.wait()

    def files(self) -> set[str]:
        """Return the files of the data folder, but those of the program itself."""
        paths = (path for path in self.data.rglob("*") if path.is_file())
        names = {path.relative_to(self.data).as_posix() for path in paths}
        return {name for name in names if not name.startswith("static/")}


class Caller:
    """A client of the API with one key, which calls either machine."""

    def __init__(self, key: str) -> None:
        self._client = httpx.Client(
            headers={"Authorization": f"Bearer {key}"}, timeout=waiting.LIMIT_SECONDS
        )

    def get(self, machine: Machine, route: str, **query: str) -> Any:
        return self.load(machine, route, **query).json()

    def load(self, machine: Machine, route: str, **query: str) -> httpx.Response:
        answer = self._client.get(f"{machine.url}/api/v1{route}", params=query)
        assert answer.status_code == 200, answer.text
        return answer

    def post(self, machine: Machine, path: str, body: dict[str, Any]) -> Any:
        answer = self._client.post(f"{machine.url}/api/v1{path}", json=body)
        assert answer.status_code < 300, answer.text
        return answer.json()

    def tool(self, machine: Machine, name: str, **body: str) -> Any:
        return self.post(machine, f"/memory/tools/memory.{name}", body)

    def append(self, machine: Machine, text: str) -> Any:
        body = {"tier": "AGENT", "content": text, "mode": "append"}
        return self.tool(machine, "write", **body)

    def text(self, machine: Machine) -> str:
        return str(self.get(machine, "/memory/files/AGENT.md")["content"])


@pytest.fixture
def database() -> Iterator[str]:
    """Return the address of an empty database beside that of the tests."""
    config, name = connection.settings_dict, f"machines_{secrets.token_hex(4)}"
    with psycopg.connect(
        host=config["HOST"], user=config["USER"], dbname="postgres", autocommit=True
    ) as server:
        server.execute(f"CREATE DATABASE {name}")
        yield f"postgres://{config['USER']}@/{config['HOST']}/{name}"
        server.execute(f"DROP DATABASE {name} WITH (FORCE)")


@pytest.fixture
def machines(database: str, tmp_path: Path) -> Iterator[tuple[Machine, Machine]]:
    first, second = (Machine(tmp_path / name, database) for name in ("one", "two"))
    first.manage("migrate", "--verbosity", "0")
    yield first, second
    first.stop()
    second.stop()


def _issued(machine: Machine) -> tuple[Caller, Caller]:
    """Return an agent's and an admin's client, of a new workspace."""
    machine.manage("bootstrap", *ACCOUNT)
    place = ("--workspace", "harbour", "--create", "--json")
    commands = (
        ("issue_key", *place, "--crew", "dock", "--agent", "ada"),
        ("issue_key", *ACCOUNT, "--role", "admin", "--json"),
    )
    with ThreadPoolExecutor() as threads:
        answers = list(threads.map(lambda args: machine.manage(*args), commands))
    agent, admin = (Caller(json.loads(answer)["key"]) for answer in answers)
    return agent, admin


def _serve(machine: Machine) -> None:
    machine.manage("collectstatic", "--no-input", "--verbosity", "0")
    machine.start()
    answer = machine.ready()
    assert answer is not None and answer["ready"], answer


def test_two_machines_with_their_own_folders_serve_one_memory(
    machines: tuple[Machine, Machine], database: str, tmp_path: Path
) -> None:
    first, second = machines
    agent, admin = _issued(first)
    with ThreadPoolExecutor() as threads:
        list(threads.map(_serve, machines))

    writes_on_one_are_read_and_searched_on_the_other(agent, first, second)
    writes_from_both_ends_make_one_chain(agent, first, second)
    held_on_one_and_released_on_the_other(agent, admin, first, second)
    a_session_of_one_is_one_of_the_other(first, second)
    a_bundle_is_made_on_one_and_read_on_the_other(admin, first, second)
    erased_on_one_is_gone_on_both(agent, first, second)

    json.loads(second.manage("journal_verify", "--workspace", "harbour", "--json"))
    for machine in machines:
        owned = {name.partition("/")[0] for name in machine.files()}
        assert owned <= {"keys", "erasures"}, machine.files()
        keys = {name for name in machine.files() if name.startswith("keys/")}
        assert keys == {"keys/installation.id"}
    third = Machine(tmp_path / "three", database, "not the secret of the others")
    another_secret_is_not_ready_and_changes_nothing(third, database)


def writes_on_one_are_read_and_searched_on_the_other(
    agent: Caller, first: Machine, second: Machine
) -> None:
    assert agent.append(first, "- The harbour opens at six")["ok"]
    assert agent.text(second) == "- The harbour opens at six"
    hits = agent.tool(second, "search", q="harbour opens")
    assert "opens at six" in json.dumps(hits)
    assert agent.append(second, "- The pilot is late")["ok"]
    assert agent.text(first).endswith("- The pilot is late")
    versions = agent.get(first, "/memory/versions", path="AGENT.md")["items"]
    oldest = versions[-1]
    place = f"/memory/versions/{oldest['sha256']}"
    assert "opens at six" in agent.load(second, place, path="AGENT.md").text


def writes_from_both_ends_make_one_chain(
    agent: Caller, first: Machine, second: Machine
) -> None:
    places = [(place, n) for n in range(APPENDS) for place in (first, second)]
    with ThreadPoolExecutor(4) as threads:
        answers = list(
            threads.map(
                lambda at: agent.append(at[0], f"- line {at[1]} of {at[0].url}"), places
            )
        )
    assert all(answer["ok"] for answer in answers), answers
    lines = agent.text(first).splitlines()
    for place, n in places:
        assert lines.count(f"- line {n} of {place.url}") == 1
    assert agent.text(second).splitlines() == lines
    rows = json.loads(second.python(CHAIN))
    assert [row["number"] for row in rows] == list(range(1, len(rows) + 1))
    assert [row["parent"] for row in rows] == [None, *(r["number"] for r in rows[:-1])]
    assert [row["lines"] for row in rows] == list(range(1, len(rows) + 1))
    assert len(rows) == 2 + 2 * APPENDS


CHAIN: Final = """
import json
from memory.files import versions
from memory.models import MemoryVersion
rows = MemoryVersion.objects.filter(file__label="AGENT.md").order_by("number")
assert not rows.filter(committed=False).exists()
print(json.dumps([
    {
        "number": row.number,
        "parent": row.parent.number if row.parent else None,
        "lines": len(versions.read(row).splitlines()),
    }
    for row in rows.select_related("parent")
]))
"""


def held_on_one_and_released_on_the_other(
    agent: Caller, admin: Caller, first: Machine, second: Machine
) -> None:
    before = agent.text(first)
    assert not agent.append(first, POISON)["ok"]
    assert agent.text(second) == before
    (case,) = admin.get(second, "/quarantine")["items"]
    detail = admin.get(second, f"/quarantine/{case['id']}")
    version = detail.get("version", case.get("version"))
    body = {"decision": "release", "version": version, "reason": "Looked at"}
    admin.post(second, f"/quarantine/{case['id']}/decision", body)
    assert agent.text(first).endswith(POISON)


def a_session_of_one_is_one_of_the_other(first: Machine, second: Machine) -> None:
    link = json.loads(first.manage("bootstrap", *ACCOUNT, "--json"))["login_link"]
    path = urlsplit(link).path
    with httpx.Client(timeout=waiting.LIMIT_SECONDS) as browser:
        token = TOKEN.search(browser.get(f"{first.url}{path}").text)
        assert token is not None
        form = {"csrfmiddlewaretoken": token.group(1)}
        assert browser.get(f"{second.url}/").status_code == 302
        answer = browser.post(f"{second.url}{path}", data=form)
        assert (answer.status_code, answer.headers["Location"]) == (302, "/")
        for machine in (first, second):
            assert browser.get(f"{machine.url}/").status_code == 200
        assert browser.get(f"{first.url}{path}").status_code in (302, 410)


def a_bundle_is_made_on_one_and_read_on_the_other(
    admin: Caller, first: Machine, second: Machine
) -> None:
    body = {"display_name": "Maria", "aliases": [{"kind": "email", "value": PERSON}]}
    person = admin.post(first, "/gdpr/subjects", body)["id"]
    bundle = admin.post(first, "/gdpr/exports", {"subject_id": person})
    path = f"/gdpr/exports/{bundle['id']}"
    second.python("from gdpr.tasks import make_bundles; make_bundles('')")
    ready = admin.get(first, path)
    assert ready["state"] == "ready", ready
    assert admin.load(first, f"{path}/download").content.startswith(b"PK")


def erased_on_one_is_gone_on_both(
    agent: Caller, first: Machine, second: Machine
) -> None:
    note = {"tier": "AGENT", "content": f"- Boats\n- {PERSON} rents berth nine"}
    assert agent.tool(second, "write", **note, mode="replace")["ok"]
    assert PERSON in agent.text(first)
    # Nobody else is there to approve the plan.
    second.python(ALONE)
    answer = first.manage(
        "gdpr_erase", PERSON, "--reason", "asked", "--workspace", "harbour",
        "--identity-ground", "own_decision", "--identity-reason", "A test",
        "--apply", "--json",
    )  # fmt: skip
    assert "certificate" in answer
    for machine in (first, second):
        assert agent.text(machine).strip() == "- Boats"
        # Its copy of the record, made when somebody looks.
        waiting.until(lambda at=machine: _has_record(at), interval=0.05)  # type: ignore[misc]


ALONE: Final = """
from gdpr.cases import privacy_settings
from memory.models import Workspace
from memory.rules.permissions import system
workspace = Workspace.objects.get(slug="harbour")
change = privacy_settings.Change(two_person=False, reason="A test")
privacy_settings.change(change, by=system(workspace.pk, "test"))
"""


def _has_record(machine: Machine) -> bool:
    machine.ready()
    return any(name.endswith(".jsonl") for name in machine.files())


def another_secret_is_not_ready_and_changes_nothing(
    third: Machine, database: str
) -> None:
    before = _sealed(database)
    assert all(before)
    third.start()
    try:
        answer = third.ready()
        assert answer is not None and not answer["ready"]
        assert "CREWSHIP_SECRET_KEY is not the one on record" in answer["reasons"][0]
    finally:
        third.stop()
    assert _sealed(database) == before


def _sealed(database: str) -> list[list[tuple[Any, ...]]]:
    """Return the keys on record, and what they are recognised by."""
    config, name = connection.settings_dict, database.rpartition("/")[2]
    tables = (("sealed_keys", "sealed"), ("key_fingerprints", "fingerprint"))
    with psycopg.connect(
        host=config["HOST"], user=config["USER"], dbname=name
    ) as server:
        return [
            server.execute(
                f"SELECT name, {column} FROM {table} ORDER BY name"
            ).fetchall()
            for table, column in tables
        ]
