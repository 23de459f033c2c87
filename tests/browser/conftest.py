"""Pages in a real browser: Debian's Chromium, driven by Playwright, judged by axe.

Playwright's synchronous API keeps an event loop running in the thread of its caller,
where ``asyncio.run`` then refuses to work. So it lives exactly as long as the tests of
this folder run, and is stopped before a test of any other folder starts.

Where there is no Chromium the tests are skipped by name; ``.ci/run`` installs one.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from axe_playwright_python.sync_playwright import Axe
from django.conf import settings
from django.test import Client
from playwright.sync_api import expect, sync_playwright

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page
    from pytest_django.live_server_helper import LiveServer

    from tests.world import World

CHROMIUM = next(
    (
        executable
        for name in ("chromium", "chromium-browser", "google-chrome")
        if (executable := shutil.which(name))
    ),
    None,
)
# Far beyond what a page takes on a busy machine; no test waits for it to pass.
LIMIT_MILLISECONDS = 120_000
expect.set_options(timeout=LIMIT_MILLISECONDS)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark everything here as a browser test; skip it where there is no browser."""
    folder = Path(__file__).parent
    for item in items:
        if folder in item.path.parents:
            item.add_marker(pytest.mark.browser)
            item.add_marker(pytest.mark.enable_socket)
            if CHROMIUM is None:
                item.add_marker(pytest.mark.skip(reason="there is no Chromium here"))


@pytest.fixture(scope="package")
def browser() -> Iterator[Browser]:
    """Run the system's Chromium and Playwright's loop for the tests of this folder."""
    with pytest.MonkeyPatch.context() as patch, sync_playwright() as playwright:
        # The loop counts as an async context for Django; the tests are synchronous.
        patch.setenv("DJANGO_ALLOW_ASYNC_UNSAFE", "true")
        chromium = playwright.chromium.launch(
            executable_path=CHROMIUM,
            args=["--no-sandbox", "--disable-dev-shm-usage"],
            timeout=LIMIT_MILLISECONDS,
        )
        yield chromium
        chromium.close()


@pytest.fixture
def page(
    browser: Browser, live_server: LiveServer, shared_world: World
) -> Iterator[Page]:
    """Open a page of a fresh profile; it is closed before the database is emptied."""
    context = browser.new_context()
    context.set_default_timeout(LIMIT_MILLISECONDS)
    yield context.new_page()
    context.close()


@pytest.fixture
def sign_in(live_server: LiveServer, shared_world: World) -> Callable[..., Page]:
    """Return a function that signs somebody in and gives back the page."""

    def enter(page: Page, person: str) -> Page:
        client = Client()
        client.force_login(
            shared_world.people[person],
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
    errors: list[str] = []
    page.on("pageerror", lambda error: errors.append(str(error)))
    page.on(
        "console",
        lambda message: (
            errors.append(message.text) if message.type == "error" else None
        ),
    )
    yield errors
    serious = [text for text in errors if "status of 4" not in text]
    assert serious == []


@pytest.fixture
def axe() -> Callable[[Page], list[str]]:
    """Return a function that lists what axe holds against a page, serious or worse."""
    judge = Axe()

    def check(page: Page) -> list[str]:
        # A colour that is still fading would be judged half-way.
        page.emulate_media(reduced_motion="reduce")
        answer = judge.run(page)
        return [
            f"{rule['id']} ({rule['impact']}): {rule['nodes'][0]['html'][:200]}"
            for rule in answer.response["violations"]
            if rule["impact"] in ("serious", "critical")
        ]

    return check
