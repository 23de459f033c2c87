"""What the LangGraph store integration registers."""

from __future__ import annotations

from typing import Final

from memory.integrations.base import Integration
from memory.integrations.langgraph.routes import DIALECT
from memory.integrations.langgraph.selftest import SELFTEST
from memory.rules.translation import gettext_noop

INTEGRATION: Final = Integration(
    name="langgraph",
    title=gettext_noop("LangGraph store"),
    address="/compat/langgraph",
    client="langgraph-sdk 0.4.14",
    summary=gettext_noop(
        "Values under a namespace and a key, each a record with its versions."
    ),
    snippets={
        "Python": """from langgraph_sdk import get_sync_client

KEY = "…"  # an agent's key

store = get_sync_client(
    url="{url}/compat/langgraph", api_key=KEY
).store
store.put_item(["users", "harriet"], key="tea", value={{"likes": "green"}})
print(store.search_items(["users"], query="tea"))""",
        "curl": """curl -sS {url}/compat/langgraph/store/items/search \\
  -H "X-Api-Key: $CREWSHIP_KEY" \\
  -H "Content-Type: application/json" \\
  -d '{{"namespace_prefix": ["users"], "query": "tea"}}'""",
    },
    dialect=DIALECT,
    selftest=SELFTEST,
)
