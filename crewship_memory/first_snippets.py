"""Programs with which a new agent writes its first entry, to copy and run.

Those of other systems' clients are the snippets of the integrations.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from django.utils.translation import gettext, gettext_noop

from memory.integrations import registry
from memory.integrations.base import fill

CURL: Final = """curl -sS {url}/api/v1/journal \\
  -H "Authorization: Bearer $CREWSHIP_KEY" \\
  -H "Content-Type: application/json" \\
  -d '{{"entry_type": "memory.recorded",
       "summary": "Orders above 200 euros need a second approval"}}'"""
PYTHON: Final = """import json
from urllib.request import Request, urlopen

KEY = "…"  # an agent's key

entry = {{
    "entry_type": "memory.recorded",
    "summary": "Orders above 200 euros need a second approval",
}}
request = Request(
    "{url}/api/v1/journal",
    json.dumps(entry).encode(),
    {{"Authorization": f"Bearer {{KEY}}", "Content-Type": "application/json"}},
)
print(urlopen(request).read().decode())"""


@dataclass(frozen=True, slots=True)
class Program:
    """A text to copy, and what it is for."""

    title: str
    text: str


@dataclass(frozen=True, slots=True)
class Tab:
    """One way to connect; ``needs`` is the package that its Python program imports."""

    name: str
    title: str
    needs: str
    programs: tuple[Program, ...]


def tabs(origin: str, key: str = "") -> tuple[Tab, ...]:
    """Return every way to connect to an address, with the key where it is shown."""
    curl = Program(gettext("In a terminal"), fill(CURL, origin, key))
    python = Program(gettext("With nothing but Python"), fill(PYTHON, origin, key))
    return (
        Tab("curl", "curl", "", (curl,)),
        Tab("python", "Python", "", (python,)),
        *_of_integrations(origin, key),
    )


def _of_integrations(origin: str, key: str) -> Iterator[Tab]:
    for name, title, programs in (
        (
            "mcp",
            "MCP",
            {
                "MCP config": gettext_noop("The host's configuration"),
                "Python": "Python",
            },
        ),
        ("mem0", "mem0", {"Python": "Python"}),
        ("langgraph", "LangGraph", {"Python": "Python"}),
    ):
        integration = registry.by_name(name)
        texts = dict(integration.snippets_for(origin, key))
        yield Tab(
            name,
            title,
            integration.client.replace(" ", "=="),
            tuple(Program(gettext(word), texts[of]) for of, word in programs.items()),
        )
