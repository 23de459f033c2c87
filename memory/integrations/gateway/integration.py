"""What the Memory Gateway integration registers."""

from __future__ import annotations

from typing import Final

from memory.integrations.base import Integration
from memory.integrations.gateway.routes import DIALECT
from memory.integrations.gateway.selftest import SELFTEST
from memory.rules.translation import gettext_noop

INTEGRATION: Final = Integration(
    name="gateway",
    title=gettext_noop("Memory Gateway"),
    address="/gateway",
    client=gettext_noop("the design's exact payloads"),
    summary=gettext_noop(
        "Search before a run, add and flush after it, with a user's own key."
    ),
    snippets={
        "curl": """curl -sS {url}/gateway/memories/search \\
  -H "Content-Type: application/json" \\
  -d '{{"user_id": "harriet", "user_key": "'$GATEWAY_USER_KEY'",
       "query": "tea", "scope": ["all_user_memory"]}}'""",
        gettext_noop("Client config"): """{{
  "memory": {{
    "mode": "memory_gateway",
    "gateway": {{
      "baseUrl": "{url}/gateway",
      "userId": "harriet",
      "userKey": "…",
      "scope": ["current_chat", "resources"]
    }}
  }}
}}""",
    },
    dialect=DIALECT,
    selftest=SELFTEST,
    key_of="user",
)
