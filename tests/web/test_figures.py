"""Numbers as the reader writes them: rounded, never cut off."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from django.urls import reverse
from django.utils import translation

from crewship_memory.templatetags import charts, ui
from memory import figures
from memory.models import HeldFile
from memory.providers import connection
from memory.templatetags import review_ui
from memory.web.settings_forms import display_value
from memory.workspace_settings import Kind
from tests.world import World


@pytest.mark.parametrize(
    ("value", "places", "english", "german"),
    [
        (0.799, 2, "0.80", "0,80"),
        (12.6, 0, "13", "13"),
        (1234.56, 1, "1234.6", "1234,6"),
        (-5.96, 1, "-6.0", "-6,0"),
        (7, 2, "7.00", "7,00"),
    ],
)
def test_a_decimal_is_rounded(
    value: float, places: int, english: str, german: str
) -> None:
    assert figures.decimal(value, places) == english
    with translation.override("de"):
        assert figures.decimal(value, places) == german


def test_a_whole_number_has_its_thousands_apart() -> None:
    shown = [figures.grouped(value) for value in (0, 999, 18204, -1000, 999.6)]
    assert shown == ["0", "999", "18,204", "-1,000", "1,000"]
    with translation.override("de"):
        assert figures.grouped(1234567) == "1.234.567"
        assert figures.formatted(1234.5, "+,.1f") == "+1.234,5"


def test_filters_and_charts_round_and_use_the_readers_signs() -> None:
    assert [ui.number(1234.56), ui.ms(12_460), ui.ms(0.44), ui.ms(1000.4)] == [
        "1,234.6", "12.5 s", "0.4 ms", "1,000 ms",
    ]  # fmt: skip
    assert charts.signed(-5.96) == "−6.0"
    assert "at most 1234 on" in review_ui.day_bars([3, 1234], 1234)
    with translation.override("de"):
        assert [ui.number(1234.56), ui.ms(0.44)] == ["1.234,6", "0,4 ms"]
        assert charts.signed(-5.96) == "−6,0"
        assert charts.signed(0.01) == "±0,0"


@pytest.fixture
def german(world: World) -> Any:
    """A person's browser that asks for German pages."""
    client = world.page("owner")
    client.defaults["HTTP_ACCEPT_LANGUAGE"] = "de"
    return client


def test_home_and_the_queue_show_the_same_risk(world: World, german: Any) -> None:
    HeldFile.objects.filter(pk=world.held().pk).update(risk=0.799)
    for browser, risk in ((world.page("owner"), "0.80"), (german, "0,80")):
        for url in ("/", "/quarantine/"):
            assert risk in browser.get(url).content.decode(), (url, risk)


def test_a_records_confidence_is_rounded(world: World, german: Any) -> None:
    row = world.record("Tea at five.")
    fields = {"content": row.content, "kind": row.kind, "confidence": "0.799"}
    more = {"expires_at": "", "reason": "new", "version": str(row.version)}
    world.page("operator").post(f"/records/{row.id}/edit/", fields | more)
    page = f"/records/{row.id}/"
    assert "0.80" in world.page("viewer").get(page).content.decode()
    assert "0,80" in german.get(page).content.decode()


def test_the_time_of_a_connection_test_is_rounded(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    outcome = connection.Outcome(ok=True, message="It answers.", milliseconds=1012.6)
    monkeypatch.setattr(connection, "test", lambda **_: outcome)
    url = reverse("workspace:test_remote")
    page = world.page("owner").post(url, follow=True).content.decode()
    assert "It answers. (1013 ms)" in page


def test_a_settings_number_keeps_its_digits() -> None:
    setting: Any = SimpleNamespace(kind=Kind.NUMBER, unit="US dollars")
    assert display_value(setting, 1234.565) == "1,234.565 US dollars"
    assert display_value(setting, 90000) == "90000 US dollars"
    with translation.override("de"):
        assert display_value(setting, 1234.565) == "1.234,565 US-Dollar"
