"""What a page weighs when nothing of it is cached: as sent, with styles and scripts.

Pages are sent as they are; WhiteNoise sends static files compressed.
"""

from __future__ import annotations

import gzip
import re
from functools import cache
from pathlib import Path

import pytest
from django.contrib.staticfiles import finders

from memory.models import Agent
from tests import factories
from tests.browser import test_accessibility
from tests.world import World

MOST_BYTES = 150_000
page_urls = test_accessibility.page_urls
ASSET = re.compile(r"""(?:href|src)="/static/([^"?#]+\.(?:css|js|svg|png|woff2?))""")
IN_STYLES = re.compile(r"""url\(["']?([^"')]+\.(?:svg|png|woff2?))""")


@cache
def sent_bytes(name: str) -> int:
    """Return what one static file weighs as it is sent, with what a style refers to."""
    path = finders.find(name)
    assert path is not None, name
    data = Path(path).read_bytes()
    weight = len(data)
    if name.endswith((".css", ".js", ".svg")):
        weight = min(weight, len(gzip.compress(data, 9)))
    if name.endswith(".css"):
        folder = Path(name).parent
        for reference in IN_STYLES.findall(data.decode()):
            weight += sent_bytes(str(folder / reference))
    return weight


def plain_name(address: str) -> str:
    """Return a static file's name without the digest of a collected one."""
    return re.sub(r"\.[0-9a-f]{12}(?=\.\w+$)", "", address)


def weight(html: bytes) -> int:
    names = {plain_name(name) for name in ASSET.findall(html.decode())}
    assert names
    return len(html) + sum(sent_bytes(name) for name in names)


def test_every_page_is_light(
    shared_world: World, page_urls: dict[str, str], subtests: pytest.Subtests
) -> None:
    browser = shared_world.page("owner")
    for name, (path, status) in test_accessibility.PAGES.items():
        with subtests.test(name):
            response = browser.get(path.format(**page_urls), follow=True)
            assert response.status_code == status
            assert weight(response.content) < MOST_BYTES


@pytest.mark.parametrize("path", ["/recall/?query=refund&k=20", "/workspace/agents/"])
def test_five_hundred_agents_do_not_make_a_page_heavy(world: World, path: str) -> None:
    crew = world.crews["support"]
    Agent.objects.bulk_create(
        Agent(workspace=world.acme, crew=crew, slug=f"agent-of-the-crew-{n}")
        for n in range(500)
    )
    for number in range(40):
        world.entry(f"Refund {number}: " + "no receipt " * 20, ts=factories.ago(number))
    response = world.page("owner").get(path)
    assert response.status_code == 200
    assert weight(response.content) < MOST_BYTES
