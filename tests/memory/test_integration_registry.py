"""A folder copied into the package is an integration, with nothing else to change."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest
from django.test import Client
from pytest_django import Settings

from crewship_memory import error_responses, integrations, urls
from crewship_memory.middleware.actor import is_api
from memory import integrations as package
from memory.integrations import registry, selftest_runs
from memory.models import ProviderRun
from tests.world import World

URLS = "tests.memory.urls_with_a_copied_integration"
ITEMS = "/compat/copiedstore/store/items"


@pytest.fixture
def copied(
    tmp_path: Path, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> Iterator[None]:
    """Copy LangGraph's folder under another name beside those of the package."""
    source = Path(package.__path__[0]) / "langgraph"
    shutil.copytree(source, tmp_path / "copiedstore")
    for source_file in (tmp_path / "copiedstore").glob("*.py"):
        text = source_file.read_text(encoding="utf-8")
        copy = text.replace("langgraph", "copiedstore").replace("LangGraph", "Copied")
        source_file.write_text(copy, encoding="utf-8")
    monkeypatch.setattr(package, "__path__", [*package.__path__, str(tmp_path)])
    registered = registry.registered
    registered.cache_clear()
    module = ModuleType(URLS)
    module.__dict__.update(
        handler404=urls.handler404,
        urlpatterns=[*integrations.url_patterns(), *urls.urlpatterns],
    )
    monkeypatch.setitem(sys.modules, URLS, module)
    settings.ROOT_URLCONF = URLS
    # The server of a self-test is made anew, with these addresses.
    settings.WSGI_APPLICATION = None
    yield
    registered.cache_clear()
    for name in [name for name in sys.modules if ".copiedstore" in name]:
        del sys.modules[name]


def test_the_order_names_every_folder_and_no_other() -> None:
    names = [integration.name for integration in registry.registered()]
    assert names == list(registry.ORDER)


def test_prefixes_and_names_are_unique_and_addresses_belong_to_them() -> None:
    prefixes = [dialect.prefix for dialect in registry.dialects()]
    assert len(set(prefixes)) == len(prefixes)
    for integration in registry.registered():
        if integration.dialect is not None:
            assert registry.dialect_at(integration.address) is integration.dialect


def test_only_the_gateway_reads_its_key_from_the_body() -> None:
    for name in ("search", "add", "flush"):
        assert registry.has_key_in_body(f"/gateway/memories/{name}")
    for path in ("/gateway/health", "/compat/mem0/v1/memories/", "/mcp", "/gatewayx"):
        assert not registry.has_key_in_body(path)


@pytest.mark.usefixtures("copied")
def test_a_copied_folder_comes_last_and_is_for_programs() -> None:
    assert registry.registered()[-1].name == "copiedstore"
    assert error_responses.is_for_programs(ITEMS) and is_api(ITEMS)


@pytest.mark.usefixtures("copied")
def test_a_copied_folder_is_mounted_and_its_bodies_are_limited(world: World) -> None:
    key = {"X-Api-Key": world.tokens["ada"]}
    query = {"namespace": "users", "key": "tea"}
    not_found = Client().get(ITEMS, query, headers=key)
    assert (not_found.status_code, not_found.json()) == (
        404,
        {"detail": "There is no such item."},
    )
    assert Client().get(ITEMS, query).status_code == 401
    nowhere = Client().get("/compat/copiedstore/nowhere", headers=key)
    assert (nowhere.status_code, set(nowhere.json())) == (404, {"detail"})
    large = Client().put(
        ITEMS, b"x" * (1024 * 1024 + 1), "application/json", headers=key
    )
    assert (large.status_code, set(large.json())) == (413, {"detail"})


@pytest.mark.usefixtures("copied")
def test_a_copied_folder_is_throttled(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(integrations._throttle, "allow_request", lambda _: False)
    monkeypatch.setattr(integrations._throttle, "wait", lambda: 7)
    key = {"X-Api-Key": world.tokens["ada"]}
    response = Client().get(ITEMS, headers=key)
    assert (response.status_code, response["Retry-After"]) == (429, "7")


@pytest.mark.usefixtures("copied", "patient_health")
def test_a_copied_folder_is_on_the_page_and_in_a_run(
    shared_world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    page = shared_world.page("viewer").get("/conformance/").content.decode()
    assert "Copied store" in page and "/compat/copiedstore" in page
    copied = registry.by_name("copiedstore")
    monkeypatch.setattr(registry, "registered", lambda: (copied,))
    monkeypatch.setattr(selftest_runs, "PROVIDERS", ())
    counts = selftest_runs.run(shared_world.acme.id).counts
    assert counts == {"kept": len(copied.selftest.promises), "broken": 0}
    assert ProviderRun.objects.get(provider="wire:copiedstore").failed == 0
