"""What the file surface for Anthropic's memory tool promises."""

from __future__ import annotations

from typing import Any, Final

from memory.integrations.selftest_server import Client, Selftest, expect
from memory.rules.translation import gettext_noop

AT: Final = "/compat/anthropic/memory"
NOTES: Final = "/memories/notes.md"
SELFTEST: Final = Selftest()


def _run(client: Client, command: str, status: int = 200, **arguments: Any) -> str:
    body = {"command": command, **arguments}
    data = client.call("POST", AT, body, status=status)
    return str(data["content"] if status == 200 else data["error"]["message"])


@SELFTEST.promise(
    gettext_noop("A file is created, shown with line numbers, edited and deleted")
)
def test_all_commands(client: Client) -> None:
    _run(client, "create", path=NOTES, file_text="tea\nmilk")
    _run(client, "str_replace", path=NOTES, old_str="milk", new_str="oat")
    _run(client, "insert", path=NOTES, insert_line=0, insert_text="list")
    listing = _run(client, "view", path=NOTES)
    expect("\tlist\n" in listing and "\toat" in listing, "an edit is not shown")
    _run(client, "rename", old_path=NOTES, new_path="/memories/list.md")
    _run(client, "delete", path="/memories/list.md")
    _run(client, "view", 400, path="/memories/list.md")


@SELFTEST.promise(gettext_noop("An existing file is not overwritten"))
def no_overwrite(client: Client) -> None:
    _run(client, "create", path=NOTES, file_text="tea")
    _run(client, "create", 400, path=NOTES, file_text="milk")
    expect("tea" in _run(client, "view", path=NOTES), "it was overwritten")


@SELFTEST.promise(gettext_noop("No path leads out of /memories, and the root stays"))
def paths(client: Client) -> None:
    for path in ("/etc/passwd", "/memories/../etc/passwd", "/memories/%2e%2e/x"):
        _run(client, "view", 400, path=path)
    _run(client, "delete", 400, path="/memories")
