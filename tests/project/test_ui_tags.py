"""Values become words and shapes, and no text becomes markup."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from django.template import Context, Template
from django.utils import timezone

from crewship_memory.templatetags import ui
from memory.rules.permissions import Actor, Role

HOSTILE = '"><script>alert(1)</script>'


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (None, "no data"),
        (-5, "0 s"),
        (42.9, "42 s"),
        (60, "1 m"),
        (3_599, "59 m"),
        (3_600, "1 h"),
        (18_720, "5 h 12 m"),
        (86_400, "1 d"),
        (2 * 86_400 + 4 * 3_600, "2 d 4 h"),
        (33 * 86_400 + 5_000, "33 d"),
    ],
)
def test_a_duration_shows_its_two_largest_units(
    seconds: float | None, text: str
) -> None:
    assert ui.duration(seconds) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [(None, "no data"), (0.44, "0.4 ms"), (14.2, "14 ms"), (1_000, "1,000 ms"),
     (12_500, "12.5 s")],
)  # fmt: skip
def test_milliseconds_read_like_a_person_writes_them(
    value: float | None, text: str
) -> None:
    assert ui.ms(value) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [(None, "no data"), (0, "0"), (18_204, "18,204"), (1_234.56, "1,234.6")],
)
def test_numbers_have_thousands_and_unknown_is_no_zero(
    value: float | None, text: str
) -> None:
    assert ui.number(value) == text


def test_an_age_carries_its_moment() -> None:
    then = timezone.now() - timedelta(hours=5, minutes=12)
    assert ui.ago(then) == "5 h 12 m"
    stamp = then.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    assert f'datetime="{stamp}"' in ui.age(then)
    assert ui.ago(None) == ui.age(None) == ui.moment(None) == "never"


@pytest.mark.parametrize(
    ("form", "text"),
    [
        ("", "3 Nov 2026, 02:30 UTC"),
        ("day", "3 Nov 2026"),
        ("clock", "02:30:04"),
        ("full", "3 Nov 2026, 02:30:04 UTC"),
    ],
)
def test_a_moment_says_that_it_is_utc(form: str, text: str) -> None:
    moment = datetime(2026, 11, 3, 2, 30, 4, tzinfo=UTC)
    expected = f'<time datetime="2026-11-03T02:30:04Z">{text}</time>'
    assert ui.moment(moment, form) == expected


def test_one_is_not_many() -> None:
    assert ui.plural(1, "entry,entries") == "1 entry"
    assert ui.plural(2_000, "entry,entries") == "2,000 entries"
    assert ui.plural(0, "crew") == "0 crews"


def test_a_band_is_colour_and_word() -> None:
    assert ui.band("green", "Done") == '<span class="band green">Done</span>'
    assert ui.band("mauve", "No data") == '<span class="band">No data</span>'


def test_badges_colour_only_what_is_loud() -> None:
    assert ui.severity("info") == '<span class="badge">info</span>'
    assert ui.severity("warn") == '<span class="badge yellow">warn</span>'
    assert ui.severity("error") == '<span class="badge red">error</span>'
    assert ui.priority("pin") == '<span class="badge accent">pin</span>'


def test_a_short_id_keeps_the_whole_in_its_title() -> None:
    html = ui.short_id("j_5e0a91c44d7b2f10")
    assert 'title="j_5e0a91c44d7b2f10"' in html
    assert ">j_5e0a91c4…<" in html
    assert ">j_12<" in ui.short_id("j_12")


@pytest.mark.parametrize(
    "html",
    [
        ui.band("green", HOSTILE),
        ui.severity(HOSTILE),
        ui.priority(HOSTILE),
        ui.mono(HOSTILE),
        ui.short_id(HOSTILE),
        ui.sparkline([1, 2], HOSTILE),
        ui.share_bar(HOSTILE, 1),
        ui.gauge(50, HOSTILE),
    ],
)
def test_text_never_becomes_markup(html: str) -> None:
    assert "<script" not in html
    assert "&lt;script" in html or "script" not in html


def test_a_sparkline_runs_from_oldest_to_newest() -> None:
    svg = ui.sparkline([0, 5, 10], "Calls")
    assert 'role="img" aria-label="Calls"' in svg
    assert 'd="M0.0 30.0L60.0 16.0L120.0 2.0"' in svg
    assert 'd="M120.0 2.0h.01"' in svg


def test_a_sparkline_of_nothing_or_of_one_value_is_still_honest() -> None:
    assert "no data yet" in ui.sparkline([])
    assert 'd="M0.0 2.0L120.0 2.0"' in ui.sparkline([3])
    assert 'd="M0.0 30.0L120.0 30.0"' in ui.sparkline([0, 0])
    assert 'aria-hidden="true"' in ui.sparkline([1, 2])


def test_a_share_bar_fills_its_width_in_order() -> None:
    svg = ui.share_bar("", 75, 0, 15, failed=10)
    assert '<rect class="" x="0.00" width="75.00" height="8"/>' in svg
    assert '<rect class="three" x="75.00" width="15.00" height="8"/>' in svg
    assert '<rect class="fill red" x="90.00" width="10.00" height="8"/>' in svg
    assert ui.share_bar("", 0).count("<rect") == 1


@pytest.mark.parametrize(
    ("value", "width"), [(None, "0.0"), (-3, "0.0"), (68.44, "68.4"), (400, "100.0")]
)
def test_a_gauge_stays_inside_its_track(value: float | None, width: str) -> None:
    assert f'class="fill" y="2" width="{width}"' in ui.gauge(value, "yellow")


def test_a_control_shows_for_whom_the_table_allows_it() -> None:
    admin = Actor(role=Role.ADMIN, workspace_id="ws", id="u", label="a")
    viewer = Actor(role=Role.VIEWER, workspace_id="ws", id="u", label="v")
    assert ui.can(admin, "keys.read")
    assert not ui.can(viewer, "keys.read")
    assert not ui.can(None, "keys.read")


def test_the_tags_are_there_without_loading_them() -> None:
    source = '{{ n|number }} {% band "red" "No" %} {% if 1|in:group %}in{% endif %}'
    html = Template(source).render(Context({"n": 1_000, "group": {1}}))
    assert html == '1,000 <span class="band red">No</span> in'


def test_ids_of_entries_in_a_sentence_are_links() -> None:
    link = '<a class="id" href="/journal/{0}/">{0}</a>'
    first, second = "j_0123456789abcdef", "j_fedcba9876543210"
    text = ui.entry_links(f"Beside {first} <b>and {second}.")
    assert text == (f"Beside {link.format(first)} &lt;b&gt;and {link.format(second)}.")
    for plain in ("", "No id", "xj_0123456789abcdef", "j_0123456789abcdef0"):
        assert ui.entry_links(plain) == plain
