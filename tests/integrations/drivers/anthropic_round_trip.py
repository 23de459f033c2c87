"""The example subclass of Anthropic's abstract memory tool, through six commands."""

from __future__ import annotations

import os
import sys
from pathlib import Path

sys.path.insert(
    0, str(Path(__file__).parents[3] / "memory/integrations/anthropic/examples")
)

from anthropic.lib.tools import ToolError
from anthropic_memory import CrewshipMemory
from steps import Steps

steps = Steps("anthropic")
tool = CrewshipMemory(os.environ["HOUSE_URL"], key=os.environ["HOUSE_KEY"])
other = CrewshipMemory(os.environ["HOUSE_URL"], key=os.environ["HOUSE_OTHER_KEY"])
NOTES = "/memories/notes.md"


def call(command, **arguments):
    """Run one command as a model would."""
    return tool.call({"command": command, **arguments})


def refusal_text(using, command, **arguments):
    """Return what a command that must fail says."""
    try:
        using.call({"command": command, **arguments})
    except ToolError as error:
        return str(error)
    return ""


steps.run("view the empty root", lambda: call("view", path="/memories"))
steps.run("create", lambda: call("create", path=NOTES, file_text="tea\nmilk\ntea pot"))
refusal = refusal_text(tool, "create", path=NOTES, file_text="again")
steps.expect("a file is not overwritten", "already exists" in refusal, refusal)
listing = steps.run("view", lambda: call("view", path=NOTES))
steps.expect("lines are numbered", "     2\tmilk" in listing, listing)
part = call("view", path=NOTES, view_range=[2, 2])
steps.expect("a range is shown", "milk" in part and "pot" not in part, part)
steps.run(
    "str_replace",
    lambda: call("str_replace", path=NOTES, old_str="milk", new_str="oat"),
)
refusal = refusal_text(tool, "str_replace", path=NOTES, old_str="tea", new_str="x")
steps.expect("an ambiguous text is refused", "Multiple occurrences" in refusal, refusal)
refusal = refusal_text(tool, "str_replace", path=NOTES, old_str="gin", new_str="x")
steps.expect("so is one that is not there", "did not appear" in refusal, refusal)
steps.run(
    "insert", lambda: call("insert", path=NOTES, insert_line=1, insert_text="sugar\n")
)
listing = call("view", path=NOTES)
lines = [line.partition("\t")[2] for line in listing.split("\n")[1:]]
steps.expect("all of it is there", lines == ["tea", "sugar", "oat", "tea pot"], lines)
refusal = refusal_text(tool, "insert", path=NOTES, insert_line=99, insert_text="x")
steps.expect("a line has to exist", "insert_line" in refusal, refusal)
steps.run(
    "rename",
    lambda: call("rename", old_path=NOTES, new_path="/memories/kitchen/list.md"),
)
refusal = refusal_text(tool, "view", path=NOTES)
steps.expect("the old path is gone", "does not exist" in refusal, refusal)
tree = call("view", path="/memories")
steps.expect("folders are shown", "kitchen/list.md" in tree, tree)
for bad in ("/etc/passwd", "/memories/../etc", "/memories/%2e%2e/x", "memories/x"):
    refusal = refusal_text(tool, "view", path=bad)
    steps.expect(f"no way to {bad}", bool(refusal), refusal)
refusal = refusal_text(tool, "delete", path="/memories")
steps.expect("the root stays", "Cannot delete" in refusal, refusal)
refusal = refusal_text(other, "view", path="/memories/kitchen/list.md")
steps.expect("another agent sees nothing", "does not exist" in refusal, refusal)
steps.run("delete", lambda: call("delete", path="/memories/kitchen"))
refusal = refusal_text(tool, "view", path="/memories/kitchen/list.md")
steps.expect(
    "a deleted folder is gone with all in it", "does not exist" in refusal, refusal
)
steps.finish()
