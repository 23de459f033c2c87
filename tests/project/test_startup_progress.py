"""`manage.py up` says what it does, from its first second to the first answer."""

from __future__ import annotations

import socket
import subprocess
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer
from io import StringIO
from pathlib import Path

import pytest

from crewship_memory import startup_progress
from crewship_memory.demo import load
from tests import processes, waiting
from tests.project.test_up import Installation

FIRST = "Reading the program"
STEPS = [
    FIRST,
    "Configuration: checking",
    "Static files: collecting, beside the database's steps",
    "Database: ",
    "Demo: people",
    "Demo: crews, agents and five weeks of journal",
    "Demo: memory files",
    "Demo: records",
    "Demo: personal data and cases",
    "Crewship Memory   http",
    "Worker and scheduler: starting",
    "Web server: starting",
    "Ready: the web server answers",
]


@pytest.mark.slow
def test_up_prints_a_line_for_each_step_in_order(tmp_path: Path) -> None:
    """Into a pipe, and without help from the environment: each line is sent at once."""
    installation = Installation(tmp_path)
    del installation.env["PYTHONUNBUFFERED"]
    process = subprocess.Popen(
        installation.command("up", "--demo", "--port", str(installation.port)),
        env=installation.env,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    assert process.stdout is not None
    lines: list[str] = []
    try:
        while not lines or lines[-1] != STEPS[-1]:
            line = process.stdout.readline()
            assert line, lines
            lines.append(line.strip())
    finally:
        process.terminate()
        process.wait(waiting.LIMIT_SECONDS)
        process.stdout.close()
    at = [
        next(n for n, line in enumerate(lines) if line.startswith(step))
        for step in STEPS
    ]
    assert at == sorted(at)
    assert at[0] == 0


def test_the_first_line_is_there_before_anything_is_imported(tmp_path: Path) -> None:
    installation = Installation(tmp_path)
    process = subprocess.run(
        installation.command("up"),
        env={**installation.env, "DJANGO_SETTINGS_MODULE": "no.such.settings"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert process.returncode != 0
    assert process.stdout == f"  {FIRST}\n"


@pytest.mark.django_db(transaction=True)
def test_a_demo_that_is_there_is_not_told_as_loading() -> None:
    first: list[str] = []
    load.load(first.append)
    second_run: list[str] = []
    load.load(second_run.append)
    journal = "Demo: crews, agents and five weeks of journal"
    assert journal in first
    assert journal not in second_run


def test_a_step_is_sent_at_once() -> None:
    class Stream(StringIO):
        flushed = ""

        def flush(self) -> None:
            self.flushed = self.getvalue()

    stream = Stream()
    startup_progress.lines(stream)("Database: current")
    assert stream.flushed == "  Database: current\n"


def test_ready_is_said_when_a_server_answers_and_no_sooner() -> None:
    names: list[str] = []

    class Refuses(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            names.append(self.headers["Host"])
            self.send_error(400)

        def log_message(self, format: str, *args: object) -> None:
            pass

    messages: list[str] = []
    port = processes.free_port()
    thread = startup_progress.when_it_answers(
        lambda: messages.append("ready"), "127.0.0.1", port, "memory.example"
    )
    assert not startup_progress.answers("127.0.0.1", port)
    assert messages == []
    with HTTPServer(("127.0.0.1", port), Refuses) as server:
        while thread.is_alive():
            server.timeout = 0.1
            server.handle_request()
    assert messages == ["ready"]
    assert set(names) == {"memory.example"}


def test_what_does_not_speak_http_is_no_answer() -> None:
    def hang_up(listener: socket.socket) -> None:
        peer, _ = listener.accept()
        peer.close()

    with socket.create_server(("127.0.0.1", 0)) as listener:
        thread = threading.Thread(target=hang_up, args=(listener,))
        thread.start()
        assert not startup_progress.answers("127.0.0.1", listener.getsockname()[1])
        thread.join()
