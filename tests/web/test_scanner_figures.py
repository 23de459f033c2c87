"""The figures of the scanner: one file, the README's tables, the page of the rules."""

from __future__ import annotations

import importlib
import re
from dataclasses import replace
from html import unescape
from typing import Any

import pytest

from memory.review import measured
from memory.review.measured import Figures, Row, Share
from memory.review.measured_words import ACTS, HONEST, KINDS
from memory.scanner import registry
from memory.web import scanner_figures
from tests.project.source import ROOT
from tests.world import World

PATH = "/quarantine/rules/"
README = (ROOT / "memory" / "README.md").read_text(encoding="utf-8")
FIGURES = measured.figures()


@pytest.fixture
def tables(monkeypatch: pytest.MonkeyPatch) -> Any:
    """The module that writes the README's tables."""
    monkeypatch.syspath_prepend(str(ROOT / ".ci"))
    return importlib.import_module("measured_tables")


def _part(page: str, module: Any) -> str:
    _, _, rest = page.partition(module.BEGIN)
    return rest.partition(module.END)[0].strip()


def _section(html: str) -> str:
    """The figures as a reader sees them, without markup."""
    section = re.search(
        r'<section class="panel scanner-figures".*?</section>', html, re.S
    )
    assert section
    return re.sub(r"\s+", " ", unescape(re.sub(r"<[^>]+>", " ", section.group())))


def test_the_readme_has_what_was_measured(tables: Any) -> None:
    assert _part(README, tables) == tables.render(FIGURES)


def test_the_page_has_the_figures_of_the_readme(world: World, tables: Any) -> None:
    text = _section(world.page("operator").get(PATH).content.decode())
    rows = re.findall(r"^\| (.+?) \|$", _part(README, tables), re.M)
    assert len(rows) > 50
    for row in rows:
        cells = [re.sub(r"\[(.+?)\]\(.+?\)", r"\1", cell) for cell in row.split(" | ")]
        if "%" in row:
            # The example of a kind stands in quotation marks on the page.
            line = " ".join(cells) if len(cells) < 4 or "%" in cells[2] else ""
            words = line or f"{cells[0]} “{cells[1]}” {cells[2]} {cells[3]}"
            assert words in text
    for name in FIGURES.unreachable:
        assert name in text


def test_figures_of_another_set_are_said_to_be_so(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = replace(FIGURES, rules_version="1.0ther")
    for figures, is_said in (
        (other, True),
        (replace(other, rules_version=registry.VERSION), False),
    ):
        monkeypatch.setattr(measured, "figures", lambda figures=figures: figures)
        text = _section(world.page("operator").get(PATH).content.decode())
        assert ("Measured with another set" in text) == is_said
        assert f"with set {figures.rules_version}" in text
        assert f"measured on {figures.measured_on.day} " in text


def test_numbers_are_written_as_the_reader_writes_them(world: World) -> None:
    page = world.page("operator")
    html = page.get(PATH, headers={"Accept-Language": "de"}).content.decode()
    share = scanner_figures.share(FIGURES.honest[0].share, 2)
    assert "\u00a0%" in share
    assert share.replace(".", ",").replace("\u00a0", " ") in _section(html)


def test_a_scan_of_a_text_shows_them_as_well(world: World) -> None:
    reply = world.page("operator").post(PATH, {"text": "Hello.", "source": "web"})
    assert "How much they hold" in reply.content.decode()


def test_enough_sources_are_measured_by_rules_made_without_them() -> None:
    independent = [row for row in FIGURES.attacks if row.share_without]
    assert len(independent) >= 6
    assert all(row.share.texts >= 100 for row in FIGURES.attacks)
    assert all(row.share_without for row in FIGURES.honest)
    assert len(FIGURES.missed_kinds) >= 5
    assert all(row.share.percent < 50 for row in FIGURES.missed_kinds)
    assert FIGURES.unreachable


def test_every_row_has_its_words() -> None:
    for rows, words in (
        (FIGURES.honest, HONEST), (FIGURES.blind, ACTS), (FIGURES.missed_kinds, KINDS),
    ):  # fmt: skip
        assert {row.name for row in rows} <= set(words)


@pytest.mark.parametrize(
    ("count", "texts", "interval"),
    [
        (0, 0, (0.0, 100.0)),
        (0, 10, (0.0, 27.8)),
        (5, 10, (23.7, 76.3)),
        (10, 10, (72.2, 100.0)),
    ],
)
def test_wilsons_interval(
    count: int, texts: int, interval: tuple[float, float]
) -> None:
    share = Share(count, texts)
    assert tuple(round(value, 1) for value in share.interval) == interval


@pytest.mark.parametrize(
    ("place", "url"),
    [
        ("owner/name.x", "https://github.com/owner/name.x"),
        ("PyPI bastioncorpus 0.6.0", ""),
        ("several, see a/b", ""),
        ("", ""),
    ],
)
def test_a_source_is_linked_where_it_is_one_repository(place: str, url: str) -> None:
    assert Row("x", Share(1, 2), place=place).url == url


def test_blind_attacks_leave_the_honest_texts_out() -> None:
    rows = (
        Row("override", Share(1, 10)),
        Row("run", Share(2, 5)),
        Row("honest", Share(3, 9)),
    )
    figures: Figures = replace(FIGURES, blind=rows)
    assert figures.blind_attacks == Share(3, 15)
