#!/usr/bin/env python3
"""Draws .github/architecture.svg from the code: packages, layers, who imports whom.

    python3 .ci/architecture.py            writes the picture
    python3 .ci/architecture.py --check    fails where the code makes another one

The layers are those of import-linter in pyproject.toml, so the picture shows what a
test proves. A package without layers of its own is drawn from its folder. Names and
first sentences come from the files; only sizes and colours are set here.
"""

from __future__ import annotations

import ast
import re
import sys
import tomllib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import Any, Final

ROOT: Final = Path(__file__).resolve().parent.parent
PICTURE: Final = ".github/architecture.svg"
# Folders that answer somebody outside: programs, browsers, other systems' clients.
WAYS_IN: Final = {"api", "web", "integrations"}
# Django's own places, the same in every package.
USUAL: Final = {"apps", "management", "migrations", "templatetags"}

WIDTH, EDGE, GAP, PAD = 900, 56, 36, 20
NAMES, LANE = 268, 18  # where the names of a band begin; from one lane to the next
CHIP, ROW, LETTER = 24, 30, 7.25
STYLE: Final = """
  svg { --ground: #f4f6f8; --card: #ffffff; --ink: #14191f; --soft: #5b6675;
    --edge: #d8dde4; --chip: #f0f2f5; --way: #1f54c4; --wash: #ecf2fd; --arrow: #7c8797;
    font: 12px -apple-system, "Segoe UI", Roboto, "Noto Sans", "Liberation Sans",
      Arial, sans-serif; }
  @media (prefers-color-scheme: dark) {
    svg { --ground: #0d1014; --card: #14181e; --ink: #e7ebf0; --soft: #8d98a7;
      --edge: #2b323c; --chip: #1b2028; --way: #8db2ff; --wash: #17223a;
      --arrow: #7f8b9b; }
  }
  text { fill: var(--ink); }
  .title { font-size: 18px; font-weight: 600; }
  .package { font-size: 16px; font-weight: 600; }
  .soft { fill: var(--soft); }
  .name { font: 12px ui-monospace, "SF Mono", Menlo, Consolas, "Liberation Mono",
    "DejaVu Sans Mono", monospace; text-anchor: middle; }
  .turned { text-anchor: middle; }
  .module { fill: var(--soft); }
  .ground { fill: var(--ground); }
  .band { fill: var(--card); stroke: var(--edge); }
  .chip { fill: var(--chip); stroke: var(--edge); }
  .way { fill: var(--wash); stroke: var(--way); }
  .arrow { fill: none; stroke: var(--arrow); stroke-width: 1.5; }
  .up { stroke-dasharray: 4 4; }
  .head { fill: var(--arrow); }
"""
FRAME: Final = """\
<svg xmlns="http://www.w3.org/2000/svg" role="img" viewBox="0 0 {width} {height}" \
width="{width}" height="{height}" aria-labelledby="what which">
<title id="what">The packages of Crewship Memory and their layers</title>
<desc id="which">{sentence}.</desc>
<style>{style}</style>
<defs><marker id="head" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="8" \
markerHeight="8" orient="auto" markerUnits="userSpaceOnUse">\
<path d="M0 0 L8 4 L0 8 Z" class="head"/></marker></defs>
<rect width="{width}" height="{height}" rx="12" class="ground"/>
{shapes}
</svg>
"""


# ── What the code says ───────────────────────────────────────────────────────
@dataclass(frozen=True)
class Package:
    """One of the packages: its name, what it is, and its layers, the highest first.

    Without declared layers the rows are folders, then modules, in no order.
    """

    name: str
    sentence: str
    layers: list[list[str]]
    folders: frozenset[str]
    is_layered: bool


def contracts(root: Path) -> list[dict[str, Any]]:
    """Return the contracts that are layers."""
    project = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))
    declared = project["tool"]["importlinter"]["contracts"]
    return [contract for contract in declared if contract["type"] == "layers"]


def split(layer: str) -> list[str]:
    """Return the names of one layer: siblings are parted by `|` or `:`."""
    return [name.strip(" ()") for name in re.split(r"[|:]", layer)]


def first_sentence(file: Path) -> str:
    """Return the first line of a package's docstring."""
    text = ast.get_docstring(ast.parse(file.read_text(encoding="utf-8"))) or ""
    return text.partition("\n")[0]


def has_code(folder: Path) -> bool:
    """Whether a folder is a package of ours, and not what a cache left of one."""
    return folder.is_dir() and any(folder.rglob("*.py"))


def by_folder(home: Path) -> list[list[str]]:
    """Return the folders and then the modules of a package that declares no layers."""
    places = [p for p in sorted(home.iterdir()) if not p.name.startswith("_")]
    folders = [p.name for p in places if has_code(p) and p.name not in USUAL]
    modules = [p.stem for p in places if p.suffix == ".py" and p.stem not in USUAL]
    return [folders, modules]


def packages(root: Path) -> list[Package]:
    """Return the packages, the highest first."""
    declared = contracts(root)
    order = next(c["layers"] for c in declared if "containers" not in c)
    inside = {c["containers"][0]: c["layers"] for c in declared if "containers" in c}
    result = []
    for name in (name for layer in order for name in split(layer)):
        home = root / name
        layers = (
            [split(layer) for layer in inside[name]]
            if name in inside
            else by_folder(home)
        )
        folders = {n for row in layers for n in row if has_code(home / n)}
        rows = [
            sorted(row, key=lambda n: (n not in folders, n)) for row in layers if row
        ]
        sentence = first_sentence(home / "__init__.py")
        is_layered = name in inside
        result.append(Package(name, sentence, rows, frozenset(folders), is_layered))
    return result


def imported(file: Path) -> Iterator[str]:
    """Yield the first name of every absolute import of a file."""
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name.partition(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            yield node.module.partition(".")[0]


def edges(root: Path, names: list[str]) -> list[tuple[str, str]]:
    """Return which package imports which, in the order of the packages."""
    pairs = {
        (name, other)
        for name in names
        for file in (root / name).rglob("*.py")
        for other in imported(file)
        if other in names and other != name
    }
    return sorted(pairs, key=lambda pair: (names.index(pair[0]), names.index(pair[1])))


# ── The drawing ──────────────────────────────────────────────────────────────
def text(x: float, y: float, words: str, kind: str) -> str:
    """Return a line of text."""
    return f'<text x="{x:g}" y="{y:g}" class="{kind}">{escape(words)}</text>'


def wrapped(words: str, limit: int) -> list[str]:
    """Return a sentence in lines of so many letters."""
    lines = [""]
    for word in words.split():
        longer = f"{lines[-1]} {word}".strip()
        lines = [*lines[:-1], longer] if len(longer) <= limit else [*lines, word]
    return lines


def chips(package: Package, top: float, right: float) -> tuple[list[str], float]:
    """Return the names of a band, a layer a row, and where they end."""
    parts, y = list[str](), top
    for row in package.layers:
        x = float(NAMES)
        for name in row:
            label = f"{name}/" if name in package.folders else name
            width = round(len(label) * LETTER) + 20
            if x + width > right and x > NAMES:
                x, y = NAMES, y + ROW
            if name in package.folders:
                kind = "way" if name in WAYS_IN else "chip"
                parts.append(
                    f'<rect x="{x:g}" y="{y:g}" width="{width}" height="{CHIP}" rx="6"'
                    f' class="{kind}"/>'
                )
            shade = "name" if name in package.folders else "name module"
            parts.append(text(x + width / 2, y + 16, label, shade))
            x += width + 8
        y += ROW
    return parts, y - ROW + CHIP


def band(package: Package, top: float, right: float) -> tuple[list[str], float]:
    """Return one package as a card, and where it ends."""
    names, end = chips(package, top + PAD, right - PAD)
    lines = wrapped(package.sentence, 28)
    lines += [] if package.is_layered else ["Its rows are in no order."]
    bottom = max(end, top + PAD + 20 + 18 * len(lines)) + PAD
    card = (
        f'<rect x="{EDGE}" y="{top:g}" width="{right - EDGE:g}"'
        f' height="{bottom - top:g}" rx="10" class="band"/>'
    )
    head = [text(EDGE + PAD, top + PAD + 16, package.name, "package")]
    sentence = [
        text(EDGE + PAD, top + PAD + 40 + 18 * n, line, "soft")
        for n, line in enumerate(lines)
    ]
    return [card, *head, *sentence, *names], bottom


def arrow(points: Iterable[tuple[float, float]], kind: str = "arrow") -> str:
    """Return a line with right angles; it ends in a head."""
    path = " L".join(f"{x:g} {y:g}" for x, y in points)
    return f'<path d="M{path}" class="{kind}" marker-end="url(#head)"/>'


def arrows(
    pairs: list[tuple[str, str]], spans: dict[str, tuple[float, float]], right: float
) -> list[str]:
    """Return the imports: straight down to the neighbour, else by a lane at the right.

    A longer way takes a lane further out, and stays outside from end to end.
    """
    names = list(spans)
    parts, lane = list[str](), 1
    lanes = sum(names.index(b) - names.index(a) > 1 for a, b in pairs)
    far = sorted(pairs, key=lambda p: names.index(p[1]) - names.index(p[0]))
    for upper, lower in far:
        if names.index(lower) - names.index(upper) == 1:
            side = EDGE + PAD + 8
            ends = (side, spans[upper][1]), (side, spans[lower][0] - 1)
            parts.append(arrow(ends))
            continue
        x = right + lane * LANE
        begin = spans[upper][0] + 14 + 12 * (lanes - lane)
        end = spans[lower][0] + 14 + 12 * lane
        parts.append(arrow([(right, begin), (x, begin), (x, end), (right + 1, end)]))
        lane += 1
    return parts


def upwards(spans: dict[str, tuple[float, float]]) -> list[str]:
    """Return the way up: what the lowest package calls without knowing who answers."""
    tops = [top for top, _bottom in spans.values()]
    x, begin, end = EDGE / 2 + 6, tops[-1] + 30, tops[0] + 30
    middle = (begin + end) / 2
    return [
        arrow([(EDGE, begin), (x, begin), (x, end), (EDGE - 1, end)], "arrow up"),
        f'<g transform="translate({x - 8:g} {middle:g}) rotate(-90)" class="turned">',
        text(0, 0, "signals and ports, filled at start-up", "soft"),
        "</g>",
    ]


def draw(root: Path) -> str:
    """Return the picture."""
    members = packages(root)
    names = [package.name for package in members]
    pairs = edges(root, names)
    far = sum(names.index(b) - names.index(a) > 1 for a, b in pairs)
    right = WIDTH - 24 - LANE * far
    parts = [
        text(EDGE, 44, "Crewship Memory: imports point down", "title"),
        text(EDGE, 66, "A row may import the rows below it, and no other.", "soft"),
    ]
    spans: dict[str, tuple[float, float]] = {}
    top = 92.0
    for package in members:
        shapes, bottom = band(package, top, right)
        parts += shapes
        spans[package.name] = (top, bottom)
        top = bottom + GAP
    height = top - GAP + 28
    shapes = [*legend(right), *parts, *arrows(pairs, spans, right), *upwards(spans)]
    sentence = "; ".join(f"{a} imports {b}" for a, b in pairs)
    return FRAME.format(
        width=WIDTH,
        height=f"{height:g}",
        sentence=escape(sentence),
        style=STYLE,
        shapes="\n".join(shapes),
    )


def legend(right: float) -> list[str]:
    """Return what the shapes mean, above the first band."""
    parts, x = list[str](), right
    for label, kind, words in (
        ("name/", "way", "a way in"),
        ("name/", "chip", "folder"),
        ("name", "", "module"),
    ):
        x -= 7 * len(words) + 12
        parts.append(text(x, 66, words, "soft"))
        x -= 68 if kind else 48
        if kind:
            box = f'<rect x="{x:g}" y="50" width="58" height="{CHIP}" rx="6"'
            parts.append(f'{box} class="{kind}"/>')
        shade = "name" if kind else "name module"
        parts.append(text(x + (29 if kind else 24), 66, label, shade))
    return parts


def main() -> int:
    """Write the picture, or say whether it is up to date."""
    file, new = ROOT / PICTURE, draw(ROOT)
    if sys.argv[1:] == ["--check"]:
        if file.exists() and file.read_text(encoding="utf-8") == new:
            return 0
        sys.stderr.write(f"{PICTURE} is not what the code says: .ci/architecture.py\n")
        return 1
    file.write_text(new, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
