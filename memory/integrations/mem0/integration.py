"""What the mem0 integration registers."""

from __future__ import annotations

from typing import Final

from memory.integrations.base import Integration
from memory.integrations.mem0.routes import DIALECT
from memory.integrations.mem0.selftest import SELFTEST
from memory.rules.translation import gettext_noop

INTEGRATION: Final = Integration(
    name="mem0",
    title="mem0",
    address="/compat/mem0",
    client="mem0ai 2.2.1",
    summary=gettext_noop("The platform's routes, for its clients with another host."),
    snippets={
        "Python": """from mem0 import MemoryClient

KEY = "…"  # an agent's key

memory = MemoryClient(api_key=KEY, host="{url}/compat/mem0")
memory.add("I prefer green tea.", user_id="harriet")
print(memory.search("tea", filters={{"user_id": "harriet"}}))""",
        "curl": """curl -sS {url}/compat/mem0/v3/memories/search/ \\
  -H "Authorization: Token $CREWSHIP_KEY" \\
  -H "Content-Type: application/json" \\
  -d '{{"query": "tea", "filters": {{"user_id": "harriet"}}}}'""",
    },
    dialect=DIALECT,
    selftest=SELFTEST,
)
