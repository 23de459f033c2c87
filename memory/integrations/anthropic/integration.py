"""What the Anthropic memory tool integration registers."""

from __future__ import annotations

from typing import Final

from memory.integrations.anthropic.routes import DIALECT
from memory.integrations.anthropic.selftest import SELFTEST
from memory.integrations.base import Integration
from memory.rules.translation import gettext_noop

INTEGRATION: Final = Integration(
    name="anthropic",
    title=gettext_noop("Anthropic memory tool"),
    address="/compat/anthropic/memory",
    client="anthropic 2.12.0",
    summary=gettext_noop(
        "The tool's six commands on records, for a subclass of its abstract class."
    ),
    snippets={
        "Python": """# The class is in memory/integrations/anthropic/examples/.
from anthropic_memory import CrewshipMemory

KEY = "…"  # an agent's key

memory = CrewshipMemory("{url}", key=KEY)
print(memory.call({{"command": "view", "path": "/memories"}}))""",
        "curl": """curl -sS {url}/compat/anthropic/memory \\
  -H "Authorization: Bearer $CREWSHIP_KEY" \\
  -H "Content-Type: application/json" \\
  -d '{{"command": "view", "path": "/memories"}}'""",
    },
    dialect=DIALECT,
    selftest=SELFTEST,
)
