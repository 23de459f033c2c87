"""The picture of the architecture is what its generator makes of the code."""

from __future__ import annotations

import importlib.util
import re
import shutil
import subprocess
import sys
import xml.etree.ElementTree as ET
from pathlib import Path
from types import ModuleType
from typing import Final

import pytest

from tests.project.source import APPS, ROOT

SCRIPT: Final = ".ci/architecture.py"
SVG: Final = "{http://www.w3.org/2000/svg}"
LAYERS: Final = """
[[tool.importlinter.contracts]]
name = "Packages"
type = "layers"
layers = ["top", "left | right"]

[[tool.importlinter.contracts]]
name = "Folders of left"
type = "layers"
containers = ["left"]
layers = ["api : (web)", "service"]
"""


@pytest.fixture(scope="module")
def architecture() -> ModuleType:
    """Return the generator, which stands outside the packages."""
    spec = importlib.util.spec_from_file_location("architecture", ROOT / SCRIPT)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    # Data classes look their module up.
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def other(tmp_path: Path) -> Path:
    """Return a project of other packages, with other layers."""
    (tmp_path / "pyproject.toml").write_text(LAYERS)
    for name, text in {
        "top/__init__.py": '"""What joins <both>."""\nimport left.api\n',
        "top/migrations/first.py": "from right import loose\n",
        "left/__init__.py": "",
        "left/api/__init__.py": "from left import service\n",
        "left/web.py": "",
        "left/service.py": "import json, right.loose\n",
        "right/__init__.py": '"""Two lines.\n\nAre too many."""\n',
        "right/loose.py": "",
        "right/kept/one.py": "",
        "right/__pycache__/gone.pyc": "",
        "right/empty/notes.txt": "",
    }.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    return tmp_path


@pytest.fixture(scope="module")
def picture(architecture: ModuleType) -> str:
    return str(architecture.draw(ROOT))


def words(picture: str) -> list[str]:
    """Return every line of text in a picture."""
    return [node.text or "" for node in ET.fromstring(picture).iter(f"{SVG}text")]


@pytest.mark.slow
def test_the_picture_is_what_the_code_makes() -> None:
    process = subprocess.run(
        [sys.executable, SCRIPT, "--check"], cwd=ROOT, capture_output=True, text=True
    )
    assert process.returncode == 0, f"{process.stderr} Run: python {SCRIPT}"


def test_it_shows_every_package_folder_and_module(
    architecture: ModuleType, picture: str
) -> None:
    labels = {word.rstrip("/") for word in words(picture)}
    assert set(APPS) <= labels
    for app in APPS:
        places = {p.stem for p in (ROOT / app).glob("[!_]*.py")}
        places |= {p.parent.name for p in (ROOT / app).glob("[!_]*/__init__.py")}
        assert places - architecture.USUAL <= labels


def test_imports_point_down_in_it(architecture: ModuleType, picture: str) -> None:
    names = [package.name for package in architecture.packages(ROOT)]
    pairs = architecture.edges(ROOT, names)
    assert pairs
    assert all(names.index(upper) < names.index(lower) for upper, lower in pairs)
    # One arrow for each, and the one that stands for signals and ports.
    assert picture.count('marker-end="url(#head)"') == len(pairs) + 1
    assert picture.count('class="arrow up"') == 1


def test_the_ways_in_stand_out(architecture: ModuleType, picture: str) -> None:
    layers = [p for p in architecture.packages(ROOT) if p.is_layered]
    ways = [
        name
        for package in layers
        for row in package.layers
        for name in row
        if name in architecture.WAYS_IN and name in package.folders
    ]
    assert {"api", "web"} <= set(ways)
    boxes = re.findall(r'<rect [^>]*class="way"/>', picture)
    assert len(boxes) == len(ways) + 1  # and the one that says what it means


def test_it_draws_whatever_layers_there_are(
    architecture: ModuleType, other: Path
) -> None:
    members = {package.name: package for package in architecture.packages(other)}
    assert list(members) == ["top", "left", "right"]
    assert members["left"].layers == [["api", "web"], ["service"]]
    assert members["right"].layers == [["kept"], ["loose"]]
    assert [p.is_layered for p in members.values()] == [False, True, False]
    assert members["right"].sentence == "Two lines."
    assert architecture.edges(other, list(members)) == [
        ("top", "left"),
        ("top", "right"),
        ("left", "right"),
    ]
    labels = words(architecture.draw(other))
    assert "What joins <both>." in labels
    assert {"api/", "web", "service", "kept/", "loose"} <= set(labels)
    assert not {"empty/", "migrations/"} & set(labels)


def test_a_change_of_the_layers_is_a_change_of_the_picture(
    architecture: ModuleType, other: Path
) -> None:
    before = architecture.draw(other)
    project = other / "pyproject.toml"
    project.write_text(LAYERS.replace('"service"]', '"service", "cellar"]'))
    assert architecture.draw(other) != before
    shutil.copytree(other / "right/kept", other / "left/cellar")
    assert "cellar/" in words(architecture.draw(other))


def test_nothing_leaves_the_picture_or_lies_on_another(picture: str) -> None:
    root = ET.fromstring(picture)
    boxes = [
        tuple(float(node.attrib[name]) for name in ("x", "y", "width", "height"))
        for node in root.iter(f"{SVG}rect")
        if node.attrib["class"] in ("chip", "way")
    ]
    width, height = float(root.attrib["width"]), float(root.attrib["height"])
    for n, (x, y, w, h) in enumerate(boxes):
        assert x >= 0 and x + w <= width and y >= 0 and y + h <= height
        for x2, y2, w2, h2 in boxes[n + 1 :]:
            apart = x + w <= x2 or x2 + w2 <= x
            assert apart or y + h <= y2 or y2 + h2 <= y


def test_it_can_be_read_in_the_light_and_in_the_dark(
    architecture: ModuleType, picture: str
) -> None:
    light, _, dark = architecture.STYLE.partition("prefers-color-scheme: dark")
    variables = set(re.findall(r"var\((--\w+)\)", architecture.STYLE))
    assert variables == set(re.findall(r"(--\w+):", light))
    assert variables == set(re.findall(r"(--\w+):", dark))
    assert "://" not in picture.replace("http://www.w3.org/2000/svg", "")
