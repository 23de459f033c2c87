"""What the PromptKit integration registers."""

from __future__ import annotations

from typing import Final

from memory.integrations.base import Integration
from memory.integrations.promptkit.selftest import SELFTEST
from memory.rules.translation import gettext_noop

INTEGRATION: Final = Integration(
    name="promptkit",
    title=gettext_noop("PromptKit tools"),
    address="/api/v1/tools",
    client=gettext_noop("contract vectors"),
    summary=gettext_noop(
        "memory__recall, memory__remember, memory__list and memory__forget by "
        "name, and memory__history and memory__revise, which are ours."
    ),
    snippets={
        "curl": """curl -sS {url}/api/v1/tools/memory__remember \\
  -H "Authorization: Bearer $CREWSHIP_KEY" \\
  -H "Content-Type: application/json" \\
  -d '{{"content": "Harriet prefers tea", "type": "preference"}}'""",
        "Python": """import httpx

KEY = "…"  # an agent's key

client = httpx.Client(
    base_url="{url}/api/v1/tools/",
    headers={{"Authorization": f"Bearer {{KEY}}"}},
)
print(client.post("memory__recall", json={{"query": "tea"}}).json())""",
    },
    selftest=SELFTEST,
)
