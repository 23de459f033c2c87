"""What the AtomicMemory integration registers."""

from __future__ import annotations

from typing import Final

from memory.integrations.atomicmemory.routes import DIALECT
from memory.integrations.atomicmemory.selftest import SELFTEST
from memory.integrations.base import Integration
from memory.rules.translation import gettext_noop

INTEGRATION: Final = Integration(
    name="atomicmemory",
    title="AtomicMemory",
    address="/compat/atomicmemory",
    client="atomicmemory 1.1.4, atomicmemory-hermes 0.2.3",
    summary=gettext_noop(
        "The core's routes: ingest, search, package, history and the handle."
    ),
    snippets={
        "Python": """from atomicmemory import MemoryClient

KEY = "…"  # an agent's key

connection = {{"apiUrl": "{url}/compat/atomicmemory", "apiKey": KEY}}
memory = MemoryClient(providers={{"atomicmemory": connection}})
memory.initialize()
print(memory.search({{"query": "tea", "scope": {{"user": "harriet"}}}}))""",
        "curl": """curl -sS {url}/compat/atomicmemory/v1/memories/search/fast \\
  -H "Authorization: Bearer $CREWSHIP_KEY" \\
  -H "Content-Type: application/json" \\
  -d '{{"user_id": "harriet", "query": "tea"}}'""",
        gettext_noop(
            "Hermes plugin"
        ): """export ATOMICMEMORY_API_URL={url}/compat/atomicmemory
export ATOMICMEMORY_API_KEY=…
export ATOMICMEMORY_SCOPE_USER=harriet""",
    },
    dialect=DIALECT,
    selftest=SELFTEST,
)
