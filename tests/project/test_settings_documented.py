"""Every variable of the environment has its row, and only settings read them."""

from __future__ import annotations

import re
from collections import Counter

from tests.project import pages, source

SETTINGS = source.ROOT / "crewship_memory" / "settings.py"
READ = re.compile(r'\b(?:env\.\w+|environ\.get|_[a-z_]+)\(\s*"([A-Z][A-Z0-9_]+)"')
ENVIRONMENT = re.compile(r"\bos\.environ\b|\bos\.getenv\b|\benviron\.Env\b")

# Who else may look at the environment, and why.
MAY_LOOK = {
    "crewship_memory/settings.py",
    "crewship_memory/__init__.py",  # tells numpy something before it is imported
    "episodic/embedders/__init__.py",  # tells onnxruntime something before it loads
    "crewship_memory/celery.py",  # starts before the settings
    "crewship_memory/wsgi.py",  # names the settings
    "crewship_memory/background.py",  # tells Celery something before it starts
    "crewship_memory/checks.py",  # how many processes the server was told to start
    "crewship_memory/management/commands/bootstrap.py",  # a password by name
    "crewship_memory/backup/child_process.py",  # starts itself on another database
    "crewship_memory/management/commands/bench.py",  # starts itself in a clean one
}


def variables() -> set[str]:
    """Return the environment variables that the settings read."""
    return set(READ.findall(SETTINGS.read_text(encoding="utf-8")))


def test_the_settings_read_what_is_pinned() -> None:
    pinned = {
        "CREWSHIP_DATA_DIR",
        "DATABASE_URL",
        "REDIS_URL",
        "CREWSHIP_EMBEDDER",
        "OLLAMA_HOST",
        "CREWSHIP_SECRET_KEY",
        "CREWSHIP_DEBUG",
        "CREWSHIP_ALLOWED_HOSTS",
    }
    assert pinned <= variables()


def test_every_variable_has_its_row_on_one_page() -> None:
    """The page of the package that the setting is about, or the one on operating."""
    rows = Counter(
        name
        for page in pages.PAGES
        for row in pages.rows(page, "Variable")
        for name in pages.codes(row[0])
    )
    assert sorted(rows.elements()) == sorted(variables())


def test_only_the_settings_read_the_environment() -> None:
    looking = {
        source.name(path)
        for path in source.sources()
        if ENVIRONMENT.search(path.read_text(encoding="utf-8"))
    }
    assert {name for name in looking if "/bench/" not in name} - MAY_LOOK == set()
