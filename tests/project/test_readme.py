"""What README and the pages of the packages show and list is what there is."""

from __future__ import annotations

import ast
import asyncio
import json
import os
import re
import tomllib
from collections import Counter
from datetime import UTC, datetime
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any, Final

import httpx
import pytest

from crewship_memory.demo import load, story
from memory import tool_registry
from memory.integrations.gateway import config, strategies
from memory.integrations.gateway.strategies import Outcome, Turn
from memory.providers.parity.base import Harness
from memory.rules import end_users
from tests.memory.gateway import test_strategies as gateway_tests
from tests.project import pages, source
from tests.project.pages import Block

NOON: Final = datetime(2026, 5, 21, 12, tzinfo=UTC)
PACKAGES: Final = tuple(f"{app}/README.md" for app in source.APPS)
TESTED: Final = {
    "class InMemory": "tests/memory/providers/example_provider.py",
    "class ExampleHarness": "tests/memory/providers/test_parity.py",
}
# Names in backticks that look like files or modules and are none of the project's.
OTHER_FILES: Final = {
    "data/": "the data folder",
    "keys/": "in the data folder",
    "keys/gateway.key": "in the data folder",
    "installation.id": "in the data folder",
    ".clients/": "made by tests/integrations/clients.py",
    ".beaver/config.json": "another program's configuration",
    "AGENT.md": "the label of a memory file",
    "MEMORY.md": "another program's name of a memory file",
    "USER.md": "another program's name of a memory file",
    "daily/2026-05-21.md": "the label of a memory file",
    "model.onnx": "in a folder of the operator's own",
    "tokenizer.json": "in a folder of the operator's own",
    "application/problem+json": "a media type",
    "crewship/end-user": "a field of MCP",
    "6000/m": "a rate",
    "600/m": "a rate",
}
OTHER_NAMES: Final = {
    "refs.episodic": "a field of an entry",
    "scope.user": "a field of a request",
}
ENDINGS: Final = "py|md|toml|txt|yaml|yml|json|svg|cfg|key|id|onnx|css|html"
FILE: Final = re.compile(
    rf"\.?[\w.+-]+(?:/[\w.+-]+)+/?|\.?[\w.+-]+/|[\w-]+\.(?:{ENDINGS})"
)
DOTTED: Final = re.compile(r"[a-z_]\w*(?:\.[A-Za-z_]\w*)+")


def paragraph(page: str, start: str) -> str:
    """Return the paragraph that begins with a text, on one line."""
    text = pages.text(page)
    return " ".join(text[text.index(start) :].split("\n\n")[0].split())


# ── Names and links ──────────────────────────────────────────────────────────
def is_file(page: str, name: str) -> bool:
    """Whether a file is there: beside its page, in the checkout or in a package."""
    packages = (source.ROOT / app for app in source.APPS)
    homes = (pages.path(page).parent, source.ROOT, *packages)
    return any(
        place.is_dir() if name.endswith("/") else place.exists()
        for place in (home / name for home in homes)
    )


def is_importable(name: str) -> bool:
    """Whether a dotted name is a module of ours or something in one."""
    parts = name.split(".")
    if parts[0] not in source.APPS:
        return False
    for length in range(len(parts), 0, -1):
        try:
            value: Any = import_module(".".join(parts[:length]))
        except ModuleNotFoundError:
            continue
        for attribute in parts[length:]:
            value = getattr(value, attribute, None)
        return value is not None
    return False


def stale_names(page: str) -> list[str]:
    """Return the names in backticks that lead nowhere."""
    tools = {tool.name for tool in tool_registry.registered()}
    stale = []
    for code in pages.codes(pages.prose(page)):
        name = code.split()[-1] if code.startswith("python ") else code
        if name in {*OTHER_FILES, *OTHER_NAMES, *tools}:
            continue
        if FILE.fullmatch(name):
            if not is_file(page, name):
                stale.append(name)
        elif DOTTED.fullmatch(name) and not is_importable(name):
            stale.append(name)
    return stale


@pytest.mark.parametrize("document", pages.PAGES)
def test_every_file_and_name_of_the_code_is_there(document: str) -> None:
    assert stale_names(document) == []


def test_a_stale_name_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    sentence = (
        "`rules/` `attic/` `memory/attic.py` `attic.py` `memory.journal.append.append`"
        " `memory.journal.append.gone` `memory.attic.append` `rules.errors`"
    )
    monkeypatch.setattr(pages, "prose", lambda _page: sentence)
    assert stale_names("memory/README.md") == [
        "attic/",
        "memory/attic.py",
        "attic.py",
        "memory.journal.append.gone",
        "memory.attic.append",
        "rules.errors",
    ]


@pytest.mark.parametrize("document", pages.PAGES)
def test_every_link_leads_to_a_file_and_a_heading(document: str) -> None:
    broken = []
    for link in re.findall(r"\]\(([^)\s]+)\)", pages.prose(document)):
        if link.startswith("https://"):
            continue
        name, _, anchor = link.partition("#")
        target = (pages.path(document).parent / name).resolve() if name else None
        if target is not None and not target.exists():
            broken.append(link)
        elif anchor:
            home = source.name(target) if target else document
            if anchor not in pages.anchors(home):
                broken.append(link)
    assert broken == []


def test_the_readme_leads_to_every_page() -> None:
    readme = pages.text("README.md")
    other_pages = [page for page in pages.PAGES if page != "README.md"]
    assert [page for page in other_pages if f"]({page})" not in readme] == []


@pytest.mark.parametrize("package", source.APPS)
def test_a_page_names_every_folder_of_its_package(package: str) -> None:
    named_folders = set(pages.codes(pages.text(f"{package}/README.md")))
    usual = {"migrations", "management", "templatetags"}
    folders = {
        place.parent.name for place in (source.ROOT / package).glob("*/__init__.py")
    }
    missing_folders = {f"{name}/" for name in folders - usual} - named_folders
    assert missing_folders == set()


@pytest.mark.parametrize("package", ["memory", "episodic", "gdpr"])
def test_the_layers_are_told_in_their_order(package: str) -> None:
    project = tomllib.loads((source.ROOT / "pyproject.toml").read_text())
    contracts = project["tool"]["importlinter"]["contracts"]
    layers = next(c["layers"] for c in contracts if c.get("containers") == [package])
    place = {
        name.strip(): number
        for number, layer in enumerate(layers)
        for name in layer.split("|")
    }
    section = pages.text(f"{package}/README.md").split("## What it may import")[1]
    sentence = section.split("first:")[1].split(". ")[0]
    names = [name.removesuffix(".py") for name in pages.codes(sentence)]
    assert len(names) >= 9
    numbers = [place[name] for name in names]
    assert numbers == sorted(numbers)


# ── Tables ───────────────────────────────────────────────────────────────────
def commands() -> set[str]:
    """Return the names of the project's own commands; manage.py has one itself."""
    files = source.ROOT.glob("*/management/commands/*.py")
    return {file.stem for file in files} - {"__init__"} | {"version"}


def test_every_command_is_in_the_table_and_no_other() -> None:
    cells = [row[0] for row in pages.rows(pages.OPERATING, "Command")]
    table_names = {name for cell in cells for name in re.findall(r"`([a-z_]+)", cell)}
    assert table_names == commands()


def test_every_call_of_the_api_is_in_one_table_and_no_other() -> None:
    document = json.loads((source.ROOT / "tests/snapshots/openapi.json").read_text())
    promised = {
        f"{method.upper()} {path.removeprefix('/api/v1')}"
        for path, operations in document["paths"].items()
        for method in operations
    }
    table_calls: Counter[str] = Counter()
    for page in PACKAGES:
        for row in pages.rows(page, "Call"):
            for code in pages.codes(row[0]):
                *methods, path = code.split()
                table_calls.update(f"{method} {path}" for method in methods)
    assert set(table_calls) == promised
    assert [call for call, times in table_calls.items() if times > 1] == []


def test_the_tools_at_mcp_are_those_that_are_listed() -> None:
    text = paragraph("memory/README.md", "Every tool is also an MCP tool")
    numbers = {"four": 4, "six": 6}
    families = re.findall(r"the (four|six) `(\w+?)(\.|__)\*`", text)
    assert len(families) == 2
    table_tools = set(re.findall(r"`([a-z._]+)`", text)) - {"/mcp"}
    tools = {tool.name for tool in tool_registry.registered()}
    for number, family, dot in families:
        names = {name for name in tools if name.startswith(family + dot)}
        assert len(names) == numbers[number]
        table_tools |= names
    assert table_tools == tools


@pytest.mark.parametrize(
    ("call", "start"), [("/tools/", "memory__"), ("/memory/tools/", "memory.")]
)
def test_the_tools_of_a_call_are_those_that_are_listed(call: str, start: str) -> None:
    rows = pages.rows("memory/README.md", "Call")
    text = next(row[1] for row in rows if f"`POST {call}" in row[0])
    tools = {tool.name for tool in tool_registry.registered()}
    assert set(pages.codes(text)) == {name for name in tools if name.startswith(start)}


@pytest.mark.parametrize("way", [end_users.HEADER, end_users.META, "--end-user"])
def test_every_way_to_name_an_end_user_is_there(way: str) -> None:
    assert way in paragraph("memory/README.md", "An agent that speaks to many people")


def test_the_agents_example_is_an_agent_of_the_demo() -> None:
    block = next(b for b in pages.blocks("README.md") if "issue_key" in b.text).text
    options = dict(re.findall(r"--(workspace|crew|agent) (\w+)", block))
    assert options["workspace"] == load.WORKSPACE
    agents = story.document("cast.toml", datetime.now(UTC).date())["agent"]
    crew_of = {agent["slug"]: agent["crew"] for agent in agents}
    assert crew_of[options["agent"]] == options["crew"]
    assert "--create" not in block


# ── Python in the pages ──────────────────────────────────────────────────────
def python_blocks() -> list[Block]:
    blocks = (block for page in pages.PAGES for block in pages.blocks(page))
    return [block for block in blocks if block.language == "python"]


def definition(start: str, file: str) -> str:
    """Return a class as its file has it, without the linter's marks."""
    text = (source.ROOT / file).read_text(encoding="utf-8")
    tree = ast.parse(text)
    node = next(
        node
        for node in tree.body
        if isinstance(node, ast.ClassDef) and f"class {node.name}" == start
    )
    segment = ast.get_source_segment(text, node)
    assert segment is not None
    return re.sub(r"  # noqa: .+", "", segment)


@pytest.mark.parametrize("start", TESTED)
def test_the_provider_that_is_shown_is_the_one_that_is_tested(start: str) -> None:
    """`REGENERATE=1 pytest tests/project/test_readme.py` copies it into the page."""
    block = next(b for b in python_blocks() if b.text.startswith(start))
    snippet = block.text.split("\n\n\nreport =")[0].strip()
    tested = definition(start, TESTED[start])
    if os.environ.get("REGENERATE"):
        page = pages.path(block.page)
        page.write_text(page.read_text().replace(snippet, tested), encoding="utf-8")
        return
    assert snippet == tested


def test_the_hooks_of_a_harness_are_those_that_are_listed() -> None:
    sentence = paragraph("memory/README.md", "Its harness says how to make one")
    hooks = re.findall(r"`(\w+)`", sentence)
    assert len(hooks) >= 5
    assert [name for name in hooks if not hasattr(Harness, name)] == []


def test_the_strategy_that_is_shown_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    block = next(b for b in python_blocks() if "async def run(" in b.text)
    section = {
        "mode": "hybrid",
        "gateway": {
            "baseUrl": "http://127.0.0.1:9",
            "userId": "riko",
            "userKey": "sealed-in-a-file",
            "scope": ["current_chat"],
        },
    }
    (tmp_path / "config.json").write_text(json.dumps({"memory": section}))
    (tmp_path / "MEMORY.md").write_text("Refunds end at $200.", encoding="utf-8")
    server = gateway_tests.Server(
        search={"results": [gateway_tests.HIT]}, add={}, flush={}
    )
    transport = httpx.MockTransport(server.handle)
    in_process = partial(strategies.of, transport=transport)
    monkeypatch.setattr(strategies, "of", in_process)
    names: dict[str, Any] = {}
    exec(compile(block.text, block.page, "exec"), names)

    async def ask_model(_turn: object, _recall: object) -> object:
        return Outcome(answer="In Graz.", answered_at=NOON)

    turn = Turn(conversation_id="c1", prompt="Where is my order?", asked_at=NOON)
    recall = asyncio.run(names["run"](tmp_path, turn, ask_model))
    assert config.load(tmp_path / "config.json").mode == "hybrid"
    assert "Refunds end" in recall.snapshot.memory
    assert recall.reference is not None
    assert server.names == ["search", "add", "flush"]


def test_every_python_block_is_run() -> None:
    starts = (
        *TESTED,
        "from memory.integrations.gateway import config, strategies",
        # tests/gdpr/test_certificate_identifiers.py runs it.
        '"""Usage: python check_certificate.py',
        # tests/gdpr/test_audit_seal.py runs it.
        "import base64, hash",
    )
    not_run = [b.first_line for b in python_blocks() if not b.text.startswith(starts)]
    assert not_run == []
    assert len(python_blocks()) == len(starts)
