"""What README.md shows and lists is what there is."""

from __future__ import annotations

import re
from typing import Final

import pytest

from crewship_memory.demo import cast, story
from memory import tool_registry
from memory.rules import end_users
from tests.project import source

README: Final = (source.ROOT / "README.md").read_text(encoding="utf-8")
PROVIDERS: Final = source.ROOT / "tests/memory/providers"


def paragraph(start: str) -> str:
    """Return the paragraph that begins with a text, on one line."""
    return " ".join(README[README.index(start) :].split("\n\n")[0].split())


def commands() -> set[str]:
    """Return the names of the project's own commands; manage.py has one itself."""
    files = source.ROOT.glob("*/management/commands/*.py")
    return {file.stem for file in files} - {"__init__"} | {"version"}


def test_every_command_is_in_the_table_and_no_other() -> None:
    table = README.split("| Command | Does |")[1].split("\n\n")[0]
    rows = [line.split("|")[1] for line in table.splitlines() if "`" in line]
    names = {name for row in rows for name in re.findall(r"`([a-z_]+)", row)}
    assert names == commands()


def test_the_agents_example_is_an_agent_of_the_demo() -> None:
    block = README.split("## For agents")[1].split("```")[1]
    options = dict(re.findall(r"--(workspace|crew|agent) (\w+)", block))
    assert options["workspace"] == story.WORKSPACE
    assert cast.AGENT_BY_SLUG[options["agent"]].crew == options["crew"]
    assert "--create" not in block


def test_the_tools_at_mcp_are_those_that_are_listed() -> None:
    text = paragraph("Every tool is also an MCP tool")
    numbers = {"four": 4, "six": 6}
    families = re.findall(r"the (four|six) `(\w+?)(\.|__)\*`", text)
    assert len(families) == 2
    listed = set(re.findall(r"`([a-z._]+)`", text)) - {"/mcp"}
    tools = {tool.name for tool in tool_registry.registered()}
    for number, family, dot in families:
        names = {name for name in tools if name.startswith(family + dot)}
        assert len(names) == numbers[number]
        listed |= names
    assert listed == tools


def test_the_tools_over_memories_are_those_that_are_listed() -> None:
    row = next(line for line in README.splitlines() if "`POST /api/v1/tools/" in line)
    names = {
        t.name for t in tool_registry.registered() if t.name.startswith("memory__")
    }
    assert set(re.findall(r"`(memory__\w+)`", row)) == names


@pytest.mark.parametrize("way", [end_users.HEADER, end_users.META, "--end-user"])
def test_every_way_to_name_an_end_user_is_there(way: str) -> None:
    assert way in paragraph("An agent that speaks to many people")


def test_the_provider_that_is_shown_is_the_one_that_is_tested() -> None:
    blocks = re.findall(r"```python\n(class .+?)```", README, re.DOTALL)
    names = ("example_provider.py", "test_parity.py")
    for block, name in zip(blocks, names, strict=True):
        tested = (PROVIDERS / name).read_text(encoding="utf-8")
        snippet = block.split("\n\n\nreport =")[0].strip()
        assert snippet in re.sub(r"  # noqa: .+", "", tested)
