"""What the file surface for Anthropic's memory tool promises."""

from __future__ import annotations

from typing import Any, Final

from memory.integrations.selftest_server import Stand, Wire, demand

AT: Final = "/compat/anthropic/memory"
NOTES: Final = "/memories/notes.md"
WIRE: Final = Wire(
    name="anthropic",
    title="Anthropic memory tool",
    prefix=AT,
    client="anthropic 2.12.0",
    about="The tool's six commands on records, for a subclass of its abstract class.",
    snippets={
        "Python": """# with anthropic_memory.py (tests/integrations/examples) beside it
from anthropic_memory import CrewshipMemory

KEY = "…"  # an agent's key

memory = CrewshipMemory("{url}", key=KEY)
print(memory.call({{"command": "view", "path": "/memories"}}))""",
        "curl": """curl -sS {url}/compat/anthropic/memory \\
  -H "Authorization: Bearer $CREWSHIP_KEY" \\
  -H "Content-Type: application/json" \\
  -d '{{"command": "view", "path": "/memories"}}'""",
    },
)


def _run(stand: Stand, command: str, status: int = 200, **given: Any) -> str:
    body = {"command": command, **given}
    found = stand.ask("POST", AT, body, status=status)
    return str(found["content"] if status == 200 else found["error"]["message"])


@WIRE.promise("A file is made, shown with line numbers, edited and deleted")
def six(stand: Stand) -> None:
    """Run the commands."""
    _run(stand, "create", path=NOTES, file_text="tea\nmilk")
    _run(stand, "str_replace", path=NOTES, old_str="milk", new_str="oat")
    _run(stand, "insert", path=NOTES, insert_line=0, insert_text="list")
    shown = _run(stand, "view", path=NOTES)
    demand("\tlist\n" in shown and "\toat" in shown, "an edit is not shown")
    _run(stand, "rename", old_path=NOTES, new_path="/memories/list.md")
    _run(stand, "delete", path="/memories/list.md")
    _run(stand, "view", 400, path="/memories/list.md")


@WIRE.promise("A file that is there is not overwritten")
def kept(stand: Stand) -> None:
    """Create twice."""
    _run(stand, "create", path=NOTES, file_text="tea")
    _run(stand, "create", 400, path=NOTES, file_text="milk")
    demand("tea" in _run(stand, "view", path=NOTES), "it was overwritten")


@WIRE.promise("No path leads out of /memories, and the root stays")
def paths(stand: Stand) -> None:
    """Try to get out."""
    for path in ("/etc/passwd", "/memories/../etc/passwd", "/memories/%2e%2e/x"):
        _run(stand, "view", 400, path=path)
    _run(stand, "delete", 400, path="/memories")
