"""`manage.py up`, for real: a process, a port, a data folder."""

from __future__ import annotations

import os
import re
import select
import shutil
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from django.conf import settings

from tests import processes, waiting

pytestmark = pytest.mark.slow
MANAGE = settings.BASE_DIR / "manage.py"
LINK = re.compile(r"http://127\.0\.0\.1:\d+(/login/\S+)")
TOKEN = re.compile(r'name="csrfmiddlewaretoken" value="([^"]+)"')


class Installation:
    """One installation: a data folder, and the process that serves it."""

    def __init__(self, folder: Path, migrated: Path | None = None) -> None:
        """Begin in an empty folder, or with a database that is migrated already."""
        self.folder = folder
        if migrated is not None:
            (folder / "data").mkdir(mode=0o700)
            shutil.copy(migrated, folder / "data" / "crewship.sqlite3")
        self.port = processes.free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        self.process: subprocess.Popen[str] | None = None
        self.env = {
            name: value
            for name, value in os.environ.items()
            if not name.startswith("CREWSHIP_")
            and name not in ("DATABASE_URL", "REDIS_URL", "DJANGO_SETTINGS_MODULE")
        } | {"CREWSHIP_DATA_DIR": str(folder / "data"), "PYTHONUNBUFFERED": "1"}

    def command(self, *args: str) -> list[str]:
        return [sys.executable, str(MANAGE), *args]

    def manage(self, *args: str) -> str:
        process = subprocess.run(
            self.command(*args),
            env=self.env,
            capture_output=True,
            text=True,
            check=True,
        )
        return process.stdout.strip()

    def start(self, *args: str) -> None:
        """Start, and wait until it is ready."""
        with self.log.open("w") as log:
            self.process = subprocess.Popen(
                self.command("up", "--port", str(self.port), *args),
                env=self.env,
                stdout=log,
                stderr=subprocess.STDOUT,
                text=True,
            )
        waiting.until(self.is_ready, interval=0.05)

    def is_ready(self) -> bool:
        assert self.process is not None
        assert self.process.poll() is None, self.log.read_text()
        try:
            return httpx.get(f"{self.url}/readyz").status_code == 200
        except httpx.TransportError:
            return False

    @property
    def log(self) -> Path:
        return self.folder / "up.log"

    def end(self, signal_number: signal.Signals) -> int:
        assert self.process is not None
        self.process.send_signal(signal_number)
        return self.process.wait(timeout=waiting.LIMIT_SECONDS)


@pytest.fixture
def installation(
    tmp_path: Path, migrated_database: Path, request: pytest.FixtureRequest
) -> Iterator[Installation]:
    is_new = request.node.get_closest_marker("new_installation")
    installation = Installation(tmp_path, None if is_new else migrated_database)
    yield installation
    if installation.process is not None and installation.process.poll() is None:
        installation.process.kill()
        installation.process.wait()


def is_recalled(client: httpx.Client, entry_id: str, question: str) -> bool:
    body = {"query": question, "mode": "dense", "k": 10}
    answer = client.post("/api/v1/episodic/recall", json=body)
    assert answer.status_code == 200, answer.text
    return entry_id in [hit["entry_id"] for hit in answer.json()["hits"]]


@pytest.mark.new_installation
def test_one_command_runs_everything(installation: Installation) -> None:
    installation.start("--demo")
    signs_in_with_the_link(installation)
    entry_id, key = appends_and_recalls(installation)

    assert installation.end(signal.SIGTERM) == 0

    installation.start("--demo")
    with agent(installation, key) as client:
        assert client.get(f"/api/v1/journal/{entry_id}").status_code == 200
    assert installation.end(signal.SIGINT) == 0


def agent(installation: Installation, key: str) -> httpx.Client:
    headers = {"Authorization": f"Bearer {key}"}
    return httpx.Client(
        base_url=installation.url, headers=headers, timeout=waiting.LIMIT_SECONDS
    )


def signs_in_with_the_link(installation: Installation) -> None:
    match = LINK.search(installation.log.read_text())
    assert match is not None
    with httpx.Client(
        base_url=installation.url, timeout=waiting.LIMIT_SECONDS
    ) as browser:
        assert browser.get("/").status_code == 302
        page = browser.get(match[1])
        token = TOKEN.search(page.text)
        assert token is not None
        form = {"csrfmiddlewaretoken": token[1]}
        entered = browser.post(match[1], data=form)
        assert (entered.status_code, entered.headers["Location"]) == (302, "/")
        assert browser.get("/").status_code == 200
        assert httpx.get(installation.url + match[1]).status_code == 410


def appends_and_recalls(
    installation: Installation, workspace: str = "fairlead"
) -> tuple[str, str]:
    names = ("--workspace", workspace, "--crew", "checkout", "--agent", "probe")
    key = installation.manage("issue_key", *names, "--create")
    with agent(installation, key) as client:
        summary = "The lighthouse keeper refused to lend his ladder on Tuesday"
        body = {"entry_type": "peer.escalation", "summary": summary}
        answer = client.post("/api/v1/journal", json=body)
        assert answer.status_code == 201
        entry_id = str(answer.json()["id"])
        question = "who would not give us the ladder?"
        waiting.until(lambda: is_recalled(client, entry_id, question), interval=0.05)
    return entry_id, key


def test_nothing_acknowledged_is_lost_to_a_kill(installation: Installation) -> None:
    installation.start()
    key = installation.manage("issue_key", "--workspace", "main", "--crew", "c",
                       "--agent", "a", "--create")  # fmt: skip
    acknowledged = []
    with agent(installation, key) as client:
        for number in range(40):
            body = {"entry_type": "note.kept", "summary": f"number {number}"}
            acknowledged.append(client.post("/api/v1/journal", json=body).json()["id"])
            if number == 25:
                assert installation.end(signal.SIGKILL) == -signal.SIGKILL
                installation.start()
        assert all(client.get(f"/api/v1/journal/{i}").is_success for i in acknowledged)
    assert installation.manage("journal_verify", "--workspace", "main").startswith(
        "The chain"
    )
    assert installation.end(signal.SIGTERM) == 0


def test_a_taken_port_is_told_in_one_line(installation: Installation) -> None:
    with socket.socket() as occupied:
        occupied.bind(("127.0.0.1", installation.port))
        occupied.listen()
        process = subprocess.run(
            installation.command("up", "--port", str(installation.port)),
            env=installation.env,
            capture_output=True,
            text=True,
            check=False,
        )
    assert process.returncode == 1
    assert f"Port {installation.port} on 127.0.0.1 is in use." in process.stderr
    assert len(process.stderr.splitlines()) == 1


def stalled(installation: Installation, key: str) -> socket.socket:
    """Return a connection that promised a body and went silent."""
    link = socket.create_connection(("127.0.0.1", installation.port))
    head = (
        "POST /api/v1/journal HTTP/1.1\r\nHost: localhost\r\n"
        f"Authorization: Bearer {key}\r\nContent-Type: application/json\r\n"
        "Content-Length: 500\r\n\r\n{"
    )
    link.sendall(head.encode())
    return link


def test_silent_clients_do_not_stop_the_others(installation: Installation) -> None:
    installation.start()
    idle = [
        socket.create_connection(("127.0.0.1", installation.port)) for _ in range(20)
    ]
    slow = [stalled(installation, "cmk_x") for _ in range(20)]
    answer = httpx.get(f"{installation.url}/livez", timeout=waiting.LIMIT_SECONDS)
    assert answer.status_code == 200
    # Nobody was cut off first: the answer did not wait for a silent client's time-out.
    assert select.select([*idle, *slow], [], [], 0)[0] == []
    for link in (*idle, *slow):
        link.close()


def test_a_body_in_chunks_is_read(installation: Installation) -> None:
    installation.start()
    key = installation.manage("issue_key", "--workspace", "main", "--crew", "c",
                       "--agent", "a", "--create")  # fmt: skip
    pieces = [b'{"entry_type": "a.b", ', b'"summary": "in pieces"}']
    with agent(installation, key) as client:
        kind = {"Content-Type": "application/json"}
        answer = client.post("/api/v1/journal", content=iter(pieces), headers=kind)
        assert answer.status_code == 201
