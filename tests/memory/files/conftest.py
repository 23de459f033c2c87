"""A data folder of its own for every test of the file core."""

from __future__ import annotations

from pathlib import Path

import pytest
from pytest_django import Settings


@pytest.fixture(autouse=True)
def data_dir(tmp_path: Path, settings: Settings) -> Path:
    """An empty folder where this test's files, locks and blobs live."""
    settings.DATA_DIR = tmp_path
    return tmp_path
