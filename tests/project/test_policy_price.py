"""The price of policy that stands on the rules page is still true of the demo."""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path
from types import ModuleType

import pytest
from django.conf import settings

from memory.scanner import changes, policy_kinds, provenance
from memory.scanner.provenance import Origin


@pytest.fixture(scope="module")
def program() -> ModuleType:
    path = Path(settings.BASE_DIR) / ".ci" / "policy_price.py"
    spec = importlib.util.spec_from_file_location("policy_price", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_demo_costs_what_the_page_says(program: ModuleType) -> None:
    price = program.demo()
    stated = policy_kinds.DEMO
    assert (price.texts, price.days, price.held) == (
        stated.texts,
        stated.days,
        stated.held,
    )
    kinds = {kind: count for kind, count in price.by_kind.items() if count}
    assert kinds == stated.by_kind


def test_a_journal_is_measured_by_its_days(program: ModuleType, tmp_path: Path) -> None:
    rows = [
        {"ts": "2026-02-11T16:18:32+01:00", "summary": "A calm day."},
        {
            "ts": "2026-02-20T16:18:32+01:00",
            "summary": "A note.",
            "payload": {"text": "Please shorten the retention of the audit log."},
        },
    ]
    file = tmp_path / "journal.jsonl"
    file.write_text("\n".join(json.dumps(row) for row in rows))
    price = program.journal(file)
    assert (price.texts, price.days, price.held) == (2, 10, 1)


def test_the_readme_has_the_figures_of_the_page() -> None:
    text = (Path(settings.BASE_DIR) / "memory" / "README.md").read_text()
    for price in (policy_kinds.DEMO, policy_kinds.JOURNAL):
        assert f"{price.held} of {price.texts:,}" in text


def test_the_readme_has_the_moves_of_the_code() -> None:
    text = (Path(settings.BASE_DIR) / "memory" / "README.md").read_text()
    assert f"{changes.REACH} characters on either side" in text
    parts = text[text.index("| Part | Values") : text.index("**A write is judged")]
    for values in (provenance.ORIGINS, provenance.WRITERS):
        for value, move in values.items():
            if value == Origin.PROMPT:
                continue
            assert f"`{value}`" in parts
            for number in move:
                sign = "−" if number < 0 else "+"
                assert not number or f"{sign}{abs(number):.2f}" in parts
    assert all(f"`{tier}`" in parts for tier in provenance.START_TIERS)
