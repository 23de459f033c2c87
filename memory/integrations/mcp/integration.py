"""What the MCP integration registers."""

from __future__ import annotations

from typing import Final

from memory.integrations.base import Integration
from memory.integrations.mcp.selftest import SELFTEST
from memory.rules.translation import gettext_noop

INTEGRATION: Final = Integration(
    name="mcp",
    title="MCP",
    address="/mcp",
    client="mcp 2.3.0",
    summary=gettext_noop(
        "Every tool, for agents' hosts, with an agent's key as Bearer."
    ),
    snippets={
        gettext_noop("MCP config"): """{{
  "mcpServers": {{
    "crewship-memory": {{
      "type": "http",
      "url": "{url}/mcp",
      "headers": {{"Authorization": "Bearer ${{CREWSHIP_KEY}}"}}
    }}
  }}
}}""",
        "Python": """import asyncio
import httpx2
from mcp.client.client import Client
from mcp.client.streamable_http import streamable_http_client

KEY = "…"  # an agent's key
head = {{"Authorization": f"Bearer {{KEY}}"}}

async def main():
    http = httpx2.AsyncClient(headers=head)
    async with Client(streamable_http_client("{url}/mcp", http_client=http)) as client:
        entry = {{"entry_type": "memory.recorded", "summary": "Refunds end at 200"}}
        print(await client.call_tool("journal.append", entry))
        print(await client.call_tool("recall", {{"query": "refund"}}))

asyncio.run(main())""",
        "curl": """curl -sS {url}/mcp \\
  -H "Authorization: Bearer $CREWSHIP_KEY" \\
  -H "Content-Type: application/json" \\
  -d '{{"jsonrpc": "2.0", "id": 1, "method": "tools/list"}}'""",
    },
    selftest=SELFTEST,
)
