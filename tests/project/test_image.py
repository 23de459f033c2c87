"""The image of the Dockerfile says whether it is healthy."""

from __future__ import annotations

import json
import subprocess
import sys
import urllib.request
from typing import Any, Final

import pytest

from tests.project import source

DOCKERFILE: Final = (source.ROOT / "Dockerfile").read_text(encoding="utf-8")


def health_check() -> list[str]:
    """Return the command that Docker runs; a line's end with a backslash joins two."""
    lines = DOCKERFILE.replace("\\\n", "").splitlines()
    line = next(line for line in lines if line.startswith("HEALTHCHECK"))
    command: list[str] = json.loads(line.partition("CMD ")[2])
    return command


@pytest.mark.parametrize(
    ("served", "host"),
    [
        ("", "localhost"),
        ("*", "localhost"),
        ("memory.example.com", "memory.example.com"),
        (" .example.com,localhost", "example.com"),
    ],
)
def test_the_health_check_asks_under_a_name_that_is_served(
    monkeypatch: pytest.MonkeyPatch, served: str, host: str
) -> None:
    requests: list[Any] = []
    monkeypatch.setattr(
        urllib.request, "urlopen", lambda request, **_: requests.append(request)
    )
    monkeypatch.setenv("CREWSHIP_ALLOWED_HOSTS", served)
    exec(health_check()[-1], {})
    assert [request.get_header("Host") for request in requests] == [host]
    assert requests[0].full_url == "http://127.0.0.1:8000/readyz"


def test_the_health_check_fails_where_nobody_answers() -> None:
    code = health_check()[-1].replace(":8000/", ":1/")
    process = subprocess.run([sys.executable, "-c", code], capture_output=True)
    assert process.returncode == 1
