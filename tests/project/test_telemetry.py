"""No library reports to anybody how it is used."""

from __future__ import annotations

import importlib
import os
import re
import subprocess
import sys
from importlib import metadata
from pathlib import Path
from typing import Any

import pytest
from packaging.requirements import Requirement

from episodic.embedders import onnx
from tests.project import source

# Distributions that speak of it, and why they report nothing.
LOOKED_AT = {
    "onnxruntime": "switched off before it is loaded",
    "opentelemetry-api": "makes nothing without its kit, which is off by default",
    "opentelemetry-exporter-http-transport": "sends where its caller says",
    "opentelemetry-exporter-otlp-common": "sends where its caller says",
    "opentelemetry-exporter-otlp-proto-common": "words of messages",
    "opentelemetry-exporter-otlp-proto-http": "sends to the operator's collector alone",
    "opentelemetry-proto": "words of messages",
    "opentelemetry-sdk": "is imported where CREWSHIP_TRACES is on, and not else",
    "opentelemetry-semantic-conventions": "words of attributes",
    "redis": "OpenTelemetry only when a program sets it up; this one does not",
    "pygments": "words of the languages that it colours",
}
WORDS = re.compile(
    rb"telemetry|posthog|mixpanel|amplitude\.com|sentry_sdk|segment\.io", re.I
)
EMBED = """
from pathlib import Path
from episodic.embedders import onnx
onnx.MiniLM().embed_query("Where did the parcel go?")
print([str(path) for path in Path.home().rglob("*")])
"""


def run_time() -> dict[str, metadata.Distribution]:
    """Return every distribution that requirements.txt brings, by its name."""
    lines = (source.ROOT / "requirements.txt").read_text().splitlines()
    pending = [Requirement(line) for line in lines if line and not line.startswith("#")]
    distributions: dict[str, metadata.Distribution] = {}
    while pending:
        wish = pending.pop()
        name = wish.name.lower().replace("_", "-")
        if name in distributions:
            continue
        try:
            distributions[name] = metadata.distribution(wish.name)
        except metadata.PackageNotFoundError:
            continue
        for line in distributions[name].requires or []:
            needed = Requirement(line)
            extras = wish.extras or {""}
            marker = needed.marker
            if marker is None or any(marker.evaluate({"extra": e}) for e in extras):
                pending.append(needed)
    return distributions


def speaks_of_it(distribution: metadata.Distribution) -> bool:
    """Whether a file of a distribution, compiled ones included, has such a word."""
    code = [
        Path(str(path.locate()))
        for path in distribution.files or []
        if path.suffix in (".py", ".so")
    ]
    return any(WORDS.search(path.read_bytes()) for path in code if path.exists())


def test_every_library_that_could_report_was_looked_at() -> None:
    distributions = run_time()
    assert {"django", "onnxruntime", "kombu", "sqlparse"} <= set(distributions)
    speaking = {
        name
        for name, distribution in distributions.items()
        if speaks_of_it(distribution)
    }
    assert speaking == set(LOOKED_AT)


def test_the_model_runs_without_a_report_being_kept_or_sent(tmp_path: Path) -> None:
    """Where reporting is on, a device id and a queue lie in the home folder."""
    environment = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("ORT_", "XDG_"))
    }
    process = subprocess.run(
        [sys.executable, "-c", EMBED],
        cwd=source.ROOT,
        env={**environment, "HOME": str(tmp_path)},
        capture_output=True,
        text=True,
        check=True,
    )
    assert process.stdout.strip() == "[]"


def test_events_are_off_before_a_session_is_built(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    runtime = importlib.import_module("onnxruntime")
    calls: list[str] = []
    session = runtime.InferenceSession

    def session_options(*args: Any, **options: Any) -> Any:
        calls.append("session")
        return session(*args, **options)

    monkeypatch.setattr(
        runtime, "disable_telemetry_events", lambda: calls.append("off")
    )
    monkeypatch.setattr(runtime, "InferenceSession", session_options)
    onnx.started(onnx.MINILM / onnx.MODEL)
    assert calls == ["off", "session"]
