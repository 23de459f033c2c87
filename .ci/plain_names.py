"""Count the bound names that are a past verb, a pronoun or an adverb standing alone.

Such words do not say what a value is. They and the exceptions: plain_names.txt.

    python .ci/plain_names.py                         figures and the commonest names
    python .ci/plain_names.py --list [PATH ...]       path:line  scope  name
    python .ci/plain_names.py --by-file [PATH ...]    offences per file
    python .ci/plain_names.py --area source --limit 5 fails above 5 per 1,000
"""

from __future__ import annotations

import argparse
import ast
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

LIST: Final = Path(__file__).with_name("plain_names.txt")
SOURCE: Final = ("memory", "episodic", "gdpr", "crewship_memory", "manage.py")
AREAS: Final = {"source": SOURCE, "tests": ("tests",), "all": (*SOURCE, "tests")}
PARTS: Final = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[^A-Z_]+")
DEFINITIONS: Final = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
ALLOW: Final = re.compile(r"allow( argument)?: (\w+)  # \S.*")


@dataclass(frozen=True)
class Binding:
    """A place where a name is bound; `role` is name, argument or field."""

    path: str
    line: int
    scope: str
    name: str
    role: str


@dataclass
class WordList:
    """Words that are no names on their own, and the pinned names with their roles."""

    words: set[str]
    allowed: set[tuple[str, str]]

    @classmethod
    def read(cls, path: Path = LIST) -> WordList:
        """Read one word or exception per line; `#` begins a comment."""
        result = cls(set(), set())
        for line in path.read_text(encoding="utf-8").splitlines():
            if match := ALLOW.fullmatch(line.strip()):
                role = "argument" if match[1] else "field"
                result.allowed.add((role, match[2]))
            elif line.startswith("allow"):
                raise ValueError(f"needs the form `allow: name  # reason`: {line}")
            elif word := line.partition("#")[0].strip():
                result.words.add(word)
        return result

    def offends(self, binding: Binding) -> bool:
        """Return whether every part of a name is such a word, and it is not pinned."""
        name = binding.name.strip("_").rstrip("0123456789")
        parts = {part.lower() for part in PARTS.findall(name)}
        pinned = (binding.role, name) in self.allowed
        return bool(parts) and parts <= self.words and not pinned


def names_of(node: ast.AST) -> Iterator[tuple[str, int]]:
    """Yield the names that a node binds itself, with their lines."""
    match node:
        case ast.Name(id=name, ctx=ast.Store()) | ast.arg(arg=name):
            yield name, node.lineno
        case ast.alias(asname=str(name)) | ast.MatchMapping(rest=str(name)):
            yield name, node.lineno
        case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
            yield node.name, node.lineno
        case ast.ExceptHandler() | ast.MatchAs() | ast.MatchStar() if node.name:
            yield node.name, node.lineno


def bindings(path: str, tree: ast.Module) -> Iterator[Binding]:
    """Yield the bound names of a file; comprehensions belong to their function."""
    pending: list[tuple[ast.AST, str, bool]] = [(tree, "", False)]
    while pending:
        node, scope, in_class = pending.pop()
        for name, line in names_of(node):
            role = "argument" if isinstance(node, ast.arg) else "name"
            role = "field" if in_class and isinstance(node, ast.Name) else role
            yield Binding(path, line, scope or "<module>", name, role)
            if isinstance(node, DEFINITIONS):
                scope = f"{scope}.{name}".lstrip(".")
                in_class = isinstance(node, ast.ClassDef)
        children = [(child, scope, in_class) for child in ast.iter_child_nodes(node)]
        pending += reversed(children)


def tracked(roots: Iterable[str]) -> list[str]:
    """Return the Python files below some paths that git knows, without migrations."""
    command = ["git", "ls-files", "--", *roots]
    run = subprocess.run(command, capture_output=True, text=True, check=True)  # noqa: S603
    files = [path for path in run.stdout.splitlines() if "/migrations/" not in path]
    return [path for path in files if path.endswith(".py")]


def measure(paths: Iterable[str], words: WordList) -> tuple[int, list[Binding]]:
    """Return how many names some files bind, and those that offend, in order."""
    count, offences = 0, []
    for path in paths:
        tree = ast.parse(Path(path).read_text(encoding="utf-8"))
        bound = list(bindings(path, tree))
        count += len(bound)
        offences += sorted(filter(words.offends, bound), key=lambda item: item.line)
    return count, offences


def main(argv: list[str]) -> int:
    """Print what was asked for; 1 when an area is above the limit."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("paths", nargs="*", metavar="PATH")
    parser.add_argument("--list", action="store_true")
    parser.add_argument("--by-file", action="store_true")
    parser.add_argument("--area", choices=AREAS)
    parser.add_argument("--limit", type=float, metavar="PER_1000")
    options = parser.parse_args(argv)
    chosen = [options.area] if options.area else ["source", "tests"]
    areas = {"paths": options.paths} if options.paths else {a: AREAS[a] for a in chosen}
    words, status = WordList.read(), 0
    for area, roots in areas.items():
        count, offences = measure(tracked(roots), words)
        rate = 1000 * len(offences) / max(count, 1)
        if options.list:
            lines = [f"{o.path}:{o.line}  {o.scope}  {o.name}" for o in offences]
        else:
            values = [o.path if options.by_file else o.name for o in offences]
            counts = Counter(values).most_common(None if options.by_file else 40)
            total = f"{count:,} bound names, {len(offences):,} plain-word offences"
            lines = [f"{area}: {total}, {rate:.1f} per 1,000"]
            lines += [*(f"{times:6} {value}" for value, times in counts), ""]
        print("\n".join(lines))  # noqa: T201
        status |= options.limit is not None and rate > options.limit
    return status


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
