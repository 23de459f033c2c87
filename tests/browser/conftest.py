"""Pages in a real browser: Debian's Chromium, driven by Playwright, judged by axe.

Where there is no Chromium the tests are skipped by name; ``.ci/run`` installs one.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from axe_playwright_python.sync_playwright import Axe
from django.conf import settings
from django.test import Client

if TYPE_CHECKING:
    from playwright.sync_api import Page
    from pytest_django.live_server_helper import LiveServer

    from tests.world import World

CHROMIUM = next(
    (
        found
        for name in ("chromium", "chromium-browser", "google-chrome")
        if (found := shutil.which(name))
    ),
    None,
)
# Playwright's own loop counts as an async context; the tests are synchronous.
os.environ["DJANGO_ALLOW_ASYNC_UNSAFE"] = "true"


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark everything here as a browser test; skip it where there is no browser."""
    here = Path(__file__).parent
    for item in items:
        if here in item.path.parents:
            item.add_marker(pytest.mark.browser)
            item.add_marker(pytest.mark.enable_socket)
            if CHROMIUM is None:
                item.add_marker(pytest.mark.skip(reason="there is no Chromium here"))


@pytest.fixture(scope="session")
def browser_type_launch_args(
    browser_type_launch_args: dict[str, Any],
) -> dict[str, Any]:
    """Start the system's Chromium instead of downloading one."""
    return {
        **browser_type_launch_args,
        "executable_path": CHROMIUM,
        "args": ["--no-sandbox", "--disable-dev-shm-usage"],
    }


@pytest.fixture
def sign_in(live_server: LiveServer, shared_world: World) -> Callable[..., Page]:
    """Return a function that signs somebody in and gives back the page."""

    def enter(page: Page, who: str) -> Page:
        client = Client()
        client.force_login(
            shared_world.people[who],
            backend="django.contrib.auth.backends.ModelBackend",
        )
        name = settings.SESSION_COOKIE_NAME
        value = client.cookies[name].value
        page.context.add_cookies(
            [{"name": name, "value": value, "url": live_server.url}]
        )
        return page

    return enter


@pytest.fixture
def faults(page: Page) -> Iterator[list[str]]:
    """Collect errors that scripts throw and requests that fail; none may be left."""
    found: list[str] = []
    page.on("pageerror", lambda error: found.append(str(error)))
    page.on(
        "console",
        lambda said: found.append(said.text) if said.type == "error" else None,
    )
    yield found
    serious = [text for text in found if "status of 4" not in text]
    assert serious == []


@pytest.fixture
def axe() -> Callable[[Page], list[str]]:
    """Return a function that lists what axe holds against a page, serious or worse."""
    judge = Axe()

    def check(page: Page) -> list[str]:
        answer = judge.run(page)
        return [
            f"{rule['id']} ({rule['impact']}): {rule['nodes'][0]['html'][:200]}"
            for rule in answer.response["violations"]
            if rule["impact"] in ("serious", "critical")
        ]

    return check
