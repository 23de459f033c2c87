"""What home shows to a new agent's builder runs as it is printed."""

from __future__ import annotations

import html
import json
import re
import subprocess
import sys
from dataclasses import dataclass

import pytest
from pytest_django.live_server_helper import LiveServer

from crewship_memory import first_run
from memory.accounts import workspaces
from memory.models import Agent, JournalEntry
from tests.integrations import clients
from tests.integrations.conftest import need
from tests.world import World

pytestmark = pytest.mark.enable_socket
PROGRAM = re.compile(r'<pre class="code" id="way-([\w-]+)"[^>]*>(.*?)</pre>', re.DOTALL)
# Reads a host's configuration, and remembers something with what it names.
HOST = """
import asyncio, json, sys
import httpx2
from mcp.client.client import Client
from mcp.client.streamable_http import streamable_http_client

[server] = json.loads(sys.argv[1])["mcpServers"].values()
assert server["type"] == "http"

async def main():
    http = httpx2.AsyncClient(headers=server["headers"])
    async with Client(streamable_http_client(server["url"], http_client=http)) as mcp:
        await mcp.call_tool("memory__remember", {"content": "Ore is sorted by hand."})

asyncio.run(main())
"""


@dataclass(frozen=True)
class Printed:
    """The programs of the page, by the ids of their texts, with a key of the agent."""

    agent: Agent
    programs: dict[str, str]

    def first_entry(self) -> JournalEntry | None:
        rows = JournalEntry.objects.filter(agent_id=self.agent.id, actor_type="agent")
        return rows.order_by("seq").first()


@pytest.fixture
def printed(live_server: LiveServer, shared_world: World) -> Printed:
    host = live_server.url.removeprefix("http://")
    workspace = shared_world.new_workspace()
    owner = shared_world.people["new owner"]
    admin = workspaces.person(owner, "admin", workspace.id)
    agent = first_run.add_agent("mining", "copper", by=admin)
    answer = shared_world.page("new owner").post(
        "/first/key/", {"agent": agent.id}, headers={"host": host}
    )
    page = answer.content.decode()
    programs = {name: html.unescape(text) for name, text in PROGRAM.findall(page)}
    return Printed(agent, programs)


def _run(*command: str) -> None:
    process = subprocess.run(
        command, env=clients.environment({}), capture_output=True, text=True,
        timeout=clients.SECONDS, check=False,
    )  # fmt: skip
    assert process.returncode == 0, process.stderr


def test_every_program_of_the_page_is_run_here(printed: Printed) -> None:
    assert set(printed.programs) == {
        "curl-1", "python-1", "mcp-1", "mcp-2", "mem0-1", "langgraph-1",
    }  # fmt: skip


def test_the_curl_command_writes_the_first_entry(printed: Printed) -> None:
    _run("bash", "-euc", printed.programs["curl-1"])
    entry = printed.first_entry()
    assert entry is not None
    assert json.dumps(entry.summary) in printed.programs["curl-1"]


def test_the_python_program_needs_nothing_else(printed: Printed) -> None:
    _run(sys.executable, "-I", "-c", printed.programs["python-1"])
    entry = printed.first_entry()
    assert entry is not None
    assert json.dumps(entry.summary) in printed.programs["python-1"]


@pytest.mark.clients
@pytest.mark.parametrize(
    ("client", "program"),
    [("mcp", "mcp-2"), ("mem0", "mem0-1"), ("langgraph", "langgraph-1")],
)
def test_the_real_client_writes_the_first_entry(
    printed: Printed, client: str, program: str
) -> None:
    need(client)
    process = clients.python(client, ["-c", printed.programs[program]], {})
    assert process.returncode == 0, process.stderr
    assert printed.first_entry() is not None


@pytest.mark.clients
def test_the_real_client_connects_with_the_hosts_configuration(
    printed: Printed,
) -> None:
    need("mcp")
    process = clients.python("mcp", ["-c", HOST, printed.programs["mcp-1"]], {})
    assert process.returncode == 0, process.stderr
    assert printed.first_entry() is not None
