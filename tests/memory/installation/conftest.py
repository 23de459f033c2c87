"""A data folder of its own, and keys that are looked at with every question."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from pytest_django import Settings

from memory.installation import identity as installation
from tests.world import World


@pytest.fixture
def data_dir(
    world: World, tmp_path: Path, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Path]:
    """Return a marked folder; whatever a test does to the keys is noticed at once."""
    monkeypatch.setattr(installation, "CHECK_SECONDS", 0.0)
    settings.DATA_DIR = tmp_path
    installation.forget()
    assert installation.problem() is None
    yield tmp_path
    installation.forget()
