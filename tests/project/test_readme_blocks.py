"""Every block of shell commands on a page runs as it stands, against a live server."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import httpx
import pytest

from tests import processes, waiting
from tests.project import pages, source
from tests.project.pages import Block

pytestmark = pytest.mark.slow
# First lines of blocks that are not run here, and why.
NOT_RUN: Final = {
    "python3 -m venv .venv && .venv/bin/pip install -r requirements.txt && "
    ".venv/bin/python manage.py up --demo": "installs; its last command is the server"
    " that all other blocks are run against",
    "python3 -m venv .venv && .venv/bin/pip install -U pip && "
    ".venv/bin/pip install -r requirements.txt --group dev && "
    ".venv/bin/pytest": ".ci/run runs it",
    "docker build -t crewship-memory .": "needs a container runtime",
    "export POSTGRES_PASSWORD=change-me"
    ' CREWSHIP_SECRET_KEY="$(openssl rand -base64 48)"': "needs a container runtime",
    "python3 -m venv .venv && .venv/bin/pip install -r requirements.txt": "installs;"
    " .ci/run does so",
    **dict.fromkeys(
        (
            "psql -d postgres -c \"CREATE ROLE crewship LOGIN PASSWORD 'change-me'\"",
            "(umask 077 && cat > crewship.env) <<END",
            "set -a && . ./crewship.env && set +a",
            ".venv/bin/python manage.py migrate --no-input",
            ".venv/bin/python manage.py web --host 0.0.0.0",
            "curl -fsS --max-time 4 localhost:8000/readyz",
        ),
        "needs PostgreSQL and Redis; tests/project/test_scale_out.py runs it",
    ),
    ".venv/bin/python manage.py move_bodies": "for stopped servers;"
    " tests/gdpr/test_bodies_move.py runs it",
    ".venv/bin/lint-imports": "tests/project/test_import_contracts.py runs it",
    ".venv/bin/pre-commit install": "changes the developer's own repository",
    ".venv/bin/pytest --cov": ".ci/run runs it",
}


def shell_blocks(page: str) -> list[Block]:
    """Return the blocks of a page that are to be run."""
    return [
        block
        for block in pages.blocks(page)
        if block.language == "sh" and block.first_line not in NOT_RUN
    ]


WITH_BLOCKS: Final = tuple(page for page in pages.PAGES if shell_blocks(page))


class Installation:
    """The server that the README starts, and a checkout to type commands in."""

    def __init__(self, folder: Path) -> None:
        self.checkout, self.data = folder / "checkout", folder / "data"
        self.port = processes.free_port()
        self._log, self._state = folder / "up.log", folder / "environment.sh"
        self._state.touch()
        (self.checkout / ".venv/bin").mkdir(parents=True)
        (self.checkout / "manage.py").symlink_to(source.ROOT / "manage.py")
        python = self.checkout / ".venv/bin/python"
        python.write_text(f'#!/bin/sh\nexec "{sys.executable}" "$@"\n')
        python.chmod(0o755)
        # A refused request fails the block.
        (folder / ".curlrc").write_text("fail\nshow-error\n")
        self._environment = {
            name: value
            for name, value in os.environ.items()
            if not name.startswith(("CREWSHIP_", "PYTEST_", "COV_"))
            and name not in ("DATABASE_URL", "REDIS_URL", "DJANGO_SETTINGS_MODULE")
        } | {
            "CREWSHIP_DATA_DIR": str(self.data),
            "CURL_HOME": str(folder),
            "PYTHONUNBUFFERED": "1",
        }

    def start(self) -> None:
        """Run the README's command, on a port of its own."""
        command = next(line for line in NOT_RUN if line.endswith("up --demo"))
        with self._log.open("w") as log:
            self._server = subprocess.Popen(
                [*command.rpartition("&& ")[2].split(), "--port", str(self.port)],
                cwd=self.checkout,
                env=self._environment,
                stdout=log,
                stderr=subprocess.STDOUT,
            )
        waiting.until(self._is_ready)

    def _is_ready(self) -> bool:
        assert self._server.poll() is None, self._log.read_text()
        try:
            url = f"http://127.0.0.1:{self.port}/readyz"
            return httpx.get(url).status_code == 200
        except httpx.TransportError:
            return False

    def stop(self) -> int:
        self._server.send_signal(signal.SIGTERM)
        return self._server.wait(timeout=waiting.LIMIT_SECONDS)

    def run(self, script: str) -> str:
        """Run a script in the shell of those before it; return its output."""
        process = subprocess.run(
            ["bash", "-euo", "pipefail", "-c",
             f'. "{self._state}"\n{script}\nexport -p > "{self._state}"'],
            cwd=self.checkout,
            env=self._environment,
            capture_output=True,
            text=True,
            check=False,
        )  # fmt: skip
        assert process.returncode == 0, f"{script}\n{process.stdout}\n{process.stderr}"
        return process.stdout

    def block(self, block: Block) -> str:
        return self.run(block.text.replace("localhost:8000", f"localhost:{self.port}"))

    def compliance_key(self) -> str:
        demo = json.loads(self.run(".venv/bin/python manage.py demo --json"))
        return self.run(
            ".venv/bin/python manage.py issue_key --workspace fairlead"
            f" --email {demo['email']} --role compliance"
        ).strip()

    def get(self, path: str, key: str) -> Any:
        answer = httpx.get(
            f"http://127.0.0.1:{self.port}/api/v1{path}",
            headers={"Authorization": f"Bearer {key}"},
            timeout=waiting.LIMIT_SECONDS,
        )
        assert answer.status_code == 200, answer.text
        return answer.json()


@pytest.fixture(scope="module")
def installation(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Installation]:
    server = Installation(tmp_path_factory.mktemp("readme"))
    server.start()
    yield server
    assert server.stop() == 0


def test_every_block_is_run_or_says_why_not() -> None:
    blocks = [block for page in pages.PAGES for block in pages.blocks(page)]
    # A configuration of another program is no command.
    assert {block.language for block in blocks} <= {"sh", "python", "yaml"}
    first_lines = {block.first_line for block in blocks}
    assert set(NOT_RUN) <= first_lines
    assert set(WITH_BLOCKS) == {
        "README.md",
        "episodic/README.md",
        "gdpr/README.md",
        pages.OPERATING,
    }


def test_an_agent_appends_and_recalls(installation: Installation) -> None:
    append, ask = shell_blocks("README.md")
    entry = json.loads(installation.block(append))

    def is_recalled() -> bool:
        hits = json.loads(installation.block(ask))["hits"]
        return entry["id"] in [hit["entry_id"] for hit in hits]

    waiting.until(is_recalled)


def test_what_waits_is_embedded(installation: Installation) -> None:
    (block,) = shell_blocks("episodic/README.md")
    installation.block(block)


def test_a_certificate_of_the_demo_is_checked(installation: Installation) -> None:
    key = installation.compliance_key()
    row = installation.get("/gdpr/certificates", key)["items"][0]
    content = installation.get(f"/gdpr/certificates/{row['id']}", key)
    (installation.checkout / "certificate.json").write_text(json.dumps(content))
    (block,) = shell_blocks("gdpr/README.md")
    assert json.loads(installation.block(block))["valid"]


def test_the_operators_commands(installation: Installation) -> None:
    outputs = {
        block.first_line: installation.block(block)
        for block in shell_blocks(pages.OPERATING)
    }
    assert (installation.checkout / "crewship.backup").stat().st_size > 0
    assert (installation.checkout / "restored/keys/journal.key").is_file()
    figures = outputs["curl -s localhost:8000/livez"]
    documented = {
        name
        for row in pages.rows(pages.OPERATING, "Metric")
        for name in pages.codes(row[0])
    }
    # Others come with PostgreSQL, Redis, or what has not happened yet.
    names = set(re.findall(r"^# HELP (crewship_\w+)", figures, re.MULTILINE))
    assert {n for n in names if not n.endswith("_created")} <= documented
    assert "crewship_requests_total" in names
